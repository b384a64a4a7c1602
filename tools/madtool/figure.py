"""Figures of curves, PNG and SVG, drawn by gnuplot.  What the project's plots have in common; knows no benchmark."""

import shutil
import subprocess
from pathlib import Path
from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

from madtool.bench_table import short

_Value = TypeVar("_Value")

# Okabe and Ito's colours: told apart by everyone, in print too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_FORMATS = {
    "png": "pngcairo size {width},{height} font 'Sans,11' background '#ffffff'",
    "svg": "svg size {width},{height} font 'Sans,11' background '#ffffff'",
}
_MOST_TICKS = 10


class Curve(NamedTuple):
    title: str
    colour: str
    points: Sequence[Tuple[float, float]]
    dash: int = 1


class Level(NamedTuple):
    """A height worth a line of its own, and what the scale shows at least."""

    y: float
    low: float
    high: float


class Panel(NamedTuple):
    title: str
    ylabel: str
    log_y: bool
    curves: Sequence[Curve]
    level: Optional[Level] = None


class Axis(NamedTuple):
    label: str
    settings: str  # gnuplot's


class Figure(NamedTuple):
    """Panels side by side; `name` is the files'."""

    name: str
    title: str
    axis: Axis
    panels: Sequence[Panel]


def colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def distinct(values: Iterable[_Value]) -> List[_Value]:
    """Each value once, in order of first appearance."""
    return list(dict.fromkeys(values))


def size_axis(sizes: Iterable[int]) -> Axis:
    """Logarithmic, with a tick for every size (where there are many, for every power of 4 among them)."""
    known = sorted(set(sizes))
    powers = [4**n for n in range(32) if known[0] <= 4**n <= known[-1]]
    ticked = known if len(known) <= _MOST_TICKS else powers
    ticks = ", ".join(f"'{short(size)}' {size}" for size in ticked)
    # Room at both ends: gnuplot drops a tick that rounding puts outside.
    room = f"set xrange [{known[0] * 0.8:g}:{known[-1] * 1.25:g}]"
    return Axis("message size in bytes", f"set logscale x 2\n{room}\nset xtics ({ticks})")


def _panel_commands(panel: Panel, axis: Axis) -> List[str]:
    lines = [
        f"set title '{panel.title}'", f"set ylabel '{panel.ylabel}'", f"set xlabel '{axis.label}' offset 0,0.4",
        axis.settings, "set logscale y" if panel.log_y else "unset logscale y",
        "set format y '%g'"
    ]  # fmt: skip
    curves = [one for one in panel.curves if one.points]
    for number, one in enumerate(curves):
        lines.append(f"$data{number} << EOD")
        lines += [f"{x} {y}" for x, y in one.points]
        lines.append("EOD")
    drawn = [
        f"$data{number} using 1:2 with linespoints title '{one.title}' linecolor rgb '{one.colour}' "
        f"linewidth 2 dashtype {one.dash} pointtype 7 pointsize 0.6"
        for number, one in enumerate(curves)
    ]
    if panel.level:
        lines.append(f"set yrange [*<{panel.level.low:g}:{panel.level.high:g}<*]")
        drawn.insert(0, f"{panel.level.y:g} notitle with lines linecolor rgb '#888888' linewidth 1")
    else:
        lines.append("set yrange [*:*]")
    lines.append("plot " + ", ".join(drawn))
    return lines


def script(figure: Figure) -> str:
    """gnuplot's commands for one figure in every format; panels without points are left out."""
    panels = [panel for panel in figure.panels if any(one.points for one in panel.curves)]
    lines = [
        "set encoding utf8", "set grid back linetype 1 linewidth 0.5 linecolor rgb '#cccccc'",
        "set border 3", "set tics nomirror out", "set key below maxcols 4 samplen 3 height 0.5"
    ]  # fmt: skip
    for suffix, terminal in _FORMATS.items():
        lines += [
            "set terminal " + terminal.format(width=560 * len(panels), height=480),
            f"set output '{figure.name}.{suffix}'",
            f"set multiplot layout 1,{len(panels)} title '{figure.title}' font ',14'",
        ]
        for panel in panels:
            lines += _panel_commands(panel, axis=figure.axis)
        lines += ["unset multiplot", "unset output"]
    return "\n".join(lines) + "\n"


def gnuplot() -> Optional[str]:
    return shutil.which("gnuplot")


def draw(figures: Iterable[Figure], directory: Path) -> int:
    """PNG and SVG of each, in a directory that is there; how many figures.  Needs gnuplot()."""
    count = 0
    for figure in figures:
        # gnuplot runs inside the directory, so that no character of its path needs quoting in the script.
        subprocess.run([gnuplot() or "gnuplot", "-"], input=script(figure), text=True, check=True, cwd=directory)
        count += 1
    return count
