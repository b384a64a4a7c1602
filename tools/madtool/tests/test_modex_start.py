"""What `tools/mad modex --start` makes of what it measured."""

import unittest

from madtool import modex_start
from madtool.errors import Failure

_MEMORIES = {"mad": modex_start.Memory(2.0, 10.0), "Open MPI": modex_start.Memory(3.0, 20.0)}


class Start(unittest.TestCase):
    def test_the_ranks_memory_is_the_mean(self) -> None:
        told = "a word\nmemory 1024 4096\nmemory 3072 8192\n"
        self.assertEqual(modex_start.memory(told, 2), modex_start.Memory(2.0, 6.0))
        with self.assertRaises(Failure):
            modex_start.memory(told, 3)

    def test_the_table_has_least_and_median(self) -> None:
        lines = modex_start.table({"mad": [3.0, 1.0, 2.5], "Open MPI": [9.0, 8.0, 7.0]}, _MEMORIES, 256)
        self.assertEqual(lines[1].split(), ["mad", "1.00", "2.50", "2.00", "10.00"])

    def test_at_most_open_mpis_is_wanted(self) -> None:
        self.assertEqual(list(modex_start.targets({"mad": [3.0], "Open MPI": [2.0]}, _MEMORIES)),
                         ["MISSED: 3.00 s, Open MPI 2.00", "met: 2.00 MiB a rank, Open MPI 3.00"])  # fmt: skip


if __name__ == "__main__":
    unittest.main()
