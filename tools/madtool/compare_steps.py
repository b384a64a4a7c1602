"""Steps in time against size: where a protocol changes and the next byte costs more than a byte.

Between neighbouring sizes time may grow by the bytes between them, at the rate of the neighbourhood: the median of
the rates of the intervals on both sides.  What it grows or falls beyond that, as a share of the time before, is the
height of the step.
"""

import math
import statistics
from typing import Dict, List, NamedTuple, Sequence, Tuple

from madtool.compare_table import Results, Timings, needed_rounds
from madtool.contenders import Cell

LEAST_PERCENT = 5.0
_NEIGHBOURS = 4  # intervals on each side
_SMALLEST, _LARGEST, _PER_DOUBLING = 1 << 10, 1 << 20, 8
_UNIT = 64  # bytes; every size is a multiple, and so whole elements of the layouts scanned


def sizes() -> List[int]:
    """From 1 KiB to 1 MiB, 2^(1/8) apart."""
    doublings = int(math.log2(_LARGEST / _SMALLEST))
    exact = (_SMALLEST * 2 ** (i / _PER_DOUBLING) for i in range(doublings * _PER_DOUBLING + 1))
    return sorted({round(size / _UNIT) * _UNIT for size in exact})


class Step(NamedTuple):
    """Between two neighbouring sizes of one layout."""

    name: str  # the entry's
    below: Cell
    above: Cell
    rate: float  # us a byte, the neighbourhood's
    percent: float  # of the time below; negative where it falls


def _percent(below: Tuple[int, float], above: Tuple[int, float], rate: float) -> float:
    return 100 * (above[1] - below[1] - rate * (above[0] - below[0])) / below[1]


class Scan(NamedTuple):
    """One entry's least times of one layout, by size."""

    cells: Sequence[Cell]
    times: Sequence[float]

    @staticmethod
    def of(results: Results, cells: Sequence[Cell], name: str) -> "Scan":
        known = [(cell, best) for cell in sorted(cells) for best in [results.best(cell, name)] if best is not None]
        return Scan([cell for cell, _ in known], [best for _, best in known])

    def _points(self) -> List[Tuple[int, float]]:
        return [(cell.bytes, spent) for cell, spent in zip(self.cells, self.times)]

    def rate(self, at: int) -> float:
        """Of the neighbourhood of the interval from place `at` to the next, without itself."""
        points = self._points()
        rates = []
        for i in range(max(0, at - _NEIGHBOURS), min(len(points) - 1, at + _NEIGHBOURS + 1)):
            if i != at:
                rates.append((points[i + 1][1] - points[i][1]) / (points[i + 1][0] - points[i][0]))
        return statistics.median(rates) if rates else 0.0

    def heights(self) -> Dict[int, float]:
        """In %, by the place of the size below."""
        points = self._points()
        return {i: _percent(points[i], points[i + 1], self.rate(i)) for i in range(len(points) - 1)}

    def steps(self, name: str) -> List[Step]:
        return [Step(name, self.cells[i], self.cells[i + 1], self.rate(i), percent)
                for i, percent in self.heights().items() if abs(percent) > LEAST_PERCENT]  # fmt: skip


def again(step: Step, below: Timings, above: Timings) -> bool:
    """Whether rounds that were measured in turns, size by size, have it too: at least 7 of 9, by their medians."""
    pairs = [(one[step.name].median, two[step.name].median) for one, two in zip(below, above)
             if step.name in one and step.name in two]  # fmt: skip
    heights = [_percent((step.below.bytes, one), (step.above.bytes, two), step.rate) for one, two in pairs]
    same = [height for height in heights if abs(height) > LEAST_PERCENT and (height > 0) == (step.percent > 0)]
    return bool(pairs) and len(same) >= needed_rounds(len(pairs))
