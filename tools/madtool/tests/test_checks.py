"""The include rules, Bazel's test records, logged child processes and stamps."""

import json
import os
import sys
import time
import unittest
from pathlib import Path

from madtool import bazel_tests, layering, test_command
from madtool.errors import Failure
from madtool.log import run_logged
from madtool.paths import Stamps, tree_digest
from madtool.stages import Stage, Tally, run_all
from madtool.tests.support import CacheTest


class IncludeRules(unittest.TestCase):
    def complaints(self, path: str, include: str) -> int:
        return len(layering.violations(path, f'#include "{include}"\n'))

    def test_looking_down_is_allowed(self) -> None:
        for path, include in (
            ("madlike/message/messenger.cc", "madlike/driver/driver.h"),
            ("madlike/driver/ofi/endpoint.cc", "madlike/driver/ofi/fabric.h"),
            ("madlike/driver/ofi/endpoint.cc", "madlike/driver/driver.h"),
            ("madlike/driver/tcp/setup.cc", "madlike/driver/ip/address.h"),
            ("datatype_path/transfer/send.cc", "madlike/message/messenger.h"),
            ("netmod/abi/engine.cc", "madlike/driver/ofi/driver.h"),
            ("datatype_path/cursor/cursor_test.cc", "tests/support/type_map.h"),
            ("tests/support/anything.h", "netmod/abi/mad.h"),
        ):
            with self.subTest(path=path, include=include):
                self.assertEqual(self.complaints(path, include), 0)

    def test_looking_up_or_aside_is_told(self) -> None:
        for path, include in (
            ("madlike/message/messenger.cc", "datatype_path/cursor/cursor.h"),
            ("madlike/message/messenger.cc", "madlike/driver/ofi/driver.h"),
            ("madlike/driver/driver.h", "madlike/message/packet.h"),
            ("madlike/driver/ofi/endpoint.cc", "madlike/driver/loopback/loopback.h"),
            ("madlike/base/status.h", "madlike/driver/driver.h"),
            ("datatype_path/describe/desc.h", "datatype_path/program/block_program.h"),
            ("datatype_path/plan/plan.h", "madlike/message/messenger.h"),
            ("datatype_path/cursor/cursor.cc", "tests/support/type_map.h"),
        ):
            with self.subTest(path=path, include=include):
                self.assertEqual(self.complaints(path, include), 1)

    def test_files_of_testonly_targets_are_tests(self) -> None:
        build = ('cc_library(\n    name = "a",\n    hdrs = ["a.h"],\n)\n\n'
                 'cc_library(\n    name = "side",\n    testonly = True,\n    hdrs = ["side.h"],\n    deps = [":a"],\n)\n')  # fmt: skip
        self.assertEqual(layering.test_support(build), {"side.h"})
        line = '#include "madlike/driver/loopback/loopback.h"\n'
        self.assertEqual(len(layering.violations("madlike/message/side.h", line)), 1)
        self.assertEqual(layering.violations("madlike/message/side.h", line, is_test=True), [])

    def test_mpi_below_the_netmod_is_told(self) -> None:
        self.assertEqual(len(layering.violations("netmod/abi/engine.cc", "#include <mpi.h>\n")), 1)


class BazelRecords(CacheTest):
    def record(self, label: str, status: str, report: str) -> Path:
        xml = self.scratch / "test.xml"
        xml.write_text(report)
        events = self.scratch / "events.json"
        lines = [
            {"id": {"started": {}}},
            {"id": {"testResult": {"label": label, "run": 1}},
             "testResult": {"testActionOutput": [{"name": "test.xml", "uri": xml.as_uri()}]}},
            {"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}},
        ]  # fmt: skip
        events.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"cut off')
        return events

    def tally(self, status: str, report: str) -> Tally:
        events = self.record("//a:t", status, report)
        return sum((bazel_tests._tally_of(label, target)
                    for label, target in bazel_tests.targets(events).items()), Tally())  # fmt: skip

    def test_cases_are_counted(self) -> None:
        report = ('<testsuites><testsuite><testcase name="a" status="run"/>'
                  '<testcase name="b" status="run" result="skipped"/>'
                  '<testcase name="c" classname="S"><failure message="no"/></testcase></testsuite></testsuites>')  # fmt: skip
        tally = self.tally("FAILED", report)
        self.assertEqual((tally.passed, tally.failed, tally.skipped), (1, 1, 1))
        self.assertEqual(tally.notes, ("//a:t: FAILED\nS.c\nno",))

    def test_the_end_of_a_log_is_the_tests_own(self) -> None:
        log = self.scratch / "test.log"
        log.write_text("the reason\n1795388598.048: src/main/tools/linux-sandbox-pid1.cc:221: writable: /tmp\n")
        self.assertEqual(bazel_tests.tail(log, 1, bazel_tests._SANDBOX), "the reason")

    def test_a_target_that_timed_out_without_a_report_fails(self) -> None:
        tally = self.tally("TIMEOUT", "")
        self.assertEqual((tally.passed, tally.failed), (0, 1))
        self.assertIn("//a:t: TIMEOUT", tally.notes[0])

    def test_a_crash_after_passing_cases_fails(self) -> None:
        tally = self.tally("FAILED", '<testsuite><testcase name="a"/></testsuite>')
        self.assertEqual((tally.passed, tally.failed), (1, 1))


class ChosenStages(unittest.TestCase):
    def test_they_come_with_what_they_need(self) -> None:
        names = [stage.name for stage in test_command.choose(["suite", "tool"])]
        self.assertEqual(names, ["packages", "tool", "mpich", "suite"])


class Reports(unittest.TestCase):
    def test_what_failed_is_told_again_at_the_end(self) -> None:
        stages = [Stage("good", 1, "passes", lambda: Tally(passed=1, notes=("by the way",))),
                  Stage("bad", 1, "fails", lambda: Tally(failed=1, notes=("//a:t: FAILED\nS.c",)))]  # fmt: skip
        lines = run_all(stages).lines()
        self.assertEqual(lines[2:], ["bad: //a:t: FAILED", "bad: S.c"])


class Children(CacheTest):
    def test_failure_shows_the_end_of_the_log(self) -> None:
        with self.assertRaises(Failure) as caught:
            run_logged(["sh", "-c", "echo early; echo the reason; exit 3"], self.scratch / "log", "work")
        self.assertIn("the reason", str(caught.exception))
        self.assertIn("exit 3", str(caught.exception))

    def test_a_program_that_is_not_there(self) -> None:
        with self.assertRaises(Failure) as caught:
            run_logged(["/nonexistent/tool"], self.scratch / "log", "work")
        self.assertIn("/nonexistent/tool", str(caught.exception))

    def test_an_interrupt_ends_the_child(self) -> None:
        pid_file = self.scratch / "pid"
        script = (
            "import os, signal, sys, threading\n"
            f"sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})\n"
            "from pathlib import Path\n"
            "from madtool.log import run_logged\n"
            "from madtool import cli\n"
            "import signal as s\n"
            "s.signal(s.SIGTERM, cli._terminated)\n"
            f"run_logged(['sh', '-c', 'echo $$ > {pid_file}; exec sleep 100'], Path({str(self.scratch / 'log')!r}), 'w')\n"
        )
        import subprocess

        parent = subprocess.Popen([sys.executable, "-B", "-c", script], stderr=subprocess.DEVNULL)
        self.addCleanup(parent.kill)
        deadline = time.monotonic() + 20
        while not (pid_file.is_file() and pid_file.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
        child = int(pid_file.read_text())
        parent.terminate()
        parent.wait(timeout=20)
        self.assertRaises(ProcessLookupError, os.kill, child, 0)


class StampsAndDigests(CacheTest):
    def test_a_stamp_is_set_and_cleared(self) -> None:
        stamps = Stamps(self.scratch / "stamps")
        self.assertIsNone(stamps.get("a"))
        stamps.set("a", "1")
        self.assertEqual(stamps.get("a"), "1")
        stamps.clear("a")
        stamps.clear("a")
        self.assertIsNone(stamps.get("a"))

    def test_a_digest_follows_content_and_names(self) -> None:
        root = self.scratch / "tree"
        root.mkdir()
        (root / "a").write_text("1")
        first = tree_digest([root])
        self.assertEqual(first, tree_digest([root]))
        (root / "a").write_text("2")
        second = tree_digest([root])
        (root / "a").rename(root / "b")
        self.assertEqual(len({first, second, tree_digest([root])}), 3)
