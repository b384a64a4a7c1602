"""How programs started by PMIx are judged; mpirun itself is only started by the stage."""

import unittest
from unittest import mock

from madtool import packages, pmix_programs
from madtool.errors import Missing
from madtool.pmix_programs import Start
from madtool.stages import Tally


class PmixPrograms(unittest.TestCase):
    def test_a_job_must_say_that_it_is_one(self) -> None:
        start = Start("launched", (), ("4", "1"), "ok launched")
        self.assertEqual(start.complaint(0, "ok launched\n"), "")
        self.assertEqual(start.complaint(1, "ok launched\n"), "exit status 1")
        self.assertEqual(start.complaint(0, "the job has 1 ranks\n"), "it did not say: ok launched")

    def test_what_must_fail_does(self) -> None:
        self.assertEqual(Start("launched", (), (), "", status=7).complaint(1, ""), "exit status 1")
        start = Start("launched", (), ("1", "1"), "PMIx_Init", status=None)
        self.assertEqual(start.complaint(15, "ch4:mad: PMIx_Init: UNREACHABLE\n"), "")
        self.assertEqual(start.complaint(0, "ok launched PMIx_Init\n"), "exit status 0")

    def test_each_start_names_its_ranks_and_nodes(self) -> None:
        for start in pmix_programs.starts():
            if start.program == "launched" and start.arguments[0] != "abort" and "-n" in start.command:
                self.assertEqual(start.command[-1], start.arguments[0])

    def test_without_the_package_it_is_skipped(self) -> None:
        reason = Missing("these Debian packages are missing; install them: apt-get install openmpi-bin")
        with mock.patch.object(packages, "ensure", side_effect=reason):
            self.assertEqual(pmix_programs.run(), Tally(skipped=1, notes=(str(reason),)))


if __name__ == "__main__":
    unittest.main()
