"""The cells of `tools/mad compare` that are done: in a file, so that an interrupted run goes on where it stopped.

A line a cell, in JSON.  The file's name says what was measured: who has built what, and how often it was asked.
"""

import json
import math
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from madtool.compare_table import Timings
from madtool.contenders import Cell, Timing
from madtool.paths import write_atomically


class Kept:
    """Rounds by cell, of the first run and of those measured again alone; without a path only in memory."""

    def __init__(self, path: Optional[Path] = None) -> None:
        self._path = path
        self._rounds: Dict[Tuple[Cell, bool], Timings] = {}
        self._seconds: List[Tuple[int, float]] = []  # of the first runs: payload bytes, how long
        if path is not None and path.is_file():
            self._read(path)

    def _read(self, path: Path) -> None:
        good = []
        for line in path.read_text().splitlines():
            try:
                layout, size, window, ways, alone, seconds, rounds = json.loads(line)
                times = [{name: Timing(*pair) for name, pair in one.items()} for one in rounds]
            except (ValueError, TypeError, AttributeError):
                continue  # the last one, cut off
            self._take(Cell(layout, size, window, ways), alone, times, seconds)
            good.append(line + "\n")
        write_atomically(path, "".join(good))  # what is added begins a line of its own

    def _take(self, cell: Cell, alone: bool, rounds: Timings, seconds: float) -> None:
        self._rounds[cell, alone] = rounds
        if not alone:
            self._seconds.append((cell.bytes, seconds))

    def get(self, cell: Cell, alone: bool = False) -> Optional[Timings]:
        return self._rounds.get((cell, alone))

    def add(self, cell: Cell, alone: bool, rounds: Timings, seconds: float) -> None:
        self._take(cell, alone, rounds, seconds)
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps([*cell, alone, seconds, rounds]) + "\n")

    def to_go(self, cells: Sequence[Cell]) -> List[Cell]:
        return [cell for cell in cells if (cell, False) not in self._rounds]

    def seconds_to_go(self, cells: Sequence[Cell]) -> Optional[float]:
        """About: as long as the done cells of the nearest size, on average; None before there is any."""
        if not self._seconds:
            return None

        def about(cell: Cell) -> float:
            distance = {size: abs(math.log(size / cell.bytes)) for size, _ in self._seconds}
            nearest = min(distance, key=lambda size: distance[size])
            spent = [seconds for size, seconds in self._seconds if size == nearest]
            return sum(spent) / len(spent)

        return sum(about(cell) for cell in self.to_go(cells))
