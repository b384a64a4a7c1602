"""The installed MPI as build systems find it, by CMake and pkg-config: a part of the stage `debian`."""

import os
import re
import shutil

from madtool import mpich_build, packages
from madtool.errors import Failure
from madtool.log import run_logged, tail
from madtool.paths import CHECKOUT, cache_root, logs_dir
from madtool.stages import Tally

PROJECT = CHECKOUT / "tests" / "install"
_CTEST = re.compile(r"(\d+) tests failed out of (\d+)$", re.MULTILINE)


def run() -> Tally:
    """Configures, builds and runs tests/install with the MPI in `tools/mad prefix`."""
    try:
        packages.ensure(packages.CMAKE)
    except Failure as failure:
        return Tally(skipped=1, notes=(str(failure),))
    prefix, log = mpich_build.need_prefix(), logs_dir() / "install.log"
    build = cache_root() / "install-test"
    shutil.rmtree(build, ignore_errors=True)  # what CMake found before it would not look for again
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
                   "MPIR_CVAR_CH4_MAD_INTERFACE": "lo"}  # fmt: skip
    command = ["ctest", "--build-and-test", str(PROJECT), str(build), "--build-generator", "Unix Makefiles",
               "--build-options", f"-DMPI_HOME={prefix}", "--test-command", "ctest", "--timeout", "30",
               "--output-on-failure"]  # fmt: skip
    code = run_logged(command, log, "CMake and pkg-config", env=environment, check=False)
    counts = _CTEST.search(log.read_text(errors="replace"))
    if code == 0 and counts:
        return Tally(passed=int(counts.group(2)) - int(counts.group(1)))
    return Tally(failed=1, notes=(f"last lines of {log}:\n{tail(log, 40)}",))
