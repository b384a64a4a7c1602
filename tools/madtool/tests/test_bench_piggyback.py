"""`tools/mad bench piggyback`: its table, its targets, its options."""

import unittest
from typing import Dict, List

from madtool import bench_piggyback
from madtool.bench_piggyback import fields_cell
from madtool.compare_table import Results
from madtool.contenders import Cell, Timing
from madtool.tests.support import call

_CARRIED = Cell("piggyback", 32)


def results(**of_last: float) -> Results:
    """Fields: this device takes 0.2 us and 0.001 more a field, the peer 0.3 and 0.01."""
    fields = Results()
    for count in (1, 2, 4, 8, 16, 32):
        times = {"mad": 0.2 + 0.001 * count, "Open MPI": 0.3 + 0.01 * count, **of_last}
        fields.add(fields_cell(count), {name: Timing(best, best * 2) for name, best in times.items()})
    return fields


def carried(**ways: float) -> Results:
    known = {"mad bare": 0.2, "mad struct": 0.4, "mad proto": 0.25, "mad attached": 0.24,
             "Open MPI bare": 0.2, "Open MPI struct": 0.5}  # fmt: skip
    times: Dict[str, float] = {**known, **{name.replace("_", " "): value for name, value in ways.items()}}
    measured = Results()
    measured.add(_CARRIED, {name: Timing(best, best) for name, best in times.items()})
    return measured


class Targets(unittest.TestCase):
    def missed(self, fields: Results, of_ways: Results) -> List[str]:
        return [one.what for one in bench_piggyback.targets(fields, of_ways, ["Open MPI"]) if not one.met]

    def test_all_met(self) -> None:
        self.assertEqual(self.missed(results(), carried()), [])

    def test_every_row_is_compared_with_the_fastest_peer(self) -> None:
        self.assertEqual(len(self.missed(results(mad=0.35), carried())), 2)

    def test_a_value_by_proto_costs_half_of_a_struct_of_ours_and_of_the_best_peer(self) -> None:
        self.assertEqual(self.missed(results(), carried(mad_proto=0.30)), [])
        ours, both = (self.missed(results(), carried(mad_proto=proto)) for proto in (0.31, 0.36))
        self.assertEqual([line.rsplit(", ", 1)[1] for line in ours], ["ours"])
        self.assertEqual([line.rsplit(", ", 1)[1] for line in both], ["ours", "the best peer's"])

    def test_an_attached_value_costs_a_twentieth_of_a_microsecond(self) -> None:
        self.assertEqual(len(self.missed(results(), carried(mad_attached=0.26))), 1)

    def test_a_peer_that_fell_out_is_no_reason_to_fail(self) -> None:
        aims = bench_piggyback.targets(results(), carried(), ["ch4:ofi"])
        self.assertEqual([one.met for one in aims], [True, True, True])


class Table(unittest.TestCase):
    def test_rows_and_what_an_mpi_does_not_have(self) -> None:
        ways = {"mad": ["bare", "struct", "proto"], "Open MPI": ["bare", "struct"]}
        lines = bench_piggyback.table(results(), carried(), ways)
        self.assertEqual([line[:18].strip() for line in lines[1:]],
                         ["contiguous", "2 fields", "4 fields", "8 fields", "16 fields", "32 fields", "bare",
                          "value by struct", "value by proto", "value attached", "attached, asked"])  # fmt: skip
        self.assertIn("0.202   0.404", lines[2])
        self.assertTrue(lines[-1].endswith("-"))


class Options(unittest.TestCase):
    def test_wrong_ones_are_told_before_anything_is_built(self) -> None:
        for words in (["--peers", "nobody"], ["--rounds", "0"]):
            code, _, said = call(["bench", "piggyback", *words])
            self.assertEqual(code, 2)
            self.assertIn(words[0], said)
