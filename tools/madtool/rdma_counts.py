"""What a message costs its RDMA device, counted in the lab by perf/verbs, and what it may cost."""

import shlex
from pathlib import Path
from typing import List

from madtool import pingpong
from madtool.log import run_logged
from madtool.paths import CHECKOUT, logs_dir
from madtool.rdma_checks import Check

_SOURCES = CHECKOUT / "perf" / "verbs"
_LIBRARY, _PROGRAM = "libtally.so", "verbs"

# Below the threshold each side copies what is sent once, and nothing is registered; above it one run is written from where
# it lies to where it belongs, registered once on either side.  The payload is cut into as few packets as the path's MTU
# allows, but for 5 % and one: the engine's packets have headers, and what is written takes two of them more.
_HOLDS = """\
said=$({mpiexec} -n 2 -genv LD_PRELOAD {library} {program}); code=$?
echo "$said"
holds() {{ awk -v message="$1:" -v copied="$2" -v registered="$3" '
  {{ gsub(",", "") }}
  $1 == message {{ found = 1; good = $3 <= copied && $4 <= copied && $6 <= registered + 0.05 && $7 <= registered + 0.05 &&
                   $15 <= 1.05 * $18 + 1.1 }}
  END {{ exit !(found && good) }}' <<< "$said" || {{ echo "not so: $1 copied $2 times, registered $3 times"; code=1; }}; }}
holds 8 1 0; holds 4096 1 0; holds 65536 1 0; holds 262144 0 1; holds 1048576 0 1
holds 65536/4096 1 0; holds 262144/4096 1 0; holds 1048576/4096 1 0
# A write of no bytes asks now and then whether a silent host is there.
grep -q '^ *1000 idle: 0 sends, [01] writes, 0 reads, 0 receives posted, 0 registrations$' <<< "$said" || code=1
exit $code"""
# Every byte is verified; the device's counters say the rest.
_GRID = ["--types=contiguous,index-gap,struct-gap", "--bytes=64,4K,64K,1M", "--blocks=3", "--iterations=3"]
_LIMIT_S = 600


def build(prefix: Path, programs: Path) -> None:
    """Compiles what checks() runs, with the MPI in `prefix`."""
    log = logs_dir() / "rdma-counts-build.log"
    run_logged(["cc", "-shared", "-fPIC", "-O2", str(_SOURCES / "tally.c"), "-o", str(programs / _LIBRARY), "-ldl"], log,
               "the tally of RDMA")  # fmt: skip
    run_logged([str(prefix / "bin" / "mpicc"), "-O2", str(_SOURCES / "verbs.c"), "-o", str(programs / _PROGRAM)], log,
               "counting what RDMA costs")  # fmt: skip
    pingpong.program(prefix)


def checks(prefix: Path, programs: Path, fabric: str, interface: str) -> List[Check]:
    """Over one fabric; the device is to have no fault to tell of."""
    env = {"MPIR_CVAR_CH4_MAD_FABRIC": fabric, "MPIR_CVAR_CH4_MAD_INTERFACE": interface}
    mpiexec = shlex.quote(str(prefix / "bin" / "mpiexec"))
    counted = _HOLDS.format(mpiexec=mpiexec, library=shlex.quote(str(programs / _LIBRARY)),
                            program=shlex.quote(str(programs / _PROGRAM)))  # fmt: skip
    grid = f"{mpiexec} -n 2 {shlex.join([str(pingpong.binary(prefix)), *_GRID])}"
    name = fabric.replace(":", "-")
    return [Check(f"counts-{name}", counted, limit_s=_LIMIT_S, env=env, clean=True),
            Check(f"pingpong-{name}", grid, limit_s=_LIMIT_S, env=env, clean=True)]  # fmt: skip
