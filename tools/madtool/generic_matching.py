"""Our matching beside MPICH's generic one: a part of the stage `debian` of `tools/mad test`.

tests/mpi/matching.c makes random programs from a seed and holds each message against two literal lists.  The same
binary runs on the built MPI and on Debian's MPICH, whose shared memory and network leave matching to MPICH.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Dict

from madtool import mpich_build, packages
from madtool.errors import Failure
from madtool.log import say
from madtool.mpi_program import compile_program
from madtool.stages import Tally

_THREADS, _SEEDS = (1, 4), (1000, 2000, 3000, 4000)  # a run has 150 programs for each of its threads, seeds in a row
_OURS = "libmad: fabric "  # what the built MPI says of itself with MAD_VERBOSE=1
_LIMIT_S = 60


def debians_library() -> Path:
    """Debian's MPICH, as what is linked against the built one looks for it."""
    listing = subprocess.run(["dpkg", "-L", "libmpich12"], stdout=subprocess.PIPE, text=True, check=False).stdout
    for line in listing.splitlines():
        if Path(line).name == "libmpich.so.12":
            return Path(line)
    raise Failure("the package libmpich12 has no libmpich.so.12; reinstall it: apt-get install --reinstall libmpich12")


def complaint(code: int, text: str, ours: bool) -> str:
    """What is wrong with a run, "" if nothing is."""
    if code != 0:
        return f"exit status {code}"
    if (_OURS in text) != ours:
        return "ran on another MPI"
    return "" if "ok matching" in text.splitlines() else "no verdict"


def _run(launcher: str, program: Path, threads: int, seed: int, ours: bool, environment: Dict[str, str]) -> Tally:
    settings = {"MAD_SEED": str(seed), "MAD_VERBOSE": "1", "MPIEXEC_TIMEOUT": str(_LIMIT_S)}
    done = subprocess.run([launcher, "-n", "2", str(program), str(threads)], env={**environment, **settings},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)  # fmt: skip
    wrong = complaint(done.returncode, done.stdout, ours)
    if not wrong:
        return Tally(passed=1)
    whose = "the built MPI" if ours else "Debian's MPICH"
    note = f"matching with {threads} threads and MAD_SEED={seed} on {whose}: {wrong}\n{done.stdout[-2000:]}"
    return Tally(failed=1, notes=(note,))


def run() -> Tally:
    """All programs on both; skipped where Debian's MPICH cannot be had."""
    try:
        packages.ensure(packages.DEBIAN_PROGRAMS)
    except Failure as failure:
        return Tally(skipped=1, notes=(str(failure),))
    prefix, tally = mpich_build.need_prefix(), Tally()
    say("debian: matching, also on Debian's MPICH")
    with tempfile.TemporaryDirectory(prefix="mad-debian-") as scratch:
        program = compile_program("matching", Path(scratch))
        (Path(scratch) / "libmpi.so.12").symlink_to(debians_library())
        launchers = {True: str(prefix / "bin" / "mpiexec"), False: shutil.which("mpiexec.mpich") or "mpiexec.mpich"}
        environments = {True: dict(os.environ), False: {**os.environ, "LD_LIBRARY_PATH": scratch}}
        for ours, launcher in launchers.items():
            for threads in _THREADS:
                for seed in _SEEDS:
                    tally += _run(launcher, program, threads, seed, ours, environments[ours])
    return tally
