"""Builds the micro-benchmarks: the engine's with Bazel, the same layouts with each peer's mpicxx."""

import shutil
from pathlib import Path
from typing import Dict

from madtool import bazel, bench_table, packages
from madtool.errors import Failure
from madtool.log import run_logged, stage
from madtool.paths import CHECKOUT, Stamps, cache_root, file_digest, logs_dir, tree_digest

SOURCES = CHECKOUT / "perf" / "micro"
# One source for every MPI.
_PEER_SOURCES = ("mpi_bench", "mpi_type", "cell", "expansion", "hand_loops", "layouts", "regular_layouts",
                 "array_layouts", "irregular_layouts")  # fmt: skip
_COMPILERS = {bench_table.MPICH: "mpicxx.mpich", bench_table.OPENMPI: "mpicxx.openmpi"}
_FLAGS = ["-O2", "-std=c++17", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", f"-I{CHECKOUT}"]


def _home() -> Path:
    return cache_root() / "bench"


def _engine() -> Path:
    with stage("bench: building the engine's benchmark"):
        bazel.build(["//perf/micro:engine_bench"], "engine_bench")
    # A copy: a later build in the checkout must not change what is being measured.
    _home().mkdir(parents=True, exist_ok=True)
    binary = _home() / "engine_bench"
    binary.unlink(missing_ok=True)
    shutil.copy(bazel.bin_dir() / "perf" / "micro" / "engine_bench", binary)
    return binary


def _peer(name: str) -> Path:
    compiler = shutil.which(_COMPILERS[name])
    if compiler is None:
        raise Failure(f"{_COMPILERS[name]} is missing though its package is installed")
    binary = _home() / f"{name}_bench"
    stamps = Stamps(_home() / "stamps")
    wanted = tree_digest([*sorted(SOURCES.glob("*.h")), *(SOURCES / f"{one}.cc" for one in _PEER_SOURCES)])
    wanted += file_digest(Path(compiler))
    if stamps.get(name) != wanted or not binary.is_file():
        stamps.clear(name)
        _home().mkdir(parents=True, exist_ok=True)
        files = [str(SOURCES / f"{one}.cc") for one in _PEER_SOURCES]
        with stage(f"bench: compiling with {_COMPILERS[name]}"):
            run_logged([compiler, *_FLAGS, *files, "-o", str(binary), "-lbenchmark", "-lpthread"],
                       logs_dir() / f"bench-{name}.log", f"compiling with {_COMPILERS[name]}")  # fmt: skip
        stamps.set(name, wanted)
    return binary


def programs() -> Dict[str, Path]:
    """The binaries by whose they are, built where need be."""
    packages.ensure((*packages.PACKAGES, *packages.PEERS))
    return {bench_table.ENGINE: _engine(), **{name: _peer(name) for name in _COMPILERS}}
