"""`tools/mad conformance`: MPICH's own suite, judged against the committed list of known differences."""

from pathlib import Path
from typing import Dict, List, Optional, Sequence

from madtool import conformance_lanes, conformance_suite
from madtool.conformance_lanes import Conditions
from madtool.conformance_results import FAIL, NOT_RUN, Result, Verdict, parse_known, table
from madtool.errors import Missing
from madtool.log import clock
from madtool.paths import CHECKOUT, write_atomically
from madtool.stages import Tally

KNOWN = CHECKOUT / "tests" / "mpich" / "known_differences.txt"
# What is compared with ch4:ofi; docs/toolchain.md says how long it takes.
DEFAULT = ("pt2pt", "datatype", "comm", "attr", "info", "init", "errhan", "errors", "group", "topo", "part", "coll",
           "rma", "threads", "spawn", "mpi_t", "impls", "io", "f77", "f90", "f08", "cxx")  # fmt: skip


def known_differences(path: Path = KNOWN, fabric: str = "") -> Dict[str, str]:
    try:
        return parse_known(path.read_text(), fabric)
    except OSError as error:
        raise Missing(f"no list of known differences: {error}") from error
    except ValueError as error:
        raise Missing(f"{path}: {error}") from error


def _explain(result: Result) -> List[str]:
    what = "did not run" if result.outcome == NOT_RUN else f"failed after {clock(result.seconds)}"
    return [f"{result.key}: {what}", *(f"    {line[:200]}" for line in result.excerpt())]


def check(suite: conformance_suite.Suite, names: Sequence[str]) -> None:
    """Refuses what is no directory of the suite."""
    there = conformance_suite.directories(suite)
    unknown = [name for name in names if name.split("/")[0] not in there]
    if unknown:
        raise Missing(f"the suite has no directory {', '.join(unknown)}; it has: {' '.join(there)}")


def run(suite: conformance_suite.Suite, names: Sequence[str], known: Dict[str, str], conditions: Conditions,
        table_file: Optional[Path] = None) -> Tally:  # fmt: skip
    """Runs the directories, prints the table and every failure; returns the counts.

    What no time is left for counts as skipped, and is named.
    """
    check(suite, names)
    verdicts = {name: Verdict(results, known)
                for name, results in conformance_lanes.run(suite, names, conditions).items()}  # fmt: skip
    lines = table(verdicts)
    print("\n".join(lines))
    tally = sum((report(name, verdict) for name, verdict in verdicts.items()), Tally())
    if table_file is not None:
        write_table(table_file, conformance_suite.version(suite.prefix), lines, verdicts)
    return tally


def report(name: str, verdict: Verdict) -> Tally:
    """Prints what did not go as it should in a directory; its counts."""
    for result in verdict.new_failures:
        print("\n".join(_explain(result)))
    for result in verdict.known_failures:
        print(f"{result.key}: {result.outcome}, as known: {verdict.known[result.key]}")
    for result in verdict.mended:
        print(f"{result.key}: passes, though listed as a known difference: {verdict.known[result.key]}")
    late = verdict.late
    notes = (f"no time left for {len(late)} of {name}, from {late[0].key} on",) if late else ()
    skipped = len(verdict.skipped) + len(verdict.known_failures) + len(late)
    return Tally(len(verdict.passed), len(verdict.new_failures), skipped, notes)


def write_table(path: Path, title: str, lines: List[str], verdicts: Dict[str, Verdict]) -> None:
    """The table and everything that did not pass, as it is committed under tests/mpich/."""
    text = [f"# {title}", *lines, ""]
    for verdict in verdicts.values():
        for result in verdict.results:
            if result.outcome in (FAIL, NOT_RUN):
                text.append(f"{result.outcome:<8} {result.key}")
    write_atomically(path, "\n".join(text) + "\n")
