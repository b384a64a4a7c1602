"""The figures of `tools/mad compare`: times and ratios against size, and steps."""

from pathlib import Path
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

from madtool import figure
from madtool.compare_steps import LEAST_PERCENT, Scan
from madtool.compare_table import Results, ratio
from madtool.contenders import Cell
from madtool.errors import Failure, Missing
from madtool.figure import Curve, Figure, Level, Panel
from madtool.log import say


def _curves(names: Sequence[str], cells: Sequence[Cell], value: "Callable[[Cell, str], Optional[float]]",
            coloured: Optional[Sequence[str]] = None) -> List[Curve]:  # fmt: skip
    """One for each name, in a colour of its own among `coloured`."""
    curves = []
    for name in names:
        values = [(cell.bytes, value(cell, name)) for cell in cells]
        curves.append(Curve(name, figure.colour((coloured or names).index(name)), [(x, y) for x, y in values if y is not None]))
    return curves


def _by_layout(results: Results) -> "Iterator[Tuple[str, str, List[Cell]]]":
    """File name, title and cells by size, of everything measured at several sizes."""
    for kind in figure.distinct(cell._replace(bytes=0) for cell in results.cells()):
        cells = sorted(cell for cell in results.cells() if cell._replace(bytes=0) == kind)
        if len(cells) > 1:
            stem = f"{kind.layout}-{kind.short_window()}" if kind.window else kind.layout
            yield stem.replace(":", "-"), kind.layout + kind.in_flight(), cells


def comparison(results: Results, names: Sequence[str], peers: Sequence[str], what: str) -> Iterator[Figure]:
    """Of each layout: all times of what is told, and how much faster than the fastest peer the others are."""
    others = [name for name in names if name not in peers]

    def over_peer(cell: Cell, name: str) -> Optional[float]:
        fastest = results.fastest(cell, peers)
        return ratio(results.best(cell, fastest), results.best(cell, name)) if fastest else None

    for stem, title, cells in _by_layout(results):
        yield Figure(f"compare-{stem}", title, figure.size_axis(cell.bytes for cell in cells), (
            Panel("", f"{what} in µs (least)", True, _curves(names, cells, results.best)),
            Panel("", "time of the fastest peer / time", False, _curves(others, cells, over_peer, coloured=names),
                  Level(1, 0.9, 1.1)),
        ))  # fmt: skip


def steps(results: Results, names: Sequence[str]) -> Iterator[Figure]:
    """Of each layout: time per byte, and between neighbours what is beyond linear growth."""

    def per_byte(cell: Cell, name: str) -> Optional[float]:
        best = results.best(cell, name)
        return best * 1000 / cell.bytes if best is not None else None

    for stem, title, cells in _by_layout(results):
        scans = {name: Scan.of(results, cells, name) for name in names}
        heights = {(scans[name].cells[at], name): percent for name in names
                   for at, percent in scans[name].heights().items()}  # fmt: skip
        yield Figure(f"steps-{stem}", title, figure.size_axis(cell.bytes for cell in cells), (
            Panel("", "half round trip in ns a byte (least)", True, _curves(names, cells, per_byte)),
            Panel("", "step to the next size in % (beyond linear growth)", False,
                  _curves(names, cells, lambda cell, name: heights.get((cell, name))),
                  Level(0, -2 * LEAST_PERCENT, 2 * LEAST_PERCENT)),
        ))  # fmt: skip


def need_gnuplot(directory: str) -> Path:
    """Where the figures go, made; asked before anything is measured."""
    if figure.gnuplot() is None:
        raise Missing("--plots: gnuplot is missing (Debian package gnuplot-nox)")
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"--plots: {error}") from None
    return Path(directory)


def draw(figures: Iterator[Figure], directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    say(f"{figure.draw(figures, directory)} figures (PNG and SVG) in {directory}")
