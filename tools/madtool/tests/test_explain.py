"""`tools/mad explain` and `tools/mad info`: what reaches the program, and what comes back."""

from pathlib import Path
from typing import List, Tuple
from unittest import mock

from madtool import bazel, packages
from madtool.errors import Failure
from madtool.tests.support import CacheTest, call

_PROGRAM = """#!/bin/sh
printf '%s\\n' "$@" > "$0.words"
exit CODE
"""


class OwnProgram(CacheTest):
    NAME = ""

    def setUp(self) -> None:
        super().setUp()
        self.program = self.scratch / "perf" / self.NAME / self.NAME
        self.program.parent.mkdir(parents=True)
        for patch in (mock.patch.object(packages, "missing", return_value=[]),
                      mock.patch.object(bazel, "bin_dir", return_value=self.scratch)):  # fmt: skip
            patch.start()
            self.addCleanup(patch.stop)

    def said(self, words: List[str], code: int = 0) -> Tuple[int, List[str]]:
        """The exit code, and what the program was called with."""
        self.program.write_text(_PROGRAM.replace("CODE", str(code)))
        self.program.chmod(0o755)
        with mock.patch.object(bazel, "build") as build:
            result = call([self.NAME, *words])[0]
        build.assert_called_once_with([f"//perf/{self.NAME}"], self.NAME)
        return result, Path(f"{self.program}.words").read_text().split()


class Info(OwnProgram):
    NAME = "info"

    def test_hands_on_what_was_said_and_the_exit_code(self) -> None:
        self.assertEqual(self.said([]), (0, []))
        self.assertEqual(self.said(["--self-test", "tcp"]), (0, ["tcp", "--self-test"]))
        said = ["tcp", "ofi:verbs", "--interface", "lo", "--costs", "f.json"]
        self.assertEqual(self.said(said, code=1), (1, said))


class Explain(OwnProgram):
    NAME = "explain"

    def test_hands_on_only_what_was_said(self) -> None:
        self.assertEqual(self.said(["padded"]), (0, ["padded"]))
        self.assertEqual(self.said(["--list"]), (0, ["--list"]))
        said = ["padded", "rows-8", "--bytes", "1M", "--fabric", "ofi:tcp", "--interface", "lo", "--costs", "f.json",
                "--flush-threshold", "4096", "--max-blocks", "7"]  # fmt: skip
        self.assertEqual(self.said(said), (0, said))

    def test_the_programs_exit_code_is_the_tools(self) -> None:
        self.assertEqual(self.said(["no-such"], code=2)[0], 2)

    def test_a_build_that_fails_is_1(self) -> None:
        with mock.patch.object(bazel, "build", side_effect=Failure("it does not compile")):
            code, _, err = call(["explain", "padded"])
        self.assertEqual(code, 1)
        self.assertIn("it does not compile", err)

    def test_missing_packages_are_2(self) -> None:
        with mock.patch.object(packages, "missing", return_value=["libcli11-dev"]), \
                mock.patch("os.geteuid", return_value=1000):  # fmt: skip
            code, _, err = call(["explain", "padded"])
        self.assertEqual(code, 2)
        self.assertIn("libcli11-dev", err)

    def test_wrong_use_is_2(self) -> None:
        self.assertEqual(call(["explain", "--nonsense"])[0], 2)
