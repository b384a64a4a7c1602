"""The stages of `tools/mad test` that need the built MPI: the build itself, MPI programs, MPICH's suite."""

import re
import sys
import time
from pathlib import Path
from typing import Callable, Dict

from madtool import (
    conformance,
    conformance_fabrics,
    conformance_lanes,
    conformance_suite,
    fabrics,
    hosts,
    mpich_build,
    netmod_install,
)
from madtool.conformance_lanes import PATIENCE_S, THREADS, Conditions, over
from madtool.log import clock, run_logged, say, tail
from madtool.paths import CHECKOUT, cache_root, digest, logs_dir
from madtool.stages import Tally

PROGRAMS = CHECKOUT / "tests" / "mpi" / "run.py"
_LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
# A failed test's line, and the first of those that it printed, which run.py sets off by four spaces.
_NOT_PASSED = re.compile(r"^(\S+ +\d+ ranks +(?:failed|skipped) .*)((?:\n    .*){0,8})", re.MULTILINE)
_REPEATED_BUILD_S = 30.0
_PATIENCE = 3  # times the programs' limits, as several run at once
# Thirteen programs send 16 MiB 64 times from each of several threads; these stand for them, as all of them would take
# as long as `coll`.  With less in a message the others are run, too.
_VOLUME = re.compile(r"^threads/pt2pt/(?!mt_isendirecv_huge|mt_sendrecv_pers_huge|mt_mprobe_).* -count=4194304")


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


def count(text: str, log: Path, code: int) -> Tally:
    """What tests/mpi/run.py said, ended with `code` and has in `log`."""
    counts = _LAST_LINE.findall(text)
    if not counts:
        return Tally(failed=1, notes=(f"ended with {code}; last lines of {log}:\n{tail(log, 60)}",))
    passed, failed, skipped = map(int, counts[-1])
    notes = [" ".join(line.split()) + printed for line, printed in _NOT_PASSED.findall(text)]
    if failed or code != 0:
        notes.append(f"the whole output is in {log}")
    return Tally(passed, failed if failed or code == 0 else 1, skipped, tuple(notes))


def _programs(what: str, *options: str) -> Tally:
    prefix = mpich_build.need_prefix()
    log = logs_dir() / f"{what.replace(' ', '-').lower()}.log"
    place = cache_root() / "mpi-tests" / digest(str(prefix))
    command = [sys.executable, "-B", str(PROGRAMS), "--prefix", str(prefix), "--build", str(place),
               f"--jobs={conformance_lanes.lanes()}", f"--patience={_PATIENCE}", *options]  # fmt: skip
    code = run_logged(command, log, what, count=r" ranks +(passed|failed|skipped) ", unit="programs",
                      check=False)  # fmt: skip
    return count(log.read_text(errors="replace"), log, code)


def run_programs(end: float = float("inf")) -> Tally:
    """The programs of tests/mpi under mpiexec, and some of them over each other fabric.

    Here and below, nothing is started after `end` (time.monotonic()).
    """
    last_start = f"--last-start={max(0.0, end - time.monotonic()):.0f}"
    tally = _programs("MPI programs", last_start)
    usable, why_not = fabrics.usable(fabrics.OTHERS)
    if usable:
        over = [f"--fabric={fabric}" for fabric in usable]
        tally += _programs("smoke tests", "--smoke", *over, last_start)
    return tally + why_not


def run_suite(end: float = float("inf")) -> Tally:
    """MPICH's own test suite; what is one-sided goes over each fabric below."""
    settings = over("tcp", shared_windows=True)
    conditions = Conditions(PATIENCE_S, settings, end, lambda test: not _VOLUME.match(test.key))
    return conformance.run(conformance_suite.mad_suite(), conformance.DEFAULT, conformance.known_differences(),
                           conditions)  # fmt: skip


def run_fabrics(end: float = float("inf")) -> Tally:
    """Over each other fabric, and over `auto` on two hosts, the part of MPICH's suite that differs for it.

    With MPI_THREAD_MULTIPLE, which the suite's programs ask for if they are told to.
    """
    usable, tally = fabrics.usable(fabrics.OTHERS)
    suite = conformance_suite.mad_suite()
    for fabric in usable:
        say(f"fabrics: {fabric}")
        settings = {**over(fabric), **THREADS}
        conditions = Conditions(PATIENCE_S, settings, end, conformance_fabrics.differs)
        known = conformance.known_differences(fabric=fabric)
        tally += conformance.run(suite, conformance_fabrics.DIFFERING, known, conditions)
    return tally + _run_two_hosts(suite, end)


def _run_two_hosts(suite: conformance_suite.Suite, end: float) -> Tally:
    say("fabrics: auto on two hosts")
    try:
        with conformance_lanes.over_two_hosts(suite) as settings:
            settings = {**settings, **THREADS}
            conditions = Conditions(PATIENCE_S, settings, end, conformance_fabrics.differs)
            known = conformance.known_differences(fabric=conformance_lanes.TWO_HOSTS)
            return conformance.run(suite, conformance_fabrics.DIFFERING, known, conditions)
    except hosts.NoHosts as reason:
        return Tally(skipped=1, notes=(f"no two hosts here: {reason}",))
