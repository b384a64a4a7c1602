"""The tool's own unit tests as a stage."""

import re
import sys

from madtool.log import run_logged, tail
from madtool.paths import CHECKOUT, logs_dir
from madtool.stages import Tally

_RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
_COUNT = re.compile(r"(failures|errors|skipped|unexpected successes)=(\d+)")


def run() -> Tally:
    """Runs them in a process of their own."""
    log = logs_dir() / "tool-tests.log"
    command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "madtool/tests", "-t", "."]
    code = run_logged(command, log, "tool tests", cwd=CHECKOUT / "tools", check=False)
    text = log.read_text(errors="replace")
    ran = _RAN.search(text)
    counts = {name: int(number) for name, number in _COUNT.findall(text.splitlines()[-1])}
    skipped = counts.pop("skipped", 0)
    failed = sum(counts.values())
    if code != 0 and failed == 0 or ran is None:
        failed += 1
    notes = (f"last lines of {log}:\n{tail(log, 60)}",) if failed else ()
    total = int(ran.group(1)) if ran else failed + skipped
    return Tally(max(0, total - failed - skipped), failed, skipped, notes)
