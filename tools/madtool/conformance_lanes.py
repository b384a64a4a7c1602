"""Runs tests of MPICH's suite side by side, each piece of its lists under a runner of the suite's own.

The runner runs one test after the other, and most of a short test is waiting: for mpiexec's start and end, for
sleeps.  So the lists are cut in pieces, and several runners take them from one queue.
"""

import os
import shlex
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence

from madtool import conformance_results as results
from madtool import conformance_suite, hosts, lock
from madtool.conformance_results import Listed, Result
from madtool.conformance_suite import Suite
from madtool.log import run_logged
from madtool.paths import logs_dir

# A runner with the arguments that differ between pieces: the list, and the directory it is of.  One that dies leaves
# the others their work: its exit status, 255, would end xargs.
_RUNNER = """#!/bin/sh
"{objects}/runtests" -srcdir="{objects}/source" -mpiexec="{mpiexec}" -tests="{pieces}/$1.list" \\
  -testdirs="$2" -junitfile="{pieces}/$1.junit.xml" || :
"""
_PIECE = 12  # tests
TWO_HOSTS = "two-hosts"  # as known differences name them
THREADS = {"MTEST_THREADLEVEL_DEFAULT": "multiple"}  # programs that leave it to the suite ask for MPI_THREAD_MULTIPLE
PATIENCE_S = 300  # with one test whose own line does not say more: it shares the cores with others
# Programs of the same directory that use the same files there, or the same names, run one after the other.
_WHOLE = ("io",)


@dataclass(frozen=True)
class Conditions:
    """Under which tests run: seconds each may take, environment variables, when the last may start, which of them."""

    timeout_s: int
    settings: Mapping[str, str] = field(default_factory=dict)
    last_start: float = float("inf")  # as time.monotonic()
    chosen: Callable[[Listed], bool] = lambda _: True


def over(fabric: str, shared_windows: bool = False) -> Dict[str, str]:
    """The settings that choose a fabric, for one-sided operations too unless windows are shared (ADR 53)."""
    return {"MPIR_CVAR_CH4_MAD_FABRIC": fabric, "MPIR_CVAR_CH4_MAD_INTERFACE": "lo",
            "MPIR_CVAR_CH4_MAD_SHARED_WINDOWS": str(int(shared_windows))}  # fmt: skip


@contextmanager
def over_two_hosts(suite: Suite) -> Iterator[Dict[str, str]]:
    """The settings by which ranks stand on two hosts in turns: shared memory inside, TCP between.

    hosts.NoHosts: there cannot be two here.
    """
    with hosts.two_hosts(2) as (before, options):
        # Who enters another host's mounts stands at their root.
        command = [*before, "sh", "-c", 'cd "$0" && exec "$@"']
        start = [str(suite.prefix / "bin" / "mpiexec"), *options]
        variables = {"FABRIC": "auto", "INTERFACE": hosts.WIRE}
        with tempfile.TemporaryDirectory(prefix="mad-suite-") as directory:
            mpiexec = Path(directory) / "mpiexec"
            conformance_suite.script(
                mpiexec, f'#!/bin/sh\nexec {shlex.join(command)} "$PWD" {shlex.join(start)} "$@"\n')  # fmt: skip
            yield {"MAD_SUITE_MPIEXEC": str(mpiexec),
                   **{f"MPIR_CVAR_CH4_MAD_{name}": value for name, value in variables.items()}}  # fmt: skip


class Piece(NamedTuple):
    """Some lines of the list of a directory."""

    place: str
    tests: Sequence[Listed]


def pieces(tests: Sequence[Listed]) -> List[Piece]:
    cut = []
    for place, group in groupby(tests, key=lambda test: test.listed_in):
        here = list(group)
        size = len(here) if place.rpartition("/")[2] in _WHOLE else _PIECE
        cut += [Piece(place, here[first : first + size]) for first in range(0, len(here), size)]
    return cut


@contextmanager
def _ending(stop: Path, last_start: float) -> Iterator[None]:
    """Has the suite's runner start no more tests from `last_start` on: it looks for the file before each."""
    stop.unlink(missing_ok=True)
    left = last_start - time.monotonic()
    timer = threading.Timer(min(left, threading.TIMEOUT_MAX), stop.write_text, ["no time left\n"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def run(suite: Suite, names: Sequence[str], conditions: Conditions) -> Dict[str, List[Result]]:
    """Compiles and runs the tests of some directories; their results by directory."""
    listed = {name: [test for test in conformance_suite.expected(suite, name) if conditions.chosen(test)]
              for name in names}  # fmt: skip
    late = time.monotonic() > conditions.last_start
    found: List[Result] = []
    if not late:
        with lock.held(suite.home / "run.lock", "suite"):  # two would write the same reports
            everything = [test for tests in listed.values() for test in tests]
            conformance_suite.compile_programs(suite, everything)
            found, late = _run(suite, pieces(everything), conditions)
    missing = results.LATE if late else results.NOT_RUN
    by_directory = {name: [result for result in found if result.key.startswith(f"{name}/")] for name in names}
    return {name: results.complete(listed[name], by_directory[name], missing) for name in names}


def _run(suite: Suite, queue: Sequence[Piece], conditions: Conditions) -> "tuple[List[Result], bool]":
    """What the runners reported, and whether they were told to stop."""
    place = suite.home / "pieces"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for number, piece in enumerate(queue):
        (place / f"{number}.list").write_text("".join(f"{test.line}\n" for test in piece.tests))
    (place / "queue").write_text("".join(f"{number} {piece.place}\n" for number, piece in enumerate(queue)))
    runner, stop, progress = place / "runner", place / "stop", place / "progress"
    conformance_suite.script(runner, _RUNNER.format(objects=suite.objects, mpiexec=suite.mpiexec, pieces=place))
    environment = {**conformance_suite.environment(), **conditions.settings}
    environment.update(
        PATH=f"{suite.commands}:{environment['PATH']}",
        MPITEST_TIMEOUT=str(conditions.timeout_s),
        MPITEST_CLEANUP="0",
        MPITEST_MEMORY_TOTAL=str(_memory_gib()),
        MPITEST_MEMORY_MULTIPLIER=str(lanes()),
        MPITEST_STOPTEST=str(stop),
        MAD_SUITE_PROGRESS=str(progress),
    )
    command = ["xargs", f"--arg-file={place / 'queue'}", "--max-lines=1", f"--max-procs={lanes()}", str(runner)]
    with _ending(stop, conditions.last_start):
        run_logged(command, logs_dir() / "suite-run.log", "suite", cwd=suite.objects, env=environment, count=".",
                   counted_in=progress, unit="tests", total=sum(len(piece.tests) for piece in queue),
                   check=False)  # fmt: skip
    reports = [path.read_text(errors="replace") for path in sorted(place.glob("*.junit.xml"))]
    return [result for report in reports for result in results.parse_report(report)], stop.exists()


def lanes() -> int:
    """How many runners at a time: one more than cores, as tests wait and sleep."""
    return (os.cpu_count() or 2) + 1


def _memory_gib() -> int:
    """Tests that say they need more are skipped."""
    return max(1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30)
