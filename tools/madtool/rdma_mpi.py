"""What the RDMA lab runs with MPI: programs of tests/mpi, MPICH's own suite, and jobs on two machines that part."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from madtool import conformance_suite, fabrics, mpi_stages, mpich_build, pingpong, rdma_counts, rdma_lab
from madtool.log import run_logged
from madtool.paths import CHECKOUT, cache_root, digest, logs_dir
from madtool.rdma_checks import MPI, ROOT, Account, Check

# Times as long as elsewhere a program may take.
_PATIENCE = 10
_PARTED_S = 300
# Of MPICH's suite, as far as it comes in so many seconds each; how long a test may take; and how long the last one may
# whose line in the suite gives it more, as sendflood's does (8 ranks, a million packets, 6,000 in a second there).
_SUITE = ("pt2pt", "datatype", "rma")
_SUITE_S = 120
_TEST_S = 300
_LONGEST_S = 600
# Of the smoke set, over all fabrics but the first, and over all as an ordinary user, whose limits are what differs.
_FEW = ("hello", "combiners", "bursts", "stress", "collectives", "parting", "foreign", "death-receiving",
        "death-one-sided", "death-leaving")  # fmt: skip

# By rank 0.
_PULLED = "ip link set eth0 down"
_DEAD = f"{shlex.quote(str(rdma_lab.SCRIPTS / 'remote_shell.sh'))} lab2 'echo b > /proc/sysrq-trigger' & sleep 1"


# Ranks that do not see each other's processes cannot share memory. The first run's packets are those of self-tests.
_AUTO = """\
sent() {{ cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; }}
apart='mount -t tmpfs tmpfs /dev/shm && exec "$0"'
begin=$(sent); {mpiexec} -n 3 {place}/hello || exit; tests=$(($(sent) - begin)); begin=$(sent)
said=$(MPIR_CVAR_NOLOCAL=1 {mpiexec} -n 3 unshare --mount --ipc --pid --fork --mount-proc sh -c "$apart" {place}/collectives 2>&1)
more=$(($(sent) - begin - tests))
echo "$said"; echo "$tests packets of self-tests, $more of messages"
grep -q '^ok collectives$' <<< "$said" && [ $more -gt 500 ] &&
  [ "$(grep -c '^auto: ofi:verbs is taken, .* rxe0 port 1 passed a self-test in ' <<< "$said")" = 3 ]"""


def _variables(fabric: str, interface: str) -> Dict[str, str]:
    return {"MPIR_CVAR_CH4_MAD_FABRIC": fabric, "MPIR_CVAR_CH4_MAD_INTERFACE": interface}


@dataclass(frozen=True)
class Mpi:
    """An installed MPI, and where the programs of tests/mpi are."""

    prefix: Path
    programs: Path

    def _smoke(self, name: str, over: Sequence[str], names: Sequence[str] = ()) -> Check:
        """Over each of these fabrics tests/mpi/run.py runs a little of everything, with 2 to 16 ranks, or these."""
        words = [sys.executable, "-B", str(mpi_stages.PROGRAMS), f"--prefix={self.prefix}", f"--build={self.programs}",
                 "--smoke", *(f"--fabric={fabric}" for fabric in over), f"--patience={_PATIENCE}", "--built",
                 *names]  # fmt: skip
        return Check(name, shlex.join(words), MPI, 3600, {"MPIR_CVAR_CH4_MAD_INTERFACE": "roce0"})

    def _suite(self, fabric: str, directory: str) -> Check:
        words = [sys.executable, "-B", str(CHECKOUT / "tools" / "madtool"), "conformance", f"--at-most={_SUITE_S}",
                 f"--timeout={_TEST_S}", directory]  # fmt: skip
        env = {**_variables(fabric, "roce0"), "MAD_CACHE": str(cache_root())}
        return Check(f"suite-{directory}", shlex.join(words), MPI, _SUITE_S + _LONGEST_S, env)

    def auto(self) -> Check:
        """Whether `auto` takes the device, says so, and sends over it where it may not over shared memory."""
        env = {**_variables("auto", "roce0"), "MAD_VERBOSE": "1"}
        return Check("auto", _AUTO.format(mpiexec=self.prefix / "bin" / "mpiexec", place=self.programs), limit_s=300, env=env)

    def checks(self, account: Account) -> List[Check]:
        """On one machine. Only root may part ranks as containers are, and write into the cache, as the suite does."""
        first, *others = fabrics.IN_LAB
        if account is not ROOT:
            return [self._smoke("mpi", fabrics.IN_LAB, _FEW)]
        counted = [check for fabric in fabrics.IN_LAB
                   for check in rdma_counts.checks(self.prefix, self.programs, fabric, "roce0")]  # fmt: skip
        return [self._smoke("mpi", [first]), self._smoke("mpi-others", others, _FEW), self.auto(), *counted,
                *(self._suite(first, directory) for directory in _SUITE)]  # fmt: skip

    def reached(self) -> List[Path]:
        """Directories with what they need."""
        python = Path(sys.executable)
        return [self.prefix, self.programs, mpi_stages.PROGRAMS.parent, python.parent, python.resolve().parent]

    def _parted(self, name: str, command: str) -> Tuple[Check, Check]:
        """For lab1 and lab2: a job on both, while rank 0 parts them.

        Nothing is under way then: what is, soft-RoCE never gives up, as it takes 7 attempts for any number.
        """
        script = shlex.quote(str(rdma_lab.SCRIPTS / "parted.sh"))
        words = shlex.join([str(self.prefix / "bin" / "mpiexec"), str(self.programs / "silence"), command, "idle"])
        env = {**_variables("ofi:verbs", "eth0"), "MPIR_CVAR_CH4_MAD_SILENCE_TIMEOUT": "2"}
        return (Check(name, f"bash {script} start {words}", limit_s=_PARTED_S, env=env),
                Check(name, f"bash {script} serve", limit_s=_PARTED_S))  # fmt: skip

    def cable(self) -> Tuple[Check, Check]:
        """The cable is pulled; nothing reaches the other machine afterwards."""
        return self._parted("cable", _PULLED)

    def dead_host(self) -> Tuple[Check, Check]:
        """lab2 dies."""
        return self._parted("dead_host", _DEAD)


def build() -> Optional[Mpi]:
    """With programs that are compiled here, where that takes seconds; none where no MPI is built."""
    prefix = mpich_build.built_prefix()
    if prefix is None:
        return None
    programs = cache_root() / "mpi-tests" / digest(str(prefix))
    for what in (["--smoke", *(f"--fabric={fabric}" for fabric in fabrics.IN_LAB)], ["two-hosts-silence-tcp"]):
        run_logged([sys.executable, "-B", str(mpi_stages.PROGRAMS), f"--prefix={prefix}", f"--build={programs}", *what,
                    "--only-build"], logs_dir() / "rdma-mpi-build.log", "MPI programs")  # fmt: skip
    rdma_counts.build(prefix, programs)
    suite = conformance_suite.mad_suite()
    conformance_suite.compile_programs(
        suite, [test for directory in _SUITE for test in conformance_suite.expected(suite, directory)])  # fmt: skip
    return Mpi(prefix, programs)
