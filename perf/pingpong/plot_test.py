#!/usr/bin/env python3
"""Tests of plot.py on a CSV as the ping-pong writes it."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(os.path.abspath(__file__)).parent
sys.path.insert(0, str(HERE))

import plot  # noqa: E402
from madtool import figure  # noqa: E402  (where plot.py finds it)

HEADER = "type,size,bytes,blocks,receive,mode,iterations,min_us,median_us,gain_min,gain_median\n"


def results(modes=("off", "auto")):
    """Two types and their twins, sizes with 3 blocks and blocks with one size."""
    lines = [HEADER]
    cells = [(size, 3) for size in (64, 4096, 65536)] + [(65536, blocks) for blocks in (1, 7, 10)]
    for kind in ("contiguous", "vector", "struct", "vector-gap", "struct-gap"):
        for size, blocks in cells:
            if not kind.startswith("vector") and blocks != 3:
                continue
            blocks = 1 if kind == "contiguous" else blocks
            for mode in modes:
                off = 10 + size / 1000
                spent = off if mode == "off" else off * 0.75
                gains = "," if mode == "off" or "off" not in modes else "25.00,20.00"
                lines.append(f"{kind},{size},{size},{blocks},typed,{mode},15,{spent:.3f},{spent + 1:.3f},{gains}\n")
    return "".join(lines)


class PlotTest(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="plot test '"))  # a path that needs quoting
        self.addCleanup(shutil.rmtree, self.directory)
        self.csv = self.directory / "results.csv"

    def run_plot(self, text, environment=None):
        if text is not None:
            self.csv.write_text(text, encoding="utf-8")
        command = [sys.executable, "-B", str(HERE / "plot.py"), "--csv", str(self.csv), "--out",
                   str(self.directory / "figures")]  # fmt: skip
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env=environment)  # fmt: skip

    def rows(self, text):
        self.csv.write_text(text, encoding="utf-8")
        return plot.read_rows(self.csv)

    def test_rows(self):
        rows = self.rows(HEADER + "vector,64,72,3,typed,off,15,10.5,11,,\nvector,64,72,3,typed,auto,15,8,9,-3.5,1\n")
        self.assertEqual(rows[0], plot.Row("vector", 64, 72, 3, "off", 10.5, None))
        self.assertEqual(rows[1].gain, -3.5)

    def test_figures_are_the_reports(self):
        names = {name for name, *_ in plot.figures(self.rows(results()))}
        self.assertEqual(names, {"gain-auto", "size-contiguous", "size-vector", "size-struct", "size-vector-gap",
                                 "size-struct-gap", "blocks-vector", "blocks-vector-gap"})  # fmt: skip

    def test_twins_have_a_panel_of_their_own(self):
        _, _, _, panels = next(f for f in plot.figures(self.rows(results())) if f[0] == "gain-auto")
        self.assertEqual([curve.title for curve in panels[0].curves], ["contiguous", "vector", "struct"])
        self.assertEqual([curve.title for curve in panels[1].curves], ["vector-gap", "struct-gap"])
        self.assertEqual(panels[0].curves[1].points, [(64, 25.0), (4096, 25.0), (65536, 25.0)])

    def test_blocks_are_told_from_sizes(self):
        _, _, _, panels = next(f for f in plot.figures(self.rows(results())) if f[0] == "blocks-vector")
        off = panels[0].curves[0]
        self.assertEqual([x for x, _ in off.points], [1, 3, 7, 10])

    def test_one_mode_has_times_and_no_gains(self):
        figures = list(plot.figures(self.rows(results(modes=("mpi",)))))
        self.assertTrue(figures)
        for one in figures:
            self.assertFalse(one.name.startswith("gain-"))
            script = figure.script(one)
            self.assertIn("layout 1,1", script)
            self.assertNotIn(plot.GAIN, script)

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_png_and_svg(self):
        done = self.run_plot(results())
        self.assertEqual(done.returncode, 0, done.stdout)
        figures = self.directory / "figures"
        self.assertEqual(len(list(figures.glob("*.png"))), 8)
        for image in figures.glob("*.png"):
            self.assertEqual(image.read_bytes()[:8], b"\x89PNG\r\n\x1a\n", image.name)
            self.assertGreater(image.stat().st_size, 3000, image.name)
        drawing = (figures / "gain-auto.svg").read_text(encoding="utf-8")
        for text in ("gain in %", "struct-gap", "message size in bytes", ">64K<"):
            self.assertIn(text, drawing)

    def test_bad_files(self):
        for text, word in ((None, "No such file"), (HEADER, "no results"), ("a,b\n1,2\n", "type"),
                           (HEADER + "vector,x,72,3,typed,off,15,1,1,,\n", "invalid literal")):  # fmt: skip
            done = self.run_plot(text)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(word, done.stdout)
            self.assertNotIn("Traceback", done.stdout)

    def test_without_gnuplot(self):
        done = self.run_plot(results(), environment={"PATH": str(self.directory)})
        self.assertEqual(done.returncode, 1)
        self.assertIn("gnuplot is missing", done.stdout)


if __name__ == "__main__":
    unittest.main()
