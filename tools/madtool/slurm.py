"""The stage `slurm` of `tools/mad test`: programs started by a real slurmctld and slurmds, several nodes on this machine.

MPICH is built with the launcher's first interface (PMI-1), which mpiexec speaks; Slurm's plugin pmi2 answers it, too,
so one installation serves both.  All of Slurm lives in a network, a mount and a process namespace of its own, and
ends with it.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List, Sequence, Tuple

from madtool import mpich_build, packages
from madtool.log import run_logged, say
from madtool.paths import CHECKOUT, logs_dir
from madtool.stages import Tally

NODES, RANKS = 3, 6
_ADDRESS = "10.76.0.1"
_PORT = 16817
_LIMIT_S = 180
_SOURCES = CHECKOUT / "tests" / "mpi"
# Program, and how srun is asked for it.
_RUNS: Tuple[Tuple[str, Sequence[str]], ...] = (
    ("hello", ("--mpi=pmi2",)),
    ("collectives", ("--mpi=pmi2",)),
    ("first_contact", ("--mpi=pmi2", "--distribution=cyclic")),
)
# Slurm resolves no addresses where there are none but the loopback's, hence the wire to nowhere.
_SCRIPT = """\
set -e
ip link set lo up
ip link add madslurm type veth peer name madnowhere
ip address add {address}/24 dev madslurm
ip link set madslurm up
ip link set madnowhere up
(cat /etc/hosts; echo "{address} $(hostname -s) $(hostname)") > hosts
mount --bind hosts /etc/hosts
sed -i "s/@HOST@/$(hostname -s)/" slurm.conf
slurmctld -D > slurmctld.log 2>&1 &
for node in {nodes}; do slurmd -D -N $node > $node.log 2>&1 & done
for i in $(seq 60); do [ "$(sinfo -h -t idle -o %D 2> sinfo.log)" = {count} ] && break; sleep 0.5; done
{runs}
"""
_CONFIGURATION = """\
ClusterName=mad
SlurmctldHost=@HOST@({address})
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/%n.pid
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool/%n
SlurmdParameters=config_overrides
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
MailProg=/bin/true
"""


def configuration(home: Path) -> str:
    """Slurm's, with every node on this host; @HOST@ stands for its name."""
    lines = [_CONFIGURATION.format(address=_ADDRESS, port=_PORT, home=home)]
    for number, node in enumerate(nodes()):
        lines.append(f"NodeName={node} NodeHostname=@HOST@ NodeAddr={_ADDRESS} Port={_PORT + 1 + number} CPUs={RANKS}\n")
    return "".join([*lines, "PartitionName=all Nodes=ALL Default=YES State=UP\n"])


def nodes() -> List[str]:
    return [f"n{number + 1}" for number in range(NODES)]


def script(programs: Path) -> str:
    """Starts Slurm, then runs each program, whose last line says how it ended."""
    runs = []
    for name, options in _RUNS:
        words = " ".join([*options, f"-N{NODES}", f"-n{RANKS}", str(programs / name)])
        runs.append(f"timeout -k 5 60 srun {words} && echo 'passed {name}' || echo 'failed {name}'")
    return _SCRIPT.format(address=_ADDRESS, nodes=" ".join(nodes()), count=NODES, runs="\n".join(runs))


def _compile(name: str, place: Path) -> None:
    support = [str(source) for source in sorted((_SOURCES / "support").glob("*.c"))]
    run_logged([str(mpich_build.need_prefix() / "bin" / "mpicc"), "-O1", f"-I{_SOURCES}", str(_SOURCES / f"{name}.c"),
                *support, "-lm", "-o", str(place / name)], logs_dir() / f"slurm-{name}.log", name)  # fmt: skip


def judge(text: str) -> Tally:
    """What the script printed."""
    passed = [name for name, _ in _RUNS if f"passed {name}" in text.splitlines()]
    failed = [name for name, _ in _RUNS if name not in passed]
    return Tally(passed=len(passed), failed=len(failed), notes=tuple(f"{name} failed under srun" for name in failed))


def start(home: Path) -> str:
    """Runs the programs below Slurm, in a directory of its own; what was printed."""
    for name, _ in _RUNS:
        _compile(name, home)
    for place in ("state", *(f"spool/{node}" for node in nodes())):
        (home / place).mkdir(parents=True)
    (home / "slurm.conf").write_text(configuration(home))
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c",
               script(home)]  # fmt: skip
    with (home / "output").open("w+") as output:
        process = subprocess.Popen(command, cwd=home, env={**os.environ, "SLURM_CONF": str(home / "slurm.conf")},
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)  # fmt: skip
        try:
            process.wait(_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()  # and with it the namespace's processes
            process.wait()
        output.seek(0)
        return output.read()


def run() -> Tally:
    """Skipped where namespaces cannot be had."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return Tally(skipped=1, notes=("Slurm needs namespaces, which root can make",))
    packages.ensure(packages.SLURM)
    with tempfile.TemporaryDirectory(prefix="mad-slurm-") as home:
        text = start(Path(home))
        tally = judge(text)
        if tally.failed:
            logs = sorted(Path(home).glob("*.log"))
            log = logs_dir() / "slurm.log"
            log.write_text(text + "".join(f"== {each.name}\n{each.read_text(errors='replace')}" for each in logs))
            say(f"slurm: all that was said is in {log}")
    return tally
