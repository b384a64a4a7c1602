"""Bazel as this project calls it: outputs in the cache, modest memory."""

import os
import subprocess
from pathlib import Path
from typing import List, Sequence, Tuple

from madtool import disk_cache
from madtool.errors import Failure
from madtool.log import run_logged
from madtool.paths import CHECKOUT, cache_root, digest, logs_dir

_FLAGS = ("--color=no",)


def _startup() -> List[str]:
    base = cache_root() / "bazel" / digest(str(CHECKOUT))
    return ["bazel", f"--output_base={base}", "--max_idle_secs=900", "--host_jvm_args=-Xmx768m"]


def _flags() -> List[str]:
    # Shared by all checkouts, so that a clean clone has its objects at once.
    return [*_FLAGS, f"--disk_cache={disk_cache.bounded()}", f"--jobs={os.cpu_count() or 2}"]


def build(targets: Sequence[str], what: str, options: Sequence[str] = ()) -> None:
    run_logged([*_startup(), "build", *_flags(), *options, *targets], logs_dir() / f"bazel-{what}.log", what,
               cwd=CHECKOUT)  # fmt: skip


def test(arguments: Sequence[str], what: str) -> Tuple[int, Path]:
    """`bazel test` with the arguments; returns its exit code and the log."""
    log = logs_dir() / f"bazel-{what}.log"
    code = run_logged([*_startup(), "test", *_flags(), *arguments], log, what, cwd=CHECKOUT,
                      check=False)  # fmt: skip
    return code, log


def bin_dir(options: Sequence[str] = ()) -> Path:
    """Where `build` puts its outputs, with the same options."""
    answer = subprocess.run(
        [*_startup(), "info", *_FLAGS, *options, "bazel-bin"],
        cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    if answer.returncode != 0:
        raise Failure("bazel info bazel-bin failed; see tools/mad build")
    return Path(answer.stdout.strip())


def shutdown() -> None:
    subprocess.run([*_startup(), "shutdown"], cwd=CHECKOUT, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)  # fmt: skip
