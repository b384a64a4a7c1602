"""`tools/mad compare`: the turns of contenders, ratios, lost cells, and contenders that fail."""

import io
import sys
import unittest
from pathlib import Path
from typing import Dict, List
from unittest import mock

from madtool import compare, compare_build, compare_table
from madtool.compare_build import MAD, OFI, OPENMPI, RAW, UCX
from madtool.contenders import Cell, Contender, Entry, Field, Timing
from madtool.errors import Failure
from madtool.tests.support import CacheTest, call

#A contender that sends nothing : it takes as long as it is told, and writes down its commands.
_PROGRAM = """
import sys
microseconds, prefix = float(sys.argv[1]), sys.argv[-1]
faults = sys.argv[2].split(",")
if "start" in faults:
    sys.exit("no such interface")
out, first, second = open(prefix + ".out", "w"), open(prefix + ".0"), open(prefix + ".1")
print("ready", file=out, flush=True)
while True:
    words = first.readline().split()
    if second.readline().split() != words:
        sys.exit("the ranks were told different things")
    if words == ["quit"]:
        break
    with open(__file__ + ".calls", "a") as calls:
        print(sys.argv[3], *words, file=calls)
    if "wrong" in faults:
        print("wrong byte 7 of what rank 1 received is wrong", file=out, flush=True)
    elif "dies" in faults:
        sys.exit("it hurts")
    else:
        print("time", microseconds, microseconds + 1, file=out, flush=True)
"""


def results_of(rounds: List[Dict[str, float]], cell: Cell = Cell("rows-8", 1024)) -> compare_table.Results:
    results = compare_table.Results()
    for times in rounds:
        results.add(cell, {
name: Timing(spent, spent) for name, spent in times.items()})
    return results


class Table(unittest.TestCase):
    CELL = Cell("rows-8", 1024)

    def test_best_of_all_rounds_and_median_of_medians(self) -> None:
        results = results_of([{"mad": 3}, {"mad": 1}, {"mad": 2}])
        self.assertEqual((results.best(self.CELL, "mad"), results.median(self.CELL, "mad")), (1, 2))
        self.assertIsNone(results.best(self.CELL, "other"))

    def test_the_fastest_peer_is_compared_with(self) -> None:
        results = results_of([{"mad": 10, "a": 40, "b": 20}])
        self.assertEqual(results.fastest(self.CELL, ["a", "b"]), "b")
        self.assertIn("      2.00    2.00", compare_table.line(results, self.CELL, ["mad", "a", "b"], ["a", "b"]))

    def test_a_cell_is_lost_from_seven_of_nine_rounds_on(self) -> None:
        for slower in range(10):
            results = results_of([{
  "mad" : 2, "a" : 1 if turn < slower else 3} for turn in range(9)])
            self.assertEqual(results.lost_to(self.CELL, "mad", ["a"]), ["a"] if slower >= 7 else [], slower)

    def test_means_by_group(self) -> None:
        results = results_of([{"mad": 1, "a": 2}], Cell("rows-8", 16 << 10))
        results.add(Cell("padded", 1 << 20), {"mad": Timing(1, 1), "a": Timing(8, 8)})
        results.add(Cell("vector", 8), {"mad": Timing(2, 2), "a": Timing(1, 1)})
        results.add(Cell("rows-8", 16 << 10, 64), {"mad": Timing(1, 1), "a": Timing(3, 3)})
        lines = compare_table.summary(results, "mad", ["a"])
        self.assertIn("noncontiguous from 16K, 2 cells, geometric mean of peer/mad:  fastest 4.00  a 4.00", lines)
        self.assertIn("contiguous, 1 cells, geometric mean of peer/mad:  fastest 0.50  a 0.50", lines)
        self.assertIn("windows, 1 cells, geometric mean of peer/mad:  fastest 3.00  a 3.00", lines)

    def test_csv_has_every_round(self) -> None:
        out = io.StringIO()
        compare_table.write_csv(results_of([{"mad": 1}, {"mad": 2}]), out)
        self.assertEqual(out.getvalue().splitlines()[1:],
                         ["rows-8,1024,0,0,mad,1,1", "rows-8,1024,0,1,mad,2,2"])  # fmt: skip


class Turns(CacheTest):
    def setUp(self) -> None:
        super().setUp()
        self.program = self.scratch / "contender.py"
        self.program.write_text(_PROGRAM)

    def command(self, name: str, microseconds: float = 100, faults: str = "-") -> List[str]:
        return [sys.executable, "-B", str(self.program), str(microseconds), faults, name]

    def contender(self, name: str, microseconds: float = 100, faults: str = "-") -> Contender:
        contender = Contender(name, self.command(name, microseconds, faults), {})
        self.addCleanup(contender.close)
        return contender

    def calls(self) -> List[str]:
        return Path(f"{self.program}.calls").read_text().splitlines()

    def test_entries_take_turns_and_another_begins_each_time(self) -> None:
        field = Field([Entry(name, self.contender(name), "-") for name in ("a", "b", "c")])
        for turn in range(3):
            times = field.round(Cell("rows-8", 1024), turn, 0.01)
            self.assertEqual(times["b"], Timing(100, 101))
        self.assertEqual([line.split()[0] for line in self.calls()], list("abcbcacab"))

    def test_iterations_fill_the_time_of_a_turn(self) -> None:
        speeds = {"a": 49, "b": 99, "c": 5000}
        field = Field([Entry(name, self.contender(name, us), "auto") for name, us in speeds.items()])
        for turn in range(2):
            field.round(Cell("rows-8", 1024, 5), turn, 0.1)
        self.assertEqual([line.split()[:6] for line in self.calls()],
                         [[name, "cell", "rows-8", "1024", "auto", iterations] for name, iterations in
                          (("a", "20"), ("b", "20"), ("c", "20"), ("b", "200"), ("c", "200"), ("a", "200"))])

    def test_a_peer_that_fails_drops_out(self) -> None:
        for faults, word in (("wrong", "byte 7"), ("dies", "it hurts")):
            field = Field([Entry("a", self.contender("a"), "-"), Entry("b", self.contender("b", 1, faults), "-")])
            self.assertEqual(list(field.round(Cell("rows-8", 1024), 0, 0.01)), ["a"])
            self.assertIn(word, field.complaints[0])
            self.assertEqual(field.names(), ["a"])

    def test_our_own_fault_is_a_failure(self) -> None:
        good, wrong = self.contender("a"), self.contender("b", 1, "wrong")
        field = Field([Entry("a", good, "-", ours=True), Entry("b", wrong, "-", ours=True)])
        with self.assertRaisesRegex(Failure, "b: rows-8, 1024 bytes: wrong byte 7"):
            field.round(Cell("rows-8", 1024), 0, 0.01)

    def test_who_does_not_start_says_why(self) -> None:
        with self.assertRaisesRegex(Failure, "a: ended with 1: no such interface"):
            Contender("a", self.command("a", 1, "start"), {})

    def compare(self, words: List[str], ours: float, faults: str = "-") -> "tuple[int, str, str]":
        speeds = {MAD: ours, OFI: 400.0, UCX: 300.0, OPENMPI: 200.0, RAW: 50.0}
#A launcher 's last word is its program: here the speed' s own file stands for it.
        commands = {name: self.command(name, us, faults if name == OFI else "-") for name, us in speeds.items()}
        with mock.patch.object(compare_build, "programs", return_value={
name: Path("x") for name in speeds}), \
                mock.patch.object(compare_build, "launchers", return_value=commands), \
                mock.patch.object(compare, "_TURN_S", 0.002):  # fmt: skip
            return call(["compare", "--rounds", "3", *words])

    def test_the_whole_of_it(self) -> None:
        code, out, _ = self.compare(["--layouts", "rows-8", "--sizes", "1K"], ours=100)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"rows-8 +1K +100\.0 +100\.0 +400\.0 +300\.0 +200\.0 +50\.0 +2\.00 +1\.99")
        self.assertIn("no cell lost in 1", out)

    def test_lost_cells_are_tried_again_and_named(self) -> None:
        code, out, _ = self.compare(["--layouts", "rows-8,padded", "--sizes", "1K"], ours=250)
        self.assertEqual(code, 0)
        self.assertIn("lost: rows-8, 1K, to Open MPI", out)
        self.assertIn("lost: padded, 1K, to Open MPI", out)

    def test_a_peers_fault_is_told(self) -> None:
        code, out, _ = self.compare(["--layouts", "rows-8", "--sizes", "1K"], ours=100, faults="wrong")
        self.assertEqual(code, 0)
        self.assertIn("a peer's fault: ch4:ofi: rows-8, 1024 bytes: wrong byte 7", out)

    def test_paths_and_sizes_that_are_none(self) -> None:
        for words, error in ((["--paths", "auto,quick"], "no quick; there are: auto"), (["--sizes", "1X"], "1X"),
                             (["--rounds", "0"], "at least 1"), (["--layouts", "padded", "--sizes", "8"], "no cells")):
            code, _, err = call(["compare", *words])
            self.assertNotEqual(code, 0)
            self.assertIn(error, err)

    def test_the_default_is_at_most_forty_cells(self) -> None:
        arguments = mock.Mock(layouts=None, sizes=None, full=False)
        self.assertLessEqual(len(compare.cells_of(arguments)), 40)


if __name__ == "__main__":
    unittest.main()
