"""What the times of `tools/mad apps` say: rows, ratios, what is wanted.  Nothing here runs anything."""

import re
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, TextIO, Tuple

from madtool.bench_table import mean, short
from madtool.compare_table import Results, needed_rounds, ratio
from madtool.compare_wire import MAD
from madtool.contenders import Cell, Timing
from madtool.errors import Failure

PROGRAMS = ("jacobi2d", "jacobi3d", "life", "fft", "particles")
P2P, NEIGHBOURHOOD = "p2p", "neighbourhood"
SEMANTICS = (P2P, "persistent", NEIGHBOURHOOD, "partitioned", "put")
HAND, TYPES = METHODS = ("hand", "types")

_LEAST = 1 << 10  # bytes of a halo from which datatypes are to be as fast as packing by hand
_MOST_BELOW, _MOST_OVER_P2P = 1.05, 1.15


class Setting(NamedTuple):
    """What all cells of a table have in common."""

    fabric: str  # of this device
    wire: str
    ranks: int

    def stem(self) -> str:
        """For file names."""
        return re.sub("[^a-z0-9]+", "-", f"{self.fabric}-{self.ranks}")


def differing(cell: Cell, times: Mapping[str, Timing]) -> List[str]:
    """All have done as many steps: those of peers that ended with another state than this device's, which must be one."""
    states: Dict[str, List[str]] = {}
    for name, timing in times.items():
        states.setdefault(timing.note.split()[-1], []).append(name)
    if len(states) < 2:
        return []
    mine = [state for state, names in states.items() if any(mpi_of(name) == MAD for name in names)]
    if len(mine) > 1:
        told = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
        raise Failure(f"{cell.layout}, {cell.bytes} bytes: results differ: {told}")
    return [name for state, names in states.items() if state not in mine for name in names]


class Compared(Results):
    """Whose states are compared as well: what was wrong in one round has no times."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: Dict[Cell, List[str]] = {}

    def add_all(self, cell: Cell, rounds: Sequence[Dict[str, Timing]]) -> None:
        wrong = list(dict.fromkeys(name for times in rounds for name in differing(cell, times)))
        if wrong:
            self.wrong[cell] = wrong
        for times in rounds:
            self.add(cell, {name: timing for name, timing in times.items() if name not in wrong})

    def told_wrong(self) -> List[str]:
        return [f"WRONG: {cell.layout}, {short(cell.bytes)}: other results than this device's: {', '.join(names)}"
                for cell, names in self.wrong.items()]  # fmt: skip


class Row(NamedTuple):
    """One program, size and semantics; `peers` are the other MPIs."""

    results: Compared
    cell: Cell
    semantics: str
    peers: Sequence[str]

    def name(self, whose: str, method: str) -> str:
        return entry_name(whose, method, self.semantics)

    def best(self, whose: str, method: str) -> Optional[float]:
        return self.results.best(self.cell, self.name(whose, method))

    def hand_over_types(self) -> Tuple[Optional[float], Optional[float]]:
        """Of this device: the time by hand over the one with datatypes, of the least and of the medians."""
        hand, types = (self.name(MAD, method) for method in METHODS)
        return _ratios(self.results, self.cell, [hand], types)

    def peer_over_types(self) -> Tuple[Optional[float], Optional[float]]:
        """The fastest peer's time, whichever way it takes, over this device's with datatypes."""
        others = [self.name(peer, method) for peer in self.peers for method in METHODS]
        return _ratios(self.results, self.cell, others, self.name(MAD, TYPES))

    def over_p2p(self, method: str) -> Optional[float]:
        """This device's time over that of the same exchange by point-to-point."""
        p2p = self.results.best(self.cell, entry_name(MAD, method, P2P))
        return ratio(self.best(MAD, method), p2p)


def entry_name(whose: str, method: str, semantics: str) -> str:
    return f"{whose} {method} {semantics}"


def mpi_of(name: str) -> str:
    return name.rsplit(maxsplit=2)[0]


def _ratios(results: Results, cell: Cell, others: Sequence[str], mine: str) -> Tuple[Optional[float], Optional[float]]:
    of_best, of_medians = (
        ratio(min((time for time in (known(cell, one) for one in others) if time is not None), default=None),
              known(cell, mine))
        for known in (results.best, results.median)
    )  # fmt: skip
    return of_best, of_medians


def rows(results: Compared, cells: Sequence[Cell], semantics: Sequence[str], peers: Sequence[str]) -> Iterator[Row]:
    for cell in cells:
        for one in semantics:
            yield Row(results, cell, one, peers)


def heading(columns: Sequence[str]) -> str:
    named = "".join(f"{f'{name} hand':>14}{'types':>9}" for name in columns)
    return f"{'program':<11}{'bytes':>5} {'semantics':<14}{named}  hand/types  median  peer/mad  median  over p2p"


def _shown(value: Optional[float], wide: int, places: int = 2) -> str:
    return f"{value:>{wide}.{places}f}" if value is not None else f"{'-':>{wide}}"


def line(row: Row, columns: Sequence[str]) -> str:
    """Least times of an exchange in microseconds, and the ratios; `-`: there is no such thing."""
    text = f"{row.cell.layout:<11}{short(row.cell.bytes):>5} {row.semantics:<14}"
    for name in columns:
        for method, wide in zip(METHODS, (14, 9)):
            best = row.best(name, method)
            wrong = row.name(name, method) in row.results.wrong.get(row.cell, ())
            text += f"{'wrong':>{wide}}" if wrong else _shown(best, wide, 1 if best is not None and best >= 10 else 2)
    for value, wide in zip((*row.hand_over_types(), *row.peer_over_types()), (12, 8, 10, 8)):
        text += _shown(value, wide)
    return text + (_shown(row.over_p2p(TYPES), 10) if row.semantics == NEIGHBOURHOOD else "")


class Wanted(NamedTuple):
    """A target, and the rows that miss it, in words."""

    what: str
    of: int
    missed: Sequence[str]


def _place(row: Row) -> str:
    return f"{row.cell.layout}, {short(row.cell.bytes)}, {row.semantics}"


def _slower(row: Row, mine: str, others: Sequence[str], most: float) -> bool:
    """By more than `most` at the least times, and slower in at least 7 of 9 rounds, 4 of 5."""
    for other in others:
        value = ratio(row.results.best(row.cell, mine), row.results.best(row.cell, other))
        slower, rounds = row.results.slower_rounds(row.cell, mine, other)
        if value is not None and value > most and slower >= needed_rounds(rounds):
            return True
    return False


def wanted(table: Sequence[Row]) -> List[Wanted]:
    """What the datatypes of this device, and its neighbourhood collectives, should be."""
    found: List[Wanted] = []
    for what, most, belongs in (("from 1K on datatypes are as fast as packing by hand", 1.0, True),
                                ("below, within 5 %", _MOST_BELOW, False)):
        mine = [row for row in table if (row.cell.bytes >= _LEAST) == belongs and row.best(MAD, TYPES) is not None]
        missed = [f"{_place(row)}: {value:.2f}" for row in mine for value in [row.hand_over_types()[0]]
                  if value is not None and _slower(row, row.name(MAD, TYPES), [row.name(MAD, HAND)], most)]  # fmt: skip
        found.append(Wanted(what, len(mine), missed))
    mine = [row for row in table if row.cell.bytes >= _LEAST and row.peer_over_types()[0] is not None]
    missed = []
    for row in mine:
        others = [row.name(peer, method) for peer in row.peers for method in METHODS]
        value = row.peer_over_types()[0]
        if value is not None and _slower(row, row.name(MAD, TYPES), others, 1.0):
            missed.append(f"{_place(row)}: {value:.2f}")
    found.append(Wanted("from 1K on no MPI is faster", len(mine), missed))
    mine = [row for row in table if row.semantics == NEIGHBOURHOOD]
    over = [(row, method, value) for row in mine for method in METHODS for value in [row.over_p2p(method)] if value]
    missed = [f"{_place(row)}, {method}: {value:.2f}" for row, method, value in over if value > _MOST_OVER_P2P]
    found.append(Wanted(f"neighbourhood collectives take at most {_MOST_OVER_P2P} of point-to-point", len(over), missed))
    return [one for one in found if one.of]


def summary(table: Sequence[Row]) -> List[str]:
    """Geometric means of each program, then what is wanted, and where it is missed."""
    lines = []
    for program in dict.fromkeys(row.cell.layout for row in table):
        mine = [row for row in table if row.cell.layout == program and row.cell.bytes >= _LEAST]
        by_hand, by_peer = mean(row.hand_over_types()[0] for row in mine), mean(row.peer_over_types()[0] for row in mine)
        if by_hand:
            peer = f"  fastest peer/mad {by_peer:.2f}" if by_peer else ""
            lines.append(f"{program} from 1K on, geometric means: hand/types {by_hand:.2f}{peer}")
    for one in wanted(table):
        lines.append(f"{'met' if not one.missed else 'MISSED'}: {one.what}: {len(one.missed)} of {one.of} rows are not so")
        lines += [f"    {place}" for place in one.missed]
    return lines


def write_csv(tables: Mapping[Setting, Results], out: TextIO) -> None:
    out.write("fabric,wire,ranks,program,bytes,mpi,method,semantics,round,best_us,median_us,step_best_us,step_median_us\n")
    for setting, results in tables.items():
        for cell in results.cells():
            for number, times in enumerate(results.rounds(cell)):
                for name, timing in times.items():
                    mpi, method, semantics = name.rsplit(maxsplit=2)
                    step_best, step_median, _ = timing.note.split()
                    out.write(f"{setting.fabric},{setting.wire},{setting.ranks},{cell.layout},{cell.bytes},{mpi},{method},{semantics},"
                              f"{number},{timing.best},{timing.median},{step_best},{step_median}\n")  # fmt: skip
