"""`tools/mad bench`: options, the joined table, its ratios and targets, and what happens when a program fails."""

import io
import json
import unittest
from pathlib import Path
from typing import Dict, List
from unittest import mock

from madtool import bench, bench_build, bench_table, micro_layouts, packages
from madtool.bench_table import Cell, Times
from madtool.errors import Failure, Missing
from madtool.tests.support import CacheTest, call

# A program that speaks like Google Benchmark: what it is asked for is in its arguments and its environment.
_PROGRAM = """#!/bin/sh
case "$*" in
*list_tests*) printf 'rows/256/x/pack\\nrows/65536/x/pack\\nother/256/x/pack\\ncompile/struct-4/x/compile\\n' ;;
*) echo "$MICRO_VERIFY $*" >>"$0.calls"; cat "$0.json"; cat "$0.complaint" >&2; exit "$(cat "$0.code")" ;;
esac
"""


def rows(**ns: float) -> "Dict[str, object]":
    """A report from layout_payload_who_operation=ns."""
    names = {name.replace("__", "-").replace("_", "/"): spent for name, spent in ns.items()}
    return {"benchmarks": [{"name": name, "run_type": "iteration", "cpu_time": spent, "time_unit": "ns",
                            "bytes": 1000.0} for name, spent in names.items()]}  # fmt: skip


def table(loop: float = 100, mpich: float = 200, openmpi: float = 150, **more: float) -> Times:
    """One cell in which the engine takes 100 ns."""
    times = Times()
    times.add(rows(rows_256_engine_pack=100, rows_256_loop_pack=loop, **more))
    times.add(rows(rows_256_mpi_pack=mpich), bench_table.MPICH)
    times.add(rows(rows_256_mpi_pack=openmpi), bench_table.OPENMPI)
    return times


def target(times: Times, word: str) -> bench_table.Target:
    return next(one for one in bench_table.targets(times) if word in one.what)


CELL = Cell("rows", 256, "pack")


class Ratios(unittest.TestCase):
    def test_least_and_median_of_all_rounds(self) -> None:
        times = Times()
        for spent in (30, 10, 20):
            times.add(rows(rows_256_engine_pack=spent))
        self.assertEqual(list(times.everything()), [(CELL, "engine", 1000, 10, 20)])

    def test_a_ratio_is_the_others_time_over_the_engines(self) -> None:
        times = table()
        self.assertEqual([times.ratio(CELL, who) for who in ("loop", "mpich", "openmpi")], [1.0, 2.0, 1.5])
        self.assertEqual((times.best_peer(CELL), times.peer_ratio(CELL)), ("openmpi", 1.5))
        self.assertEqual(times.gb_s(CELL, "engine"), 10.0)

    def test_units_aggregates_and_errors(self) -> None:
        report = {"benchmarks": [
            {"name": "rows/256/engine/pack/repeats:3", "cpu_time": 2, "time_unit": "us", "bytes": 1.0},
            {"name": "rows/256/engine/pack_mean", "run_type": "aggregate", "cpu_time": 1, "time_unit": "us"},
            {"name": "rows/256/loop/pack", "error_occurred": True, "cpu_time": 0, "time_unit": "us"},
        ]}  # fmt: skip
        times = Times()
        times.add(report)
        self.assertEqual((times.ns(CELL, "engine"), times.ns(CELL, "loop")), (2000, None))

    def test_mean_is_geometric_and_leaves_out_the_unknown(self) -> None:
        self.assertAlmostEqual(bench_table.mean([4.0, 1.0, None]) or 0, 2.0)
        self.assertIsNone(bench_table.mean([None]))


class Targets(unittest.TestCase):
    def test_a_cell_may_be_slower_than_the_loop_by_a_tenth_and_15_ns(self) -> None:
        # 100 ns of the engine are allowed for loops of at least 76.5 ns.
        self.assertFalse(bench_table.slow_for_the_loop(table(loop=77), CELL))
        self.assertTrue(bench_table.slow_for_the_loop(table(loop=76), CELL))
        self.assertEqual(target(table(loop=76), "0.9 of the loop").misses, ["rows/256/pack 0.76"])

    def test_the_better_peer_counts(self) -> None:
        self.assertEqual(target(table(mpich=300, openmpi=99), "better peer").misses, ["rows/256/pack 0.99"])
        self.assertEqual(target(table(), "better peer").line()[:3], "met")

    def test_means(self) -> None:
        self.assertTrue(target(table(loop=94), "each layout").misses)
        self.assertFalse(target(table(loop=96), "each layout").misses)
        self.assertTrue(target(table(loop=119), "in cache").misses)
        self.assertFalse(target(table(loop=121), "in cache").misses)
        self.assertFalse(target(table(), "yaksa").misses)
        self.assertTrue(target(table(mpich=199), "yaksa").misses)

    def test_the_devices_own_calls_are_held_against_mpichs(self) -> None:
        times = table(mpich=200)
        times.add(rows(rows_256_mpi_pack=90), bench_table.MAD)
        self.assertFalse(target(times, "MPI_Pack and MPI_Unpack").misses)
        times = table(mpich=200)
        times.add(rows(rows_256_mpi_pack=201), bench_table.MAD)
        self.assertEqual(target(times, "MPI_Pack and MPI_Unpack").figure, "1.00")
        self.assertTrue(target(times, "MPI_Pack and MPI_Unpack").misses)
        self.assertEqual(target(times, "of MPICH's").misses, ["rows/256/pack 1.00"])
        self.assertEqual(times.best_peer(CELL), "openmpi", "it is no peer")
        self.assertTrue(target(table(), "MPI_Pack and MPI_Unpack").line().startswith("not measured"))

    def test_what_was_not_measured_is_not_met(self) -> None:
        self.assertTrue(target(table(), "64 MiB against").line().startswith("not measured"))
        self.assertTrue(target(table(), "fragments").line().startswith("not measured"))

    def test_fragments_and_plain_loops(self) -> None:
        self.assertFalse(target(table(rows_256_engine_cached=100, rows_256_engine_fragments=105), "fragments").misses)
        self.assertTrue(target(table(rows_256_engine_cached=100, rows_256_engine_fragments=106), "fragments").misses)
        self.assertFalse(target(table(rows_256_plain_pack=73), "cache line").misses)
        self.assertTrue(target(table(rows_256_plain_pack=72), "cache line").misses)

    def test_compiling(self) -> None:
        times = table(compile_struct__4_engine_compile=1999, compile_indexed__100000_engine_compile=3.1e6)
        self.assertFalse(target(times, "struct-4").misses)
        self.assertTrue(target(times, "indexed-100000").misses)


class Report(unittest.TestCase):
    def test_table_marks_what_misses(self) -> None:
        line = bench_table.cell_lines(table(loop=50, openmpi=60))[1]
        self.assertIn("rows              256 pack", line)
        self.assertTrue(line.endswith("lp"), line)
        self.assertTrue(bench_table.cell_lines(table())[1].endswith("|"))

    def test_one_program_alone_has_a_report_too(self) -> None:
        times = Times()
        times.add(rows(rows_256_engine_pack=100))
        self.assertIn("not measured", "\n".join(bench_table.report(times)))

    def test_panels_are_held_against_contiguous_bandwidth(self) -> None:
        times = table(contiguous_256_loop_pack=50, hpl__rows_256_engine_pack=100)
        self.assertEqual(len(bench_table.panel_lines(times)), 1)
        self.assertIn("50 % of contiguous", bench_table.panel_lines(times)[0])

    def test_the_devices_own_calls_have_a_table(self) -> None:
        times = table(mpich=200, openmpi=150)
        self.assertEqual(bench_table.device_lines(times), [])
        times.add(rows(rows_256_mpi_pack=125), bench_table.MAD)
        self.assertEqual(bench_table.device_lines(times)[1].split(),
                         ["rows/256/pack", "125.0", "100.0", "200.0", "1.60", "150.0", "1.20"])  # fmt: skip

    def test_transposes_are_held_against_the_best_loop_and_a_buffer(self) -> None:
        times = Times()
        times.add(rows(transpose__16_65536_engine_copy=100, transpose__16_65536_buffer_copy=250,
                       transpose__16_65536_loop_copy_8=150, transpose__16_65536_engine_unpack=100,
                       transpose__16_65536_engine_pieces=50, transpose__16_65536_loop_unpack_8=90))  # fmt: skip
        times.add(rows(transpose__16_65536_loop_copy_16=120))
        copy, unpack = bench_table.transpose_lines(times)
        self.assertIn("1.20 of the best loop,  2.50 of pack and unpack", copy)
        self.assertIn("0.90 of the best loop, in pieces  1.80", unpack)
        self.assertEqual(bench_table.transpose_lines(table()), [])

    def test_what_a_checksum_adds(self) -> None:
        times = table(rows_256_engine_checked=125)
        self.assertEqual(bench_table.checksum_lines(times), [
            "CRC32C while packing: 10.2 GB/s by itself (median of 1 layouts); packing takes 25 % longer (geometric mean)"
        ])  # fmt: skip
        self.assertEqual(bench_table.checksum_lines(table()), [])

    def test_csv(self) -> None:
        out = io.StringIO()
        bench_table.write_csv(table(), out)
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[0].count(","), lines[1].count(","))
        self.assertIn("rows,256,1000,pack,openmpi,150.0,150.0,6.667,1.500", lines)


class Options(CacheTest):
    def test_sizes(self) -> None:
        self.assertEqual(bench.sizes_of("256, 64k,1M"), [256, 65536, 1 << 20])
        for text in ("", "1G", "x", "1.5M"):
            self.assertRaises(Missing, bench.sizes_of, text)

    def test_wrong_use_is_2(self) -> None:
        for words in (["bench"], ["bench", "car"], ["bench", "engine", "--sizes", "big"],
                      ["bench", "engine", "--repetitions", "0"]):  # fmt: skip
            with self.subTest(words):
                self.assertEqual(call(words)[0], 2)

    def test_help_names_the_options(self) -> None:
        code, out, _ = call(["bench", "engine", "--help"])
        self.assertEqual(code, 0)
        for option in ("--layouts", "--sizes", "--repetitions", "--csv", "--quick"):
            self.assertIn(option, out)

    def test_peers_packages_are_asked_for(self) -> None:
        with mock.patch.object(packages, "missing", return_value=["mpich"]), mock.patch("os.geteuid", return_value=1):
            code, _, err = call(["bench", "engine", "--quick"])
        self.assertEqual(code, 2)
        self.assertIn("apt-get install -y --no-install-recommends mpich", err)


class Catalogue(unittest.TestCase):
    def test_is_the_one_of_the_sources(self) -> None:
        names = micro_layouts.names()
        self.assertEqual((names[0], len(names)), ("contiguous", len({*names})))
        self.assertLessEqual({*bench._QUICK_LAYOUTS, "rows-64k", "column64-64k", "random-8", "lattice-y"}, {*names})
        tables = "".join(path.read_text() for path in micro_layouts.SOURCES.glob("*_layouts.cc"))
        self.assertEqual(len(names), tables.count("      {\"") + tables.count("      rows_kind("))
        self.assertEqual([bench_table.short(size) for size in micro_layouts.sizes()],
                         ["256", "1K", "64K", "1M", "4M", "16M", "64M"])  # fmt: skip


class Run(CacheTest):
    def setUp(self) -> None:
        super().setUp()
        self.programs = {name: self.scratch / name for name in ("engine", "mpich", "openmpi")}
        for name, path in self.programs.items():
            who = name if name == "engine" else "mpi"
            self.answer(name, rows(**{f"rows_256_{who}_pack": 100, f"rows_256_{who}_unpack": 50}))
            path.write_text(_PROGRAM)
            path.chmod(0o755)
        for patch in (mock.patch.object(bench_build, "programs", return_value=self.programs),
                      mock.patch.object(micro_layouts, "names", return_value=("rows", "other"))):  # fmt: skip
            patch.start()
            self.addCleanup(patch.stop)

    def file(self, name: str, suffix: str) -> Path:
        return self.scratch / f"{name}.{suffix}"

    def answer(self, name: str, report: "Dict[str, object]", code: int = 0, complaint: str = "") -> None:
        self.file(name, "json").write_text(json.dumps(report))
        self.file(name, "code").write_text(str(code))
        self.file(name, "complaint").write_text(complaint)

    def calls(self, name: str) -> List[str]:
        return self.file(name, "calls").read_text().splitlines()

    def test_all_programs_in_turns_and_one_table(self) -> None:
        csv = self.scratch / "times.csv"
        code, out, _ = call(["bench", "engine", "--layouts", "rows", "--repetitions", "2", "--csv", str(csv)])
        self.assertEqual(code, 0)
        self.assertIn("2 of 2 cells", out)
        self.assertEqual(len(csv.read_text().splitlines()), 7)
        for name in self.programs:
            first, later = [line.split()[0] for line in self.calls(name) if "^rows/" in line]
            self.assertEqual((first, later), ("1", "0"), "only the first round verifies")
        self.assertTrue(any("^compile/" in line for line in self.calls("engine")))
        self.assertFalse(any("^compile/" in line for line in self.calls("mpich")))

    def test_sizes_and_layouts_reach_the_programs(self) -> None:
        call(["bench", "engine", "--layouts", "other,rows", "--sizes", "64K,256", "--repetitions", "1"])
        self.assertIn("^rows/(256|65536)/", self.calls("mpich")[0])
        self.assertIn("^other/", self.calls("mpich")[1])

    def test_layouts_without_any_of_the_sizes_are_left_out(self) -> None:
        call(["bench", "engine", "--sizes", "64K", "--repetitions", "1"])
        self.assertFalse(any("^other/" in line for line in self.calls("engine")))

    def test_peers_are_not_asked_for_what_mpi_has_not(self) -> None:
        for path in self.programs.values():
            path.write_text(_PROGRAM.replace("other/", "transpose-16/"))
        call(["bench", "engine", "--repetitions", "1"])
        self.assertTrue(any("^transpose-16/" in line for line in self.calls("engine")))
        self.assertFalse(any("^transpose-16/" in line for line in self.calls("mpich")))

    def test_unknown_layouts_and_sizes_are_2_and_name_the_known(self) -> None:
        code, _, err = call(["bench", "engine", "--layouts", "rows,nope"])
        self.assertEqual(code, 2)
        self.assertIn("no nope; there are: rows, other", err)
        self.assertEqual(call(["bench", "engine", "--sizes", "512"])[0], 2)

    def test_the_engines_wrong_byte_is_1(self) -> None:
        self.answer("engine", {}, 1, "rows/256: engine pack: byte 7 is wrong")
        code, _, err = call(["bench", "engine", "--layouts", "rows"])
        self.assertEqual(code, 1)
        self.assertIn("byte 7 is wrong", err)

    def test_a_peers_fault_is_told_and_ends_its_part_only(self) -> None:
        self.answer("mpich", {}, 1, "rows/256: MPI pack: byte 7 is wrong")
        code, out, _ = call(["bench", "engine", "--layouts", "rows", "--repetitions", "3"])
        self.assertEqual(code, 0)
        self.assertIn("a peer's fault: mpich: rows failed (exit 1): rows/256: MPI pack: byte 7 is wrong", out)
        self.assertEqual(len(self.calls("mpich")), 1)
        self.assertEqual(len([line for line in self.calls("openmpi") if "^rows/" in line]), 3)

    def test_the_devices_wrong_byte_is_1(self) -> None:
        self.programs["mad"] = self.scratch / "mad"
        self.programs["mad"].write_text(_PROGRAM)
        self.programs["mad"].chmod(0o755)
        self.answer("mad", {}, 1, "rows/256: MPI pack: byte 7 is wrong")
        self.assertEqual(call(["bench", "engine", "--layouts", "rows"])[0], 1)

    def test_a_program_that_does_not_speak_json_is_1(self) -> None:
        self.file("engine", "json").write_text("hello")
        self.assertEqual(call(["bench", "engine", "--layouts", "rows"])[0], 1)

    def test_what_cannot_be_is_2_before_anything_is_built(self) -> None:
        with mock.patch.object(bench_build, "programs", side_effect=AssertionError("something is built")):
            for words in (["--csv", str(self.scratch / "no" / "times.csv")], ["--csv", str(self.scratch)],
                          ["--layouts", "rows,nope"], ["--sizes", "512"], ["--sizes", "0"]):  # fmt: skip
                self.assertEqual(call(["bench", "engine", *words])[0], 2, words)

    def test_a_run_that_fails_leaves_the_csv_of_another(self) -> None:
        csv = self.scratch / "times.csv"
        csv.write_text("of last week\n")
        self.answer("engine", {}, 1, "rows/256: engine pack: byte 7 is wrong")
        self.assertEqual(call(["bench", "engine", "--csv", str(csv)])[0], 1)
        self.assertEqual(csv.read_text(), "of last week\n")
