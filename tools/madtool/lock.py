"""One builder at a time: a second invocation waits, and says so."""

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from madtool.log import say


@contextmanager
def held(path: Path, what: str) -> Iterator[int]:
    """Holds the lock file; yields its descriptor, which a child may keep so that the lock outlives us."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        begin = last = time.monotonic()
        waiting = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                now = time.monotonic()
                if not waiting or now - last >= 20:
                    say(f"{what}: another tools/mad is at work; waiting ({int(now - begin)} s)")
                    waiting, last = True, now
                time.sleep(0.2)
        yield descriptor
    finally:
        os.close(descriptor)
