"""Programs of this checkout that a subcommand builds and hands its options to."""

import argparse
import subprocess
from pathlib import Path
from typing import List, Sequence

from madtool import bazel, packages
from madtool.log import stage


def given(arguments: argparse.Namespace, options: Sequence[str]) -> List[str]:
    """Those of the options that were said, as the program is to be called with them."""
    words: List[str] = []
    for option in options:
        value = getattr(arguments, option)
        if value is not None:
            words += ["--" + option.replace("_", "-"), str(value)]
    return words


def built(name: str) -> Path:
    """perf/NAME/NAME of this checkout, built."""
    packages.ensure(packages.PACKAGES)
    with stage(f"{name}: building"):
        bazel.build([f"//perf/{name}"], name)
    return bazel.bin_dir() / "perf" / name / name


def exit_code(returned: int) -> int:
    """As a shell has it of a process that a signal ended, of which Python says the number negated."""
    return returned if returned >= 0 else 128 - returned


def run(name: str, words: Sequence[str]) -> int:
    """Builds perf/NAME/NAME and runs it; returns its exit code."""
    return exit_code(subprocess.run([str(built(name)), *words], check=False).returncode)
