"""Checks that run in a machine of the RDMA lab: as a bash script, and what its files say afterwards."""

import re
import shlex
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Mapping, Sequence, Tuple

from madtool import bazel_tests, mpi_stages
from madtool.log import tail
from madtool.stages import Tally

EXIT, GTEST, MPI = "exit", "gtest", "mpi"  # by what a check is counted
CHECKS = "/lab/checks"
_NOTE_LINES = 40
_EXIT_S = 5  # from the signal that asks a check to end to the one that ends it
# What a fabric that keeps its buffers and its order never causes: receivers that were not ready, packets out of their
# order, retries without end. Packets that are sent again after a time, and so come twice, are the emulator's slowness
# (completer_retry_err, duplicate_request).
_FAULTS = re.compile(r"rnr|seq|exceeded")
_NO_COUNTER = "lifespan"  # how long the others may be old, in ms


@dataclass(frozen=True)
class Account:
    """Who runs the checks, and how much memory he may lock, in KiB; None: all he wants."""

    name: str
    uid: int
    memlock_kib: "int | None"


ROOT = Account("root", 0, None)
# 8 MiB is what systems give that were not set up for RDMA.
USER = Account("user", 65534, 8192)


@dataclass(frozen=True)
class Check:
    """One command of bash, with a name that is one of a file, too.

    judged: EXIT, one check that passes with exit code 0; GTEST, the cases of a GoogleTest program, which writes its
    report to $REPORT; MPI, the last line of tests/mpi/run.py.
    clean: fails also where the device counted faults meanwhile.
    """

    name: str
    command: str
    judged: str = EXIT
    limit_s: int = 60
    env: Mapping[str, str] = field(default_factory=dict)
    clean: bool = False


# That others than root come as far as to this directory: in this machine only.
_REACH = 'reach() { local at=$1; while [ "$at" != / ]; do chmod a+rx "$at"; at=$(dirname "$at"); done; }\n'


def become(account: Account, reached: Sequence[Path] = ()) -> str:
    """Bash that defines `as_account`, which runs a command with the account's rights and limits, and lets it enter the
    directories `reached`."""
    limit = "unlimited" if account.memlock_kib is None else str(account.memlock_kib)
    words, before = "", ""
    if account.uid:
        words = f"setpriv --reuid {account.uid} --regid {account.uid} --clear-groups env HOME=/tmp "
        before = _REACH + "".join(f"reach {shlex.quote(str(directory))}\n" for directory in reached)
    return before + f'as_account() {{ ulimit -l {limit}; {words}"$@"; }}\n'


_PRELUDE = """\
counters() { (cd /sys/class/infiniband/rxe0/ports/1/hw_counters && grep . *); }
# COMMAND: is tried until it succeeds, but not without its server, where $server is one.
again() {
  local i
  for i in $(seq 60); do
    eval "$1" && return
    [ -z "$server" ] || kill -0 "$server" 2> /dev/null || return
    sleep 1
  done
  return 1
}
# SERVER CLIENT: the client is tried until the server listens.
pair() {
  eval "$1 &"; local server=$!
  if again "$2"; then wait "$server"; return; fi
  kill "$server" 2> /dev/null
  return 1
}
export -f again pair
check() {  # NAME SECONDS COMMAND
  echo "== $1"
  counters > "$checks/$1.before"
  REPORT=$checks/$1.xml as_account timeout -k "$exit_s" "$2" bash -c "$3" > "$checks/$1.output" 2>&1
  echo $? > "$checks/$1.exit"
  counters > "$checks/$1.after"
  tail -n 3 "$checks/$1.output"
  echo "== $1: exit $(cat "$checks/$1.exit")"
}
mkdir -p "$checks"; chmod 1777 "$checks"; cd /tmp
"""


def script(checks: Sequence[Check], account: Account, reached: Sequence[Path] = ()) -> str:
    """What the machine runs; `reached` are directories that every account is to enter."""
    lines = [f"checks={CHECKS} exit_s={_EXIT_S}\n{become(account, reached)}{_PRELUDE}"]
    for check in checks:
        settings = "".join(f"export {name}={shlex.quote(value)}; " for name, value in check.env.items())
        lines.append(f"check {check.name} {check.limit_s} {shlex.quote(settings + check.command)}")
    lines += ["echo '== counters'", 'counters | tee "$checks/counters"']
    return "\n".join(lines) + "\n"


def limit_s(checks: Sequence[Check], boot_s: float) -> float:
    return boot_s + sum(check.limit_s + _EXIT_S for check in checks)


def counters(text: str) -> Dict[str, int]:
    """NAME:VALUE, as `grep . *` prints the device's counters."""
    return {name: int(value) for name, value in re.findall(r"^(\w+):(\d+)$", text, re.MULTILINE)}


def faults(before: Mapping[str, int], after: Mapping[str, int]) -> Dict[str, int]:
    """How many of each kind came in between."""
    return {name: value - before.get(name, 0) for name, value in after.items()
            if _FAULTS.search(name) and value != before.get(name, 0)}  # fmt: skip


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _by_exit(code: int, output: Path) -> Tally:
    if code == 0:
        return Tally(passed=1)
    return Tally(failed=1, notes=(f"ended with {code}; last lines of {output}:\n{tail(output, _NOTE_LINES)}",))


def _by_cases(code: int, output: Path) -> Tally:
    """A report is written at the end: a program that died has none."""
    try:
        counted = bazel_tests.cases(output.with_suffix(".xml"))
    except (OSError, ElementTree.ParseError):
        return _by_exit(code or 1, output)
    return counted if code == 0 or counted.failed else counted + _by_exit(code, output)


def judge(check: Check, directory: Path) -> Tally:
    """What a check's files in the directory say of it."""
    code, output = _read(directory / f"{check.name}.exit").strip(), directory / f"{check.name}.output"
    if not code:
        return Tally(failed=1, notes=(f"{check.name}: did not come to its end",))
    if check.judged == GTEST:
        tally = _by_cases(int(code), output)
    elif check.judged == MPI:
        tally = mpi_stages.count(_read(output), output, int(code))
    else:
        tally = _by_exit(int(code), output)
    if check.clean:
        seen = faults(*(counters(_read(directory / f"{check.name}.{when}")) for when in ("before", "after")))
        words = ", ".join(f"{name} {value}" for name, value in seen.items())
        tally += Tally(failed=1, notes=(f"the device counted {words}",)) if seen else Tally(passed=1)
    return Tally(tally.passed, tally.failed, tally.skipped, tuple(f"{check.name}: {note}" for note in tally.notes))


def table(text: str) -> Tuple[str, ...]:
    """The counters that are not 0, for people."""
    return tuple(f"{name} {value}" for name, value in counters(text).items() if value and name != _NO_COUNTER)
