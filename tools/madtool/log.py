"""Progress on stderr and logged child processes.

Long work says what it does: one line per stage with its time, a heartbeat while a child process runs, and on
failure the log's path and its last lines.  Results that other programs read go to stdout, never through here.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List, Mapping, Optional, Sequence

from madtool.errors import Failure

HEARTBEAT_S = 20.0
_START = time.monotonic()


def clock(seconds: float) -> str:
    """Seconds as 3.2 s or 4:05."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def say(text: str) -> None:
    elapsed = int(time.monotonic() - _START)
    print(f"mad [{elapsed // 60:3d}:{elapsed % 60:02d}] {text}", file=sys.stderr, flush=True)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Says that `name` starts and, when it went well, how long it took."""
    begin = time.monotonic()
    say(f"{name} ...")
    yield
    say(f"{name}: done in {clock(time.monotonic() - begin)}")


def tail(path: Path, lines: int = 30, without: "Optional[re.Pattern[str]]" = None) -> str:
    """The last lines of a file, but for those that `without` finds."""
    try:
        all_lines = path.read_text(errors="replace").splitlines()
        return "\n".join([line for line in all_lines if without is None or not without.search(line)][-lines:])
    except OSError:
        return "(no log)"


def _stop(child: "subprocess.Popen[bytes]") -> None:
    """Ends the child and what it started; it leads a process group of its own."""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, sig)
            child.wait(timeout=10)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


class LineCounter:
    """Counts the log's lines that match a pattern, reading only what was added since the last look."""

    def __init__(self, path: Path, pattern: str) -> None:
        self._path = path
        self._pattern = re.compile(pattern.encode())
        self._offset = 0
        self.count = 0

    def update(self) -> int:
        try:
            with self._path.open("rb") as log:
                log.seek(self._offset)
                block = log.read()
        except OSError:
            return self.count
        whole = block[: block.rfind(b"\n") + 1]
        self._offset += len(whole)
        self.count += sum(1 for line in whole.splitlines() if self._pattern.search(line))
        return self.count


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """An interrupt within comes at the end, so that a child is never started and not known."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: List[int] = []
    before = {number: signal.signal(number, lambda got, _: came.append(got))
              for number in (signal.SIGINT, signal.SIGTERM)}  # fmt: skip
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def run_logged(
    command: Sequence[str],
    log: Path,
    what: str,
    *,
    cwd: Optional[Path] = None,
    env: Optional[Mapping[str, str]] = None,
    count: str = "",
    unit: str = "steps",
    total: int = 0,
    counted_in: Optional[Path] = None,
    keep_fds: Sequence[int] = (),
    check: bool = True,
) -> int:
    """Runs `command` with its output in `log`, a heartbeat while it runs; returns the exit code.

    `count` is a pattern of lines, of the log or of `counted_in`, to count as `unit` (of about `total`, when
    known).  `keep_fds` stay open in the child: a lock held through them outlives this process if the child
    does.  With `check` a failure raises Failure with the end of the log.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with log.open("wb") as out:
        out.write(("$ " + " ".join(command) + "\n").encode())
        out.flush()
        child: "Optional[subprocess.Popen[bytes]]" = None
        counter = LineCounter(counted_in or log, count) if count else None
        next_beat = begin + HEARTBEAT_S
        try:
            with interrupts_held_back():
                child = subprocess.Popen(
                    list(command),
                    cwd=cwd,
                    env=dict(env) if env is not None else None,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=tuple(keep_fds),
                )
            while True:
                try:
                    code = child.wait(timeout=max(0.1, next_beat - time.monotonic()))
                    break
                except subprocess.TimeoutExpired:
                    next_beat += HEARTBEAT_S
                    say(_beat(what, begin, counter, unit, total))
        except BaseException as error:
            if child is not None:
                _stop(child)
            elif isinstance(error, OSError):
                raise Failure(f"{what}: cannot start {command[0]}: {error}") from error
            raise
    if check and code != 0:
        raise Failure(f"{what} failed (exit {code}). Last lines of {log}:\n{tail(log)}")
    return code


def _beat(what: str, begin: float, counter: Optional[LineCounter], unit: str, total: int) -> str:
    text = f"{what}: {clock(time.monotonic() - begin)}"
    if counter is not None:
        done = counter.update()
        of = f" of about {total}" if total >= done > 0 else ""
        text += f", {done}{of} {unit}"
    return text
