"""The stages of `tools/mad test` that need the built MPI: the build itself, MPI programs, MPICH's suite."""

import re
import sys
import time
from pathlib import Path
from typing import Callable, Dict, List

from madtool import conformance, conformance_suite, mpich_build, netmod_install
from madtool.log import clock, run_logged, tail
from madtool.paths import CHECKOUT, cache_root, digest, logs_dir
from madtool.stages import Tally

PROGRAMS = CHECKOUT / "tests" / "mpi" / "run.py"
_LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
_FAILED = re.compile(r"^\S+ +\d+ ranks +failed .*$", re.MULTILINE)
_REPEATED_BUILD_S = 30.0
# Of MPICH's suite, the short directories first: none is started late, so on a slow machine one long one is skipped.
SUITE = ("datatype", "pt2pt", "part", "attr", "topo", "init", "errhan", "info", "group", "comm", "errors", "coll",
         "rma")  # fmt: skip
_SUITE_TEST_S = 120
_SUITE_LAST_START_S = 18 * 60.0


def _checks(build: mpich_build.Build) -> "Dict[str, Callable[[], bool]]":
    def repeated() -> bool:
        begin = time.monotonic()
        mpich_build.ensure_as_before()
        return time.monotonic() - begin < _REPEATED_BUILD_S

    return {
        "mpichversion says ch4:mad": lambda: "ch4:mad" in conformance_suite.version(build.prefix),
        f"a second build takes less than {clock(_REPEATED_BUILD_S)}": repeated,
        "a second install-into changes nothing": lambda: not netmod_install.install_into(build.tree),
    }


def build_mpich() -> Tally:
    """Builds libmad and MPICH; what must be true of the result."""
    tally = Tally(passed=1)
    for what, holds in _checks(mpich_build.ensure_as_before()).items():
        tally += Tally(passed=1) if holds() else Tally(failed=1, notes=(f"not so: {what}",))
    return tally


def _count(text: str, log: Path, code: int) -> Tally:
    counts = _LAST_LINE.findall(text)
    if not counts:
        return Tally(failed=1, notes=(f"ended with {code}; last lines of {log}:\n{tail(log, 60)}",))
    passed, failed, skipped = map(int, counts[-1])
    notes: List[str] = _FAILED.findall(text)
    if failed or code != 0:
        notes.append(f"the whole output is in {log}")
    return Tally(passed, failed if failed or code == 0 else 1, skipped, tuple(notes))


def run_programs() -> Tally:
    """The programs of tests/mpi under mpiexec."""
    prefix = mpich_build.need_prefix()
    log = logs_dir() / "mpi-programs.log"
    place = cache_root() / "mpi-tests" / digest(str(prefix))
    command = [sys.executable, "-B", str(PROGRAMS), "--prefix", str(prefix), "--build", str(place)]
    code = run_logged(command, log, "MPI programs", count=r" ranks  (passed|failed|skipped) ", unit="programs",
                      check=False)  # fmt: skip
    return _count(log.read_text(errors="replace"), log, code)


def run_suite() -> Tally:
    """MPICH's own test suite."""
    suite = conformance_suite.mad_suite()
    return conformance.run(suite, SUITE, conformance.known_differences(), _SUITE_TEST_S,
                           last_start_s=_SUITE_LAST_START_S)  # fmt: skip
