"""Tests of what stays of the disk cache."""

import os
import tempfile
import unittest
from pathlib import Path
from typing import List

from madtool import disk_cache


class DiskCacheTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self._root = Path(directory.name) / "disk"

    def _put(self, name: str, size: int, read: int, written: int) -> None:
        path = self._root / "cas" / name[:1] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        os.utime(path, (read, written))

    def _names(self) -> List[str]:
        return sorted(path.name for path in self._root.rglob("*") if path.is_file())

    def test_what_was_used_last_stays(self) -> None:
        self._put("old", 100, read=10, written=10)
        self._put("read", 100, read=50, written=5)
        self._put("made", 100, read=5, written=60)
        self._put("older", 100, read=2, written=3)
        self.assertEqual(disk_cache.trim(self._root, most=399, kept=250), 200)
        self.assertEqual(self._names(), ["made", "read"])

    def test_what_is_not_too_much_stays(self) -> None:
        self._put("old", 100, read=10, written=10)
        self.assertEqual(disk_cache.trim(self._root, most=100, kept=0), 0)
        self.assertEqual(self._names(), ["old"])

    def test_there_may_be_none(self) -> None:
        self.assertEqual(disk_cache.trim(self._root, most=0, kept=0), 0)


if __name__ == "__main__":
    unittest.main()
