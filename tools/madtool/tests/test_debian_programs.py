"""The verdicts of Debian's programs, and what is skipped where they cannot be had."""

import unittest
from typing import Tuple
from unittest import mock

from madtool import debian_programs, fabrics, packages
from madtool.errors import Missing
from madtool.stages import Tally
from madtool.tests.support import CacheTest

_SCALAPACK = """
TIME     M     N  NB NRHS NBRHS    P    Q  LU Time Sol Time  MFLOPS  CHECK
WALL     4     4   2    1     1    1    1     0.00     0.00    4.46 PASSED

Finished    144 tests, with the following results:
  {passed} tests completed and passed residual checks.
    {failed} tests completed and failed residual checks.
    0 tests skipped because of illegal input values.
"""
_NWCHEM = """
         Total SCF energy =    -75.983974473600
      One-electron energy =   -121.725535
          Total MP2 energy           -76.112825384336
          Total SCS-MP2 energy               -76.112462743021
"""


class Verdicts(unittest.TestCase):
    def test_scalapack(self) -> None:
        self.assertEqual(debian_programs.residuals(_SCALAPACK.format(passed=144, failed=0)), "")
        self.assertEqual(debian_programs.residuals(_SCALAPACK.format(passed=143, failed=1)), "1 of 144 tests failed")
        self.assertEqual(debian_programs.residuals("WALL 4 4 PASSED\n"), "no summary")

    def test_scalapacks_input_is_shortened(self) -> None:
        data = "6\tdevice out\n4\tnumber of problems sizes\n4 10 17\n1\tnumber of NB's\n3\tNumber of NBRHS's\n4\tnumber of process grids\n"
        wanted = data.replace("4\tnumber of problems", "2\tnumber of problems").replace("3\tN", "2\tN")
        self.assertEqual(debian_programs.shortened(data), wanted)

    def test_netpipe(self) -> None:
        good = "0: vm\nNow starting the main loop\n  0:       1 bytes     50 times -->  Integrity check passed\n"
        self.assertEqual(debian_programs.integrity(good), "")
        bad = good + "  1:       2 bytes     50 times -->  Integrity check failed: wrote 9\n"
        self.assertIn("2 bytes", debian_programs.integrity(bad))
        self.assertEqual(debian_programs.integrity("0: vm\n"), "no lengths")

    def test_nwchem(self) -> None:
        reference = debian_programs.energies(_NWCHEM)
        self.assertEqual(reference, {"SCF": -75.9839744736, "MP2": -76.112825384336})
        nwchem = debian_programs.programs(reference)[-1]
        self.assertEqual(nwchem.complaint(_NWCHEM.replace("473600", "473601")), "")
        self.assertIn("SCF energy -75.98397", nwchem.complaint(_NWCHEM.replace("473600", "400000")))
        self.assertIn("MP2 energy None", nwchem.complaint(_NWCHEM.split("Total MP2")[0]))


class Running(CacheTest):
    program = debian_programs.Program("name", 2, ("program",), lambda text: "wrong" if "oh" in text else "")

    def over_tcp(self, answer: Tuple[int, str]) -> Tally:
        with mock.patch.object(debian_programs, "_output", return_value=answer):
            return debian_programs.over("tcp", self.program)

    def test_what_passes_ran_on_this_mpi(self) -> None:
        ours = "libmad: fabric tcp, 256 segments\n"
        self.assertEqual(self.over_tcp((0, ours)), Tally(passed=1))
        for answer, why in (((0, ""), "ran on another MPI"), ((0, ours + "oh"), "wrong"), ((1, ours), "exit status 1")):
            tally = self.over_tcp(answer)
            self.assertEqual(tally.failed, 1)
            self.assertTrue(tally.notes[0].startswith(f"name over tcp: {why}\n"), tally.notes)

    def test_what_libmad_says_may_stand_within_a_line_of_the_programs(self) -> None:
        lines = "  0: 1 bytes --> libmad: fabric tcp, 256 segments\n Integrity check passed\n"
        netpipe = debian_programs.programs({})[0]
        with mock.patch.object(debian_programs, "_output", return_value=(0, lines)):
            self.assertEqual(debian_programs.over("tcp", netpipe), Tally(passed=1))

    def test_input_files_are_where_the_program_runs(self) -> None:
        code, text = debian_programs._output(["sh", "-c", "cat water.nw; exit 3"], {"PATH": "/usr/bin:/bin"})
        self.assertEqual((code, text), (3, debian_programs._WATER))

    def test_without_the_packages_it_is_skipped(self) -> None:
        reason = Missing("these Debian packages are missing; install them: apt-get install nwchem-mpich")
        with mock.patch.object(packages, "ensure", side_effect=reason):
            self.assertEqual(debian_programs.run(), Tally(skipped=1, notes=(str(reason),)))

    def test_over_every_fabric_that_there_is(self) -> None:
        with mock.patch.object(packages, "ensure"), \
                mock.patch.object(fabrics, "usable", return_value=(["tcp"], Tally(skipped=1))), \
                mock.patch.object(debian_programs, "_reference", return_value={}), \
                mock.patch.object(debian_programs, "over", return_value=Tally(passed=1)) as over:  # fmt: skip
            tally = debian_programs.run()
        self.assertEqual((tally.passed, tally.skipped), (len(debian_programs.programs({})), 1))
        self.assertEqual({call.args[0] for call in over.call_args_list}, {"tcp"})
