"""`tools/mad apps`: its rows, ratios, targets, options."""

import io
import tempfile
import unittest
from pathlib import Path
from typing import Dict, List, Tuple
from unittest import mock

from madtool import apps, apps_plot, apps_table
from madtool.apps_table import Compared, Row, Setting, entry_name
from madtool.contenders import Cell, Timing
from madtool.errors import Failure
from madtool.tests.support import call

_CELL = Cell("jacobi2d", 1024)
_PEER = "Open MPI"
_NOTE = "30.0 40.0 0123456789abcdef"
_SETTING = Setting("auto", "shared memory", 2)


def results(**times: float) -> Compared:
    """Of five rounds; a time by `types_put`, the peer's by `peer_types_put`.  This device takes 2 us by hand, 1.5 by types."""
    known: Dict[str, float] = {}
    for semantics in ("p2p", "neighbourhood"):
        known.update({f"hand_{semantics}": 2.0, f"types_{semantics}": 1.5,
                      f"peer_hand_{semantics}": 3.0, f"peer_types_{semantics}": 4.0})  # fmt: skip
    measured = Compared()
    for _ in range(5):
        measured.add(_CELL, {name_of(name): Timing(best, 2 * best, _NOTE) for name, best in {**known, **times}.items()})
    return measured


def name_of(name: str) -> str:
    method, semantics = name.replace("peer_", "").split("_")
    return entry_name(_PEER if name.startswith("peer_") else "mad", method, semantics)


def rows(measured: Compared) -> List[Row]:
    return list(apps_table.rows(measured, [_CELL], ["p2p", "neighbourhood"], [_PEER]))


class Rows(unittest.TestCase):
    def test_ratios_are_above_one_where_this_device_is_faster(self) -> None:
        row = rows(results())[0]
        self.assertEqual(row.hand_over_types(), (2.0 / 1.5, 2.0 / 1.5))
        self.assertEqual(row.peer_over_types(), (2.0, 2.0))  # by hand it is the peer's fastest

    def test_a_line_has_a_dash_for_what_there_is_not(self) -> None:
        measured = results()
        line = apps_table.line(Row(measured, _CELL, "put", [_PEER]), ["mad", _PEER])
        self.assertEqual(line.split(), ["jacobi2d", "1K", "put", *["-"] * 8])
        self.assertEqual(apps_table.line(rows(measured)[1], ["mad", _PEER]).split()[-1], "1.00")

    def test_the_same_steps_must_end_with_the_same_state(self) -> None:
        times = {"mad hand p2p": Timing(1, 2, "3 4 aa"), "Open MPI types p2p": Timing(1, 2, "5 6 aa")}
        self.assertEqual(apps_table.differing(_CELL, times), [])
        with self.assertRaisesRegex(Failure, "aa: mad hand p2p, Open MPI types p2p; bb: mad types p2p"):
            apps_table.differing(_CELL, {**times, "mad types p2p": Timing(1, 2, "3 4 bb")})

    def test_a_peer_that_is_wrong_once_has_no_times(self) -> None:
        right, measured = results().rounds(_CELL), Compared()
        wrong = {name_of("peer_types_p2p"): Timing(0.1, 0.1, "1 2 bb")}
        measured.add_all(_CELL, [right[0], {**right[1], **wrong}, right[2]])
        self.assertEqual(measured.wrong, {_CELL: ["Open MPI types p2p"]})
        self.assertEqual(len(measured.rounds(_CELL)), 3)
        row = rows(measured)[0]
        self.assertEqual(apps_table.line(row, ["mad", _PEER]).split()[3:7], ["2.00", "1.50", "3.00", "wrong"])
        self.assertEqual(row.peer_over_types(), (2.0, 2.0))
        self.assertEqual(measured.told_wrong(),
                         ["WRONG: jacobi2d, 1K: other results than this device's: Open MPI types p2p"])  # fmt: skip


class Wanted(unittest.TestCase):
    def missed(self, **times: float) -> List[str]:
        return [one.what for one in apps_table.wanted(rows(results(**times))) if one.missed]

    def test_all_met(self) -> None:
        self.assertEqual(self.missed(), [])

    def test_datatypes_are_as_fast_as_packing_by_hand(self) -> None:
        self.assertEqual(self.missed(types_p2p=2.02), ["from 1K on datatypes are as fast as packing by hand"])

    def test_no_mpi_is_faster_whichever_way_it_takes(self) -> None:
        self.assertEqual(self.missed(peer_hand_p2p=1.4), ["from 1K on no MPI is faster"])

    def test_neighbourhood_collectives_are_near_to_point_to_point(self) -> None:
        self.assertEqual(self.missed(types_neighbourhood=1.72), [])
        self.assertEqual(len(self.missed(types_neighbourhood=1.74)), 1)

    def test_the_summary_says_where(self) -> None:
        lines = apps_table.summary(rows(results(types_p2p=2.5)))
        self.assertIn("    jacobi2d, 1K, p2p: 0.80", lines)


class Csv(unittest.TestCase):
    def test_a_line_for_each_time(self) -> None:
        out = io.StringIO()
        apps_table.write_csv({_SETTING: results()}, out)
        lines = out.getvalue().splitlines()
        self.assertEqual(len(lines), 1 + 5 * 8)
        self.assertIn("auto,shared memory,2,jacobi2d,1024,Open MPI,hand,p2p,0,3.0,6.0,30.0,40.0", lines)


class Figures(unittest.TestCase):
    def test_one_of_all_and_one_of_each_program_and_semantics(self) -> None:
        drawn = list(apps_plot.figures(results(), _SETTING, ["p2p", "neighbourhood"], [_PEER]))
        self.assertEqual([one.name for one in drawn],
                         ["apps-auto-2", "apps-auto-2-jacobi2d-p2p", "apps-auto-2-jacobi2d-neighbourhood"])  # fmt: skip
        by_hand, lists, over = drawn[0].panels
        self.assertEqual([list(curve.points) for curve in lists.curves], [[], []])
        self.assertNotIn("'", "".join(one.title for one in drawn))  # which gnuplot takes for the end
        points: Dict[str, List[Tuple[float, float]]] = {curve.title: list(curve.points) for curve in by_hand.curves}
        self.assertAlmostEqual(points["mad"][0][1], 2.0 / 1.5)
        self.assertAlmostEqual(points[_PEER][0][1], 0.75)
        self.assertAlmostEqual(over.curves[0].points[0][1], 2.0)


class Run(unittest.TestCase):
    def test_a_peer_that_is_wrong_fails_it_at_its_end(self) -> None:
        right, measured = results().rounds(_CELL), Compared()
        measured.add_all(_CELL, [{**right[0], name_of("peer_types_p2p"): Timing(0.1, 0.1, "1 2 bb")}])
        with tempfile.TemporaryDirectory() as directory, mock.patch.object(apps, "_table", side_effect=[measured, results()]):
            csv = Path(directory) / "times.csv"
            code, _, _ = call(["apps", "--fabrics", "auto", "--ranks", "1,2", "--csv", str(csv)])
            self.assertEqual(len(csv.read_text().splitlines()), 1 + 7 + 5 * 8)
        self.assertEqual(code, 1)


class Options(unittest.TestCase):
    def test_wrong_ones_are_told_before_anything_is_built(self) -> None:
        for words in (["--programs", "chess"], ["--semantics", "rumour"], ["--sizes", "32"], ["--sizes", "2M"],
                      ["--csv", "/nonexistent/x.csv"], ["--ranks", "\N{SUPERSCRIPT TWO}"],
                      ["--ranks", "5"], ["--ranks", "two"], ["--peers", "nobody"], ["--rounds", "0"]):  # fmt: skip
            code, _, said = call(["apps", *words])
            self.assertEqual(code, 2, words)
            self.assertIn(words[0], said)

    def test_ranks_are_listed(self) -> None:
        self.assertEqual(apps.ranks_of("1,4"), [1, 4])
        self.assertIn(1, apps.ranks_of(None))


if __name__ == "__main__":
    unittest.main()
