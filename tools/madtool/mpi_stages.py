"""The stages of `tools/mad test` that need the built MPI: the build itself, MPI programs, MPICH's suite."""

import re
import sys
import time
from pathlib import Path
from typing import Callable, Dict, Optional

from madtool import conformance, conformance_fabrics, conformance_suite, fabrics, mpich_build, netmod_install
from madtool.conformance_suite import Conditions
from madtool.log import clock, run_logged, say, tail
from madtool.paths import CHECKOUT, cache_root, digest, logs_dir
from madtool.stages import Tally

PROGRAMS = CHECKOUT / "tests" / "mpi" / "run.py"
_LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
_NOT_PASSED = re.compile(r"^\S+ +\d+ ranks +(?:failed|skipped) .*$", re.MULTILINE)
_REPEATED_BUILD_S = 30.0
# Of MPICH's suite, the short directories first: no test is started late.
SUITE = ("datatype", "pt2pt", "part", "attr", "topo", "init", "errhan", "info", "group", "comm", "errors", "coll",
         "rma")  # fmt: skip
_SUITE_TEST_S = 120
_SUITE_LAST_START_S = 18 * 60.0
# Of one fabric in full, after the start of the first program.
_PROGRAM_LAST_START_S = 5 * 60.0
_FABRIC_LAST_START_S = 11 * 60.0


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
    notes = [" ".join(line.split()) for line in _NOT_PASSED.findall(text)]
    if failed or code != 0:
        notes.append(f"the whole output is in {log}")
    return Tally(passed, failed if failed or code == 0 else 1, skipped, tuple(notes))


def _programs(what: str, *options: str) -> Tally:
    prefix = mpich_build.need_prefix()
    log = logs_dir() / f"{what.replace(' ', '-').lower()}.log"
    place = cache_root() / "mpi-tests" / digest(str(prefix))
    command = [sys.executable, "-B", str(PROGRAMS), "--prefix", str(prefix), "--build", str(place), *options]
    code = run_logged(command, log, what, count=r" ranks +(passed|failed|skipped) ", unit="programs",
                      check=False)  # fmt: skip
    return _count(log.read_text(errors="replace"), log, code)


def _last_start(end: float, most_s: float = float("inf")) -> str:
    return f"--last-start={max(0.0, min(most_s, end - time.monotonic())):.0f}"


def run_programs(end: float = float("inf")) -> Tally:
    """The programs of tests/mpi under mpiexec, and some of them over each other fabric.

    Here and below, nothing is started after `end` (time.monotonic()).
    """
    tally = _programs("MPI programs", _last_start(end))
    usable, why_not = fabrics.usable(fabrics.OTHERS)
    if usable:
        over = [f"--fabric={fabric}" for fabric in usable]
        tally += _programs("smoke tests", "--smoke", *over, _last_start(end))
    return tally + why_not


def run_suite(end: float = float("inf")) -> Tally:
    """MPICH's own test suite."""
    conditions = Conditions(_SUITE_TEST_S, last_start=min(time.monotonic() + _SUITE_LAST_START_S, end))
    return conformance.run(conformance_suite.mad_suite(), SUITE, conformance.known_differences(), conditions)


def run_fabric(named: Optional[str] = None, end: float = float("inf")) -> Tally:
    """All programs, and the heart of MPICH's suite, over the fabric that is named or whose turn it is."""
    number = fabrics.turn()
    usable, why_not = fabrics.usable([named] if named else fabrics.IN_TURN)
    if not usable:
        return why_not
    fabric = fabrics.in_turn(number, usable)
    say(f"fabric: {fabric}; to run the same again: tools/mad test fabric --fabric {fabric}")
    begin = time.monotonic()
    tally = _programs("MPI programs over one", f"--fabric={fabric}", _last_start(end, _PROGRAM_LAST_START_S))
    conditions = Conditions(_SUITE_TEST_S, conformance_suite.over(fabric), min(begin + _FABRIC_LAST_START_S, end))
    directories = fabrics.rotated(number, conformance_fabrics.DIRECTORIES)
    known = conformance.known_differences(fabric=fabric)
    return tally + conformance.run(conformance_suite.mad_suite(), directories, known, conditions) + why_not
