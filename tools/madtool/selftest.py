"""`tools/mad selftest`: whether a fabric works between two hosts and how fast, in one file that can be sent to others."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

from madtool import conformance_suite, fabrics, mpi_stages, mpich_build, own_program, pingpong, selftest_host
from madtool.errors import Failure, Missing
from madtool.log import run_logged, say, stage, tail
from madtool.paths import CHECKOUT, cache_root, digest, logs_dir, output_file
from madtool.selftest_report import Report, Scrubber, cells, counted, plot
from madtool.stages import Tally

_FABRIC, _INTERFACE = "MPIR_CVAR_CH4_MAD_FABRIC", "MPIR_CVAR_CH4_MAD_INTERFACE"
_HERE = "localhost"
_HOST_SCRIPT = Path(selftest_host.__file__)
# A little of everything that goes between two processes; names of tests/mpi.
_PROGRAMS = ("hello", "paths", "truncation", "bursts", "collectives", "rma", "checksum")
_GRID = ("--types", "contiguous,vector-gap", "--bytes", "64,1K,8K,64K,512K,4M", "--blocks", "16", "--modes", "auto",
         "--receive", "typed")  # fmt: skip
_TITLES = {"contiguous": "contiguous", "vector-gap": "16 rows with holes between them, on both sides"}
_ROUNDS, _TRACED_ROUNDS = "40", "3"
_FACTS_LIMIT_S, _PINGPONG_LIMIT_S = 45, 300
_RDMA = re.compile(r"(?:^|;)(?:ofi:verbs|ucx:(?:rc|ud)|auto)")
# What a launcher says that cannot start anything; mpiexec may wait on nevertheless.
_UNREACHABLE = re.compile(r"^(ssh: .*|.*Permission denied.*|Host key verification failed.*|bash: .*)$", re.MULTILINE)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "selftest", help="try a fabric between two hosts; one file to send to others",
        description="Runs MPI programs that compare every byte, and a ping-pong, over a fabric between two hosts or "
        "two processes of this one, and writes what came of it with the devices, limits, counters and versions of "
        "both into one file of at most 200 lines. Names of hosts that were not given, addresses, users and places are "
        "taken out. mpiexec starts the processes (by ssh, unless HYDRA_LAUNCHER says otherwise): the checkout and the "
        "cache must be where they are on both hosts. Takes some minutes. Ends with 1 if something failed, with 2 if a "
        "host or the fabric is not there.",
    )  # fmt: skip
    parser.add_argument("--fabric", metavar="F", default="auto", help="default: %(default)s")
    parser.add_argument("--hosts", metavar="A,B", default=_HERE, help="two names, as for mpiexec (default: two processes "
                        "here)")  # fmt: skip
    parser.add_argument("--interface", metavar="I", help="network interface on both (default: the fabric's choice; lo "
                        "where both processes are here and the fabric is of no RDMA device)")  # fmt: skip
    parser.add_argument("--output", metavar="FILE", help="default: mad-selftest-F.txt")
    parser.set_defaults(function=run)


@dataclass(frozen=True)
class Place:
    """Where the two processes are, and by what they talk."""

    hosts: Tuple[str, ...]  # one: both are here
    fabric: str
    interface: str  # empty: the fabric's choice
    prefix: Path

    def environment(self) -> Dict[str, str]:
        """The caller's, with our settings; every launcher gets an end."""
        patience = {"HYDRA_LAUNCHER_EXTRA_ARGS": "-o BatchMode=yes -o ConnectTimeout=10"}
        if os.environ.get("HYDRA_LAUNCHER", "ssh") != "ssh" or len(self.hosts) == 1:
            patience = {}
        return {**patience, **mpich_build.program_environment(), "XDG_CONFIG_HOME": os.devnull,
                _FABRIC: self.fabric, _INTERFACE: self.interface}  # fmt: skip

    @contextmanager
    def two_ranks(self) -> Iterator[Dict[str, str]]:
        """The environment in which mpiexec places its ranks on the hosts by turns."""
        if len(self.hosts) == 1:
            yield self.environment()
            return
        with tempfile.TemporaryDirectory(prefix="mad-selftest-") as directory:
            listed = Path(directory) / "hosts"
            listed.write_text("".join(f"{host}:1\n" for host in self.hosts))
            yield {**self.environment(), "HYDRA_HOST_FILE": str(listed)}

    def on(self, host: str, command: Sequence[str]) -> List[str]:
        """The command, on that host."""
        if len(self.hosts) == 1:
            return list(command)
        return [str(self.prefix / "bin" / "mpiexec"), "-hosts", host, "-n", "1", *command]


def _hosts(words: str) -> Tuple[str, ...]:
    names = tuple(words.split(","))
    if names in ((_HERE,), (_HERE, _HERE)):
        return (_HERE,)
    if len(names) != 2 or not all(re.fullmatch(r"[\w.:-]+", name) for name in names) or names[0] == names[1]:
        raise Missing(f"--hosts {words}: two names are wanted, as in --hosts node1,node2, or localhost alone")
    return names


def _answer(place: Place, host: str, command: Sequence[str], limit_s: float) -> Tuple[int, str]:
    """Exit code and output of a command on a host. Missing: the host cannot be reached."""
    with tempfile.TemporaryFile() as said:

        def text() -> str:
            said.seek(0)
            return said.read().decode(errors="replace")

        deadline = time.monotonic() + limit_s
        with subprocess.Popen(place.on(host, command), env=place.environment(), stdin=subprocess.DEVNULL, stdout=said,
                              stderr=subprocess.STDOUT) as child:  # fmt: skip
            while True:
                try:
                    return child.wait(timeout=0.2), text()
                except subprocess.TimeoutExpired:
                    refused = _UNREACHABLE.search(text()) if len(place.hosts) > 1 else None
                except BaseException:
                    child.kill()
                    raise
                if refused or time.monotonic() > deadline:
                    child.kill()
                    why = refused.group(1) if refused else f"no answer within {limit_s:.0f} s"
                    raise Missing(f"nothing can be started on {host}: {why}; what must work is: ssh {host} true")


def _facts(place: Place, host: str) -> Dict[str, object]:
    python = sys.executable if len(place.hosts) == 1 else "python3"
    code, text = _answer(place, host, [python, "-B", str(_HOST_SCRIPT)], _FACTS_LIMIT_S)
    for line in text.splitlines():
        if line.startswith("{"):
            return dict(json.loads(line))
    raise Missing(f"{host} does not run python3 {_HOST_SCRIPT} (exit {code}): the checkout must be there, too.\n{text}")


def _counted_since(place: Place, host: str, before: Dict[str, object]) -> Sequence[str]:
    """A host that does not answer any more is part of the report, not its end."""
    try:
        return counted(_counters(before), _counters(_facts(place, host)))
    except Missing as gone:
        return str(gone).splitlines()


def _info(place: Place, host: str, program: Path) -> str:
    """What `tools/mad info` says there of the fabric. Missing: it is not there."""
    interface = ["--interface", place.interface] if place.interface else []
    command = [str(program), "--self-test", *interface, place.fabric]
    code, text = _answer(place, host, command, _FACTS_LIMIT_S)
    why = "; ".join(f"{fabric}: {words}" for fabric, words in fabrics.CANNOT.findall(text))
    if why or code not in (0, 1):
        raise Missing(f"on {host} the fabric cannot be used: {why or text.strip()}")
    return text


def _conformance(place: Place) -> Tuple[Tally, str]:
    log = logs_dir() / "selftest-programs.log"
    build = cache_root() / "mpi-tests" / digest(str(place.prefix))
    command = [sys.executable, "-B", str(mpi_stages.PROGRAMS), "--prefix", str(place.prefix), "--build", str(build),
               "--fabric", place.fabric, "--patience", "2", *_PROGRAMS]  # fmt: skip
    with place.two_ranks() as environment:
        code = run_logged(command, log, "MPI programs", env=environment, count=r" ranks +(passed|failed|skipped) ",
                          unit="programs", total=len(_PROGRAMS), check=False)  # fmt: skip
    text = log.read_text(errors="replace")
    return mpi_stages.count(text, log, code), text


def _measure(place: Place, binary: Path, rounds: str, settings: Mapping[str, str], words: Sequence[str]) -> bool:
    log = logs_dir() / "selftest-pingpong.log"
    command = ["timeout", "-k", "5", str(_PINGPONG_LIMIT_S), str(place.prefix / "bin" / "mpiexec"), "-n", "2", str(binary),
               *_GRID, "--iterations", rounds, *words]  # fmt: skip
    with place.two_ranks() as environment:
        return run_logged(command, log, "ping-pong", env={**environment, **settings}, check=False) == 0


def _pingpong(place: Place, report: Report, scratch: Path) -> bool:
    """Whether every byte of it was right; what it measured, and what the engine did."""
    binary = pingpong.program(place.prefix)
    csv, log = scratch / "results.csv", logs_dir() / "selftest-pingpong.log"
    fine = _measure(place, binary, _ROUNDS, {"MAD_VERBOSE": "1"}, ["--csv", str(csv)])
    said = dict.fromkeys(line for line in log.read_text(errors="replace").splitlines()
                         if line.startswith(("libmad: ", "auto: ")))  # fmt: skip
    report.section("what was opened", said, 12)
    if not fine:
        report.section("the ping-pong failed", tail(log, 20).splitlines())
        return False
    report.section("ping-pong: half a round trip, the least of 40; every byte was compared", plot(cells(csv), _TITLES))
    fine = _measure(place, binary, _TRACED_ROUNDS, {"MAD_TRACE": str(scratch / "trace.%p")}, [])
    for trace in sorted(scratch.glob("trace.*"))[:1]:
        summary = [line.partition(": ")[2] for line in trace.read_text(errors="replace").splitlines()]
        begin = next((at for at, line in enumerate(summary) if line.startswith("summary of fabric")), len(summary))
        report.section(f"what one engine did in {_TRACED_ROUNDS} rounds of it", summary[begin:], 20)
    if not fine:
        report.section("the traced ping-pong failed", tail(log, 20).splitlines())
    return fine


def _versions(prefix: Path) -> List[str]:
    described = subprocess.run(["git", "-C", str(CHECKOUT), "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()  # fmt: skip
    installed = re.search(r"^Version: (.*)$", (prefix / "lib" / "pkgconfig" / "mad.pc").read_text(), re.MULTILINE)
    return [conformance_suite.version(prefix),
            f"libmad {installed.group(1) if installed else 'unknown'}, checkout {described or 'without git'}"]  # fmt: skip


def _of_host(facts: Mapping[str, object]) -> List[str]:
    return [f"{name}: {value}" for name, value in facts.items() if name not in ("names", "counters")]


def _counters(facts: Mapping[str, object]) -> Dict[str, int]:
    found = facts["counters"]
    assert isinstance(found, dict)
    return found


def _names(facts: Sequence[Mapping[str, object]]) -> List[str]:
    names: List[str] = []
    for each in facts:
        its = each["names"]
        assert isinstance(its, list)
        names += its
    return names


def run(arguments: argparse.Namespace) -> int:
    hosts = _hosts(arguments.hosts)
    fabrics.check(arguments.fabric)
    here = len(hosts) == 1
    interface = arguments.interface or ("lo" if here and not _RDMA.search(arguments.fabric) else "")
    usual = f"mad-selftest-{re.sub(r'[^A-Za-z0-9]+', '-', arguments.fabric)}.txt"
    output = output_file("--output", arguments.output or usual)
    program = own_program.built("info")
    place = Place(hosts, arguments.fabric, interface, mpich_build.ensure_as_before().prefix)
    with stage(f"selftest: {' and '.join(hosts)}"):
        before = [_facts(place, host) for host in hosts]
        told = [_info(place, host, program) for host in hosts]
    report = Report(Scrubber(hosts, _names(before)))
    report.section("versions", _versions(place.prefix))
    for host, facts, info in zip(hosts, before, told):
        report.section(f"{host}", [*_of_host(facts), "", *info.splitlines()])
    with stage("selftest: MPI programs"):
        tally, text = _conformance(place)
    shown = [line for line in text.splitlines() if re.search(r" ranks +(passed|failed|skipped) ", line)]
    report.section(f"MPI programs that compare every byte: {tally}", [*shown, *tally.notes], 30)
    with stage("selftest: ping-pong"), tempfile.TemporaryDirectory(prefix=".mad-selftest-", dir=cache_root()) as scratch:
        fine = _pingpong(place, report, Path(scratch))
    for host, facts in zip(hosts, before):
        report.section(f"counters of {host}'s RDMA devices", _counted_since(place, host, facts))
    passed = fine and not tally.failed and tally.passed > 0
    where = "two processes of one host" if here else " and ".join(hosts)
    verdict = f"mad selftest: fabric {place.fabric}, {where}: {'passed' if passed else 'FAILED'}"
    try:
        output.write_text(report.text(verdict))
    except OSError as error:
        raise Failure(f"--output: {error}") from None
    say(f"the report is in {output}")
    print(verdict, flush=True)
    return 0 if passed else 1
