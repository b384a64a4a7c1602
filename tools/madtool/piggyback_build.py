"""Builds libmad_piggyback.so, a library of PMPI for programs as they are, beside the MPI that it is for."""

import os
from pathlib import Path

from madtool.log import run_logged, stage
from madtool.paths import CHECKOUT, Stamps, digest, file_digest, logs_dir, tree_digest

ROOM = CHECKOUT / "netmod" / "piggyback"
LIBRARY = "libmad_piggyback.so"
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-fvisibility=hidden")


def ensure(prefix: Path, stamps: Stamps) -> None:
    """Compiles it with the prefix's mpicxx, if it or the MPI has changed."""
    library = prefix / "lib" / LIBRARY
    headers = [file_digest(prefix / "include" / name) for name in ("mpi.h", "mpix_mad.h")]
    wanted = digest(tree_digest([ROOM]), *headers, *_FLAGS)
    if stamps.get("piggyback") == wanted and library.is_file():
        return
    stamps.clear("piggyback")
    sources = sorted(str(path) for path in ROOM.glob("*.cc") if not path.name.endswith("_test.cc"))
    made = library.with_name(f".{LIBRARY}.{os.getpid()}")
    with stage(LIBRARY):
        run_logged([str(prefix / "bin" / "mpicxx"), *_FLAGS, f"-I{CHECKOUT}", *sources, "-o", str(made)],
                   logs_dir() / "piggyback-build.log", "mpicxx")  # fmt: skip
    os.replace(made, library)
    stamps.set("piggyback", wanted)
