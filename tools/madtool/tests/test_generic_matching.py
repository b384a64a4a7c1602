"""The verdicts of the program that compares our matching with MPICH's."""

import unittest

from madtool import generic_matching


class Verdicts(unittest.TestCase):
    def test_a_run_passes_on_the_mpi_it_is_meant_for_only(self) -> None:
        ours = "libmad: fabric shm, ...\nok matching\n"
        self.assertEqual(generic_matching.complaint(0, ours, ours=True), "")
        self.assertEqual(generic_matching.complaint(0, ours, ours=False), "ran on another MPI")
        self.assertEqual(generic_matching.complaint(0, "ok matching\n", ours=False), "")
        self.assertEqual(generic_matching.complaint(0, "ok matching\n", ours=True), "ran on another MPI")

    def test_a_failure_says_what_is_wrong(self) -> None:
        self.assertEqual(generic_matching.complaint(1, "ok matching\n", ours=False), "exit status 1")
        self.assertEqual(generic_matching.complaint(0, "SKIP: no threads\n", ours=False), "no verdict")
