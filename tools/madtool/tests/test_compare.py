"""`tools/mad compare`: the turns of contenders, ratios, lost cells, and contenders that fail."""

import io
import os
import sys
import unittest
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Callable, Dict, List
from unittest import mock

from madtool import compare, compare_build, compare_plot, compare_steps, compare_table, compare_wire, figure, micro_layouts
from madtool.compare_kept import Kept
from madtool.compare_wire import MAD, OFI, OPENMPI, RAW, UCX
from madtool.contenders import Cell, Contender, Entry, Field, Timing
from madtool.errors import Failure, Missing
from madtool.tests.support import CacheTest, call

# A contender that sends nothing: it takes as long as it is told, and writes down its commands.
_PROGRAM = """
import sys
microseconds, prefix = float(sys.argv[1]), sys.argv[-1]
faults = sys.argv[2].split(",")
if "start" in faults:
    sys.exit("no such interface")
transports = "posix/memory cma/memory" if "shared" in faults else "tcp/lo"
print(f"libfabric provider: tcp;ofi_rxm - x\\nUCX INFO ep_cfg[0]: tag(self/memory0 {transports})", flush=True)
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
        spent = microseconds
        if "slow-off" in faults and words[3] == "off":
            spent /= 2  # that is, everything else is slower
        if "step" in faults and int(words[2]) > 65536:
            spent *= 1.2
        print("time", spent, spent + 1, file=out, flush=True)
"""


def interrupt() -> None:
    raise KeyboardInterrupt


def results_of(rounds: List[Dict[str, float]], cell: Cell = Cell("rows-8", 1024)) -> compare_table.Results:
    results = compare_table.Results()
    for times in rounds:
        results.add(cell, {name: Timing(spent, spent) for name, spent in times.items()})
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
        self.assertIn("      2.00    2.00", compare_table.line(results, self.CELL, ["mad", "a", "b"], ["a", "b"], 14))

    def test_a_cell_is_lost_from_seven_of_nine_rounds_on(self) -> None:
        for slower in range(10):
            results = results_of([{"mad": 2, "a": 1 if turn < slower else 3} for turn in range(9)])
            self.assertEqual(results.lost_to(self.CELL, "mad", ["a"]), ["a"] if slower >= 7 else [], slower)

    def test_a_peer_that_is_gone_when_a_cell_is_tried_again_has_won_it(self) -> None:
        results = results_of(9 * [{"mad": 2, "a": 1, "b": 1}])
        again = [{"mad": Timing(2, 2), "a": Timing(3, 3)}] * 9  # b has ended meanwhile, a is slower
        measuring = SimpleNamespace(rounds_of=lambda cell, alone: again)
        question = compare_table.Comparison("mad", ["a", "b"], against_peers=True)
        self.assertEqual(compare._Run.slower(measuring, results, [question]), [[(self.CELL, ["b"])]])  # type: ignore[arg-type]

    def test_means_by_group(self) -> None:
        results = results_of([{"mad": 1, "a": 2}], Cell("rows-8", 16 << 10))
        results.add(Cell("padded", 1 << 20), {"mad": Timing(1, 1), "a": Timing(8, 8)})
        results.add(Cell("vector", 8), {"mad": Timing(2, 2), "a": Timing(1, 1)})
        results.add(Cell("rows-8", 16 << 10, 64), {"mad": Timing(1, 1), "a": Timing(3, 3)})
        lines = compare_table.summary(results, "mad", ["a"], compare_table.GROUPS)
        self.assertIn("noncontiguous from 16K, 2 cells, geometric mean of peer/mad:  fastest 4.00  a 4.00", lines)
        self.assertIn("contiguous, 1 cells, geometric mean of peer/mad:  fastest 0.50  a 0.50", lines)
        self.assertIn("windows, 1 cells, geometric mean of peer/mad:  fastest 3.00  a 3.00", lines)

    def test_the_worst_of_each_kind_against_the_bare_socket(self) -> None:
        results = results_of([{"mad": 3, "raw": 2}], Cell("contiguous", 1 << 20))
        results.add(Cell("contiguous", 256 << 10), {"mad": Timing(2, 9), "raw": Timing(1, 9)})
        results.add(Cell("contiguous", 8, 64), {"mad": Timing(9, 9), "raw": Timing(1, 1)})
        results.add(Cell("rows-64", 16 << 10), {"mad": Timing(9, 9), "raw": Timing(1, 1)})
        self.assertEqual(compare_table.against_limit(results, "mad", "raw"), [
            "times that of a bare socket with as many contiguous bytes:",
            "    contiguous from 256K        2.00   wanted: at most 1.10"])  # fmt: skip
        self.assertEqual(compare_table.against_limit(results, "mad", "nobody"), [])

    def test_csv_has_every_round(self) -> None:
        out = io.StringIO()
        compare_table.write_csv({"TCP": results_of([{"mad": 1}, {"mad": 2}])}, out)
        self.assertEqual(out.getvalue().splitlines()[1:],
                         ["TCP,rows-8,1024,0,1,0,mad,1,1", "TCP,rows-8,1024,0,1,1,mad,2,2"])  # fmt: skip

    def test_rows_beside_contiguous(self) -> None:
        results = results_of([{"mad": 3, "posix": 2}], Cell("rows-4k", 1 << 20))
        self.assertEqual(compare_table.against_own(results, ["mad"]), [])
        results.add(Cell("contiguous", 1 << 20), {"mad": Timing(2, 9)})
        self.assertEqual(compare_table.against_own(results, ["mad", "posix"]),
                         ["1M in blocks of 4K, times its own contiguous: mad 1.50"])  # fmt: skip


class Wires(unittest.TestCase):
    def test_cma_belongs_to_the_fabric_before_it(self) -> None:
        for text, fabrics in (("tcp", ["tcp"]), ("tcp,ofi:tcp", ["tcp", "ofi:tcp"]),
                              ("ucx:posix,cma", ["ucx:posix,cma"]),
                              ("ucx:posix,cma,shm", ["ucx:posix,cma", "shm"])):  # fmt: skip
            self.assertEqual(compare_wire.fabrics_of(text), fabrics)

    def test_shared_memory_or_tcp_but_not_both(self) -> None:
        self.assertEqual(compare_wire.of(["tcp", "ucx:tcp", "ofi:tcp"]), compare_wire.TCP)
        self.assertEqual(compare_wire.of(["auto", "ucx", "ucx:posix,cma", "shm", "ucx:posix;tcp"]), compare_wire.SHARED)
        with self.assertRaisesRegex(Missing, "ask for one at a time"):
            compare_wire.of(["ucx:posix", "tcp"])

    def test_what_a_peer_says_is_compared_with_what_it_was_told(self) -> None:
        shared = "UCX  INFO    ep_cfg[0]: tag(self/memory0 cma/memory) rma(posix/memory)\n"
        tcp = "UCX  INFO    ep_cfg[1]: tag(tcp/lo) rma_am(tcp/lo) am(tcp/lo)\n"
        for whose, wire, log, complaints in (
                (UCX, compare_wire.SHARED, shared, []), (UCX, compare_wire.TCP, tcp, []),
                (UCX, compare_wire.SHARED, shared + tcp, ["ch4:ucx: uses tcp"]),
                (UCX, compare_wire.SHARED, "", ["ch4:ucx: does not say what it uses"]),
                (OPENMPI, compare_wire.TCP, "", []), (OPENMPI, compare_wire.SHARED, "", []),
                (UCX, compare_wire.TCP, shared, ["ch4:ucx: uses cma", "ch4:ucx: uses posix"]),
                (OFI, compare_wire.SHARED, "libfabric provider: tcp;ofi_rxm - 1.17\n", []),
                (OFI, compare_wire.TCP, "libfabric provider: sockets - 1\n", ["ch4:ofi: uses sockets"])):  # fmt: skip
            self.assertEqual(compare_wire.complaints(whose, wire, log), complaints)


class Steps(unittest.TestCase):
    """Times by size that are straight, broken, or bent."""

    def steps(self, time_of: Callable[[int], float]) -> List[compare_steps.Step]:
        results = compare_table.Results()
        for size in compare_steps.sizes():
            results.add(Cell("rows-8", size), {"mad": Timing(time_of(size), time_of(size))})
        return compare_steps.Scan.of(results, results.cells(), "mad").steps("mad")

    def test_sizes_are_an_eighth_of_a_doubling_apart(self) -> None:
        sizes = compare_steps.sizes()
        self.assertEqual((sizes[0], sizes[-1], len(sizes)), (1 << 10, 1 << 20, 81))
        self.assertLess(max(b / a for a, b in zip(sizes, sizes[1:])), 1.2)

    def test_growth_is_no_step(self) -> None:
        self.assertEqual(self.steps(lambda size: 5 + size * 1e-3), [])
        self.assertEqual(self.steps(lambda size: 5 + size * 1e-3 + max(0, size - 65536) * 1e-3), [], "a bend")

    def test_what_is_beyond_growth_is(self) -> None:
        for height in (-0.07, -0.04, 0.04, 0.07):
            steps = self.steps(lambda size: (5 + size * 1e-3) * (1 + height * (size > 65536)))
            self.assertEqual(len(steps), 1 if abs(height) > 0.05 else 0, height)
            for step in steps:
                self.assertEqual((step.below.bytes, step.above.bytes), (65536, 71488))
                self.assertAlmostEqual(step.percent, 100 * height, delta=0.7)

    def test_seven_of_nine_rounds_must_have_it_again(self) -> None:
        step = compare_steps.Step("mad", Cell("rows-8", 1000), Cell("rows-8", 2000), 0.01, 10)
        for having in range(10):
            below = [{"mad": Timing(100, 100)} for _ in range(9)]
            above = [{"mad": Timing(1, 117 if turn < having else 114)} for turn in range(9)]
            self.assertEqual(compare_steps.again(step, below, above), having >= 7, having)
        falls = [{"mad": Timing(1, 90)} for _ in range(9)]
        self.assertFalse(compare_steps.again(step, below, falls), "in the other direction")


class KeptCells(CacheTest):
    def test_a_line_cut_off_is_measured_again(self) -> None:
        path = self.scratch / "dir" / "kept"
        first, second = Cell("rows-8", 1024), Cell("rows-8", 4096, 64)
        rounds = [{"mad": Timing(1.5, 2.5)}, {"mad": Timing(3, 4), "peer": Timing(5, 6)}]
        kept = Kept(path)
        self.assertIsNone(kept.seconds_to_go([first]))
        kept.add(first, False, rounds, 2.0)
        kept.add(first, True, rounds[:1], 2.0)
        kept.add(second, False, rounds, 4.0)
        text = path.read_text()
        path.write_text(text[:-20])
        kept = Kept(path)
        self.assertEqual((kept.get(first), kept.get(first, alone=True)), (rounds, rounds[:1]))
        self.assertEqual(kept.to_go([first, second]), [second])
        self.assertEqual(kept.seconds_to_go([first, second]), 2.0)
        kept.add(second, False, rounds, 4.0)
        self.assertEqual(path.read_text(), text)
        self.assertEqual(Kept(path).seconds_to_go([Cell("padded", 3000), Cell("padded", 1000)]), 6.0)

    def test_the_name_of_the_file_says_what_was_measured(self) -> None:
        binary = self.scratch / "program"
        binary.write_text("1")
        before = compare_build.identity([binary])
        self.assertEqual(compare_build.identity([binary]), before)
        with mock.patch.dict("os.environ", {"MPIR_CVAR_CH4_MAD_EAGER_LIMIT": "7"}):
            self.assertNotEqual(compare_build.identity([binary]), before)
        for kind in (mock.patch("madtool.selftest_host.processor", return_value="another"),
                     mock.patch("os.cpu_count", return_value=1000),
                     mock.patch("os.sched_getaffinity", return_value=set(range(999)))):  # fmt: skip
            with kind:
                self.assertNotEqual(compare_build.identity([binary]), before, "of another machine")
        binary.write_text("2")
        self.assertNotEqual(compare_build.identity([binary]), before)
        self.assertIn("libc.so.6", [path.name for path in compare_build._loaded(Path("/bin/sh"))])


class Figures(unittest.TestCase):
    def test_times_and_ratios_of_layouts_at_several_sizes(self) -> None:
        results = results_of([{"mad": 10, "a": 40, "b": 20}], Cell("rows-8", 1024))
        results.add(Cell("rows-8", 4096), {"mad": Timing(20, 20), "a": Timing(30, 30)})
        results.add(Cell("padded", 4096), {"mad": Timing(20, 20)})
        (drawn,) = compare_plot.comparison(results, ["mad", "a", "b"], ["a", "b"], "half round trip")
        self.assertEqual(drawn.name, "compare-rows-8")
        times, ratios = drawn.panels
        self.assertEqual([curve.points for curve in times.curves],
                         [[(1024, 10), (4096, 20)], [(1024, 40), (4096, 30)], [(1024, 20)]])  # fmt: skip
        self.assertEqual([(curve.title, curve.points) for curve in ratios.curves],
                         [("mad", [(1024, 2), (4096, 1.5)])])  # fmt: skip

    def test_steps(self) -> None:
        results = compare_table.Results()
        for size, spent in ((1000, 100), (2000, 200), (3000, 300), (4000, 430), (5000, 530), (6000, 630)):
            results.add(Cell("rows-8", size), {"mad": Timing(spent, spent)})
        (drawn,) = compare_plot.steps(results, ["mad"])
        self.assertEqual(drawn.panels[0].curves[0].points[:4], [(1000, 100), (2000, 100), (3000, 100), (4000, 107.5)])
        self.assertEqual(drawn.panels[1].curves[0].points, [(1000, 0), (2000, 0), (3000, 10), (4000, 0), (5000, 0)])


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

    def test_entries_take_turns_and_another_begins_each_time_forwards_and_backwards(self) -> None:
        field = Field([Entry(name, self.contender(name), "-") for name in ("a", "b", "c")])
        for turn in range(3):
            times = field.round(Cell("rows-8", 1024), turn, 0.01)
            self.assertEqual(times["b"], Timing(100, 101))
        self.assertEqual([line.split()[0] for line in self.calls()], list("abcbaccab"))

    def test_iterations_fill_the_time_of_a_turn(self) -> None:
        speeds = {"a": 49, "b": 249, "c": 5000}
        field = Field([Entry(name, self.contender(name, us), "auto") for name, us in speeds.items()])
        for turn in range(2):
            field.round(Cell("rows-8", 1024), turn, 0.1)
        self.assertEqual([line.split()[:6] for line in self.calls()],
                         [[name, "cell", "rows-8", "1024", "auto", iterations] for name, iterations in
                          (("a", "20"), ("b", "20"), ("c", "20"), ("b", "200"), ("a", "200"), ("c", "200"))])

    def test_windows_count_all_their_messages_and_are_few_where_they_are_long(self) -> None:
        field = Field([Entry("a", self.contender("a", 99), "auto")])
        for cell in (Cell("rows-8", 1024, 5, 2), Cell("rows-8", 1024, 5, 2), Cell("rows-8", 1 << 20, 100)):
            field.round(cell, 0, 0.1)
        self.assertEqual([line.split()[5:8] for line in self.calls()],  # iterations, messages, ways
                         [["4", "5", "2"], ["100", "5", "2"], ["4", "100", "1"]])

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

    def test_who_does_not_end_is_ended_however_its_end_is_waited_for(self) -> None:
        deaf = ["sh", "-c", 'echo ready > "$0.out"; exec sleep 60']

        def fill(contender: Contender) -> None:
            with suppress(BlockingIOError):
                while True:
                    os.write(contender._ends[0], b"x" * 4096)

        contender = Contender("a", deaf, {})
        process = contender._process
        assert process is not None
        fill(contender)
        contender.close(patience_s=0.1)
        self.assertEqual(process.poll(), -9)
        self.assertFalse(contender._directory.exists())
        contender.close()
        contender = Contender("a", deaf, {})
        process = contender._process
        assert process is not None
        wait = process.wait
        with mock.patch.object(process, "wait", side_effect=lambda timeout=None: wait(10) if timeout is None else interrupt()):
            self.assertRaises(KeyboardInterrupt, contender.close)
        self.assertEqual(process.poll(), -9)
        self.assertFalse(contender._directory.exists())

    def compare(self, words: List[str], ours: float, faults: str = "-", whose: str = OFI) -> "tuple[int, str, str]":
        speeds = {MAD: ours, OFI: 400.0, UCX: 300.0, OPENMPI: 200.0, RAW: 50.0}
        one_table = [] if {"--fabric", "--fabrics", "--usual"} & {*words} else ["--fabric", "tcp"]
        words = [word for word in words if word != "--usual"]
        # A launcher's last word is its program: here the speed's own file stands for it.
        commands = {name: self.command(name, us, faults if name == whose else "-") for name, us in speeds.items()}
        programs = mock.Mock(side_effect=lambda wanted, program: dict.fromkeys(wanted, Path("x")))
        with mock.patch.object(compare_build, "programs", programs), \
                mock.patch.object(compare_build, "launcher", side_effect=lambda whose, wire: commands[whose]), \
                mock.patch.object(compare_build, "identity", return_value="build 1"), \
                mock.patch.object(compare, "_TURN_S", 0.002):  # fmt: skip
            return call(["compare", "--rounds", "3", *one_table, *words])

    def test_tcp_and_shared_memory_are_a_table_each(self) -> None:
        results, figures = self.scratch / "results.csv", self.scratch / "figures"
        words = ["--usual", "--layouts", "rows-8", "--sizes", "1K,4K", "--csv", str(results)]
        code, out, _ = self.compare([*words, *(["--plots", str(figures)] if figure.gnuplot() else [])], ours=100)
        self.assertEqual(code, 0)
        over_tcp, shared = out.split("through shared memory; fabric of this device: auto\n")
        self.assertIn("through TCP; fabric of this device: tcp\n", over_tcp)
        for table, raw in ((over_tcp, " +50.0"), (shared, "")):
            self.assertRegex(table, r"rows-8 +1K +100\.0 +100\.0 +400\.0 +300\.0 +200\.0" + raw + " +2.00")
            self.assertIn("no cell lost in 2", table)
        lines = results.read_text().splitlines()
        self.assertEqual(sorted({line.split(",")[0] for line in lines[1:]}), ["TCP", "shared memory"])
        if figure.gnuplot():
            self.assertEqual(sorted(path.name for path in figures.iterdir()), ["shared-memory", "tcp"])

    def test_the_whole_of_it(self) -> None:
        code, out, _ = self.compare(["--layouts", "rows-8", "--sizes", "1K"], ours=100)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"rows-8 +1K +100\.0 +100\.0 +400\.0 +300\.0 +200\.0 +50\.0 +2\.00 +1\.99")
        self.assertIn("no cell lost in 1", out)
        self.assertNotIn("fault", out)

    def test_one_sided_tells_all_the_window_and_has_no_sockets(self) -> None:
        names, figures = ["--layouts", "put,get:rows-64:target", "--sizes", "1K,64K"], self.scratch / "figures"
        code, out, _ = self.compare(["--one-sided", *names, "--plots", str(figures)] if figure.gnuplot() else
                                    ["--one-sided", *names], ours=100)  # fmt: skip
        self.assertEqual(code, 0)
        self.assertRegex(out, r"get:rows-64:target +1K x1 +100\.0 +400\.0 +300\.0 +200\.0 +2\.00")
        self.assertIn("\nput, in flight, 2 cells, geometric mean of peer/mad:  fastest 2.00", out)
        self.assertIn("\nall, 6 cells, ", out)
        self.assertIn("no cell lost in 6", out)
        self.assertNotIn("raw", out)
        self.assertEqual([line for line in self.calls() if " allocate " not in line], [])
        self.compare(["--one-sided", "--window", "create", *names], ours=100)
        self.assertIn(" create ", self.calls()[-1])
        if figure.gnuplot():
            self.assertIn("compare-get-rows-64-target-x1.png", [path.name for path in figures.iterdir()])

    def test_lost_cells_are_tried_again_and_named(self) -> None:
        code, out, _ = self.compare(["--layouts", "rows-8,padded", "--sizes", "1K"], ours=250)
        self.assertEqual(code, 0)
        self.assertIn("lost: rows-8, 1K, to Open MPI", out)
        self.assertIn("lost: padded, 1K, to Open MPI", out)
        self.assertIn("2 cells lost in 2\n", out)

    def test_a_peers_fault_is_told(self) -> None:
        code, out, _ = self.compare(["--layouts", "rows-8", "--sizes", "1K"], ours=100, faults="wrong")
        self.assertEqual(code, 0)
        self.assertIn("a peer's fault: ch4:ofi: rows-8, 1024 bytes: wrong byte 7", out)

    def test_in_shared_memory_without_raw_sockets(self) -> None:
        words = ["--layouts", "rows-4k,contiguous", "--sizes", "1M", "--fabric", "ucx:posix"]
        code, out, _ = self.compare(words, ours=100)
        self.assertEqual(code, 0)
        self.assertNotRegex(out, "raw|bare socket")
        self.assertIn("1M in blocks of 4K, times its own contiguous: mad auto 1.00\n", out)
        self.assertIn("a peer's fault: ch4:ucx: uses tcp\n", out)
        self.assertNotIn("ch4:ofi: uses", out)
        _, out, _ = self.compare(words, 100, "shared", UCX)
        self.assertNotIn("ch4:ucx: uses", out)

    def test_auto_is_compared_with_the_other_paths(self) -> None:
        words = ["--layouts", "rows-8,padded", "--sizes", "1K"]
        code, out, _ = self.compare(words, ours=100)
        self.assertEqual(code, 0)
        self.assertIn("mad auto slower than mad off: 0 cells of 2\n", out)
        _, out, _ = self.compare([*words, "--paths", "auto,pack,off"], 100, "slow-off", MAD)
        self.assertIn("mad auto slower than mad pack: 0 cells of 2\n", out)
        self.assertIn("mad auto slower than mad off: 2 cells of 2\n    rows-8, 1K\n    padded, 1K\n", out)
        _, out, _ = self.compare([*words, "--paths", "auto", "--fabrics", "tcp,ofi:tcp"], 100)
        self.assertNotIn("slower", out)

    def test_a_full_run_goes_on_where_it_stopped(self) -> None:
        full = ["--full", "--sizes", "1K,2K", "--layouts"]
        _, _, err = self.compare([*full, "rows-8"], ours=250)
        self.assertIn("0 of 2 cells done, 2 to go\n", err)
        measured = len(self.calls())
        _, out, err = self.compare([*full, "rows-8,padded"], ours=250)
        self.assertIn("2 of 4 cells done, 2 to go, about ", err)
        self.assertFalse([line for line in self.calls()[measured:] if "rows-8" in line])
        self.assertIn("lost: rows-8, 1K, to Open MPI\n", out)
        measured = len(self.calls())
        _, again, err = self.compare([*full, "rows-8,padded"], ours=100)
        self.assertIn("4 of 4 cells done, 0 to go\n", err)
        self.assertEqual((again, len(self.calls())), (out, measured))
        _, _, err = self.compare([*full, "rows-8,padded", "--rounds", "2"], ours=100)
        self.assertIn("0 of 4 cells done", err)
        _, out, err = self.compare([*full, "rows-8,padded", "--fresh"], ours=100)
        self.assertIn("0 of 4 cells done", err)
        self.assertIn("no cell lost in 4", out)

    def test_steps_are_found_and_tried_again(self) -> None:
        code, out, _ = self.compare(["--steps", "--paths", "auto", "--layouts", "rows-64"], 100, "step", MAD)
        self.assertEqual(code, 0)
        self.assertIn("step: rows-64, mad auto, 64K to 71488: +20.0 %\n", out)
        self.assertEqual(out.count("step"), 1)
        measured = [line.split()[3] for line in self.calls()]
        self.assertEqual(measured[-6:], ["65536", "71488"] * 3)
        _, out, _ = self.compare(["--steps", "--paths", "auto", "--layouts", "rows-64"], 100)
        self.assertIn("no step of more than 5 %: rows-64, mad auto\n", out)
        self.assertNotIn("Open MPI", out)

    @unittest.skipUnless(figure.gnuplot(), "gnuplot is not installed")
    def test_figures_are_drawn(self) -> None:
        figures = self.scratch / "some figures'"
        self.compare(["--layouts", "rows-8", "--sizes", "1K,64K,1M", "--plots", str(figures)], ours=100)
        self.assertEqual(sorted(path.name for path in figures.iterdir()),
                         ["compare-rows-8.png", "compare-rows-8.svg"])  # fmt: skip
        drawing = (figures / "compare-rows-8.svg").read_text(encoding="utf-8")
        for text in ("mad auto", "Open MPI", ">64K<", "time of the fastest peer"):
            self.assertIn(text, drawing)

    def test_paths_and_sizes_that_are_none(self) -> None:
        for words, error in ((["--paths", "auto,quick"], "no quick; there are: auto"), (["--sizes", "1X"], "1X"),
                             (["--rounds", "0"], "at least 1"), (["--layouts", "padded", "--sizes", "8"], "no cells"),
                             (["--fresh"], "--fresh needs --full"), (["--fabrics", "tcp,shm"], "one at a time"),
                             (["--steps", "--full"], "sizes of its own"), (["--peers", "me"], "no me"),
                             (["--windows", "--full"], "cells of its own"),
                             (["--window", "create"], "needs --one-sided"),
                             (["--one-sided", "--paths", "off"], "neither"), (["--one-sided", "--steps"], "neither"),
                             (["--one-sided", "--peers", "raw"], "no raw"),
                             (["--one-sided", "--layouts", "rows-8"], "no rows-8"),
                             (["--one-sided", "--sizes", "12"], "no cells"),
                             (["--windows", "--layouts", "rows-64", "--sizes", "8"], "no cells"),
                             (["--layouts", "rows-8,bogus"], "no bogus; there are: contiguous, "),
                             (["--steps", "--layouts", "rows-9"], "no rows-9"), (["--windows", "--layouts", "x"], "no x"),
                             (["--sizes", "0"], "'0' is none of 1 to 1024M"), (["--sizes", "1025M"], "'1025M'"),
                             (["--csv", "/nonexistent/x.csv"], "no such directory")):  # fmt: skip
            code, out, err = call(["compare", *words])
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn(error, err)

    def test_a_run_that_fails_leaves_the_csv_of_another(self) -> None:
        csv = self.scratch / "results.csv"
        csv.write_text("of last week\n")
        words = ["--layouts", "rows-8", "--sizes", "1K", "--csv", str(csv)]
        self.assertEqual(self.compare(words, 100, "wrong", MAD)[0], 1)
        self.assertEqual(csv.read_text(), "of last week\n")
        self.assertEqual(self.compare(words, 100)[0], 0)
        self.assertIn("TCP,rows-8,1024,", csv.read_text())

    def test_the_usual_layouts_are_those_of_perf_micro(self) -> None:
        self.assertLessEqual({*compare._FULL_LAYOUTS, *compare._STEP_LAYOUTS, "arrays"}, {*micro_layouts.names()})

    def test_the_default_is_at_most_sixty_cells_with_windows_up_to_1m(self) -> None:
        arguments = mock.Mock(layouts=None, sizes=None, full=False, steps=False, windows=False, one_sided=False)
        cells = compare.cells_of(arguments)
        self.assertLessEqual(len(cells), 60)
        for ways in (1, 2):
            self.assertIn(Cell("contiguous", 1 << 20, 64, ways), cells)

    def test_windows_alone_have_every_power_of_two(self) -> None:
        arguments = mock.Mock(layouts=None, sizes=None, full=False, steps=False, windows=True, one_sided=False)
        cells = compare.cells_of(arguments)
        self.assertEqual(cells[0], Cell("contiguous", 1, 64))
        self.assertEqual(cells[-1], Cell("contiguous", 1 << 20, 64, 2))
        self.assertEqual(len(cells), 2 * 21)


if __name__ == "__main__":
    unittest.main()
