"""The cells of `tools/mad compare --one-sided` and their groups."""

import unittest
from typing import List

from madtool.compare_one_sided import GROUPS, NAMES, cells
from madtool.contenders import Cell
from madtool.errors import Missing


def groups_of(cell: Cell) -> List[str]:
    return [name for name, belongs in GROUPS.items() if belongs(cell)]


class Cells(unittest.TestCase):
    def test_the_default_has_everything_once_and_is_minutes(self) -> None:
        usual = cells(None, None, windows=False, full=False)
        self.assertEqual({cell.layout for cell in usual}, {*NAMES})
        self.assertEqual(len(usual), len({*usual}))
        self.assertLessEqual(len(usual), 80)
        for expected in (Cell("put", 8, 1), Cell("get", 4 << 20, 1), Cell("accumulate", 1 << 20, 64),
                         Cell("fetch_and_op", 8, 64), Cell("columns-fence", 1024, 64)):  # fmt: skip
            self.assertIn(expected, usual)

    def test_windows_are_in_flight_together(self) -> None:
        self.assertEqual({cell.window for cell in cells(None, None, windows=True, full=False)}, {64})
        self.assertEqual(cells(["put"], [8, 64], windows=True, full=False), [Cell("put", 8, 64), Cell("put", 64, 64)])

    def test_sizes_are_those_that_an_operation_can_have(self) -> None:
        self.assertEqual(cells(["get:column16:both", "compare_and_swap", "columns-fence", "put-fence"], [8, 16, 264, 1024],
                               windows=False, full=False),
                         [Cell("compare_and_swap", 8, 1), Cell("compare_and_swap", 8, 64),
                          *(Cell("put-fence", size, 1) for size in (8, 16, 264, 1024)),
                          Cell("columns-fence", 16, 64), Cell("columns-fence", 1024, 64),
                          Cell("get:column16:both", 1024, 1)])  # fmt: skip
        with self.assertRaisesRegex(Missing, "no cells"):
            cells(["put"], [12], windows=False, full=False)
        with self.assertRaisesRegex(Missing, "no send; there are: put, get"):
            cells(["send"], None, windows=False, full=False)

    def test_the_whole_grid_has_every_size_of_all(self) -> None:
        full = cells(None, None, windows=False, full=True)
        self.assertIn(Cell("accumulate:index-gap:origin", 4 << 20, 64), full)
        self.assertNotIn(Cell("put:column16:both", 64, 1), full)
        self.assertEqual({cell.window for cell in full if cell.layout == "put-fence"}, {1})


class Groups(unittest.TestCase):
    def test_each_cell_is_in_one_and_in_all(self) -> None:
        for cell in cells(None, None, windows=False, full=True):
            self.assertEqual(len(groups_of(cell)), 2, cell)
        self.assertEqual(groups_of(Cell("put:rows-64:both", 1024, 1)), ["put, with holes", "all"])
        self.assertEqual(groups_of(Cell("accumulate", 1024, 64)), ["accumulate, in flight", "all"])
        self.assertEqual(groups_of(Cell("put-fence", 8, 1)), ["fences", "all"])
        self.assertEqual(groups_of(Cell("compare_and_swap", 8, 64)), ["counters", "all"])


if __name__ == "__main__":
    unittest.main()
