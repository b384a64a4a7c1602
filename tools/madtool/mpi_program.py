"""A program of tests/mpi, compiled by the built MPI for a stage that starts it otherwise than tests/mpi/run.py."""

from pathlib import Path

from madtool import mpich_build
from madtool.log import run_logged
from madtool.paths import CHECKOUT, logs_dir

_SOURCES = CHECKOUT / "tests" / "mpi"


def compile_program(name: str, place: Path) -> Path:
    """tests/mpi/`name`.c with what these programs share, as `place`/`name`."""
    program, support = place / name, sorted((_SOURCES / "support").glob("*.c"))
    run_logged([str(mpich_build.need_prefix() / "bin" / "mpicc"), "-std=gnu11", "-O2", "-pthread", f"-I{_SOURCES}",
                str(_SOURCES / f"{name}.c"), *map(str, support), "-lm", "-o", str(program)],
               logs_dir() / f"compile-{name}.log", name)  # fmt: skip
    return program
