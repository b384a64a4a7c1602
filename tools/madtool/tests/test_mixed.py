"""The stage `mixed` without another machine: what is counted, who meets whom, and when it is skipped."""

import subprocess
import sys
import unittest
from typing import Any, List
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

    def test_nobody_is_left_where_a_meeting_breaks_off(self) -> None:
        sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
        for there, error in ((["/nonexistent/pair"], OSError), (sleeper, KeyboardInterrupt)):
            started: "List[subprocess.Popen[str]]" = []
            popen = subprocess.Popen

            def start(*words: Any, popen: Any = popen, started: Any = started, **options: Any) -> "subprocess.Popen[str]":
                started.append(popen(*words, **options))
                return started[-1]

            with mock.patch.object(popen, "communicate", side_effect=KeyboardInterrupt), \
                    mock.patch.object(subprocess, "Popen", side_effect=start):  # fmt: skip
                self.assertRaises(error, meet, Meeting(HERE, THERE, "tcp", True), {HERE: sleeper, THERE: there})
            self.assertEqual([process.poll() for process in started], [-9] * (1 if error is OSError else 2))


if __name__ == "__main__":
    unittest.main()
