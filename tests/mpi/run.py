#!/usr/bin/env python3
"""Builds the MPI test programs with the mpicc of a prefix and runs them with its mpiexec.

    tests/mpi/run.py --prefix DIR [--fabric F]... [--smoke] [NAME...]

NAMEs choose tests by name or by shell pattern ('death-*'). The runs are in table.py; over tcp if
none is named. The last line counts what passed, failed and was skipped; the exit status is 1 if anything failed.
"""

import argparse
import fnmatch
import itertools
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

sys.dont_write_bytecode = True  # the checkout stays as it is

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent.parent / "tools"))

from madtool import hosts  # noqa: E402
from table import Test, by_default, over  # noqa: E402

PERF = HERE.parent.parent / "perf"
PINGPONG = PERF / "pingpong"
APPS = [*sorted((PERF / "apps").glob("*.cc")), PERF / "compare" / "channel.cc",
        *(PERF / "micro" / f"{name}.cc" for name in ("mpi_type", "cell", "expansion"))]  # fmt: skip

# -Wno-stringop-overflow: MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array.
C_FLAGS = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-pthread"]
OTHER_LANGUAGES = {
    ".f": ("mpif77", "-O2"),
    ".f90": ("mpifort", "-O2"),
    ".cc": ("mpicxx", "-O2", "-Wall", "-Wextra", "-Werror"),
}
SETTINGS = "MPIR_CVAR_CH4_MAD_"
TAG = "MAD_TEST_RUN"  # environment variable that tells a run's processes
SHOWN_LINES = 40  # of a failed test's output


class Skip(Exception):
    """A test that cannot be run here; the reason."""


# ---- building ----


class Builder:
    """Compiles what the chosen tests need, in parallel; a program that does not compile fails its tests."""

    def __init__(self, prefix: Path, build: Path) -> None:
        self._prefix = prefix
        self._build = build
        self._results: Dict[str, str] = {}  # program -> what the compiler said; "" when it is built

    def _compile(self, compiler: str, arguments: Sequence[str]) -> str:
        command = [str(self._prefix / "bin" / compiler), *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return "" if done.returncode == 0 else f"$ {' '.join(command)}\n{done.stdout}"

    def _support(self, source: Path) -> str:
        return self._compile("mpicc", [*C_FLAGS, "-c", str(source), "-o", str(self._object(source))])

    def _object(self, source: Path) -> Path:
        return self._build / f"support-{source.stem}.o"

    def _program(self, program: str, support: Sequence[Path]) -> str:
        binary = str(self._build / program)
        if program == "pingpong":
            return self._compile("mpicc", [*C_FLAGS, *map(str, sorted(PINGPONG.glob("*.c"))), "-o", binary])
        if program == "apps":
            sources = [str(path) for path in APPS if not path.name.endswith("_test.cc")]
            return self._compile("mpicc", ["-cc=g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-DMPICH_SKIP_MPICXX",
                                           f"-I{PERF.parent}", *sources, "-o", binary])  # fmt: skip
        for suffix, (compiler, *flags) in OTHER_LANGUAGES.items():
            source = HERE / f"{program}{suffix}"
            if source.exists():
                if not (self._prefix / "bin" / compiler).exists():
                    return ""  # skipped when it is to be run
                return self._compile(compiler, [*flags, str(source), "-o", binary])
        sources = [str(HERE / f"{program}.c")]
        if program == "pingpong_parts":
            sources += [str(path) for path in sorted(PINGPONG.glob("*.c")) if path.name != "main.c"]
            sources += ["-I", str(PINGPONG)]
            support = [self._object(HERE / "support" / "check.c")]  # the benchmark has its own type maps
        libraries = ["-lmad"] if program == "liar" else []  # it has an engine of its own
        return self._compile("mpicc", [*C_FLAGS, *sources, *map(str, support), "-o", binary, *libraries])

    def build(self, programs: Sequence[str]) -> None:
        sources = sorted((HERE / "support").glob("*.c"))
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as workers:
            complaints = "".join(workers.map(self._support, sources))
            if complaints:
                self._results = {program: complaints for program in programs}
                return
            objects = [self._object(source) for source in sources]
            results = workers.map(lambda program: self._program(program, objects), programs)
            self._results = dict(zip(programs, results))

    def complaints(self) -> str:
        """The compiler's words about what it did not build."""
        return "".join(self._results.values())

    def binary(self, program: str) -> Path:
        """The built program; Skip or a RuntimeError with the compiler's words."""
        if self._results.get(program):
            raise RuntimeError(self._results[program])
        binary = self._build / program
        if not binary.exists():
            raise Skip("this MPI has no compiler for its language")
        return binary


# ---- running ----


def environment(test: Test) -> Dict[str, str]:
    """The caller's, but with our settings as the table has them, and no costs of his; the interface is lo."""
    interface = SETTINGS + "INTERFACE"
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAD_VERBOSE", "MAD_TRACE") and (name == interface or not name.startswith(SETTINGS))
    }
    env.setdefault(interface, "lo")
    env["XDG_CONFIG_HOME"] = os.devnull
    env.update(test.env)
    return env


def kill_stragglers(tag: str) -> None:
    """Ends every process of the runs whose tags begin so: ranks outlive an mpiexec that was told not to clean up."""
    marker = f"\0{TAG}={tag}".encode()
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if marker in b"\0" + (directory / "environ").read_bytes():
                os.kill(int(directory.name), signal.SIGKILL)
        except OSError:  # gone, or somebody else's
            continue


def stop(process: "subprocess.Popen[str]") -> str:
    """Ends mpiexec, which ends its ranks; what they had printed."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            return process.communicate(timeout=10)[0]
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
    return ""


def ranks(test: Test, binary: Path) -> List[str]:
    """What mpiexec is to run."""
    program = [str(binary), *test.args]
    if test.shell:
        # mpiexec tells of a death by SIGUSR1, to the shell as well.
        program = ["sh", "-c", 'trap : USR1; "$@"; exit $?', "sh", *program]
    if test.apart:
        alone = 'mount -t tmpfs tmpfs /dev/shm && "$@"'
        program = ["unshare", "--mount", "--ipc", "--pid", "--fork", "--mount-proc", "sh", "-c", alone, "sh", *program]
    if not test.env_of_others:
        return ["-n", str(test.np), *program]
    settings = [word for name, value in test.env_of_others.items() for word in ("-env", name, value)]
    return ["-n", "1", *program, ":", "-n", str(test.np - 1), *settings, *program]


def execute(test: Test, prefix: Path, binary: Path, factor: float) -> Tuple[Optional[int], str]:
    """The exit status (None: time ran out) and everything printed."""
    preload = ["-genv", "LD_PRELOAD", str(prefix / "lib" / test.preload)] if test.preload else []
    mpiexec = [str(prefix / "bin" / "mpiexec"), *test.mpiexec, *preload]
    if not test.two_hosts:
        return wait_for([*mpiexec, *ranks(test, binary)], test, factor)
    try:
        with hosts.two_hosts(test.np) as (before, options):
            return wait_for([*before, *mpiexec, *options, *ranks(test, binary)], test, factor)
    except hosts.NoHosts as reason:
        raise Skip(f"no two hosts here: {reason}") from reason


def wait_for(command: Sequence[str], test: Test, factor: float) -> Tuple[Optional[int], str]:
    tag = f"{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}-"
    process = subprocess.Popen(command, env={**environment(test), TAG: tag}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)  # fmt: skip
    try:
        output = process.communicate(timeout=test.timeout * factor)[0]
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return None, stop(process)
    except BaseException:
        stop(process)
        raise
    finally:
        kill_stragglers(tag)


def complaint(test: Test, status: Optional[int], output: str) -> str:
    """What is wrong with a run; "" when nothing is."""
    if status is None:
        return "did not end in time"
    lines = output.splitlines()
    ok = f"ok {test.program}"
    if test.expect in ("ok", "says"):
        others = [line for line in lines if line != ok]
        for text in test.texts:
            if others.count(text) != test.np:
                return f"'{text}' printed {others.count(text)} times by {test.np} ranks"
        if status != 0:
            return f"exit status {status}"
        if lines.count(ok) != 1:
            return f"did not print '{ok}' once"
        return "printed more than expected" if others and test.expect == "ok" else ""
    if test.expect == "survives":
        if any(re.match(r"\S+\.c:\d+: rank \d+: ", line) for line in lines):
            return "a rank found failures"
        return "" if ok in lines else f"no witness printed '{ok}'"
    if (status != 0) != (test.expect == "refused"):
        return f"exit status {status}"
    missing = [text for text in test.texts if text not in output]
    return f"did not say '{missing[0]}'" if missing else ""


def skip_reason(output: str) -> str:
    lines = output.splitlines()
    return lines[0][len("SKIP: "):] if len(lines) == 1 and lines[0].startswith("SKIP: ") else ""


def run_one(test: Test, prefix: Path, builder: Builder, factor: float) -> Tuple[str, str, str]:
    """(passed, failed or skipped; why; what was printed)."""
    try:
        status, output = execute(test, prefix, builder.binary(test.program), factor)
    except Skip as reason:
        return "skipped", str(reason), ""
    except RuntimeError as words:
        return "failed", "does not compile", str(words)
    reason = skip_reason(output)
    if status == 0 and reason:
        return "skipped", reason, ""
    wrong = complaint(test, status, output)
    return ("failed" if wrong else "passed"), wrong, output if wrong else ""


def report(test: Test, result: str, why: str, output: str, seconds: float, width: int) -> None:
    line = f"{test.name:<{width}}  {test.np:>2} ranks  {result:<7} {seconds:6.1f} s"
    print(f"{line}  {why}".rstrip(), flush=True)
    for words in output.splitlines()[-SHOWN_LINES:]:
        print(f"    {words}", flush=True)


def run_all(tests: Sequence[Test], prefix: Path, builder: Builder, factor: float, last_start: float,
            jobs: int = 1) -> Dict[str, int]:  # fmt: skip
    """Runs them, `jobs` at a time but for those that want to be alone, until the clock says `last_start`, in seconds
    as time.monotonic(); the others are skipped."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    width = max(len(test.name) for test in tests)
    interrupted = threading.Event()

    def one(test: Test) -> Tuple[Test, str, str, str, float]:
        start = time.monotonic()
        if start > last_start or interrupted.is_set():
            return test, "skipped", "no time left", "", 0.0
        return (test, *run_one(test, prefix, builder, factor), time.monotonic() - start)

    with ThreadPoolExecutor(max_workers=jobs) as workers:
        try:
            together = workers.map(one, [test for test in tests if not test.alone])
            for done in itertools.chain(together, map(one, [test for test in tests if test.alone])):
                counts[done[1]] += 1
                report(*done, width)
        except BaseException:
            interrupted.set()
            kill_stragglers(f"{os.getpid()}-")
            raise
    return counts


# ---- the command ----


def chosen(fabrics: Sequence[str], smoke: bool, patterns: Sequence[str]) -> List[Test]:
    """The tests over these fabrics, or over tcp; of them those that a pattern names."""
    tests = [test for fabric in fabrics for test in over(fabric, smoke)] if fabrics else by_default()

    def fits(test: Test, pattern: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for name in (test.name, test.name.partition("@")[0]))

    for pattern in patterns:
        if not any(fits(test, pattern) for test in tests):
            sys.exit(f"run.py: no test {pattern}; --list names them")
    return [test for test in tests if not patterns or any(fits(test, pattern) for pattern in patterns)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, help="where bin/mpicc and bin/mpiexec are")
    parser.add_argument("--build", type=Path, metavar="DIR", help="where the programs go (default: a temporary "
                        "directory)")  # fmt: skip
    parser.add_argument("--fabric", action="append", default=[], metavar="F", help="over this one; may be repeated")
    parser.add_argument("--smoke", action="store_true", help="over each fabric only a little of everything")
    parser.add_argument("--last-start", type=float, default=math.inf, metavar="S", help="no test is started later "
                        "than so many seconds after the command")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many tests at a time")
    parser.add_argument("--patience", type=float, default=1.0, metavar="X", help="all time limits times X")
    parser.add_argument("--only-build", action="store_true", help="build the programs, run none")
    parser.add_argument("--built", action="store_true", help="the programs are in --build, built before")
    parser.add_argument("--list", action="store_true", help="print the tests' names")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these tests")
    arguments = parser.parse_args()
    begin = time.monotonic()
    tests = chosen(arguments.fabric, arguments.smoke, arguments.names)
    if arguments.list:
        print("\n".join(test.name for test in tests))
        return 0
    if arguments.smoke and not arguments.fabric:
        parser.error("--smoke needs a --fabric")
    if (arguments.only_build or arguments.built) and not arguments.build:
        parser.error("--only-build and --built need --build")
    if arguments.prefix is None or not (arguments.prefix / "bin" / "mpicc").exists():
        parser.error("--prefix must name a directory with bin/mpicc and bin/mpiexec")
    prefix = arguments.prefix.resolve()
    with tempfile.TemporaryDirectory(prefix="mad-mpi-tests-") as temporary:
        build = (arguments.build or Path(temporary)).resolve()
        build.mkdir(parents=True, exist_ok=True)
        builder = Builder(prefix, build)
        programs = sorted({test.program for test in tests})
        if not arguments.built:
            builder.build(programs)
            print(f"built {len(programs)} programs in {time.monotonic() - begin:.1f} s", flush=True)
        if arguments.only_build:
            complaints = builder.complaints()
            print(complaints, end="", flush=True)
            return 1 if complaints else 0
        counts = run_all(tests, prefix, builder, arguments.patience, begin + arguments.last_start,
                         arguments.jobs)  # fmt: skip
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
