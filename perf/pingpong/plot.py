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
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

from madtool.bench_table import short  # noqa: E402
from madtool.figure import Axis, Curve, Figure, Level, Panel, colour, distinct, draw, gnuplot, size_axis  # noqa: E402

GAIN = "gain in %"
TIME = "round trip in µs (minimum)"

# A gain of nothing is worth a line of its own, and a scale that shows it.
NO_GAIN = Level(0, -10, 10)

Row = collections.namedtuple("Row", "type size bytes blocks mode time gain")


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


def sizes_of(rows):
    """The axis of the sizes asked for."""
    return size_axis(row.size for row in rows)


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
    return Curve(title, colour(number), points, dash)


def bytes_of(row):
    return row.bytes


def blocks_of(row):
    return row.blocks


def time_of(row):
    return row.time


def gain_of(row):
    return row.gain


QUANTITIES = ((TIME, True, time_of, None), (GAIN, False, gain_of, NO_GAIN))


def size_figure(rows):
    """One datatype against size: a curve per mode."""
    panels = []
    for label, log_y, value, level in QUANTITIES:
        curves = [
            curve(mode, number, 1, [row for row in rows if row.mode == mode], bytes_of, value)
            for number, mode in enumerate(distinct(row.mode for row in rows))
        ]
        panels.append(Panel("", label, log_y, curves, level))
    return panels


def blocks_figure(rows):
    """One datatype against its number of blocks: a colour per size, a dash per mode."""
    panels = []
    for label, log_y, value, level in QUANTITIES:
        curves = []
        for number, size in enumerate(sorted({row.size for row in rows})):
            for dash, mode in enumerate(distinct(row.mode for row in rows)):
                mine = [row for row in rows if (row.size, row.mode) == (size, mode)]
                curves.append(
                    curve(f"{short(size)} {mode}", number, dash + 1, mine, blocks_of, value))
        panels.append(Panel("", label, log_y, curves, level))
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
        panels.append(Panel(title, GAIN, False, curves, NO_GAIN))
    return panels


def figures(rows):
    """Every figure these results can fill."""
    by_size, by_blocks = {}, {}
    for name in distinct(row.type for row in rows):
        mine = [row for row in rows if row.type == name]
        by_size[name], by_blocks[name] = fixed_blocks(mine), fixed_sizes(mine)
    for mode in distinct(row.mode for row in rows if row.gain is not None):
        sized = [row for mine in by_size.values() for row in mine]
        if sized:
            yield Figure(f"gain-{mode}", f"Gain of mode {mode} over off", sizes_of(sized),
                         gain_figure(by_size, mode))
    for name, mine in by_size.items():
        if mine:
            blocks = f", {mine[0].blocks} blocks" if mine[0].blocks > 1 else ""
            blocks += " a particle" if name.startswith("struct") else ""
            yield Figure(f"size-{name}", f"{name}{blocks}", sizes_of(mine), size_figure(mine))
    for name, mine in by_blocks.items():
        if mine:
            yield Figure(f"blocks-{name}", f"{name}, blocks varied", block_axis(), blocks_figure(mine))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", required=True, help="what pingpong --csv wrote")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the figures go")
    args = parser.parse_args()
    if not gnuplot():
        sys.exit("plot.py: gnuplot is missing (Debian package gnuplot-nox)")
    try:
        rows = read_rows(args.csv)
        os.makedirs(args.out, exist_ok=True)
    except (OSError, KeyError, TypeError, ValueError) as error:
        sys.exit(f"plot.py: {args.csv}: {error}")
    print(f"{draw(figures(rows), args.out)} figures (PNG and SVG) in {args.out}")


if __name__ == "__main__":
    main()
