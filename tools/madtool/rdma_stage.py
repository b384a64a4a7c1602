"""The stage `rdma` of `tools/mad test`: what needs an RDMA device, in the RDMA lab.

Everything runs twice: as root with as much locked memory as it wants, and as an ordinary user with 8 MiB.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Sequence, Tuple

from madtool import bazel, lock, rdma_lab, rdma_machine, rdma_mpi
from madtool.log import say
from madtool.paths import cache_root, logs_dir
from madtool.rdma_checks import CHECKS, GTEST, ROOT, USER, Account, Check, judge, limit_s, script, table
from madtool.rdma_machine import Job, Outcome
from madtool.stages import Tally

_BOOT_S = 120.0  # it takes 10 on a machine of its own
# Index 1 of a RoCE device's table of addresses is its IPv4 address.
_INDEX = "-g 1"
# Of one length: of all lengths its buffers are more than an ordinary user may lock.
_FI_PINGPONG = "fi_pingpong -p verbs -e msg -I 10 -S 65536"

LAB = (
    Check("active", "rdma link show rxe0/1 | grep 'state ACTIVE'"),
    Check("ibv_rc_pingpong", f"pair 'ibv_rc_pingpong {_INDEX}' 'ibv_rc_pingpong {_INDEX} lab1'"),
    Check("fi_pingpong", f"pair '{_FI_PINGPONG}' '{_FI_PINGPONG} lab1'"),
    Check("rping", "pair 'rping -s -a 10.79.0.1 -C 10' 'rping -c -a 10.79.0.1 -C 10'"),
)  # fmt: skip
# Between two machines: what lab1 runs, and lab2.
TWO_MACHINES = (Check("two_machines", f"ibv_rc_pingpong {_INDEX}", limit_s=120),
                Check("two_machines", f"again 'ibv_rc_pingpong {_INDEX} lab1'", limit_s=120))  # fmt: skip


@dataclass(frozen=True)
class Test:
    """A Bazel target, a GoogleTest program; `clean` of Check."""

    label: str
    args: Tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    limit_s: int = 600
    clean: bool = False

    @property
    def path(self) -> str:
        """Below Bazel's outputs."""
        return self.label.lstrip("/").replace(":", "/")

    def check(self, built: Path) -> Check:
        """Its name is the target's: two of a name are not told apart."""
        words = " ".join([str(built / self.path), "--gtest_output=xml:$REPORT", *(f"'{arg}'" for arg in self.args)])
        env = {"TEST_TMPDIR": "/tmp", **self.env}
        return Check(self.label.rpartition(":")[2], words, GTEST, self.limit_s, env, self.clean)


_VERBS = {"MAD_TEST_NEEDS_VERBS": "1"}  # without a device they fail here
# libfabric's layer for datagrams asks the device for more than soft-RoCE's completion queues hold, unless told of fewer
# peers and shorter queues. Its test is skipped as an ordinary user: it locks more memory than 8 MiB all the same.
_DATAGRAMS = {"FI_UNIVERSE_SIZE": "64", "FI_OFI_RXM_MSG_TX_SIZE": "64", "FI_OFI_RXM_MSG_RX_SIZE": "64"}
# As netmod/abi/ucx_loader.cc has it.
_UNPATCHED = {"UCX_MEM_MMAP_HOOK_MODE": "none"}
TESTS = (
    Test("//tests/conformance/ofi:verbs_conformance_test", env=_VERBS, clean=True),
    Test("//tests/conformance/ofi:verbs_datagrams_test", env={**_VERBS, **_DATAGRAMS}),
    Test("//tests/conformance/ofi:verbs_writes_test", env=_VERBS, clean=True),
    Test("//tests/conformance/ofi:verbs_death_test", env=_VERBS, clean=True),
    Test("//tests/conformance:ucx_rdma_conformance_test", env=_UNPATCHED, limit_s=1200),
    Test("//tests/conformance:ucx_rdma_writes_test", env=_UNPATCHED),
    Test("//tests/conformance:ucx_rdma_death_test", env=_UNPATCHED),
)  # fmt: skip

def _counted(checks: Sequence[Check], outcome: Outcome) -> Tally:
    directory = outcome.shared / Path(CHECKS).name
    tally = sum((judge(check, directory) for check in checks), Tally())
    if outcome.code is None:
        tally += Tally(failed=1, notes=(outcome.why,))
    return tally


def _run_as(lab: rdma_lab.Lab, account: Account, checks: Sequence[Check], reached: Sequence[Path]) -> Tally:
    job = Job(script(checks, account, reached), limit_s(checks, _BOOT_S))
    outcome = rdma_machine.run(lab, [job], logs_dir() / f"rdma-{account.name}", f"rdma: as {account.name}")[0]
    tally = _counted(checks, outcome)
    try:
        seen = table((outcome.shared / Path(CHECKS).name / "counters").read_text())
    except OSError:
        seen = ()
    say(f"rdma: as {account.name}: {tally}; {', '.join(seen) or 'nothing counted'}")
    return Tally(tally.passed, tally.failed, tally.skipped, tuple(f"as {account.name}: {note}" for note in tally.notes))


def _run_two(lab: rdma_lab.Lab, name: str, pairs: "Sequence[Tuple[Check, Check]]", dies: bool = False) -> Tally:
    """Pairs of what runs on lab1 and lab2 at the same time; lab2 is not asked where it `dies`."""
    sides = list(zip(*pairs))
    jobs = [Job(script(side, ROOT), limit_s(side, 2 * _BOOT_S)) for side in sides]
    outcomes = rdma_machine.run(lab, jobs, logs_dir() / f"rdma-{name}", f"rdma: {name}")
    asked = list(zip(sides, outcomes))[: 1 if dies else 2]
    tally = sum((_counted(side, outcome) for side, outcome in asked), Tally())
    say(f"rdma: {name}: {tally}")
    return tally


def run() -> Tally:
    """Skipped where the lab cannot be had."""
    try:
        lab = rdma_lab.ensure()
    except rdma_lab.NoLab as reason:
        return Tally(skipped=1, notes=(f"no RDMA lab here: {reason}",))
    bazel.build([test.label for test in TESTS], "rdma-tests")
    built = bazel.bin_dir()
    mpi = rdma_mpi.build()
    checks = [*LAB, *(test.check(built) for test in TESTS)]
    reached = [(built / test.path).parent for test in TESTS]
    tally = Tally()
    if mpi is None:
        tally += Tally(skipped=1, notes=("mpi: not built yet; run: tools/mad build",))
    with lock.held(cache_root() / "rdma-lab" / "stage.lock", "rdma"):
        for account in (ROOT, USER):
            of_mpi = [] if mpi is None else mpi.checks(account)
            tally += _run_as(lab, account, [*checks, *of_mpi], reached if mpi is None else [*reached, *mpi.reached()])
        pairs = [TWO_MACHINES]
        if mpi is not None:
            pairs.append(mpi.cable())  # nothing reaches the other machine afterwards
            tally += _run_two(lab, "dead-host", [mpi.dead_host()], dies=True)
        return tally + _run_two(lab, "two-machines", pairs)
