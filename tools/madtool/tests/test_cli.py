"""The command line: help of every subcommand, exit codes, what is said when something is missing."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path
from unittest import mock

from madtool import own_program, packages, paths, test_command, unit_tests
from madtool.errors import Failure, Missing
from madtool.stages import Stage, Tally
from madtool.tests.support import CacheTest, call, call_tool, mpich_like_tree

SUBCOMMANDS = ("build", "prefix", "install-into", "run", "pingpong", "bench", "compare", "calibrate", "explain",
               "test", "conformance", "manual", "completion", "package", "lab", "info",
               "selftest")  # fmt: skip


class Help(CacheTest):
    def test_lists_every_subcommand(self) -> None:
        code, out, _ = call(["--help"])
        self.assertEqual(code, 0)
        for name in SUBCOMMANDS:
            self.assertIn(name, out)

    def test_every_subcommand_has_its_own(self) -> None:
        for name in SUBCOMMANDS:
            with self.subTest(name):
                code, out, _ = call([name, "--help"])
                self.assertEqual(code, 0)
                self.assertIn(f"usage: tools/mad {name}", out)


class Calibrate(CacheTest):
    def test_hands_on_only_what_was_said(self) -> None:
        with mock.patch.object(own_program, "run", return_value=3) as run:
            self.assertEqual(call(["calibrate", "--fabric", "tcp,ofi:tcp", "--output", "f.json", "--rounds", "7"])[0], 3)
            run.assert_called_with("calibrate", ["--fabric", "tcp,ofi:tcp", "--output", "f.json", "--rounds", "7"])
            call(["calibrate"])
            run.assert_called_with("calibrate", [])


class ExitCodes(CacheTest):
    def test_wrong_use_is_2(self) -> None:
        for words in ([], ["fly"], ["build", "--nonsense"], ["run"], ["test", "no-such-stage"]):
            with self.subTest(words):
                self.assertEqual(call(words)[0], 2)

    def test_before_build_is_2_and_says_what_to_do(self) -> None:
        for words in (["prefix"], ["run", "-n", "2", "true"], ["package"]):
            code, out, err = call(words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn("tools/mad build", err)

    def test_a_program_that_a_signal_ends_is_128_and_its_number(self) -> None:
        program = self.scratch / "info"
        program.write_text("#!/bin/sh\n[ $# = 1 ] && exit $1\nkill -SEGV $$\n")
        program.chmod(0o755)
        with mock.patch.object(own_program, "built", return_value=program):
            self.assertEqual((call(["info", "7"])[0], call(["info"])[0]), (7, 139))

    def test_interrupted_is_130_and_says_what_goes_on(self) -> None:
        goes_on = (["build"], ["conformance", "--fabric", "tcp"], ["compare", "--full"])
        anew = (["pingpong"], ["conformance"], ["conformance", "--fabric", "tcp", "--fresh"], ["compare"],
                ["compare", "--full", "--fresh"], ["test", "tool"], ["info"])  # fmt: skip
        with mock.patch.object(packages, "ensure", side_effect=KeyboardInterrupt), \
                mock.patch.object(unit_tests, "run", side_effect=KeyboardInterrupt):  # fmt: skip
            for words in (*goes_on, *anew):
                code, _, err = call(words)
                self.assertEqual(code, 130, words)
                more = "; the same command goes on from here" if words in goes_on else ""
                self.assertTrue(err.endswith(f"mad: interrupted{more}\n"), (words, err))

    def test_failed_stage_is_1_and_last_line_counts(self) -> None:
        def broken() -> Tally:
            raise Failure("it broke")

        stages = [
            Stage("good", 1, "", lambda: Tally(passed=3, skipped=1)),
            Stage("bad", 1, "", broken),
            Stage("after", 1, "", lambda: Tally(passed=1), needs=("bad",)),
            Stage("apart", 1, "", lambda: Tally(passed=1), needs=("good",)),
        ]
        with mock.patch.object(test_command, "stages", return_value=stages):
            code, out, err = call(["test"])
        self.assertEqual(code, 1)
        self.assertEqual(out.splitlines()[-1], "4 passed, 2 failed, 1 skipped")
        self.assertIn("it broke", err)
        self.assertIn("not run: bad failed", err)

    def test_a_stage_that_breaks_off_is_one_that_fails(self) -> None:
        for error in (OSError("disk full"), ValueError("no number"), subprocess.TimeoutExpired(["mpiexec"], 7)):
            stages = [Stage("bad", 1, "", mock.Mock(side_effect=error)), Stage("apart", 1, "", lambda: Tally(passed=1))]
            with mock.patch.object(test_command, "stages", return_value=stages):
                code, out, err = call(["test"])
            self.assertEqual((code, out.splitlines()[-1]), (1, "1 passed, 1 failed, 0 skipped"))
            self.assertIn(f"{type(error).__name__}: {error}", err)

    def test_all_good_is_0(self) -> None:
        with mock.patch.object(test_command, "stages", return_value=[Stage("s", 1, "", lambda: Tally(2))]):
            code, out, _ = call(["test"])
        self.assertEqual((code, out.splitlines()[-1]), (0, "2 passed, 0 failed, 0 skipped"))


class Files(CacheTest):
    def test_a_file_is_replaced_as_a_whole(self) -> None:
        file = paths.output_file("--csv", str(self.scratch / "x.csv"))
        with self.assertRaises(Failure), paths.replacing(file) as out:
            out.write("half")
            raise Failure("it broke")
        self.assertFalse(file.exists())
        with paths.replacing(file) as out:
            out.write("all")
        self.assertEqual(([path.name for path in self.scratch.iterdir()], file.read_text()), (["x.csv"], "all"))

    def test_nothing_is_left_beside_one_that_cannot_be(self) -> None:
        (self.scratch / "x").mkdir()
        with mock.patch.object(os, "replace", side_effect=OSError("disk full")):
            self.assertRaises(OSError, paths.write_atomically, self.scratch / "y", "text")
        self.assertEqual([path.name for path in self.scratch.iterdir()], ["x"])

    def test_links_and_devices_stay_what_they_are(self) -> None:
        file, link, pipe = (self.scratch / name for name in ("file", "link", "pipe"))
        link.symlink_to(file)
        paths.write_atomically(link, "text")
        self.assertEqual((link.is_symlink(), file.read_text()), (True, "text"))
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        paths.write_atomically(paths.output_file("--csv", str(pipe)), "text")
        self.assertEqual((pipe.is_fifo(), os.read(reader, 9)), (True, b"text"))


class MissingThings(CacheTest):
    def test_not_root_gets_the_one_line(self) -> None:
        with mock.patch.object(packages, "missing", return_value=["googletest", "gnuplot-nox"]), \
                mock.patch("os.geteuid", return_value=1000):  # fmt: skip
            code, _, err = call(["build"])
        self.assertEqual(code, 2)
        lines = [line for line in err.splitlines() if "apt-get install" in line]
        self.assertEqual(len(lines), 1)
        self.assertTrue(lines[0].strip().startswith("sudo apt-get"))
        self.assertTrue(lines[0].endswith("googletest gnuplot-nox"))

    def test_nothing_is_installed_when_nothing_is_missing(self) -> None:
        with mock.patch.object(packages, "missing", return_value=[]), \
                mock.patch.object(packages, "run_logged") as run:  # fmt: skip
            packages.ensure()
        run.assert_not_called()

    def test_no_debian(self) -> None:
        with mock.patch.object(shutil, "which", return_value=None):
            self.assertRaises(Missing, packages.missing)

    def test_install_into_without_autotools_names_the_packages(self) -> None:
        empty = self.scratch / "bin"
        empty.mkdir()
        for tool in ("sh", "python3", "dirname", "readlink", "id"):
            (empty / tool).symlink_to(shutil.which(tool) or "/nonexistent")
        tree = mpich_like_tree(self.scratch / "tree")
        environment = {"PATH": str(empty), "MAD_CACHE": str(self.cache), "HOME": str(self.scratch)}
        code, _, err = call_tool(["install-into", str(tree)], environment)
        self.assertEqual(code, 2, err)
        self.assertIn("apt-get install -y autoconf", err)

    @unittest.skipIf(os.geteuid() == 0, "as root python3 would be installed")
    def test_no_python(self) -> None:
        empty = self.scratch / "bin"
        empty.mkdir()
        for tool in ("sh", "id"):
            (empty / tool).symlink_to(shutil.which(tool) or "/nonexistent")
        code, _, err = call_tool(["prefix"], {"PATH": str(empty)})
        self.assertEqual(code, 2)
        self.assertIn("apt-get install -y python3", err)

    def test_cache_that_cannot_be_made(self) -> None:
        blocked = self.scratch / "file"
        blocked.write_text("")
        for name in (blocked, blocked / "cache"):
            with mock.patch.dict(os.environ, {"MAD_CACHE": str(name)}):
                code, _, err = call(["prefix"])
            self.assertEqual(code, 2)
            self.assertIn(str(name), err)
            self.assertIn("MAD_CACHE", err)

    def test_no_home(self) -> None:
        with mock.patch.dict(os.environ), mock.patch.object(Path, "home", side_effect=RuntimeError("no home")):
            for name in ("MAD_CACHE", "XDG_CACHE_HOME"):
                os.environ.pop(name, None)
            code, _, err = call(["prefix"])
        self.assertEqual(code, 2)
        self.assertIn("set MAD_CACHE", err)
