"""The stages of `tools/mad test`: each counts what passed, failed and was skipped, and has a time budget.

A stage that fails does not stop the ones after it, except those that need it.  The budgets are for 2 cores
and cold caches; a stage that takes longer is told about but does not fail for it.
"""

import subprocess
import time
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Sequence, Tuple

from madtool.errors import Failure
from madtool.log import clock, say

_NOTE_LINES = 12  # of a failed stage's notes, told once more at the end


@dataclass(frozen=True)
class Tally:
    """How many checks went which way, and what a reader should know about those that did not pass."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: Tuple[str, ...] = ()

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.passed + other.passed, self.failed + other.failed,
                     self.skipped + other.skipped, self.notes + other.notes)  # fmt: skip

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Stage:
    name: str
    budget_min: float
    what: str
    run: Callable[[], Tally]
    needs: Tuple[str, ...] = ()
    asked_only: bool = False  # runs where it is named, and not with all of them


@dataclass
class Report:
    """What the stages did, in their order."""

    rows: List[Tuple[Stage, Tally, float]] = field(default_factory=list)

    @property
    def total(self) -> Tally:
        return sum((tally for _, tally, _ in self.rows), Tally())

    def lines(self) -> List[str]:
        width = max((len(stage.name) for stage, _, _ in self.rows), default=0)
        lines = []
        for stage, tally, seconds in self.rows:
            late = "  over its budget" if seconds > 60 * stage.budget_min else ""
            lines.append(f"{stage.name:<{width}}  {clock(seconds):>10} of {stage.budget_min:g} min  {tally}{late}")
        for stage, tally, _ in self.rows:
            for note in tally.notes if tally.failed else ():
                lines += [f"{stage.name}: {line}" for line in note.splitlines()[:_NOTE_LINES]]
        return lines


def _run_one(stage: Stage, failed_before: Sequence[str]) -> Tally:
    blocked = [name for name in stage.needs if name in failed_before]
    if blocked:
        return Tally(failed=1, notes=(f"not run: {', '.join(blocked)} failed",))
    try:
        return stage.run()
    except Failure as failure:
        return Tally(failed=1, notes=(str(failure),))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return Tally(failed=1, notes=(f"{type(error).__name__}: {error}",))


def run_all(stages: Sequence[Stage]) -> Report:
    """Runs them in order, saying what each did; never raises for a failure of a stage."""
    report = Report()
    failed: Dict[str, bool] = {}
    for stage in stages:
        say(f"== {stage.name}: {stage.what} (budget {stage.budget_min:g} min)")
        begin = time.monotonic()
        tally = _run_one(stage, list(failed))
        seconds = time.monotonic() - begin
        if tally.failed:
            failed[stage.name] = True
        for note in tally.notes:
            say(f"{stage.name}: {note}")
        say(f"== {stage.name}: {tally} in {clock(seconds)}")
        report.rows.append((stage, tally, seconds))
    return report
