"""MPICH's suite: its lists, its reports, the known differences, and what is made of them."""

import contextlib
import io
import time
import unittest
from typing import Dict, List, Optional, Tuple
from unittest import mock

from madtool import conformance, conformance_fabrics, conformance_lanes, conformance_suite, fabrics
from madtool.conformance_results import (
    FAIL,
    LATE,
    NOT_RUN,
    PASS,
    SKIP,
    Listed,
    Result,
    Verdict,
    complete,
    listed_tests,
    parse_known,
    parse_report,
)
from madtool.conformance_lanes import Conditions
from madtool.errors import Failure, Missing
from madtool.tests.support import CacheTest, call

REPORT = """<testsuites>
  <testsuite failures="2" errors="0" skipped="2" tests="5" date="x" name="summary_junit_xml">
    <testcase name=" - ./pt2pt/sendrecv1 4  " time="0.5"></testcase>
    <testcase name=" - ./pt2pt/sendflood 8  " time="120.25">
      <failure type="TestFailed"
               message="not ok  - ./pt2pt/sendflood 8"><![CDATA[not ok  - ./pt2pt/sendflood 8
  ---
  ...
## Test output (expected 'No Errors'):
## APPLICATION TIMED OUT < & > "quoted"
    ]]></failure>
    </testcase>
    <testcase name=" - ./pt2pt/big 2 -n=5 A=1" time="1"></testcase>
    <testcase name=" - ./pt2pt/scancel 2  ">
      <skipped type="TodoTestSkipped">
             message="xfail tests disabled"><![CDATA[ok  - ./pt2pt/scancel 2  # SKIP]]></skipped>
    </testcase>
    <testcase name=" - ./errors/pt2pt/truncmsg1 2  " time="">
      <failure type="TestFailed"
               message="x"><![CDATA[Failed to build
    ]]></failure>
    </testcase>
  </testsuite>
</testsuites>
"""


class Reports(unittest.TestCase):
    def test_parse(self) -> None:
        found = {result.key: result for result in parse_report(REPORT)}
        self.assertEqual(
            {key: result.outcome for key, result in found.items()},
            {
                "pt2pt/sendrecv1 4": PASS,
                "pt2pt/sendflood 8": FAIL,
                "pt2pt/big 2 -n=5 A=1": PASS,
                "pt2pt/scancel 2": SKIP,
                "errors/pt2pt/truncmsg1 2": FAIL,
            },
        )
        self.assertAlmostEqual(found["pt2pt/sendflood 8"].seconds, 120.25)
        self.assertIn('APPLICATION TIMED OUT < & > "quoted"', found["pt2pt/sendflood 8"].output)

    def test_what_a_cut_off_report_does_not_name_did_not_run(self) -> None:
        cut = REPORT[: REPORT.index('<testcase name=" - ./pt2pt/big')]
        expected = [Listed("pt2pt/sendrecv1 4", "pt2pt", "sendrecv1"), Listed("pt2pt/big 2 -n=5 A=1", "pt2pt", "big")]
        outcomes = {result.key: result.outcome for result in complete(expected, parse_report(cut))}
        self.assertEqual(outcomes["pt2pt/sendrecv1 4"], PASS)
        self.assertEqual(outcomes["pt2pt/big 2 -n=5 A=1"], NOT_RUN)

    def test_what_no_time_was_left_for_is_said_so(self) -> None:
        expected = [Listed("a/x 2", "a", "x"), Listed("a/y 2", "a", "y")]
        results = complete(expected, [Result("a/x 2", PASS)], LATE)
        self.assertEqual([result.outcome for result in results], [PASS, LATE])
        self.assertEqual(Verdict(results).new_failures, [])

    def test_what_is_shown_of_a_long_output_are_both_its_ends(self) -> None:
        shown = Result("a/b 2", FAIL, 0.0, "".join(f"line {i}\n\n" for i in range(100))).excerpt()
        self.assertEqual([*shown[:2], *shown[-1:]], ["line 0", "line 1", "line 99"])
        self.assertIn("... 76 lines ...", shown)
        self.assertEqual(Result("a/b 2", FAIL, 0.0, "one\ntwo\n").excerpt(), ["one", "two"])

    def test_a_key_listed_twice_counts_as_its_worst(self) -> None:
        both = [Result("a/b 2", FAIL), Result("a/b 2", PASS)]
        for order in (both, both[::-1]):
            self.assertEqual([r.outcome for r in complete([], order)], [FAIL])


class Lists(CacheTest):
    def test_lines(self) -> None:
        suite = self.scratch
        (suite / "errors" / "rma").mkdir(parents=True)
        (suite / "source" / "errors" / "rma").mkdir(parents=True)
        (suite / "errors" / "testlist").write_text(
            "# comment\n!util:all\nplain\nwith 4 # four\nopt 2 arg=-x arg=1 env=A=b timeLimit=600\nrma\nsub/inner 3\n"
        )
        (suite / "source" / "errors" / "rma" / "testlist").write_text("winerr 2\n")
        # The runner enters sub/ for such a program, but reports it under the directory of the list.
        listed = list(listed_tests(suite, "errors"))
        self.assertEqual(
            [test.key for test in listed],
            ["errors/plain 2", "errors/with 4", "errors/opt 2 -x 1 A=b", "errors/rma/winerr 2", "errors/inner 3"],
        )
        self.assertEqual((listed[3].directory, listed[3].program), ("errors/rma", "winerr"))


class Known(CacheTest):
    def test_parse(self) -> None:
        text = "# heading\n\npt2pt/sendflood   8  # 8 ranks on 2 cores\n"
        self.assertEqual(parse_known(text), {"pt2pt/sendflood 8": "8 ranks on 2 cores"})

    def test_one_that_names_a_fabric_is_known_there_alone(self) -> None:
        text = "a/x 2  # everywhere\n@shm a/y  2 K=V  # upstream\n@tcp a/y 2 K=V  # ours\n"
        self.assertEqual(parse_known(text), {"a/x 2": "everywhere"})
        self.assertEqual(parse_known(text, "shm"), {"a/x 2": "everywhere", "a/y 2 K=V": "upstream"})
        self.assertEqual(parse_known(text, "tcp"), {"a/x 2": "everywhere", "a/y 2 K=V": "ours"})

    def test_a_reason_is_needed(self) -> None:
        for line in ("pt2pt/sendflood 8", "pt2pt/sendflood 8 #  "):
            self.assertRaises(ValueError, parse_known, line)

    def test_the_committed_list_can_be_read(self) -> None:
        self.assertIsInstance(conformance.known_differences(), dict)

    def test_a_bad_list_is_wrong_use(self) -> None:
        bad = self.scratch / "known.txt"
        bad.write_text("pt2pt/x 2\n")
        self.assertRaises(Missing, conformance.known_differences, bad)

    def test_verdict(self) -> None:
        results = [Result("a 1", PASS), Result("b 1", FAIL), Result("c 1", NOT_RUN), Result("d 1", FAIL),
                   Result("e 1", PASS), Result("f 1", SKIP)]  # fmt: skip
        verdict = Verdict(results, {"d 1": "known", "e 1": "was known"})
        self.assertEqual([r.key for r in verdict.new_failures], ["b 1", "c 1"])
        self.assertEqual([r.key for r in verdict.known_failures], ["d 1"])
        self.assertEqual([r.key for r in verdict.mended], ["e 1"])
        self.assertEqual([r.key for r in verdict.skipped], ["f 1"])


class Command(CacheTest):
    """The subcommand on a suite whose runs are given."""

    def run_command(self, words: List[str], outcomes: Dict[str, List[Result]]) -> Tuple[int, str, str]:
        suite = conformance_suite.Suite(self.scratch, self.scratch)
        with mock.patch.object(conformance_suite, "prepare", return_value=suite), \
                mock.patch.object(conformance_suite, "directories", return_value=sorted(outcomes)), \
                mock.patch.object(conformance_suite, "version", return_value="some MPI"), \
                mock.patch.object(conformance_lanes, "run", side_effect=lambda _, names, __: {n: outcomes[n] for n in names}):  # fmt: skip
            return call(["conformance", "--mpi", str(self.scratch), *words])

    def test_new_failure_is_1_and_shown(self) -> None:
        code, out, _ = self.run_command(["coll"], {"coll": [Result("coll/x 4", FAIL, 1.0, "boom"), Result("coll/y 4", PASS)]})
        self.assertEqual(code, 1)
        self.assertIn("coll/x 4: failed", out)
        self.assertIn("boom", out)
        self.assertEqual(out.splitlines()[-1], "1 passed, 1 failed, 0 skipped")

    def test_known_failure_is_0_and_a_mended_one_is_told(self) -> None:
        known = self.scratch / "known.txt"
        known.write_text("coll/x 4  # because\ncoll/y 4  # no longer\n")
        table = self.scratch / "table.txt"
        outcomes = {"coll": [Result("coll/x 4", FAIL), Result("coll/y 4", PASS)]}
        code, out, _ = self.run_command(["--known", str(known), "--table", str(table), "coll"], outcomes)
        self.assertEqual(code, 0)
        self.assertIn("as known: because", out)
        self.assertIn("coll/y 4: passes, though listed", out)
        self.assertIn("fail     coll/x 4", table.read_text())
        self.assertTrue(table.read_text().startswith("# some MPI\n"))

    def test_unknown_directory_is_2(self) -> None:
        code, _, err = self.run_command(["nonsense"], {"coll": []})
        self.assertEqual(code, 2)
        self.assertIn("coll", err)

    def test_files_that_cannot_be_are_2_before_anything_is_built(self) -> None:
        bad = self.scratch / "bad.txt"
        bad.write_text("coll/x 4\n")
        with mock.patch.object(conformance_suite, "mad_suite", side_effect=AssertionError("something is built")):
            for words in (["--known", str(self.scratch / "no.txt")], ["--known", str(bad)],
                          ["--table", str(self.scratch / "no" / "table.txt")], ["--table", str(self.scratch)]):  # fmt: skip
                code, _, err = call(["conformance", *words])
                self.assertEqual(code, 2, words)
                self.assertIn(words[1], err)

    def test_what_comes_too_late_is_skipped_and_named(self) -> None:
        late = [Result("a/x 1", PASS), Result("a/y 1", LATE), Result("a/z 1", LATE)]
        suite = conformance_suite.Suite(self.scratch, self.scratch)
        with mock.patch.object(conformance_suite, "directories", return_value=["a"]), \
                mock.patch.object(conformance_lanes, "run", return_value={"a": late}), \
                contextlib.redirect_stdout(io.StringIO()):  # fmt: skip
            tally = conformance.run(suite, ["a"], {}, Conditions(10))
        self.assertEqual((tally.passed, tally.failed, tally.skipped), (1, 0, 2))
        self.assertEqual(tally.notes, ("no time left for 2 of a, from a/y 1 on",))

    def test_prefix_without_mpi_is_2(self) -> None:
        self.assertEqual(call(["conformance", "--mpi", str(self.scratch)])[0], 2)


class Lanes(CacheTest):
    """The suite's runner, what it is told, and how several of them share the work."""

    LISTED = "x 2\ny 2\n"
    # Says of every test of its list that it passed; bounded by its own patience.
    PASSES = """for word; do case $word in
  -tests=*) list=${word#-tests=};; -testdirs=*) place=${word#-testdirs=};; -junitfile=*) report=${word#-junitfile=};;
esac; done
passed() { while read -r program ranks; do
  printf '<testcase name=" - ./%s/%s %s" time="1"></testcase>' "$place" "$program" "$ranks"
done < "$list" >> "$report"; }
"""

    def suite(self, script: str, **directories: str) -> conformance_suite.Suite:
        for directory, lines in (directories or {"coll": self.LISTED}).items():
            place = self.scratch / "build" / directory
            place.mkdir(parents=True)
            (place / "testlist").write_text(lines)
            for line in lines.splitlines():
                (place / line.split()[0]).touch()  # compiled
        conformance_suite.script(self.scratch / "build" / "runtests", f"#!/bin/sh\n{self.PASSES}{script}\n")
        return conformance_suite.Suite(self.scratch, self.scratch)

    def outcomes(self, script: str, conditions: Conditions) -> List[str]:
        results = conformance_lanes.run(self.suite(script), ["coll"], conditions)
        return [one.outcome for one in results["coll"]]

    def test_that_leaves_nothing_is_a_failure_and_not_an_empty_success(self) -> None:
        self.assertEqual(self.outcomes("exit 0", Conditions(10)), [NOT_RUN, NOT_RUN])

    def test_has_the_settings_and_the_time_limit(self) -> None:
        conditions = Conditions(10, conformance_lanes.over("a:b"))
        self.assertEqual(self.outcomes(f"env > {self.scratch}/env; passed", conditions), [PASS, PASS])
        environment = (self.scratch / "env").read_text().splitlines()
        for line in ("MPIR_CVAR_CH4_MAD_FABRIC=a:b", "MPIR_CVAR_CH4_MAD_INTERFACE=lo",
                     "MPIR_CVAR_CH4_MAD_SHARED_WINDOWS=0", "MPITEST_TIMEOUT=10"):  # fmt: skip
            self.assertIn(line, environment)

    def test_runs_what_is_chosen(self) -> None:
        conditions = Conditions(10, chosen=lambda test: test.program == "y")
        results = conformance_lanes.run(self.suite("passed"), ["coll"], conditions)
        self.assertEqual([one.key for one in results["coll"]], ["coll/y 2"])

    def test_is_told_when_there_is_no_time_left(self) -> None:
        script = """i=0
while [ ! -s "$MPITEST_STOPTEST" ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
sed -i 1q "$list"; passed"""
        soon = time.monotonic() + 0.3
        self.assertEqual(self.outcomes(script, Conditions(10, last_start=soon)), [PASS, LATE])

    def test_is_not_started_when_there_is_none_before(self) -> None:
        conditions = Conditions(10, last_start=time.monotonic() - 1)
        self.assertEqual(self.outcomes("exit 1", conditions), [LATE, LATE])

    def test_every_piece_is_run_once_whatever_becomes_of_the_others(self) -> None:
        many = "".join(f"x{number} 2\n" for number in range(30))
        suite = self.suite(f'echo "$list" >> {self.scratch}/runs; passed; exit 255', coll=many, io=many)
        results = conformance_lanes.run(suite, ["coll", "io"], Conditions(10))
        self.assertEqual([one.outcome for one in results["coll"] + results["io"]], [PASS] * 60)
        runs = (self.scratch / "runs").read_text().split()
        self.assertEqual((len(runs), len(set(runs))), (4, 4))  # 12, 12 and 6 of coll; io shares its files

    def test_directories_are_compiled_by_one_make(self) -> None:
        suite = self.suite("passed")
        for name in "xy":
            (suite.objects / "coll" / name).unlink()
        makefile = "x y:\n\t@echo '  CCLD     $@'; test $@ = y || touch $@\n"
        (suite.objects / "coll" / "Makefile").write_text(makefile)
        conformance_suite.compile_programs(suite, conformance_suite.expected(suite, "coll"))
        self.assertEqual([(suite.objects / "coll" / name).exists() for name in "xy"], [True, False])


class OverFabrics(CacheTest):
    """`--fabric` on a suite whose runs are given."""

    def run_command(self, words: List[str], outcomes: Dict[str, List[Result]],
                    why_not: Optional[Dict[str, str]] = None) -> Tuple[int, str, str]:  # fmt: skip
        """`outcomes` by fabric and directory, as "tcp/coll"; self.ran has what was run."""
        self.ran: List[str] = []

        def run(_: object, names: List[str], conditions: Conditions) -> Dict[str, List[Result]]:
            (name,) = names
            self.ran.append(f"{conditions.settings['MPIR_CVAR_CH4_MAD_FABRIC']}/{name}")
            if self.ran[-1] not in outcomes:
                raise Failure("interrupted")
            return {name: outcomes[self.ran[-1]]}

        suite = conformance_suite.Suite(self.scratch, self.scratch)
        with mock.patch.object(conformance_suite, "prepare", return_value=suite), \
                mock.patch.object(conformance_suite, "directories", return_value=["coll", "rma"]), \
                mock.patch.object(conformance_suite, "version", return_value="some MPI"), \
                mock.patch.object(fabrics, "unusable", return_value=why_not or {}), \
                mock.patch.object(conformance_lanes, "run", side_effect=run):  # fmt: skip
            return call(["conformance", "--mpi", str(self.scratch), *words])

    GOOD = {"tcp/coll": [Result("coll/x 4", PASS)], "tcp/rma": [Result("rma/y 2", PASS)],
            "ofi:tcp/coll": [Result("coll/x 4", PASS)], "ofi:tcp/rma": [Result("rma/y 2", FAIL, 1.0, "boom")]}  # fmt: skip
    BOTH = ["--fabric", "tcp", "--fabric", "ofi:tcp", "coll", "rma"]

    def test_what_is_done_is_not_run_again(self) -> None:
        part = {name: self.GOOD[name] for name in ("tcp/coll", "tcp/rma", "ofi:tcp/coll")}
        self.assertEqual(self.run_command(self.BOTH, part)[0], 1)
        code, out, err = self.run_command(self.BOTH, self.GOOD)
        self.assertEqual((code, self.ran), (1, ["ofi:tcp/rma"]))
        self.assertIn("3 of 4 done, 1 to go, about", err)
        self.assertIn("boom", out)
        self.assertEqual(out.splitlines()[-1], "3 passed, 1 failed, 0 skipped")
        self.run_command([*self.BOTH, "--fresh"], self.GOOD)
        self.assertEqual(self.ran, list(self.GOOD))

    def test_another_library_or_time_limit_is_another_run(self) -> None:
        self.run_command(["--fabric", "tcp", "coll"], self.GOOD)
        self.run_command(["--fabric", "tcp", "--timeout", "7", "coll"], self.GOOD)
        self.assertEqual(self.ran, ["tcp/coll"])
        (self.scratch / "lib").mkdir()
        (self.scratch / "lib" / "libmad.so.1").write_text("new")
        self.run_command(["--fabric", "tcp", "coll"], self.GOOD)
        self.assertEqual(self.ran, ["tcp/coll"])
        self.run_command(["--fabric", "tcp", "coll"], self.GOOD)
        self.assertEqual(self.ran, [])

    def test_the_table_has_every_cell_and_every_exception(self) -> None:
        file, known = self.scratch / "table.txt", self.scratch / "known.txt"
        known.write_text("@ofi:tcp rma/y 2  # upstream's\n")
        skip = Result("coll/z 2", SKIP, 0.0, "ok - ./coll/z 2  # SKIP xfail tests disabled")
        outcomes = {name: results + [skip] * name.endswith("coll") for name, results in self.GOOD.items()}
        words = [*self.BOTH, "--fabric", "shm", "--known", str(known), "--table", str(file)]
        code, out, _ = self.run_command(words, outcomes, {"shm": "no provider"})
        self.assertEqual((code, out.splitlines()[-1]), (1, "3 passed, 1 failed, 3 skipped"))
        title, *lines = file.read_text().splitlines()
        self.assertTrue(title.startswith("# some MPI; over lo"), title)
        self.assertEqual([line.split() for line in lines[:5]],
                         [["directory", "tcp", "ofi:tcp", "shm"], ["coll", "1/0/1", "1/0/1", "-"],
                          ["rma", "1/0/0", "0/1/0", "-"], ["all", "2/0/1", "1/1/1", "-"], []])  # fmt: skip
        self.assertEqual(lines[5:], ["not here  shm: no provider",
                                     "skip      coll/z 2  over all  # xfail tests disabled",
                                     "fail      rma/y 2  over ofi:tcp  # upstream's"])  # fmt: skip

    def test_a_fabric_that_is_named_must_be_here_one_of_all_need_not(self) -> None:
        code, out, err = self.run_command(["--fabric", "tcp", "coll"], {}, {"tcp": "no network"})
        self.assertEqual((code, out.splitlines()[-1]), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("tcp: no network", err)
        why_not = {name: "not here" for name in fabrics.FABRICS if name != "tcp"}
        code, out, _ = self.run_command(["--fabric", "all", "coll"], self.GOOD, why_not)
        self.assertEqual((code, out.splitlines()[-1]), (0, f"1 passed, 0 failed, {len(why_not)} skipped"))

    def test_all_are_those_of_the_list(self) -> None:
        self.assertEqual(conformance_fabrics.named(["tcp", "all"]), list(fabrics.FABRICS))
