#!/usr/bin/env python3
"""Plots a ping-pong's CSV as RT-0306 plots its own: time and gain, PNG and SVG, through gnuplot.

  gain-MODE      gain against size, all datatypes together   (the report's figures 7, 8 and 12)
  size-TYPE      time and gain against size                  (figures 13 to 20)
  blocks-TYPE    time and gain against the number of blocks  (figures 9 to 11)
"""

import argparse
import collections
import csv
import os
import shutil
import subprocess
import sys

# Okabe and Ito's colours: told apart by everyone, in print too.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
FORMATS = {
    "png": "pngcairo size {width},{height} font 'Sans,11' background '#ffffff'",
    "svg": "svg size {width},{height} font 'Sans,11' background '#ffffff'",
}
GAIN = "gain in %"
TIME = "round trip in µs (minimum)"

Row = collections.namedtuple("Row", "type size bytes blocks mode time gain")
Curve = collections.namedtuple("Curve", "title colour dash points")
Panel = collections.namedtuple("Panel", "title ylabel log_y curves")
Axis = collections.namedtuple("Axis", "label settings")


def read_rows(path):
    """The CSV's rows; gain is None where nothing was compared."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [
            Row(line["type"], int(line["size"]), int(line["bytes"]), int(line["blocks"]), line["mode"],
                float(line["min_us"]), float(line["gain_min"]) if line["gain_min"] else None)
            for line in csv.DictReader(file)
        ]
    if not rows:
        raise ValueError("no results in it")
    return rows


def distinct(values):
    """Each value once, in order of first appearance."""
    return list(dict.fromkeys(values))


def short_bytes(size):
    """65536 -> 64K."""
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


def size_axis(rows):
    """Logarithmic, with a tick for every size asked for (every second one where there are many)."""
    sizes = sorted({row.size for row in rows})
    step = 1 + (len(sizes) - 1) // 10
    ticks = ", ".join(f"'{short_bytes(size)}' {size}" for size in sizes[::step])
    # Room at both ends: gnuplot drops a tick that rounding puts outside.
    room = f"set xrange [{sizes[0] * 0.8:g}:{sizes[-1] * 1.25:g}]"
    return Axis("message size in bytes", f"set logscale x 2\n{room}\nset xtics ({ticks})")


def block_axis():
    return Axis("number of blocks", "unset logscale x\nset xrange [*:*]\nset xtics autofreq")


def fixed_blocks(rows):
    """The rows of the number of blocks that was tried with the most sizes; of several, the report's 3."""
    sizes = collections.defaultdict(set)
    for row in rows:
        sizes[row.blocks].add(row.size)
    best = max(sizes, key=lambda blocks: (len(sizes[blocks]), blocks == 3))
    return [row for row in rows if row.blocks == best] if len(sizes[best]) > 1 else []


def fixed_sizes(rows):
    """The rows of those sizes that were tried with several numbers of blocks."""
    blocks = collections.defaultdict(set)
    for row in rows:
        blocks[row.size].add(row.blocks)
    return [row for row in rows if len(blocks[row.size]) > 1]


def curve(title, number, dash, rows, x, y):
    points = sorted({(x(row), y(row)) for row in rows if y(row) is not None})
    return Curve(title, COLOURS[number % len(COLOURS)], dash, points)


def bytes_of(row):
    return row.bytes


def blocks_of(row):
    return row.blocks


def time_of(row):
    return row.time


def gain_of(row):
    return row.gain


def size_figure(rows):
    """One datatype against size: a curve per mode."""
    panels = []
    for label, log_y, value in ((TIME, True, time_of), (GAIN, False, gain_of)):
        curves = [
            curve(mode, number, 1, [row for row in rows if row.mode == mode], bytes_of, value)
            for number, mode in enumerate(distinct(row.mode for row in rows))
        ]
        panels.append(Panel("", label, log_y, curves))
    return panels


def blocks_figure(rows):
    """One datatype against its number of blocks: a colour per size, a dash per mode."""
    panels = []
    for label, log_y, value in ((TIME, True, time_of), (GAIN, False, gain_of)):
        curves = []
        for number, size in enumerate(sorted({row.size for row in rows})):
            for dash, mode in enumerate(distinct(row.mode for row in rows)):
                mine = [row for row in rows if (row.size, row.mode) == (size, mode)]
                curves.append(
                    curve(f"{short_bytes(size)} {mode}", number, dash + 1, mine, blocks_of, value))
        panels.append(Panel("", label, log_y, curves))
    return panels


def gain_figure(rows_by_type, mode):
    """All datatypes in one mode: the report's dense ones left, their gapped twins right."""
    panels = []
    for title, gapped in (("dense, as in RT-0306", False), ("blocks apart", True)):
        names = [name for name in rows_by_type if name.endswith("-gap") == gapped]
        curves = [
            curve(name, number, 1, [row for row in rows_by_type[name] if row.mode == mode], bytes_of,
                  gain_of) for number, name in enumerate(names)
        ]
        panels.append(Panel(title, GAIN, False, curves))
    return panels


def figures(rows):
    """(file name, title, axis, panels) of every figure these results can fill."""
    by_size, by_blocks = {}, {}
    for name in distinct(row.type for row in rows):
        mine = [row for row in rows if row.type == name]
        by_size[name], by_blocks[name] = fixed_blocks(mine), fixed_sizes(mine)
    for mode in distinct(row.mode for row in rows if row.gain is not None):
        sized = [row for mine in by_size.values() for row in mine]
        if sized:
            yield (f"gain-{mode}", f"Gain of mode {mode} over off", size_axis(sized),
                   gain_figure(by_size, mode))
    for name, mine in by_size.items():
        if mine:
            blocks = f", {mine[0].blocks} blocks" if mine[0].blocks > 1 else ""
            blocks += " a particle" if name.startswith("struct") else ""
            yield f"size-{name}", f"{name}{blocks}", size_axis(mine), size_figure(mine)
    for name, mine in by_blocks.items():
        if mine:
            yield f"blocks-{name}", f"{name}, blocks varied", block_axis(), blocks_figure(mine)


def plot_commands(panel, axis):
    lines = [
        f"set title '{panel.title}'", f"set ylabel '{panel.ylabel}'", f"set xlabel '{axis.label}' offset 0,0.4",
        axis.settings, "set logscale y" if panel.log_y else "unset logscale y",
        "set format y '%g'"
    ]
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
    if panel.ylabel == GAIN:
        # A gain of nothing is worth a line of its own, and a scale that shows it.
        lines.append("set yrange [*<-10:10<*]")
        drawn.insert(0, "0 notitle with lines linecolor rgb '#888888' linewidth 1")
    else:
        lines.append("set yrange [*:*]")
    lines.append("plot " + ", ".join(drawn))
    return lines


def script(stem, title, axis, panels):
    """A gnuplot script for one figure in every format; panels without points are left out."""
    panels = [panel for panel in panels if any(one.points for one in panel.curves)]
    lines = [
        "set encoding utf8", "set grid back linetype 1 linewidth 0.5 linecolor rgb '#cccccc'",
        "set border 3", "set tics nomirror out", "set key below maxcols 4 samplen 3 height 0.5"
    ]
    for suffix, terminal in FORMATS.items():
        lines += [
            "set terminal " + terminal.format(width=560 * len(panels), height=480),
            f"set output '{stem}.{suffix}'",
            f"set multiplot layout 1,{len(panels)} title '{title}' font ',14'",
        ]
        for panel in panels:
            lines += plot_commands(panel, axis)
        lines += ["unset multiplot", "unset output"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", required=True, help="what pingpong --csv wrote")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the figures go")
    args = parser.parse_args()
    gnuplot = shutil.which("gnuplot")
    if not gnuplot:
        sys.exit("plot.py: gnuplot is missing (Debian package gnuplot-nox)")
    try:
        rows = read_rows(args.csv)
        os.makedirs(args.out, exist_ok=True)
    except (OSError, KeyError, TypeError, ValueError) as error:
        sys.exit(f"plot.py: {args.csv}: {error}")
    count = 0
    for name, title, axis, panels in figures(rows):
        # gnuplot runs inside DIR, so that no character of its path needs quoting in the script.
        subprocess.run([gnuplot, "-"], input=script(name, title, axis, panels), text=True, check=True,
                       cwd=args.out)
        count += 1
    print(f"{count} figures (PNG and SVG) in {args.out}")


if __name__ == "__main__":
    main()
