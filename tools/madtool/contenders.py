"""The contenders of `tools/mad compare`: processes that wait for their turn.

All run at the same time; each sleeps in read(2) on a named pipe until it is told a cell, and answers with its
times.  So they take turns within milliseconds, on the same machine in the same mood.
"""

import os
import select
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from madtool.errors import Failure

_START_S, _ANSWER_S, _QUIT_S = 60.0, 120.0, 10.0
_LEAST_ITERATIONS, _MOST_ITERATIONS = 20, 1000
_LEAST_WINDOWS = 4


class Cell(NamedTuple):
    """What is measured; `window` messages in flight, in one or both `ways`, or 0: a ping-pong."""

    layout: str
    bytes: int
    window: int = 0
    ways: int = 1

    def messages(self) -> int:
        """That one iteration exchanges."""
        return self.window * self.ways or 2

    def short_window(self) -> str:
        """`x64`, `2x64` both ways; empty: a ping-pong."""
        return f"{self.ways if self.ways > 1 else ''}x{self.window}" if self.window else ""

    def in_flight(self) -> str:
        """The same in words, behind what else is said of the cell."""
        return f", {self.window} in flight{' each way' if self.ways > 1 else ''}" if self.window else ""


class Timing(NamedTuple):
    """Microseconds: half a round trip, or a message's share of its window or of both."""

    best: float
    median: float
    note: str = ""  # what else the contender says


class Lacking(Exception):
    """A contender has no such thing: its fault is none."""


class Contender:
    """The processes of one MPI, and their pipes."""

    def __init__(self, name: str, command: Sequence[str], environment: Dict[str, str], ranks: int = 2) -> None:
        self.name = name
        self.said = ""  # on its output, once it is closed
        self._directory = Path(tempfile.mkdtemp(prefix="mad-compare-"))
        prefix = self._directory / "pipe"
        self._log = self._directory / "log"
        self._ends: List[int] = []
        self._text = b""
        self._process: "Optional[subprocess.Popen[bytes]]" = None
        try:
            for end in (*map(str, range(ranks)), "out"):
                path = f"{prefix}.{end}"
                os.mkfifo(path)
                self._ends.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
            with self._log.open("wb") as log:
                self._process = subprocess.Popen([*command, str(prefix)], env={**os.environ, **environment},
                                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 start_new_session=True)  # fmt: skip
            word = self._line(_START_S)
            if word != "ready":
                raise Failure(f"{name}: said {word!r} instead of being ready")
        except BaseException:
            self.close()
            raise

    def measure(self, cell: Cell, path: str, iterations: int, stamp: int) -> Timing:
        """One command; wrong bytes and a death are a Failure, what there is not is Lacking."""
        line = f"cell {cell.layout} {cell.bytes} {path} {iterations} {cell.window} {cell.ways} {stamp}\n".encode()
        for end in self._ends[:-1]:
            os.write(end, line)
        words = self._line(_ANSWER_S).split(maxsplit=1)
        if words[:1] == ["lacks"]:
            raise Lacking(*words[1:])
        if len(words) != 2 or words[0] != "time":
            raise Failure(f"{self.name}: {cell.layout}, {cell.bytes} bytes: {' '.join(words)}")
        best, median, *note = words[1].split(maxsplit=2)
        return Timing(float(best), float(median), *note)

    def _line(self, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._text:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Failure(f"{self.name}: no answer in {seconds:.0f} s{self._said()}")
            if select.select([self._ends[-1]], [], [], min(left, 0.5))[0]:
                self._text += os.read(self._ends[-1], 4096)
            elif self._process is not None and self._process.poll() is not None:
                raise Failure(f"{self.name}: ended with {self._process.returncode}{self._said()}")
        line, self._text = self._text.split(b"\n", 1)
        return line.decode()

    def _said(self) -> str:
        text = self._log.read_text(errors="replace").strip()
        return f": {text[-500:]}" if text else ""

    def close(self, patience_s: float = _QUIT_S) -> None:
        """Ends it, once; what does not end by itself, or is not waited for any more, is ended."""
        process, self._process = self._process, None
        try:
            for end in self._ends[:-1]:
                with suppress(BlockingIOError):  # a full pipe: it does not read
                    os.write(end, b"quit\n")
            if process is not None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=patience_s)
        finally:
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            while self._ends:
                os.close(self._ends.pop())
            if self._log.is_file():
                self.said = self._log.read_text(errors="replace")
            shutil.rmtree(self._directory, ignore_errors=True)


class Entry(NamedTuple):
    """A column of the comparison: a contender on one of its paths."""

    name: str
    contender: Contender
    path: str
    ours: bool = False


class Field:
    """All entries.  A peer that fails is ended and drops out; one of ours that fails ends everything.

    An entry that its contender lacks for a layout is not asked for it again.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = list(entries)
        self._iterations: Dict[Cell, int] = {}
        self._stamp = 0
        self.complaints: List[str] = []
        self.lacking: Dict[Tuple[str, str], str] = {}  # why, by entry and layout

    def names(self) -> List[str]:
        return [entry.name for entry in self._entries]

    def round(self, cell: Cell, turn: int, seconds: float) -> Dict[str, Timing]:
        """One time of each entry that can, for about `seconds` each; another one begins each turn.

        Every other turn goes backwards: two paths of one contender stand side by side, and the second finds
        its memory warm. All make as many round trips, or the fast ones would have more chances of a good one.
        """
        first = turn % len(self._entries)
        least = _LEAST_WINDOWS if cell.window else _LEAST_ITERATIONS
        iterations = self._iterations.get(cell, least)
        times: Dict[str, Timing] = {}
        order = self._entries[first:] + self._entries[:first]
        if turn % 2 == 1:
            order = order[:1] + order[:0:-1]
        for entry in order:
            if entry not in self._entries or (entry.name, cell.layout) in self.lacking:
                continue  # its contender failed on another path, or has no such thing
            self._stamp += 1
            try:
                times[entry.name] = entry.contender.measure(cell, entry.path, iterations, self._stamp)
            except Lacking as reason:
                self.lacking[entry.name, cell.layout] = str(reason)
            except Failure as failure:
                self._drop(entry, failure)
        turn_us = statistics.median(timing.median for timing in times.values()) * cell.messages()
        self._iterations[cell] = max(least, min(_MOST_ITERATIONS, int(seconds * 1e6 / turn_us)))
        return times

    def _drop(self, entry: Entry, failure: Failure) -> None:
        if entry.ours:
            raise failure
        self.complaints.append(str(failure))
        entry.contender.close(patience_s=0)  # who hangs spins
        self._entries = [other for other in self._entries if other.contender is not entry.contender]
