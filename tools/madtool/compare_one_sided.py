"""The cells of `tools/mad compare --one-sided`: operations on windows, by what perf/compare/one_sided_cell.h names."""

import re
from typing import Callable, Dict, List, Optional, Sequence

from madtool.bench import chosen
from madtool.contenders import Cell
from madtool.errors import Missing

WINDOWS = ("allocate", "create")  # MPI_Win_allocate, MPI_Win_create

_K, _M = 1 << 10, 1 << 20
_IN_FLIGHT = 64  # operations, then a flush
_MOVES, _COUNTERS = ("put", "get", "accumulate"), ("fetch_and_op", "compare_and_swap")
_FENCE, _COLUMNS = "put-fence", "columns-fence"
_HOLES, _SIDES = ("rows-64", "index-gap", "column16"), ("origin", "target", "both")
_GAPPED = [f"{move}:{holes}:{side}" for move in _MOVES for holes in _HOLES for side in _SIDES]
NAMES = (*_MOVES, *_COUNTERS, _FENCE, _COLUMNS, *_GAPPED)

# Payload bytes of one operation, and of those that are in flight together; of operations with holes.
_SIZES, _FLIGHT_SIZES = (8, _K, 16 * _K, 64 * _K, 256 * _K, _M, 4 * _M), (8, _K, 16 * _K, 64 * _K, _M)
_GAPPED_SIZES = (_K, 64 * _K, _M)
_FENCE_SIZES, _COLUMN_SIZES = (8, 64 * _K), (256, _K, 4 * _K, 16 * _K)
_FULL_SIZES = (8, 64, 256, _K, 4 * _K, 16 * _K, 64 * _K, 256 * _K, _M, 4 * _M)
_LEAST, _LEAST_GAPPED, _LEAST_COLUMN = 8, 256, 16
_WORD = 8


def _usual(name: str) -> Sequence[int]:
    if name == _FENCE:
        return _FENCE_SIZES
    # With holes on one side the largest and the smallest say little that both do not.
    return _SIZES if ":" not in name else _GAPPED_SIZES if name.endswith("rows-64:both") else (64 * _K,)


def _can(name: str, size: int) -> bool:
    least = _LEAST_GAPPED if ":" in name else _LEAST_COLUMN if name == _COLUMNS else _LEAST
    return size >= least and size % (_LEAST_COLUMN if name == _COLUMNS or "column16" in name else _WORD) == 0


def _of(name: str, sizes: Optional[Sequence[int]], windows: bool, full: bool) -> List[Cell]:
    """One operation at a time, unless `windows`, then so many in flight; `sizes`: None, as usual, or as `full` has it."""
    if name in _COUNTERS:
        wanted = sizes is None or _WORD in sizes
        return [Cell(name, _WORD, in_flight) for in_flight in (1, _IN_FLIGHT) if wanted and (in_flight > 1 or not windows)]
    one_by_one = sizes or (_FULL_SIZES if full else _usual(name))
    together = sizes or (_FULL_SIZES if full else _COLUMN_SIZES if name == _COLUMNS else _FLIGHT_SIZES)
    cells: List[Cell] = []
    if name != _COLUMNS and not windows:
        cells += [Cell(name, size, 1) for size in one_by_one if _can(name, size)]
    if name != _FENCE and (name in (*_MOVES, _COLUMNS) or full or windows):
        cells += [Cell(name, size, _IN_FLIGHT) for size in together if _can(name, size)]
    return cells


def cells(names: Optional[Sequence[str]], sizes: Optional[Sequence[int]], windows: bool, full: bool) -> List[Cell]:
    """Of these operations, or all, in these sizes, or their usual ones; `windows`: only what is in flight together."""
    wanted = chosen("layouts", names, NAMES) if names is not None else NAMES
    found = [cell for name in wanted for cell in _of(name, sizes, windows, full)]
    if not found:
        raise Missing(f"no cells: sizes are doubles, with holes at least {_LEAST_GAPPED} bytes, columns whole rows of 16")
    return found


def _operation(cell: Cell) -> str:
    return re.split("[:-]", cell.layout)[0]


def _is(operation: str, gapped: bool, in_flight: bool) -> Callable[[Cell], bool]:
    return lambda cell: (_operation(cell) == operation and not cell.layout.endswith("-fence")
                         and (":" in cell.layout) == gapped and (cell.window > 1) == in_flight)  # fmt: skip


GROUPS: Dict[str, Callable[[Cell], bool]] = {
    **{f"{move}{', with holes' if gapped else ''}{', in flight' if in_flight else ''}": _is(move, gapped, in_flight)
       for move in _MOVES for gapped in (False, True) for in_flight in (False, True)},
    "counters": lambda cell: cell.layout in _COUNTERS,
    "fences": lambda cell: cell.layout.endswith("-fence"),
    "all": lambda cell: True,
}  # fmt: skip
