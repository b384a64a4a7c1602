"""The stage `mixed` without another machine: what is counted, who meets whom, and when it is skipped."""

import sys
import unittest
from unittest import mock

from madtool import mixed_stage, packages, test_command
from madtool.mixed_stage import HERE, MEETINGS, THERE, Meeting, counted, meet
from madtool.tests.support import CacheTest

_SAYS = "import sys; print(sys.argv[1:]); sys.exit(%d)"


class Mixed(CacheTest):
    def test_runs_where_it_is_named_only(self) -> None:
        self.assertTrue(next(stage for stage in test_command.stages() if stage.name == "mixed").asked_only)

    def test_skipped_where_packages_cannot_be_had(self) -> None:
        with mock.patch.object(packages, "missing", return_value=["qemu-user"]), \
                mock.patch("os.geteuid", return_value=1000):  # fmt: skip
            tally = mixed_stage.run()
        self.assertEqual((tally.passed, tally.failed, tally.skipped), (0, 0, 1))
        self.assertIn("qemu-user", tally.notes[0])

    def test_what_googletest_says(self) -> None:
        told = "[  PASSED  ] 7 tests.\n[  SKIPPED ] 1 test, listed below:\n[  FAILED  ] 2 tests, listed below:\n"
        tally = counted(told)
        self.assertEqual((tally.passed, tally.failed, tally.skipped), (7, 2, 1))
        self.assertEqual(counted("Segmentation fault\n").failed, 1)

    def test_each_machine_begins_with_and_without_checksums(self) -> None:
        over_tcp = {(m.first, m.second, m.checksum) for m in MEETINGS if m.fabric == "tcp"}
        for pair in ((HERE, THERE), (THERE, HERE)):
            for checksum in (False, True):
                self.assertIn((*pair, checksum), over_tcp)

    def test_a_meeting_fails_with_either(self) -> None:
        good, bad = ([sys.executable, "-c", _SAYS % code] for code in (0, 3))
        meeting = Meeting(HERE, THERE, "tcp", True)
        self.assertEqual(meet(meeting, {HERE: good, THERE: good}).passed, 1)
        tally = meet(meeting, {HERE: good, THERE: bad})
        self.assertEqual(tally.failed, 1)
        self.assertIn("the second ended with 3", tally.notes[0])
        self.assertIn("'tcp', '1'", tally.notes[0])


if __name__ == "__main__":
    unittest.main()
