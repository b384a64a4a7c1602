"""The stage `slurm` of `tools/mad test`: programs started by a real slurmctld and slurmds, several nodes on this machine.

One installation serves mpiexec, Slurm's plugin pmi2, which answers PMI-1 as well, and Slurm's plugin pmix (ADR 63).
All of Slurm lives in a network, a mount and a process namespace of its own, and ends with it.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List, Sequence, Tuple

from madtool import packages
from madtool.log import say
from madtool.mpi_program import compile_program
from madtool.paths import logs_dir
from madtool.stages import Tally

NODES, RANKS = 3, 6
_ADDRESS = "10.76.0.1"
_PORT = 16817
_LIMIT_S = 180
_PLUGINS = ("pmi2", "pmix")
# Program, how srun is asked for it besides the plugin, and the program's arguments.
_PROGRAMS: Tuple[Tuple[str, Sequence[str], Sequence[str]], ...] = (
    ("launched", (), (str(RANKS), str(NODES))),
    ("collectives", (), ()),
    ("first_contact", ("--distribution=cyclic",), ()),
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
TmpFS={home}/tmp/%n
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


def runs() -> List[Tuple[str, List[str], List[str]]]:
    """Each program by each plugin: what the run is called, the words before the program's place and after it."""
    return [(f"{name} by {plugin}", ["srun", f"--mpi={plugin}", *options, f"-N{NODES}", f"-n{RANKS}"], list(arguments))
            for plugin in _PLUGINS for name, options, arguments in _PROGRAMS]  # fmt: skip


def script(programs: Path) -> str:
    """Starts Slurm, then runs each program, whose last line says how it ended."""
    lines = []
    for name, before, after in runs():
        command = " ".join([*before, str(programs / name.split()[0]), *after])
        lines.append(f"timeout -k 5 60 {command} && echo 'passed {name}' || echo 'failed {name}'")
    return _SCRIPT.format(address=_ADDRESS, nodes=" ".join(nodes()), count=NODES, runs="\n".join(lines))


def judge(text: str) -> Tally:
    """What the script printed."""
    names = [name for name, *_ in runs()]
    failed = [name for name in names if f"passed {name}" not in text.splitlines()]
    return Tally(passed=len(names) - len(failed), failed=len(failed),
                 notes=tuple(f"{name} failed under srun" for name in failed))  # fmt: skip


def start(home: Path) -> str:
    """Runs the programs below Slurm, in a directory of its own; what was printed."""
    for name, *_ in _PROGRAMS:
        compile_program(name, home)
    for place in ("state", *(f"{kind}/{node}" for kind in ("spool", "tmp") for node in nodes())):
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
