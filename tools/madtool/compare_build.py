"""Builds what `tools/mad compare` runs: one source for every MPI, and the raw sockets."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence

from madtool import compare_wire, mpich_build, packages, selftest_host
from madtool.compare_wire import MAD, OFI, OPENMPI, RAW, UCX
from madtool.errors import Failure
from madtool.log import run_logged, stage
from madtool.paths import CHECKOUT, Stamps, cache_root, digest, file_digest, logs_dir, tree_digest

_COMPARE = CHECKOUT / "perf" / "compare"
_MICRO = CHECKOUT / "perf" / "micro"
_LAYOUTS = ("mpi_type", "cell", "expansion", "hand_loops", "layouts", "regular_layouts", "array_layouts",
            "irregular_layouts")  # fmt: skip
_FLAGS = ["-std=c++17", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", f"-I{CHECKOUT}"]
_SHORT = {MAD: "mad", OFI: "ofi", UCX: "ucx", OPENMPI: "openmpi"}  # of binaries
_SETTINGS = ("MPIR_CVAR_", "FI_", "UCX_", "OMPI_MCA_")


class Program(NamedTuple):
    """A source for every MPI; below perf/."""

    name: str
    sources: Sequence[str]
    optimisation: str = "-O2"


def _with_layouts(name: str, *parts: str) -> Program:
    return Program(name, [*(f"compare/{one}.cc" for one in parts), *(f"micro/{one}.cc" for one in _LAYOUTS)])


CONTENDER = _with_layouts("contender", "contender", "channel", "exchange")
ONE_SIDED = _with_layouts("one-sided", "one_sided", "one_sided_cell", "channel")


def _home() -> Path:
    return cache_root() / "compare"


def _built(name: str, compiler: Sequence[str], sources: Sequence[Path], optimisation: str = "-O2") -> Path:
    binary = _home() / name
    stamps = Stamps(_home() / "stamps")
    rooms = {_COMPARE, _MICRO, *(source.parent for source in sources)}
    headers = sorted(header for room in rooms for header in room.glob("*.h"))
    wanted = tree_digest([*headers, *sources]) + file_digest(Path(compiler[0])) + " ".join([*compiler, optimisation])
    if stamps.get(name) != wanted or not binary.is_file():
        stamps.clear(name)
        _home().mkdir(parents=True, exist_ok=True)
        with stage(f"compare: compiling {name}"):
            run_logged([*compiler, *_FLAGS, optimisation, *map(str, sources), "-o", str(binary)],
                       logs_dir() / f"compare-{name}.log", f"compiling {name}")  # fmt: skip
        stamps.set(name, wanted)
    return binary


def _found(compiler: str) -> str:
    path = shutil.which(compiler)
    if path is None:
        raise Failure(f"{compiler} is missing though its package is installed")
    return path


def programs(wanted: Sequence[str], program: Program = CONTENDER) -> Dict[str, Path]:
    """Its binaries by whose they are, built where need be; the first time takes as long as an MPICH."""
    debian = packages.PEERS if {UCX, OPENMPI} & set(wanted) else ()
    packages.ensure((*packages.PACKAGES, *(packages.OFI if OFI in wanted else ()), *debian))
    sources = [CHECKOUT / "perf" / one for one in program.sources]
    # MPICH without C++ bindings installs no mpicxx; its mpicc compiles with any compiler.
    plus_plus = ["-cc=g++"]
    compilers: Dict[str, Callable[[], List[str]]] = {
        MAD: lambda: [str(mpich_build.ensure_as_before().prefix / "bin" / "mpicc"), *plus_plus],
        OFI: lambda: [str(mpich_build.ensure_peer_built().prefix / "bin" / "mpicc"), *plus_plus],
        UCX: lambda: [_found("mpicxx.mpich")],
        OPENMPI: lambda: [_found("mpicxx.openmpi")],
    }

    def built(whose: str) -> Path:
        if whose == RAW:
            return _built("raw", [_found("g++")], [_COMPARE / "raw.cc", _COMPARE / "channel.cc"])
        return _built(f"{program.name}-{_SHORT[whose]}", compilers[whose](), sources, program.optimisation)

    return {whose: built(whose) for whose in wanted}


def launcher(whose: str, wire: Optional[str], ranks: int = 2) -> Sequence[str]:
    """What starts so many ranks of its program, more than there are cores, too; without a wire as users start it."""
    if whose == OPENMPI:
        crowded = ["--oversubscribe"] if ranks > len(os.sched_getaffinity(0)) else []
        return [_found("mpirun.openmpi"), "--allow-run-as-root", "--bind-to", "none", *crowded,
                *(compare_wire.openmpi_layers(wire) if wire else ()), "-n", str(ranks)]  # fmt: skip
    starts: Dict[str, Callable[[], str]] = {
        MAD: lambda: str(mpich_build.need_prefix() / "bin" / "mpiexec"),
        OFI: lambda: str(mpich_build.peer_prefix() / "bin" / "mpiexec"),
        UCX: lambda: _found("mpiexec.mpich"),
    }
    return [starts[whose](), "-n", str(ranks)] if whose in starts else []


def _loaded(binary: Path) -> List[Path]:
    """The shared libraries it is run with: the MPI and what it stands on."""
    answer = subprocess.run(["ldd", str(binary)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            check=False)  # fmt: skip
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", answer.stdout)]


def _machine() -> str:
    """What times depend on, of those that share a cache; its name, which containers change, is not asked."""
    return f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} x {selftest_host.processor()}, {platform.release()}"


def identity(binaries: Iterable[Path]) -> str:
    """Changes when any contender, a library it loads, a setting of one in the environment, or the kind of machine does."""
    files = sorted({path.resolve() for binary in binaries for path in [binary, *_loaded(binary)]})
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(_SETTINGS)]
    return digest(*map(file_digest, files), *settings, _machine())


def kept_file(*words: str) -> Path:
    """Where the results of a long run stay; the words say what was measured."""
    return _home() / "full" / f"{digest(*words)}.jsonl"
