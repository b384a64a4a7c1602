"""Builds what `tools/mad compare` runs: one source for every MPI, and the raw sockets."""

import shutil
from pathlib import Path
from typing import Dict, Sequence

from madtool import mpich_build, packages
from madtool.errors import Failure
from madtool.log import run_logged, stage
from madtool.paths import CHECKOUT, Stamps, cache_root, file_digest, logs_dir, tree_digest

_COMPARE = CHECKOUT / "perf" / "compare"
_MICRO = CHECKOUT / "perf" / "micro"
_LAYOUTS = ("mpi_type", "cell", "expansion", "hand_loops", "layouts", "regular_layouts", "array_layouts",
            "irregular_layouts")  # fmt: skip
_FLAGS = ["-O2", "-std=c++17", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", f"-I{CHECKOUT}"]
MAD, OFI, UCX, OPENMPI, RAW = "mad", "ch4:ofi", "ch4:ucx", "Open MPI", "raw"


def _home() -> Path:
    return cache_root() / "compare"


def _built(name: str, compiler: Sequence[str], sources: Sequence[Path], flags: Sequence[str] = ()) -> Path:
    binary = _home() / name
    stamps = Stamps(_home() / "stamps")
    headers = sorted([*_COMPARE.glob("*.h"), *_MICRO.glob("*.h")])
    wanted = tree_digest([*headers, *sources]) + file_digest(Path(compiler[0])) + " ".join(compiler)
    if stamps.get(name) != wanted or not binary.is_file():
        stamps.clear(name)
        _home().mkdir(parents=True, exist_ok=True)
        with stage(f"compare: compiling {name}"):
            run_logged([*compiler, *_FLAGS, *map(str, sources), "-o", str(binary), *flags],
                       logs_dir() / f"compare-{name}.log", f"compiling {name}")  # fmt: skip
        stamps.set(name, wanted)
    return binary


def _found(compiler: str) -> str:
    path = shutil.which(compiler)
    if path is None:
        raise Failure(f"{compiler} is missing though its package is installed")
    return path


def programs() -> Dict[str, Path]:
    """The contenders' binaries by whose they are, built where need be; the first time takes as long as an MPICH."""
    packages.ensure((*packages.PACKAGES, *packages.PEERS))
    mad = mpich_build.ensure_as_before().prefix
    ofi = mpich_build.ensure_peer_built().prefix
    sources = [*(_COMPARE / f"{one}.cc" for one in ("contender", "channel", "exchange")),
               *(_MICRO / f"{one}.cc" for one in _LAYOUTS)]  # fmt: skip
#MPICH without C++ bindings installs no mpicxx; its mpicc compiles with any compiler.
    plus_plus = ["-cc=g++"]
    return {
        MAD: _built("contender-mad", [str(mad / "bin" / "mpicc"), *plus_plus], sources),
        OFI: _built("contender-ofi", [str(ofi / "bin" / "mpicc"), *plus_plus], sources),
        UCX: _built("contender-ucx", [_found("mpicxx.mpich")], sources),
        OPENMPI: _built("contender-openmpi", [_found("mpicxx.openmpi")], sources),
        RAW: _built("raw", [_found("g++")], [_COMPARE / "raw.cc", _COMPARE / "channel.cc"]),
    }


def launchers() -> Dict[str, Sequence[str]]:
    """How two ranks are started, by whose program it is."""
    mad, ofi = mpich_build.need_prefix(), mpich_build.peer_prefix()
    return {
        MAD: [str(mad / "bin" / "mpiexec"), "-n", "2"],
        OFI: [str(ofi / "bin" / "mpiexec"), "-n", "2"],
        UCX: [_found("mpiexec.mpich"), "-n", "2"],
        OPENMPI: [_found("mpirun.openmpi"), "--allow-run-as-root", "--bind-to", "none", "--mca", "pml", "ob1",
                  "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "-n", "2"],
        RAW: [],
    }  # fmt: skip

#Everybody over TCP on the loopback interface.
ENVIRONMENTS: Dict[str, Dict[str, str]] = {
    MAD: {"MPIR_CVAR_CH4_MAD_INTERFACE": "lo"},
    OFI: {"FI_PROVIDER": "tcp;ofi_rxm", "FI_TCP_IFACE": "lo"},
    UCX: {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo", "UCX_LOG_LEVEL": "error"},
    OPENMPI: {},
    RAW: {},
}
