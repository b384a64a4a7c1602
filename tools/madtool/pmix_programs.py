"""Programs started by Debian's Open MPI's mpirun, which speaks PMIx: a part of the stage `debian` of `tools/mad test`.

Slurm's plugin for PMIx is in the stage `slurm`, which needs namespaces.
"""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from madtool import packages
from madtool.errors import Failure
from madtool.log import say
from madtool.mpi_program import compile_program
from madtool.stages import Tally

LAUNCHER = ["openmpi-bin"]
_LIMIT_S = 60
# As root, with more ranks than cores, and without a word about either.
_MPIRUN = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")


@dataclass(frozen=True)
class Start:
    """A program and how it has to end; `text` is in what it prints."""

    program: str
    command: Sequence[str]  # before the program
    arguments: Sequence[str]
    text: str
    status: Optional[int] = 0  # None: any but 0
    environment: Sequence[Tuple[str, str]] = ()

    def complaint(self, code: int, text: str) -> str:
        """What is wrong with a run, "" if nothing is."""
        if code != self.status if self.status is not None else code == 0:
            return f"exit status {code}"
        return "" if self.text in text else f"it did not say: {self.text}"


def starts() -> List[Start]:
    four = (*_MPIRUN, "-n", "4")
    return [
        Start("launched", four, ("4", "1", "closed"), "ok launched"),
        Start("launched", (*_MPIRUN, "-n", "1"), ("1", "1"), "ok launched"),
        Start("launched", four, ("abort",), "application called MPI_Abort(MPI_COMM_WORLD, 7)", status=7),
        Start("collectives", four, (), "ok collectives"),
        # Where the launcher does not say which node a rank is on, as MPICH's fallback finds out.
        Start("launched", four, ("4", "1"), "ok launched", environment=(("PMI_SUBVERSION", "0"),)),
        # Names a launcher that is not there: an error, not a job of one.
        Start("launched", (), ("1", "1"), "PMIx_Init", status=None,
              environment=(("PMIX_NAMESPACE", "nobody"), ("PMIX_RANK", "0"))),
    ]  # fmt: skip


def _run(start: Start, programs: Path) -> Tally:
    environment: Dict[str, str] = {**os.environ, "MPIR_CVAR_CH4_MAD_INTERFACE": "lo", **dict(start.environment)}
    command = [*start.command, str(programs / start.program), *start.arguments]
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=_LIMIT_S, check=False)  # fmt: skip
        code, text = done.returncode, done.stdout
        wrong = start.complaint(code, text)
    except subprocess.TimeoutExpired as late:
        wrong, text = f"no end within {_LIMIT_S} s", (late.stdout or b"").decode(errors="replace")
    if not wrong:
        return Tally(passed=1)
    return Tally(failed=1, notes=(f"{' '.join(command)}: {wrong}\n{text[-2000:]}",))


def run() -> Tally:
    """Skipped where Open MPI cannot be had."""
    try:
        packages.ensure(LAUNCHER)
    except Failure as failure:
        return Tally(skipped=1, notes=(str(failure),))
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="mad-pmix-") as scratch:
        for name in sorted({start.program for start in starts()}):
            compile_program(name, Path(scratch))
        for start in starts():
            say(f"debian: {' '.join((start.program, *start.arguments))} by PMIx")
            tally += _run(start, Path(scratch))
    return tally
