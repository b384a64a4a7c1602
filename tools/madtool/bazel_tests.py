"""`bazel test` as a stage: runs every test target and counts the single test cases from Bazel's own record."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple
from urllib.parse import unquote, urlparse

from madtool import bazel, libmad_build
from madtool.log import tail
from madtool.paths import logs_dir
from madtool.stages import Tally

_OK, _TESTS_FAILED = 0, 3  # exit codes of `bazel test`
_NOTE_LINES = 40
_SANDBOX = re.compile(r"^\d+\.\d+: src/main/tools/|^\S*linux-sandbox")  # what Bazel's sandbox says of itself in a test's log


@dataclass
class Target:
    """One test target: Bazel's word for how it ended, and where its report and log are."""

    status: str = ""
    reports: Tuple[Path, ...] = ()
    log: "Path | None" = None


def _events(path: Path) -> "Iterator[Dict[str, object]]":
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            try:
                yield json.loads(line)
            except ValueError:
                return  # Bazel was interrupted while writing


def targets(event_file: Path) -> Dict[str, Target]:
    """The test targets of a run, from its --build_event_json_file."""
    found: Dict[str, Target] = {}
    for event in _events(event_file):
        identity = event.get("id", {})
        if not isinstance(identity, dict):
            continue
        if "testResult" in identity:
            target = found.setdefault(identity["testResult"]["label"], Target())
            result = event.get("testResult", {})
            for output in result.get("testActionOutput", ()) if isinstance(result, dict) else ():
                place = Path(unquote(urlparse(output.get("uri", "")).path))
                if output.get("name") == "test.xml":
                    target.reports += (place,)
                elif output.get("name") == "test.log":
                    target.log = place
        elif "testSummary" in identity:
            summary = event.get("testSummary", {})
            if isinstance(summary, dict):
                label = identity["testSummary"]["label"]
                found.setdefault(label, Target()).status = summary.get("overallStatus", "NO_STATUS")
    return found


def _told(case: ElementTree.Element) -> str:
    """What a failed case says: its name and its messages."""
    name = ".".join(word for word in (case.get("classname"), case.get("name")) if word)
    return "\n".join([name, *(what.get("message", "") for what in case if what.tag in ("failure", "error"))])


def cases(report: Path) -> Tally:
    """The test cases of one JUnit file, GoogleTest's or Bazel's own; a note for each that failed."""
    tally = Tally()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            tally += Tally(failed=1, notes=(_told(case),))
        elif case.find("skipped") is not None or case.get("result") == "skipped" or case.get("status") == "notrun":
            tally += Tally(skipped=1)
        else:
            tally += Tally(passed=1)
    return tally


def _tally_of(label: str, target: Target) -> Tally:
    counted = Tally()
    for report in target.reports:
        try:
            counted += cases(report)
        except (OSError, ElementTree.ParseError):
            pass  # a killed test leaves none or half of one; its status counts below
    if target.status in ("PASSED", "FLAKY"):
        return counted if counted.passed + counted.skipped else Tally(passed=1)
    note = "\n".join([f"{label}: {target.status}", *counted.notes])
    if target.log is not None:
        note += f"\nlast lines of {target.log}:\n{tail(target.log, _NOTE_LINES, _SANDBOX)}"
    failed = max(counted.failed, 1)
    return Tally(counted.passed, failed, counted.skipped, (note,))


def build_libmad() -> Tally:
    """The shared library that MPICH links, and the one that it loads."""
    targets = (libmad_build.target(), libmad_build.UCX_DRIVER)
    bazel.build([f"//netmod/abi:{name}" for name in targets], "libmad")
    return Tally(passed=1)


def run(name: str, arguments: List[str], left_out: Sequence[str] = ()) -> Tally:
    """Runs all tests of the checkout but those of the patterns `left_out`; `arguments` choose the configuration
    and the tags left out."""
    events = logs_dir() / f"{name}.events.json"
    events.parent.mkdir(parents=True, exist_ok=True)
    events.unlink(missing_ok=True)
    words = [*arguments, "--keep_going", "--build_tests_only", f"--build_event_json_file={events}", "--", "//..."]
    words += [f"-//{pattern}" for pattern in left_out]
    code, log = bazel.test(words, name)
    tally = Tally()
    if events.is_file():
        for label, target in sorted(targets(events).items()):
            tally += _tally_of(label, target)
    if code not in (_OK, _TESTS_FAILED):
        note = f"bazel test ended with {code}; last lines of {log}:\n{tail(log, _NOTE_LINES)}"
        tally += Tally(failed=0 if tally.failed else 1, notes=(note,))
    return tally
