"""What the tests of the tool share: a cache of their own, small MPICH-like trees, and the command line."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Dict, List, Tuple
from unittest import mock

from madtool import cli
from madtool.paths import CHECKOUT

TOOL = CHECKOUT / "tools" / "mad"


class CacheTest(unittest.TestCase):
    """A test with an empty cache directory and a scratch directory."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="mad-tool-test-")
        self.addCleanup(directory.cleanup)
        self.scratch = Path(directory.name)
        self.cache = self.scratch / "cache"
        environment = mock.patch.dict(os.environ, {"MAD_CACHE": str(self.cache)})
        environment.start()
        self.addCleanup(environment.stop)


def call(words: List[str]) -> Tuple[int, str, str]:
    """The command line in this process: exit code, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(words)
        except SystemExit as stop:  # argparse's way out
            code = stop.code if isinstance(stop.code, int) else 1
    return code, out.getvalue(), err.getvalue()


def call_tool(words: List[str], environment: Dict[str, str]) -> Tuple[int, str, str]:
    """tools/mad itself, with exactly this environment."""
    done = subprocess.run([str(TOOL), *words], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False)  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def mpich_like_tree(tree: Path, version: str = "4.0.2", configure: bool = True) -> Path:
    """A directory that looks like an MPICH release as far as the checks look."""
    (tree / "maint").mkdir(parents=True)
    (tree / "src/mpid/ch4/netmod/include").mkdir(parents=True)
    (tree / "maint/version.m4").write_text(f"m4_define([MPICH_VERSION_m4],[{version}])dnl\n")
    if configure:
        (tree / "configure").write_text("#!/bin/sh\n")
    return tree
