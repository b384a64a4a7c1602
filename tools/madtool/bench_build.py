"""Builds the micro-benchmarks: the engine's with Bazel, the same layouts with each MPI's mpicxx, this device's too."""

import shutil
from pathlib import Path
from typing import Dict

from madtool import bazel, bench_table, mpich_build, packages
from madtool.errors import Failure
from madtool.log import run_logged, stage
from madtool.paths import CHECKOUT, Stamps, cache_root, file_digest, logs_dir, tree_digest

SOURCES = CHECKOUT / "perf" / "micro"
# One source for every MPI.
_MPI_SOURCES = ("mpi_bench", "mpi_type", "cell", "expansion", "hand_loops", "layouts", "regular_layouts",
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
    return _with_mpi(name, Path(compiler), "")


def _device() -> Path:
    """MPI_Pack of this device, which is built if need be."""
    build = mpich_build.ensure_as_before()
    return _with_mpi(bench_table.MAD, build.prefix / "bin" / "mpicxx", build.stamps.get("install") or "")


def _with_mpi(name: str, compiler: Path, version: str) -> Path:
    binary = _home() / f"{name}_bench"
    stamps = Stamps(_home() / "stamps")
    wanted = tree_digest([*sorted(SOURCES.glob("*.h")), *(SOURCES / f"{one}.cc" for one in _MPI_SOURCES)])
    wanted += file_digest(compiler) + version
    if stamps.get(name) != wanted or not binary.is_file():
        stamps.clear(name)
        _home().mkdir(parents=True, exist_ok=True)
        files = [str(SOURCES / f"{one}.cc") for one in _MPI_SOURCES]
        with stage(f"bench: compiling with the mpicxx of {name}"):
            run_logged([str(compiler), *_FLAGS, *files, "-o", str(binary), "-lbenchmark", "-lpthread"],
                       logs_dir() / f"bench-{name}.log", f"compiling with the mpicxx of {name}")  # fmt: skip
        stamps.set(name, wanted)
    return binary


def programs() -> Dict[str, Path]:
    """The binaries by whose they are, built where need be."""
    packages.ensure((*packages.PACKAGES, *packages.PEERS))
    return {bench_table.ENGINE: _engine(), bench_table.MAD: _device(), **{name: _peer(name) for name in _COMPILERS}}
