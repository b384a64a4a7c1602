"""MPICH's suite: its lists, its reports, the known differences, and what is made of them."""

import contextlib
import io
import unittest
from pathlib import Path
from typing import Dict, List, Tuple
from unittest import mock

from madtool import conformance, conformance_suite
from madtool.conformance_results import (
    FAIL,
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
                mock.patch.object(conformance_suite, "run_directory", side_effect=lambda _, name, __: outcomes[name]):  # fmt: skip
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

    def test_directories_whose_turn_comes_too_late_are_named(self) -> None:
        suite = conformance_suite.Suite(self.scratch, self.scratch)
        with mock.patch.object(conformance_suite, "directories", return_value=["a", "b"]), \
                mock.patch.object(conformance_suite, "run_directory", return_value=[Result("a/x 1", PASS)]), \
                contextlib.redirect_stdout(io.StringIO()):  # fmt: skip
            tally = conformance.run(suite, ["a", "b"], {}, 10, last_start_s=-1.0)
            self.assertEqual((tally.passed, tally.skipped), (0, 2))
            self.assertEqual(tally.notes, ("no time left for a", "no time left for b"))
            self.assertEqual(conformance.run(suite, ["a"], {}, 10).passed, 1)

    def test_prefix_without_mpi_is_2(self) -> None:
        self.assertEqual(call(["conformance", "--mpi", str(self.scratch)])[0], 2)


class RunnerThatLeavesNothing(CacheTest):
    def test_is_a_failure_and_not_an_empty_success(self) -> None:
        suite = conformance_suite.Suite(self.scratch, self.scratch)
        place = self.scratch / "build" / "coll"
        place.mkdir(parents=True)
        (place / "testlist").write_text("")
        Path(self.scratch / "build" / "runtests").write_text("#!/bin/sh\nexit 0\n")
        (self.scratch / "build" / "runtests").chmod(0o755)
        self.assertRaises(Failure, conformance_suite.run_directory, suite, "coll", 10)
