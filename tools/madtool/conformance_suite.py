"""MPICH's own test suite against an installed MPI: configured out of tree in the cache, compiled, run.

The suite is the release's, untouched.  Its programs are compiled beforehand on all cores and kept, since
its runner compiles them one by one; libmpi is shared, so they stay good when the library changes.
"""

import os
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, Tuple

from madtool import conformance_results as results
from madtool import lock, mpich_build, source
from madtool.errors import Failure, Missing
from madtool.log import run_logged, say, stage
from madtool.paths import Stamps, cache_root, digest, file_digest, logs_dir

_OPTIONS = ("--disable-cxx", "--disable-fortran", "--disable-romio")
# The whole suite's mpiexec calls go through this: each leaves a line, which is how far it has come.
_WRAPPER = """#!/bin/sh
echo "$PWD $*" >> "$MAD_SUITE_PROGRESS"
exec "{mpiexec}" "$@"
"""


@dataclass(frozen=True)
class Suite:
    """The suite configured for one MPI."""

    prefix: Path
    home: Path

    @property
    def objects(self) -> Path:
        return self.home / "build"

    @property
    def mpiexec(self) -> Path:
        return self.home / "mpiexec"


@dataclass(frozen=True)
class Conditions:
    """Under which tests run: seconds each may take, environment variables, and when the last may start."""

    timeout_s: int
    settings: Mapping[str, str] = field(default_factory=dict)
    last_start: float = float("inf")  # as time.monotonic()


def over(fabric: str) -> Dict[str, str]:
    """The settings that choose a fabric."""
    return {"MPIR_CVAR_CH4_MAD_FABRIC": fabric, "MPIR_CVAR_CH4_MAD_INTERFACE": "lo"}


def _suite_source(mpich: "str | None") -> Tuple[Path, str]:
    """test/mpi of the release source; unpacked once."""
    origin = source.obtain(mpich)
    home = cache_root() / "suite-source" / digest(origin.identity)
    tree = home / f"mpich-{source.RELEASE}"
    if not tree.is_dir():
        with stage("suite: unpacking MPICH's test suite"):
            source.unpack(origin, tree)
    return tree / "test" / "mpi", origin.identity


def _environment() -> Dict[str, str]:
    environment = dict(os.environ)
    wrappers = Path("/usr/lib/ccache")
    if (wrappers / "gcc").exists():
        environment["PATH"] = f"{wrappers}:{environment.get('PATH', '')}"
    return environment


def prepare(prefix: Path, mpich: "str | None" = None) -> Suite:
    """Configures the suite for the MPI in `prefix` and builds what its programs share."""
    with lock.held(cache_root() / "suite.lock", "suite"):
        return _prepare(prefix, mpich)


def _prepare(prefix: Path, mpich: "str | None") -> Suite:
    for name in ("mpicc", "mpiexec"):
        if not (prefix / "bin" / name).is_file():
            raise Missing(f"no MPI in {prefix}: bin/{name} is missing")
    tree, identity = _suite_source(mpich)
    suite = Suite(prefix, cache_root() / "conformance" / digest(str(prefix), identity))
    stamps = Stamps(suite.home / "stamps")
    wanted = digest(file_digest(prefix / "include" / "mpi.h"), file_digest(prefix / "bin" / "mpicc"))
    if stamps.get("configured") == wanted:
        return suite
    stamps.clear("configured")
    shutil.rmtree(suite.objects, ignore_errors=True)
    suite.objects.mkdir(parents=True)
    (suite.objects / "source").symlink_to(tree)
    suite.mpiexec.write_text(_WRAPPER.format(mpiexec=prefix / "bin" / "mpiexec"))
    suite.mpiexec.chmod(0o755)
    with stage("suite: configure"):
        run_logged([str(tree / "configure"), f"--with-mpi={prefix}", *_OPTIONS],
                   logs_dir() / "suite-configure.log", "suite: configure", cwd=suite.objects,
                   env=_environment(), count="^checking ", unit="checks")  # fmt: skip
        for shared in ("dtpools", "util"):
            if (suite.objects / shared / "Makefile").is_file():
                run_logged(["make", f"-j{os.cpu_count() or 2}"], logs_dir() / f"suite-{shared}.log",
                           f"suite: {shared}", cwd=suite.objects / shared, env=_environment())  # fmt: skip
    stamps.set("configured", wanted)
    return suite


def directories(suite: Suite) -> List[str]:
    """The directories that have a list of tests."""
    return sorted(p.parent.name for p in (suite.objects / "source").glob("*/testlist*")
                  if (suite.objects / p.parent.name).is_dir())  # fmt: skip


def expected(suite: Suite, directory: str) -> List[results.Listed]:
    try:
        return list(results.listed_tests(suite.objects, directory))
    except OSError as error:
        raise Missing(f"the suite has no tests in {directory}: {error}") from error


def compile_programs(suite: Suite, directory: str, tests: List[results.Listed]) -> None:
    """Compiles what is listed; what does not compile is reported by the suite's runner."""
    places: Dict[str, List[str]] = {}
    for test in tests:
        places.setdefault(test.directory, []).append(test.program)
    for place, programs in places.items():
        missing = [p for p in dict.fromkeys(programs) if not (suite.objects / place / p).exists()]
        if missing:
            log = logs_dir() / f"suite-compile-{place.replace('/', '-')}.log"
            run_logged(["make", "-k", f"-j{os.cpu_count() or 2}", *missing], log,
                       f"{directory}: compiling", cwd=suite.objects / place, env=_environment(),
                       count=r"^\s+CCLD\s", unit="programs", total=len(missing), check=False)  # fmt: skip


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


def run_directory(suite: Suite, directory: str, conditions: Conditions) -> List[results.Result]:
    """Compiles and runs the tests of one directory under the suite's own runner."""
    safe = directory.replace("/", "-")
    tests = expected(suite, directory)
    if time.monotonic() > conditions.last_start:
        return results.complete(tests, [], results.LATE)
    with lock.held(suite.home / f"{safe}.lock", directory):  # two runners would write one report
        return _run_directory(suite, directory, tests, suite.home / safe, conditions)


def _run_directory(suite: Suite, directory: str, tests: List[results.Listed], place: Path,
                   conditions: Conditions) -> List[results.Result]:  # fmt: skip
    """The runner's files are beside `place`."""
    compile_programs(suite, directory, tests)
    report, progress, stop = (place.with_suffix(suffix) for suffix in (".junit.xml", ".progress", ".stop"))
    for stale in (report, progress):
        stale.unlink(missing_ok=True)
    environment = {**_environment(), **conditions.settings}
    environment.update(
        MPITEST_TIMEOUT=str(conditions.timeout_s),
        MPITEST_CLEANUP="0",
        MPITEST_MEMORY_TOTAL=str(_memory_gib()),
        MPITEST_STOPTEST=str(stop),
        MAD_SUITE_PROGRESS=str(progress),
    )
    command = [str(suite.objects / "runtests"), f"-srcdir={suite.objects / 'source'}", "-tests=testlist",
               f"-testdirs={directory}", f"-mpiexec={suite.mpiexec}", f"-junitfile={report}"]  # fmt: skip
    log = logs_dir() / f"suite-{place.name}.log"
    with _ending(stop, conditions.last_start):
        run_logged(command, log, directory, cwd=suite.objects, env=environment, count=".", counted_in=progress,
                   unit="tests", total=len(tests), check=False)  # fmt: skip
    if not report.is_file():
        raise Failure(f"the suite's runner left no report for {directory}; see {log}")
    missing = results.LATE if stop.exists() else results.NOT_RUN
    return results.complete(tests, results.parse_report(report.read_text(errors="replace")), missing)


def _memory_gib() -> int:
    """Tests that say they need more are skipped."""
    return max(1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30)


def version(prefix: Path) -> str:
    """What the MPI says it is, in one line."""
    answer = subprocess.run([str(prefix / "bin" / "mpichversion")], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False)  # fmt: skip
    facts = [" ".join(line.split()) for line in answer.stdout.splitlines() if "Version:" in line or "Device:" in line]
    return ", ".join(facts) or "an MPI without mpichversion"


def mad_suite() -> Suite:
    """The suite for this checkout's own MPI."""
    build = mpich_build.ensure_as_before()
    say(f"suite: {version(build.prefix)}")
    return prepare(build.prefix, mpich_build.named_source())
