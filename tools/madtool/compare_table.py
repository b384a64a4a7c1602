"""What the times of `tools/mad compare` say: ratios, means, lost cells.  Nothing here runs anything."""

import math
import statistics
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, TextIO, Tuple

from madtool.bench_table import mean, short
from madtool.contenders import Cell, Timing

# Slower than a peer in so many of the rounds: not by chance (1 in 11 for equals, and it is tried again).
_LOST_SHARE = 7 / 9
_CONTIGUOUS = ("contiguous", "index", "vector", "struct")  # RT-0306's blocks touch
_SMALL = 16 << 10
Timings = List[Dict[str, Timing]]  # of one cell: round by round, by entry
Groups = Mapping[str, Callable[[Cell], bool]]  # by name, which cells belong to them


def needed_rounds(rounds: int) -> int:
    """In how many of them something must be so before it is believed."""
    return math.ceil(_LOST_SHARE * rounds)


class Comparison(NamedTuple):
    """A question about every cell: is `mine` slower than any of the others?"""

    mine: str
    others: Sequence[str]
    against_peers: bool = False


class Results:
    """All rounds of all cells: what each entry took in each."""

    def __init__(self) -> None:
        self._rounds: Dict[Cell, Timings] = {}

    def add(self, cell: Cell, times: Dict[str, Timing]) -> None:
        self._rounds.setdefault(cell, []).append(times)

    def add_all(self, cell: Cell, rounds: Timings) -> None:
        for times in rounds:
            self.add(cell, times)

    def cells(self) -> List[Cell]:
        return list(self._rounds)

    def rounds(self, cell: Cell) -> Timings:
        return self._rounds.get(cell, [])

    def best(self, cell: Cell, name: str) -> Optional[float]:
        known = [times[name].best for times in self.rounds(cell) if name in times]
        return min(known) if known else None

    def median(self, cell: Cell, name: str) -> Optional[float]:
        known = [times[name].median for times in self.rounds(cell) if name in times]
        return statistics.median(known) if known else None

    def fastest(self, cell: Cell, names: Sequence[str]) -> Optional[str]:
        """Of the names, by best times."""
        known = [(best, name) for name in names for best in [self.best(cell, name)] if best is not None]
        return min(known)[1] if known else None

    def slower_rounds(self, cell: Cell, mine: str, other: str) -> Tuple[int, int]:
        """In how many rounds `mine` was slower, of how many; by the medians of each round."""
        paired = [times for times in self.rounds(cell) if mine in times and other in times]
        return sum(times[mine].median > times[other].median for times in paired), len(paired)

    def lost_to(self, cell: Cell, mine: str, others: Sequence[str]) -> List[str]:
        """Those that were faster in at least 7 of 9 rounds."""
        lost = []
        for other in others:
            slower, rounds = self.slower_rounds(cell, mine, other)
            if rounds and slower >= needed_rounds(rounds):
                lost.append(other)
        return lost


def ratio(theirs: Optional[float], mine: Optional[float]) -> Optional[float]:
    return theirs / mine if theirs and mine else None


def width(cells: Sequence[Cell]) -> int:
    """Of the column of layouts."""
    return max(14, *(len(cell.layout) + 1 for cell in cells))


def title(cell: Cell, wide: int) -> str:
    return f"{f'{cell.layout:<{wide}}{short(cell.bytes):>5} {cell.short_window()}':<{wide + 10}}"


def heading(names: Sequence[str], wide: int) -> str:
    return f"{'layout':<{wide}}{'bytes':>5}     " + "".join(f"{name:>12}" for name in names) + "  peer/mad  median"


def line(results: Results, cell: Cell, names: Sequence[str], peers: Sequence[str], wide: int) -> str:
    """Best times in microseconds, and how much faster than the fastest peer the first entry is."""
    mine = names[0]
    text = title(cell, wide)
    for name in names:
        best = results.best(cell, name)
        # Operations in shared memory take hundredths.
        text += f"{best:>12.{1 if best >= 1 else 2}f}" if best is not None else f"{'-':>12}"
    fastest = results.fastest(cell, peers)
    if fastest is not None:
        of_best = ratio(results.best(cell, fastest), results.best(cell, mine))
        medians = [one for one in (results.median(cell, peer) for peer in peers) if one is not None]
        of_medians = ratio(min(medians), results.median(cell, mine))
        text += f"{of_best:>10.2f}{of_medians:>8.2f}" if of_best and of_medians else ""
    return text


def _has_holes(cell: Cell) -> bool:
    return not cell.window and cell.layout not in _CONTIGUOUS


GROUPS: Groups = {
    "noncontiguous from 16K": lambda cell: _has_holes(cell) and cell.bytes >= _SMALL,
    "noncontiguous below 16K": lambda cell: _has_holes(cell) and cell.bytes < _SMALL,
    "contiguous": lambda cell: not cell.window and cell.layout in _CONTIGUOUS,
    "windows": lambda cell: cell.window > 0,
}


def summary(results: Results, mine: str, peers: Sequence[str], groups: Groups) -> List[str]:
    """The geometric means that the targets are about."""
    lines = []
    for name, belongs in groups.items():
        cells = [cell for cell in results.cells() if belongs(cell)]
        if not cells:
            continue
        text = f"{name}, {len(cells)} cells, geometric mean of peer/mad:"
        for label, others in [("fastest", peers), *((peer, [peer]) for peer in peers)]:
            fastest = [(cell, results.fastest(cell, others)) for cell in cells]
            value = mean(ratio(results.best(cell, one), results.best(cell, mine)) for cell, one in fastest if one)
            text += f"  {label} {value:.2f}" if value else ""
        lines.append(text)
    return lines


class _Limit(NamedTuple):
    """Cells that should take at most `most` times as long as a bare socket takes for as many contiguous bytes."""

    what: str
    layouts: Sequence[str]
    least: int
    largest: int
    most: float


_LIMITS = (
    _Limit("blocks of 4 KiB and more", ("rows-4k", "rows-64k"), 1 << 20, 1 << 20, 1.25),
    _Limit("blocks of 64 bytes", ("rows-64",), 1 << 20, 1 << 20, 2.1),
    _Limit("padded particles", ("padded",), 1 << 20, 1 << 20, 2.2),
    _Limit("contiguous from 256K", ("contiguous",), 256 << 10, 1 << 62, 1.10),
    _Limit("contiguous, 64K", ("contiguous",), 64 << 10, 64 << 10, 1.2),
    _Limit("contiguous, 8", ("contiguous",), 8, 8, 1.15),
)


def against_limit(results: Results, mine: str, raw: str) -> List[str]:
    """How near to the wire: the worst ratio of each kind of cell, and what it should be at most."""
    found = []
    for limit in _LIMITS:
        cells = [cell for cell in results.cells() if not cell.window and cell.layout in limit.layouts
                 and limit.least <= cell.bytes <= limit.largest]  # fmt: skip
        known = [one for cell in cells for one in [ratio(results.best(cell, mine), results.best(cell, raw))] if one]
        if known:
            found.append(f"    {limit.what:<26}{max(known):>6.2f}   wanted: at most {limit.most:.2f}")
    return ["times that of a bare socket with as many contiguous bytes:", *found] if found else []


def against_own(results: Results, mine: Sequence[str]) -> List[str]:
    """What 1 MiB in blocks of 4 KiB costs beside as many contiguous bytes, of each of our entries."""
    blocks, contiguous = Cell("rows-4k", 1 << 20), Cell("contiguous", 1 << 20)
    known = [(name, ratio(results.best(blocks, name), results.best(contiguous, name))) for name in mine]
    return [f"1M in blocks of 4K, times its own contiguous: {name} {value:.2f}" for name, value in known if value]


def _place(cell: Cell) -> str:
    return f"{cell.layout}, {short(cell.bytes)}{cell.in_flight()}"


def verdict(question: Comparison, slower: Sequence[Tuple[Cell, Sequence[str]]], cells: int) -> List[str]:
    """The answer in words: the cells in which it was slower, and than whom."""
    if question.against_peers:
        lines = [f"lost: {_place(cell)}, to {', '.join(to)}" for cell, to in slower]
        return [*lines, f"{len(lines)} cells lost in {cells}"] if lines else [f"no cell lost in {cells}"]
    whom = ", ".join(question.others)
    return [f"{question.mine} slower than {whom}: {len(slower)} cells of {cells}",
            *(f"    {_place(cell)}" for cell, _ in slower)]  # fmt: skip


def write_csv(tables: Mapping[str, Results], out: TextIO) -> None:
    """By what all sent through."""
    out.write("wire,layout,bytes,window,ways,round,entry,best_us,median_us\n")
    for wire, results in tables.items():
        for cell in results.cells():
            for number, times in enumerate(results.rounds(cell)):
                for name, timing in times.items():
                    out.write(f"{wire},{cell.layout},{cell.bytes},{cell.window},{cell.ways},{number},{name},"
                              f"{timing.best},{timing.median}\n")  # fmt: skip
