"""Programs from Debian's archive, unmodified, on the built MPI: a part of the stage `debian` of `tools/mad test`.

They were linked against Debian's MPICH and run here by `tools/mad run`.  Each is judged by its own verdict;
NWChem's energies, of which it has none, are held against those that it computes on Debian's MPICH.
"""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Tuple

from madtool import fabrics, packages
from madtool.errors import Failure
from madtool.log import say
from madtool.paths import CHECKOUT, write_atomically
from madtool.stages import Tally

FABRICS = ("tcp", "shm")
_LIMIT_S = 180  # a program takes seconds where the machine is its own
_SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack/mpich-tests")
_SCALAPACK_DATA = Path("/usr/share/scalapack")
_WATER = """\
start water
geometry units angstrom
  O  0.0000  0.0000  0.1173
  H  0.0000  0.7572 -0.4692
  H  0.0000 -0.7572 -0.4692
end
basis
  * library 6-31g
end
scf
  thresh 1e-6
  tol2e 1e-10
end
task scf energy
task mp2 energy
"""
_ENERGY = re.compile(r"^ *Total (SCF|MP2) energy +=? *(-?\d+\.\d+) *$", re.MULTILINE)
# Two converged runs differ by the order of sums, about 1e-11 here.
_HARTREE = 1e-8
_FINISHED = re.compile(r"Finished *(\d+) *tests, with the following results:")
_RESIDUALS = re.compile(r"^ *(\d+) tests completed and (passed|failed) residual checks", re.MULTILINE)
_SIZES = re.compile(r"^(\d+)(?=\s+[Nn]umber of (?:problems sizes|blocking sizes|NB|NRHS|NBRHS))", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """One run of a program: `complaint` says what is wrong with what it printed, "" if nothing is."""

    name: str
    ranks: int
    command: Tuple[str, ...]
    complaint: Callable[[str], str]


def residuals(text: str) -> str:
    """ScaLAPACK's summary: all tests that it says it made passed."""
    finished, counts = _FINISHED.search(text), {how: int(n) for n, how in _RESIDUALS.findall(text)}
    if finished is None or not counts.get("passed"):
        return "no summary"
    return f"{counts.get('failed')} of {finished.group(1)} tests failed" if counts.get("failed") != 0 else ""


def integrity(text: str) -> str:
    """NetPIPE's check of the bytes it sent, one line for each length."""
    lines = [line for line in text.splitlines() if re.match(r" *\d+: *\d+ bytes", line)]
    wrong = [line for line in lines if not line.rstrip().endswith("passed")]
    return f"no integrity check: {wrong[0]}" if wrong else "" if lines else "no lengths"


def energies(text: str) -> Dict[str, float]:
    """NWChem's, in Hartree, by method."""
    return {method: float(value) for method, value in _ENERGY.findall(text)}


def _same_energies(reference: Dict[str, float]) -> Callable[[str], str]:
    def complaint(text: str) -> str:
        found = energies(text)
        for method, value in reference.items():
            if method not in found or abs(found[method] - value) > _HARTREE:
                return f"{method} energy {found.get(method)}, on Debian's MPICH {value}"
        return ""

    return complaint


# libmad's, under MAD_VERBOSE=1
_OWN_LINE = re.compile(r"libmad: [^\n]*\n")

# One of each kind; xslu and xsllt, which hang with 4 ranks, join here when that is mended.
_SOLVERS = ("xdlu", "xzllt", "xcqr", "xdls", "xsinv", "xzhrd", "xdtrd", "xcbrd")


def programs(reference: Dict[str, float]) -> List[Program]:
    """What is run over each fabric."""
    solvers = [Program(name, 4, (str(_SCALAPACK / name),), residuals) for name in _SOLVERS]
    return [
        Program("NetPIPE", 2, ("NPmpich2", "-i", "-n", "20", "-p", "0", "-u", "1048576"), integrity),
        *solvers,
        Program("NWChem", 2, ("nwchem.mpich", "water.nw"), _same_energies(reference)),
    ]


def shortened(data: str) -> str:
    """ScaLAPACK's input with two sizes of each kind, which are the first of their lists, and all process grids."""
    return _SIZES.sub(lambda count: f"{min(2, int(count.group(1)))}", data)


def _prepared(scratch: Path) -> None:
    """The programs' input files, where they look for them."""
    write_atomically(scratch / "water.nw", _WATER)
    for data in _SCALAPACK_DATA.glob("*.dat"):
        write_atomically(scratch / data.name, shortened(data.read_text()))


def _output(command: List[str], environment: Dict[str, str]) -> Tuple[int, str]:
    """Exit code and output of mpiexec, which ends everything after _LIMIT_S."""
    with tempfile.TemporaryDirectory(prefix="mad-debian-") as scratch:
        _prepared(Path(scratch))
        done = subprocess.run(command, cwd=scratch, env={**environment, "MPIEXEC_TIMEOUT": str(_LIMIT_S)},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)  # fmt: skip
    return done.returncode, done.stdout


def _reference() -> Dict[str, float]:
    """The energies on Debian's MPICH.

    One rank: with two on one host they do not converge there (docs/adr/0030-a-whole-mpi.md).
    """
    code, text = _output(["mpiexec.mpich", "-n", "1", "nwchem.mpich", "water.nw"], dict(os.environ))
    found = energies(text)
    if code != 0 or set(found) != {"SCF", "MP2"}:
        raise Failure(f"NWChem on Debian's MPICH ended with {code}:\n{text[-2000:]}")
    return found


def over(fabric: str, program: Program) -> Tally:
    """One program by `tools/mad run` over one fabric."""
    settings = {"MPIR_CVAR_CH4_MAD_FABRIC": fabric, "MPIR_CVAR_CH4_MAD_INTERFACE": "lo", "MAD_VERBOSE": "1"}
    command = [str(CHECKOUT / "tools" / "mad"), "run", "-n", str(program.ranks), *program.command]
    code, text = _output(command, {**os.environ, **settings})
    # A rank's line on standard error may stand within one of another's.
    wrong = f"exit status {code}" if code != 0 else program.complaint(_OWN_LINE.sub("", text))
    if not wrong and f"libmad: fabric {fabric}," not in text:
        wrong = "ran on another MPI"
    if not wrong:
        return Tally(passed=1)
    return Tally(failed=1, notes=(f"{program.name} over {fabric}: {wrong}\n{text[-2000:]}",))


def run() -> Tally:
    """All of them over all of FABRICS; skipped where the packages cannot be had."""
    try:
        packages.ensure(packages.DEBIAN_PROGRAMS)
    except Failure as failure:
        return Tally(skipped=1, notes=(str(failure),))
    usable, tally = fabrics.usable(FABRICS)
    chosen = programs(_reference())
    for fabric in usable:
        for program in chosen:
            say(f"debian: {program.name} over {fabric}")
            tally += over(fabric, program)
    return tally
