"""What MPICH's test suite says: its lists of tests, its reports, and the differences known beforehand.

A test's key is `directory/program processes arguments environment`, with single blanks: the one thing the
lists and the reports have in common (the suite's own numbers are blank in its reports).
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

PASS, FAIL, SKIP, NOT_RUN, LATE = "pass", "fail", "skip", "not run", "no time left"
_SHOWN_FIRST, _SHOWN_LAST = 12, 12
# Worst last: a key that a list has twice counts as its worst outcome.
_ORDER = (SKIP, PASS, LATE, NOT_RUN, FAIL)


class Result(NamedTuple):
    key: str
    outcome: str
    seconds: float = 0.0
    output: str = ""

    def excerpt(self) -> List[str]:
        """The first lines of the output, where an assertion says what failed, and the last ones."""
        lines = [line for line in self.output.splitlines() if line.strip()]
        left_out = len(lines) - _SHOWN_FIRST - _SHOWN_LAST
        if left_out <= 1:
            return lines
        return [*lines[:_SHOWN_FIRST], f"... {left_out} lines ...", *lines[-_SHOWN_LAST:]]


def make_key(directory: str, program: str, words: str) -> str:
    place = directory[2:] if directory.startswith("./") else directory
    return " ".join([f"{place}/{program}", *words.split()])


@dataclass(frozen=True)
class Listed:
    """One line of a list: its key, the program to compile in `directory`, the line, and the list's own directory."""

    key: str
    directory: str
    program: str
    line: str = ""
    listed_in: str = ""


def listed_tests(suite: Path, directory: str, default_processes: int = 2) -> Iterator[Listed]:
    """The tests of `directory` (relative to the configured suite), those of its subdirectories included."""
    path = suite / directory / "testlist"
    if not path.is_file():
        path = suite / "source" / directory / "testlist"
    for line in path.read_text(errors="replace").splitlines():
        words = line.split("#", 1)[0].split()
        if not words or words[0].startswith("!"):
            continue
        if (suite / directory / words[0]).is_dir():
            yield from listed_tests(suite, f"{directory}/{words[0]}", default_processes)
            continue
        processes = words[1] if len(words) > 1 else str(default_processes)
        options = [word.partition("=")[::2] for word in words[2:]]
        arguments = [value for name, value in options if name == "arg"]
        environment = [value for name, value in options if name == "env"]
        place, _, program = f"{directory}/{words[0]}".rpartition("/")
        key = make_key(directory, program, " ".join([processes, *arguments, *environment]))
        yield Listed(key, place, program, line, directory)


_CASE = re.compile(r'<testcase name="[^"]*? - (\S+)/([^\s/]+) ([^"\n]*)"(?: time="([^"\n]*)")?>(.*?)</testcase>',
                   re.DOTALL)  # fmt: skip
_CDATA = re.compile(r"<!\[CDATA\[(.*)\]\]>", re.DOTALL)


def parse_report(text: str) -> List[Result]:
    """The results in a JUnit report of the suite.

    Read by pattern: the suite writes the programs' raw output into it, so that it need not be valid XML.
    """
    results = []
    for directory, program, words, seconds, body in _CASE.findall(text):
        # A test that is expected to fail upstream and does is reported as skipped, with its log.
        outcome = FAIL if "<failure" in body else SKIP if "<skipped" in body else PASS
        match = _CDATA.search(body)
        lines = [line[3:] if line.startswith("## ") else line
                 for line in (match.group(1) if match else "").splitlines()]  # fmt: skip
        try:
            took = float(seconds)
        except ValueError:
            took = 0.0
        results.append(Result(make_key(directory, program, words), outcome, took, "\n".join(lines)))
    return results


def complete(expected: List[Listed], results: List[Result], missing: str = NOT_RUN) -> List[Result]:
    """One result a key, in the lists' order; listed tests that no report names are `missing`."""
    by_key: Dict[str, Result] = {}
    for result in results:
        other = by_key.get(result.key)
        if other is None or _ORDER.index(result.outcome) > _ORDER.index(other.outcome):
            by_key[result.key] = result
    keys = dict.fromkeys([listed.key for listed in expected] + list(by_key))
    return [by_key.get(key, Result(key, missing)) for key in keys]


def parse_known(text: str, fabric: str = "") -> Dict[str, str]:
    """The known differences: lines `[@FABRIC] KEY  # REASON`; a reason is not optional.

    Those that name a fabric are known over that one only.
    """
    known = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, separator, reason = line.partition("#")
        if not separator or not reason.strip():
            raise ValueError(f"line {number}: a known difference needs `# REASON`")
        words = key.split()
        over = words.pop(0)[1:] if words[0].startswith("@") else fabric
        if over == fabric:
            known[" ".join(words)] = reason.strip()
    return known


@dataclass
class Verdict:
    """The results of some directories held against the known differences."""

    results: List[Result]
    known: Dict[str, str] = field(default_factory=dict)

    def _with(self, *outcomes: str) -> List[Result]:
        return [result for result in self.results if result.outcome in outcomes]

    @property
    def passed(self) -> List[Result]:
        return self._with(PASS)

    @property
    def skipped(self) -> List[Result]:
        return self._with(SKIP)

    @property
    def late(self) -> List[Result]:
        return self._with(LATE)

    @property
    def new_failures(self) -> List[Result]:
        """What failed, or should have run and did not, without being known."""
        return [result for result in self._with(FAIL, NOT_RUN) if result.key not in self.known]

    @property
    def known_failures(self) -> List[Result]:
        return [result for result in self._with(FAIL, NOT_RUN) if result.key in self.known]

    @property
    def mended(self) -> List[Result]:
        return [result for result in self.passed if result.key in self.known]


def table(verdicts: "Dict[str, Verdict]") -> List[str]:
    """A line a directory and their sum.  The seconds are the programs' own; they run side by side."""
    lines = [f"{'directory':<12} {'passed':>7} {'failed':>7} {'known':>6} {'skipped':>8} {'seconds':>8}"]
    sums = [0, 0, 0, 0, 0.0]
    for name, verdict in verdicts.items():
        row = [len(verdict.passed), len(verdict.new_failures), len(verdict.known_failures),
               len(verdict.skipped + verdict.late), sum(result.seconds for result in verdict.results)]  # fmt: skip
        sums = [a + b for a, b in zip(sums, row)]
        lines.append(_row(name, row))
    return [*lines, _row("all", sums)]


def _row(name: str, row: "List[float]") -> str:
    return f"{name:<12} {row[0]:>7} {row[1]:>7} {row[2]:>6} {row[3]:>8} {row[4]:>8.0f}"
