"""`tools/mad conformance --fabric`: MPICH's own suite over several fabrics, resumable, as one table."""

import time
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from madtool import conformance, conformance_kept, conformance_lanes, conformance_suite, fabrics
from madtool.conformance_kept import Cell, Kept
from madtool.conformance_lanes import Conditions, over
from madtool.conformance_results import PASS, Listed, Result, Verdict, table
from madtool.log import clock, say
from madtool.paths import cache_root, write_atomically
from madtool.stages import Tally

DIRECTORIES = ("pt2pt", "datatype", "coll", "rma")
ALL = "all"  # of fabrics.FABRICS
# Of MPICH's suite what brings a driver packets of its own kind: floods, more peers than cores, progress from several
# threads, long messages and layouts both ways, and each one-sided operation.  The others differ above the driver, in
# matching, algorithms and arguments, and are run over one fabric.
_DIFFERING = {
    "pt2pt": "sendrecv2 sendrecv3 sendall anyall eagerdt isendirecv icsend probe_unexp mprobe many_isend manylmt "
    "huge_underflow huge_anysrc huge_dupcomm huge_ssend multi_psend_derived dtype_send pt2pt_large",
    "coll": "alltoall1 alltoallv alltoallw2 allgatherv2 bcasttest scatterv redscat3 icalltoallw "
    "nballtoall1 ring_neighbor_alltoall",
    "rma": "transpose3 transpose5 test2 test4 lockcontention2 fetchandadd_tree mixedsync strided_acc_indexed "
    "strided_acc_subarray strided_putget_indexed strided_getacc_indexed contention_putget manyrma2 manyrma3 "
    "linked_list get_accumulate_double_derived flush pscw_ordering mutex_bench acc_ordering at_complete "
    "atomic_rmw_gacc manyget derived_acc_flush_local large_small_acc put_flush_get cas_flush_get rget_testall",
}
_DIFFERING_KEYS = {f"{directory}/{name}" for directory, names in _DIFFERING.items() for name in names.split()}
DIFFERING = tuple(_DIFFERING)  # the directories


def differs(test: Listed) -> bool:
    """Whether a test is one of those that are run over every fabric at every commit."""
    return test.key.split()[0] in _DIFFERING_KEYS


def named(words: Sequence[str]) -> List[str]:
    """The fabrics meant, each once; Missing: there can be none of that name."""
    for word in words:
        if word != ALL:
            fabrics.check(word)
    return list(dict.fromkeys(fabric for word in words for fabric in (fabrics.FABRICS if word == ALL else (word,))))


class Run:
    """The suite's directories over some fabrics, of which each cell is run only once."""

    def __init__(self, suite: conformance_suite.Suite, directories: Sequence[str], timeout_s: int,
                 known: Path, fresh: bool = False) -> None:  # fmt: skip
        conformance.check(suite, directories)
        self._suite, self._directories, self._timeout_s, self._known = suite, directories, timeout_s, known
        self._fresh = fresh
        identity = conformance_kept.identity(suite, timeout_s)
        self._kept = Kept(cache_root() / "conformance" / "fabrics" / f"{identity}.jsonl")

    def _say_what_is_left(self, cells: Sequence[Cell]) -> None:
        left, seconds = len(self._kept.to_go(cells)), self._kept.seconds_to_go(cells)
        about = f", about {clock(seconds)}" if left and seconds is not None else ""
        say(f"conformance: {len(cells) - left} of {len(cells)} done, {left} to go{about}")

    def _fabric(self, fabric: str, cells: Sequence[Cell]) -> Dict[str, Verdict]:
        """Runs what is left of one fabric and prints its table."""
        known = conformance.known_differences(self._known, fabric)
        conditions = Conditions(self._timeout_s, over(fabric, shared_windows=fabric == "auto"))
        verdicts = {}
        for cell in (Cell(fabric, directory) for directory in self._directories):
            kept = self._kept.get(cell)
            if kept is None:
                say(f"== {cell.directory} over {fabric}")
                begin = time.monotonic()
                kept = conformance_lanes.run(self._suite, [cell.directory], conditions)[cell.directory]
                self._kept.add(cell, kept, time.monotonic() - begin)
                self._say_what_is_left(cells)
            verdicts[cell.directory] = Verdict(kept, known)
        print("\n".join([f"over {fabric}", *table(verdicts)]), flush=True)
        return verdicts

    def all(self, chosen: Sequence[str], needed: Sequence[str] = (), table_file: Optional[Path] = None) -> Tally:
        """Runs what is not done yet; prints what did not pass; returns the counts. A needed fabric must be here."""
        usable, tally = fabrics.usable(chosen, needed)
        why_not = tally.notes
        cells = [Cell(fabric, directory) for fabric in usable for directory in self._directories]
        if self._fresh:
            self._kept.forget(cells)
        self._say_what_is_left(cells)
        verdicts: Dict[str, Dict[str, Verdict]] = {}
        for fabric in usable:
            verdicts[fabric] = self._fabric(fabric, cells)
            for directory, verdict in verdicts[fabric].items():
                tally += conformance.report(directory, verdict)
        title = f"{conformance_suite.version(self._suite.prefix)}; over lo, time limit {self._timeout_s} s"
        lines = [f"# {title}; tools/mad conformance --fabric", *matrix(chosen, self._directories, verdicts)]
        print("\n".join(lines))
        if table_file is not None:
            write_atomically(table_file, "\n".join([*lines, "", *exceptions(verdicts, why_not)]) + "\n")
        return tally


def _cell(verdict: Optional[Verdict]) -> str:
    if verdict is None:
        return "-"
    failed = len(verdict.new_failures) + len(verdict.known_failures)
    return f"{len(verdict.passed)}/{failed}/{len(verdict.skipped)}"


def matrix(chosen: Sequence[str], directories: Sequence[str],
           verdicts: Mapping[str, Mapping[str, Verdict]]) -> List[str]:  # fmt: skip
    """A row a directory and their sum, a column a fabric: passed/failed/skipped."""
    sums = {fabric: Verdict([result for one in verdicts[fabric].values() for result in one.results])
            for fabric in verdicts}  # fmt: skip
    rows = [["directory", *chosen]]
    rows += [[name, *(_cell(verdicts.get(fabric, {}).get(name)) for fabric in chosen)] for name in directories]
    rows.append(["all", *(_cell(sums.get(fabric)) for fabric in chosen)])
    return [f"{row[0]:<12}" + "".join(f" {cell:>14}" for cell in row[1:]) for row in rows]


def exceptions(verdicts: Mapping[str, Mapping[str, Verdict]], why_not: Sequence[str]) -> List[str]:
    """Everything that did not pass: how it ended, what, over which fabrics and, where known, why."""
    over: Dict[Tuple[str, str, str], List[str]] = {}
    for fabric, directories in verdicts.items():
        for verdict in directories.values():
            for result in verdict.results:
                if result.outcome != PASS:
                    over.setdefault((result.outcome, result.key, _why(result, verdict.known)), []).append(fabric)
    lines = [f"not here  {words}" for words in why_not]
    for (outcome, key, why), on in over.items():
        where = "all" if len(on) == len(verdicts) else ", ".join(on)
        lines.append(f"{outcome:<8}  {key}  over {where}" + (f"  # {why}" if why else ""))
    return lines


def _why(result: Result, known: Mapping[str, str]) -> str:
    """The list's of known differences, or the suite's own words where it skips a test."""
    _, skipped, words = result.output.partition("# SKIP ")
    return known.get(result.key, "") or (words.strip() if skipped else "")
