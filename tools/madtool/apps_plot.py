"""The figures of `tools/mad apps`: what datatypes give beside packing by hand, and beside other MPIs."""

from typing import Callable, Iterator, List, Optional, Sequence

from madtool import apps_table, figure
from madtool.apps_table import HAND, METHODS, TYPES, Compared, Setting
from madtool.bench_table import mean
from madtool.compare_table import ratio
from madtool.compare_wire import MAD
from madtool.contenders import Cell
from madtool.figure import Curve, Figure, Level, Panel

_DASHES = {TYPES: 1, HAND: 3}
_LISTS = "particles"  # whose datatypes are made for each exchange


def _best(results: Compared, cell: Cell, whose: str, method: str, semantics: str) -> Optional[float]:
    return results.best(cell, apps_table.entry_name(whose, method, semantics))


def _curves(whose: Sequence[str], sizes: Sequence[int], coloured: Sequence[str],
            value: Callable[[str, int], Optional[float]]) -> List[Curve]:  # fmt: skip
    curves = []
    for name in whose:
        points = [(float(size), y) for size in sizes for y in [value(name, size)] if y is not None]
        curves.append(Curve(name, figure.colour(coloured.index(name)), points))
    return curves


def _overview(results: Compared, setting: Setting, semantics: Sequence[str], peers: Sequence[str]) -> Figure:
    """Geometric means of programs and all semantics, against size."""
    cells, whose = results.cells(), [MAD, *peers]
    sizes = sorted({cell.bytes for cell in cells})

    def hand_over_types(lists: bool) -> Callable[[str, int], Optional[float]]:
        return lambda name, size: mean(
            ratio(_best(results, cell, name, HAND, one), _best(results, cell, name, TYPES, one))
            for cell in cells if cell.bytes == size and (cell.layout == _LISTS) == lists for one in semantics)  # fmt: skip

    def over_mad(name: str, size: int) -> Optional[float]:
        values = []
        for row in apps_table.rows(results, [cell for cell in cells if cell.bytes == size], semantics, peers):
            times = [time for method in METHODS for time in [row.best(name, method)] if time is not None]
            values.append(ratio(min(times, default=None), row.best(MAD, TYPES)))
        return mean(values)

    title = f"Exchanges of programs, {setting.wire}, {setting.ranks} ranks"
    return Figure(f"apps-{setting.stem()}", title, figure.size_axis(sizes), (
        Panel("grids and transposes", "time by hand / time with datatypes", False,
              _curves(whose, sizes, whose, hand_over_types(False)), Level(1, 0.5, 1.5)),
        Panel("particles: datatypes made for each exchange", "time by hand / time with datatypes", False,
              _curves(whose, sizes, whose, hand_over_types(True)), Level(1, 0.1, 1.1)),
        Panel("all", "faster of both ways / mad with datatypes", False, _curves(peers, sizes, whose, over_mad),
              Level(1, 0.9, 1.1)),
    ))  # fmt: skip


def _program(results: Compared, setting: Setting, program: str, semantics: str, whose: Sequence[str]) -> Figure:
    """Times of one program's exchange; by hand dashed."""
    cells = sorted(cell for cell in results.cells() if cell.layout == program)
    curves = [Curve(f"{name} {method}", figure.colour(number),
                    [(cell.bytes, best) for cell in cells for best in [_best(results, cell, name, method, semantics)]
                     if best is not None], _DASHES[method])
              for number, name in enumerate(whose) for method in METHODS]  # fmt: skip
    return Figure(f"apps-{setting.stem()}-{program}-{semantics}", f"{program}, {semantics}, {setting.wire}, {setting.ranks} ranks",
                  figure.size_axis(cell.bytes for cell in cells),
                  (Panel("", "exchange in µs (least)", True, curves),))  # fmt: skip


def figures(results: Compared, setting: Setting, semantics: Sequence[str], peers: Sequence[str]) -> Iterator[Figure]:
    """Of one table: all programs in one, and each program with each semantics."""
    yield _overview(results, setting, semantics, peers)
    for program in figure.distinct(cell.layout for cell in results.cells()):
        for one in semantics:
            yield _program(results, setting, program, one, [MAD, *peers])
