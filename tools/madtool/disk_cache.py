"""The objects that all checkouts share: bazel's disk cache, which bazel 4 lets grow for ever."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Iterator, Tuple

from madtool.paths import cache_root

# Bytes beyond which those go that were not used for longest, and what stays then: all tests with all
# sanitizers are some 20 GiB.
_MOST = 32 * 2**30
_KEPT = 24 * 2**30


@lru_cache(maxsize=1)
def bounded() -> Path:
    """Where it is, trimmed once a process."""
    where = cache_root() / "bazel-disk"
    trim(where, _MOST, _KEPT)
    return where


def trim(where: Path, most: int, kept: int) -> int:
    """Of more than `most` bytes leaves the `kept` bytes that were used last; returns how many bytes went.

    An object that is gone is made again; one that another process is reading stays readable."""
    found = list(_objects(where))
    size = sum(each[1] for each in found)
    if size <= most:
        return 0
    gone = 0
    for _, bytes_of_it, path in sorted(found):
        if size - gone <= kept:
            break
        try:
            path.unlink(missing_ok=True)
        except OSError:  # another user's; what can go goes
            continue
        gone += bytes_of_it
    return gone


def _objects(where: Path) -> Iterator[Tuple[float, int, Path]]:
    """When each was used last, which most file systems know to a day, its bytes, and its name."""
    for directory, _, names in os.walk(where):
        for name in names:
            path = Path(directory) / name
            try:
                stat = path.stat()
            except OSError:  # another process trims, too
                continue
            yield max(stat.st_atime, stat.st_mtime), stat.st_size, path
