"""Two hosts on one machine: network, host name, mounts and shared memory of their own, and wires between.

One wire is mpiexec's, the other may be cut. Nothing of it outlives the processes in it, and nothing reaches the
machine's own network.
"""

import shlex
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List, Tuple

NAMES = ("mad-east", "mad-west")
WIRE = "madwire"
_CONTROL = "madctl"  # mpiexec's
_WIRES = {WIRE: ("10.77.0.1", "10.77.0.2"), _CONTROL: ("10.78.0.1", "10.78.0.2")}
# Its end is the host's, and the end of whoever started it is its own.
_HOST = ("echo {name} > /proc/sys/kernel/hostname && mount -t tmpfs -o size=1g tmpfs /dev/shm && "
         "mount -t sysfs sysfs /sys && ip link set lo up && echo ready && exec cat")  # fmt: skip
# A wire carries something a moment after both its ends are up.
_UP = ("for i in $(seq 100); do [ $(cat /sys/class/net/{wire}/operstate) = up ] && exit 0; sleep 0.05; done; "
       "echo {wire} does not come up; exit 1")  # fmt: skip
# What mpiexec calls in the place of ssh: HOST COMMAND...
_LAUNCHER = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
[ "$1" = {address} ] || {{ echo "no host $1" >&2; exit 1; }}
shift
exec {enter} sh -c "$*"
"""


class NoHosts(Exception):
    """They cannot be had here; the reason."""


def _enter(holder: "subprocess.Popen[str]") -> List[str]:
    return ["nsenter", "--target", str(holder.pid), "--net", "--uts", "--mount"]


def _run(command: List[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise NoHosts(f"{' '.join(command)}: {done.stdout.strip()}")


def _start(name: str) -> "subprocess.Popen[str]":
    script = _HOST.format(name=name)
    holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", script], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    assert holder.stdout is not None
    said = holder.stdout.readline().strip()
    if said != "ready":
        _end(holder)
        raise NoHosts(f"no network namespace of its own: {said}")
    return holder


def _end(holder: "subprocess.Popen[str]") -> None:
    holder.kill()
    holder.wait()
    for stream in (holder.stdin, holder.stdout):
        if stream is not None:
            stream.close()


def _connect(east: "subprocess.Popen[str]", west: "subprocess.Popen[str]") -> None:
    for wire, addresses in _WIRES.items():
        _run([*_enter(east), "ip", "link", "add", wire, "type", "veth", "peer", "name", wire, "netns", str(west.pid)])
        for holder, address in zip((east, west), addresses):
            _run([*_enter(holder), "ip", "address", "add", f"{address}/24", "dev", wire])
            _run([*_enter(holder), "ip", "link", "set", wire, "up"])
    for holder in (east, west):
        for wire in _WIRES:
            _run([*_enter(holder), "sh", "-c", _UP.format(wire=wire)])


@contextmanager
def two_hosts(ranks: int) -> Iterator[Tuple[List[str], List[str]]]:
    """What stands before mpiexec, and its options, to run that many ranks, half of them on each host.

    Ranks beyond that number are placed the same way again, so that with 2 they take turns.

    NoHosts: this user or this kernel cannot make namespaces.
    """
    for tool in ("unshare", "nsenter", "ip"):
        if shutil.which(tool) is None:
            raise NoHosts(f"there is no {tool}")
    holders: "List[subprocess.Popen[str]]" = []
    with tempfile.TemporaryDirectory(prefix="mad-hosts-") as directory:
        try:
            for name in NAMES:
                holders.append(_start(name))
            _connect(*holders)
            launcher = Path(directory) / "launch"
            control = _WIRES[_CONTROL]
            launcher.write_text(_LAUNCHER.format(address=control[1], enter=shlex.join(_enter(holders[1]))))
            launcher.chmod(0o755)
            hosts = ",".join(f"{address}:{ranks // 2}" for address in control)
            yield _enter(holders[0]), ["-hosts", hosts, "-iface", _CONTROL, "-launcher", "ssh", "-launcher-exec",
                                       str(launcher)]  # fmt: skip
        finally:
            for holder in holders:
                _end(holder)
