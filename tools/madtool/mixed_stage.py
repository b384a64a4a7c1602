"""The stage `mixed` of `tools/mad test`: libmad on a big-endian machine, and that with this one.

The machine is an s390x, for which Debian has a cross compiler, played process by process by QEMU's user-mode
emulation.  Nothing else of it is here, so that its libmad is without libfabric and UCX (tests/mixed/other.mk).
"""

import platform
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import List, Sequence, Tuple

from madtool import bazel, lock, packages
from madtool.errors import Failure
from madtool.log import interrupts_held_back, run_logged, say, stage, tail
from madtool.paths import CHECKOUT, cache_root, logs_dir
from madtool.source import download
from madtool.stages import Tally

_TRIPLE = "s390x-linux-gnu"
_EMULATOR = ("qemu-s390x",)
_SODIUM = "libsodium"
_PAIR = "//tests/mixed:pair"
_PAIR_S = 600
_SEED = "49"
_PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.MULTILINE)
_FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below", re.MULTILINE)
_SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below", re.MULTILINE)


@dataclass(frozen=True)
class Meeting:
    """Two processes that exchange everything: on this machine or the other, the first and the second."""

    first: str
    second: str
    fabric: str
    checksum: bool

    def __str__(self) -> str:
        return f"{self.first} and {self.second} over {self.fabric}{', checksums' if self.checksum else ''}"


HERE, THERE = "here", "there"
MEETINGS = (
    *(Meeting(one, two, "tcp", checksum) for one, two in ((HERE, THERE), (THERE, HERE)) for checksum in (False, True)),
    Meeting(THERE, THERE, "tcp", True),
    Meeting(THERE, THERE, "shm", False),
    Meeting(HERE, THERE, "shm;tcp", False),  # the two are of one host, and share no memory
)


def _sodium() -> Path:
    """libsodium for the other machine: its headers and a static library."""
    place = cache_root() / "mixed" / f"sodium-{_TRIPLE}"
    if place.is_dir():
        return place
    with stage(f"mixed: {_SODIUM} for {_TRIPLE}"), tempfile.TemporaryDirectory(dir=place.parent) as made:
        tree, built = Path(made) / "tree", Path(made) / "built"
        tree.mkdir()
        archive = download(_SODIUM, Path(made) / "source")
        run_logged(["tar", "-xf", str(archive), "-C", str(tree), "--strip-components=1"],
                   logs_dir() / "mixed-unpack.log", f"unpacking {_SODIUM}")  # fmt: skip
        for number, command in enumerate((
            ["autoreconf", "-fi"],
            ["./configure", f"--host={_TRIPLE}", "--disable-shared", "--enable-static", f"--prefix={built}",
             "CFLAGS=-O1"],
            ["make", "-j2", "-C", "src", "install"],
        )):  # fmt: skip
            run_logged(command, logs_dir() / f"mixed-sodium-{number}.log", f"{_SODIUM}: {command[0]}", cwd=tree)
        built.rename(place)
    return place


def _build() -> Path:
    """The other machine's programs."""
    out = cache_root() / "mixed" / f"out-{_TRIPLE}"
    out.mkdir(parents=True, exist_ok=True)
    command = ["make", "-j2", "-f", "tests/mixed/other.mk", f"CXX={_TRIPLE}-g++", f"AR={_TRIPLE}-ar",
               f"SODIUM={_sodium()}", f"OUT={out}"]  # fmt: skip
    run_logged(command, logs_dir() / "mixed-build.log", f"libmad for {_TRIPLE}", cwd=CHECKOUT,
               count=rf"^{_TRIPLE}-g\+\+", unit="files")  # fmt: skip
    return out


def counted(text: str) -> Tally:
    """What a GoogleTest program said of its tests; one that broke off has failed."""
    numbers = [sum(map(int, pattern.findall(text))) for pattern in (_PASSED, _FAILED, _SKIPPED)]
    if _PASSED.search(text) is None:
        return Tally(failed=1, notes=("the unit tests broke off",))
    return Tally(*numbers)


def _units(out: Path) -> Tally:
    log = logs_dir() / "mixed-units.log"
    code = run_logged([*_EMULATOR, str(out / "units")], log, f"unit tests on {_TRIPLE}", check=False)
    tally = counted(log.read_text(errors="replace"))
    if code != 0:
        tally += Tally(failed=0 if tally.failed else 1, notes=(f"last lines of {log}:\n{tail(log, 40)}",))
    return tally


def meet(meeting: Meeting, programs: "dict[str, Sequence[str]]") -> Tally:
    """Runs the two side by side."""
    with tempfile.TemporaryDirectory() as directory:
        running: "List[Tuple[str, subprocess.Popen[str]]]" = []
        notes = []
        try:
            for role, place in (("first", meeting.first), ("second", meeting.second)):
                words = [*programs[place], role, directory, meeting.fabric, str(int(meeting.checksum)), _SEED]
                with interrupts_held_back():
                    running.append((role, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                                           text=True)))  # fmt: skip
            for role, process in running:
                try:
                    told, _ = process.communicate(timeout=_PAIR_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    told = process.communicate()[0] + f"\nnot done after {_PAIR_S} s"
                if process.returncode != 0:
                    notes.append(f"{meeting}: the {role} ended with {process.returncode}: {told[-1500:]}")
        finally:
            for _, process in running:  # also where one could not be started, or nobody waits any more
                process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()
    say(f"mixed: {meeting}: {'failed' if notes else 'all right'}")
    return Tally(failed=1, notes=tuple(notes)) if notes else Tally(passed=1)


def run() -> Tally:
    """Skipped where the compiler, the emulator or a source cannot be had."""
    if platform.machine() == "s390x":
        return Tally(skipped=1, notes=("this machine is the other one",))
    try:
        packages.ensure(packages.MIXED)
        (cache_root() / "mixed").mkdir(parents=True, exist_ok=True)
        with lock.held(cache_root() / "mixed" / "lock", "the other machine's programs"):
            _sodium()
    except Failure as reason:
        return Tally(skipped=1, notes=(f"no {_TRIPLE} here: {reason}",))
    with lock.held(cache_root() / "mixed" / "lock", "the other machine's programs"):
        out = _build()
        bazel.build([_PAIR], "mixed")
        own = bazel.bin_dir() / _PAIR.lstrip("/").replace(":", "/")
        programs = {HERE: (str(own),), THERE: (*_EMULATOR, str(out / "pair"))}
        return sum((meet(meeting, programs) for meeting in MEETINGS), _units(out))
