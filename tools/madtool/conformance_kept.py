"""What MPICH's suite said over each fabric, kept, so that a run over all of them goes on where it stopped.

A line a directory and fabric, in JSON.  The file's name says what was tried: the libraries, the suite, the time limit.
"""

import json
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from madtool.conformance_results import Result
from madtool.conformance_suite import Suite
from madtool.paths import digest, file_digest, write_atomically

_LIBRARIES = ("libmpi.so", "libmad.so.1", "libmad_ucx.so")


class Cell(NamedTuple):
    fabric: str
    directory: str


def identity(suite: Suite, timeout_s: int) -> str:
    """Changes when anything does that a result may depend on."""
    files = [suite.prefix / "lib" / name for name in _LIBRARIES]
    return digest(suite.home.name, str(timeout_s), *(file_digest(path) for path in files if path.is_file()))


class Kept:
    """Results by cell, and how long each took."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cells: Dict[Cell, Tuple[List[Result], float]] = {}
        for line in path.read_text().splitlines() if path.is_file() else ():
            fabric, directory, seconds, results = json.loads(line)
            self._cells[Cell(fabric, directory)] = [Result(*one) for one in results], seconds

    def get(self, cell: Cell) -> Optional[List[Result]]:
        return self._cells[cell][0] if cell in self._cells else None

    def add(self, cell: Cell, results: Sequence[Result], seconds: float) -> None:
        short = [one._replace(output="\n".join(one.excerpt())) for one in results]
        self._cells[cell] = short, seconds
        self._write()

    def forget(self, cells: Sequence[Cell]) -> None:
        for cell in cells:
            self._cells.pop(cell, None)
        self._write()

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path, "".join(json.dumps([*cell, seconds, results]) + "\n"
                                             for cell, (results, seconds) in self._cells.items()))  # fmt: skip

    def to_go(self, cells: Sequence[Cell]) -> List[Cell]:
        return [cell for cell in cells if cell not in self._cells]

    def seconds_to_go(self, cells: Sequence[Cell]) -> Optional[float]:
        """About: as long as the same directory took over other fabrics; None while one has been run over none."""
        spent: Dict[str, List[float]] = {}
        for cell, (_, seconds) in self._cells.items():
            spent.setdefault(cell.directory, []).append(seconds)
        to_go = self.to_go(cells)
        if any(cell.directory not in spent for cell in to_go):
            return None
        return sum(sum(spent[cell.directory]) / len(spent[cell.directory]) for cell in to_go)
