"""The libraries beside libmpi, each made of one room by the installed compilers, without Bazel.

libmad_piggyback.so is of PMPI, for programs as they are. libmad_pmix.so is loaded by libmpi where a launcher that
speaks PMIx started the process; it alone is linked with libpmix.
"""

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import List, Sequence

from madtool.log import run_logged, stage
from madtool.paths import CHECKOUT, Stamps, digest, file_digest, logs_dir, tree_digest

_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-fvisibility=hidden")


@dataclass(frozen=True)
class Library:
    """What it is made of: the sources of its room, and headers that are elsewhere."""

    name: str
    room: str
    headers: Sequence[Path]
    compiler: str
    libraries: Sequence[str] = ()


def pmix_flags(which: str) -> List[str]:
    """libpmix's flags as pkg-config gives them, `--cflags` or `--libs`."""
    answer = subprocess.run(["pkg-config", which, "pmix"], stdout=subprocess.PIPE, text=True, check=False)
    return shlex.split(answer.stdout)


def _all(prefix: Path) -> Sequence[Library]:
    mpi = [prefix / "include" / name for name in ("mpi.h", "mpix_mad.h")]
    return (
        Library("libmad_piggyback.so", "netmod/piggyback", mpi, str(prefix / "bin" / "mpicxx")),
        Library("libmad_pmix.so", "netmod/pmix", [CHECKOUT / "netmod" / "mpich" / "mad_pmi.h"], "g++",
                [*pmix_flags("--cflags"), *pmix_flags("--libs")]),
    )  # fmt: skip


def _ensure(library: Library, prefix: Path, stamps: Stamps) -> None:
    target, room = prefix / "lib" / library.name, CHECKOUT / library.room
    wanted = digest(tree_digest([room]), *(file_digest(header) for header in library.headers), library.compiler,
                    *library.libraries, *_FLAGS)  # fmt: skip
    if stamps.get(room.name) == wanted and target.is_file():
        return
    stamps.clear(room.name)
    sources = sorted(str(path) for path in room.glob("*.cc") if not path.name.endswith("_test.cc"))
    made = target.with_name(f".{library.name}.{os.getpid()}")
    try:
        with stage(library.name):
            run_logged([library.compiler, *_FLAGS, f"-I{CHECKOUT}", *sources, *library.libraries, "-o", str(made)],
                       logs_dir() / f"{room.name}-build.log", Path(library.compiler).name)  # fmt: skip
        os.replace(made, target)
    finally:
        made.unlink(missing_ok=True)
    stamps.set(room.name, wanted)


def ensure(prefix: Path, stamps: Stamps) -> None:
    """Compiles what has changed, or whose MPI has."""
    for library in _all(prefix):
        _ensure(library, prefix, stamps)
