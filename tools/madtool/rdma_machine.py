"""A machine of the RDMA lab: booted by QEMU, it runs one bash script as root and ends.

Below it is the host's file system, which it only reads; what it writes is in its memory and gone with it, but for
the directory that both share, /lab there.  The instructions are emulated: what is counted there is right, times say
nothing.
"""

import codecs
import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Optional, Sequence

from madtool.log import HEARTBEAT_S, clock, interrupts_held_back, say, tail
from madtool.rdma_lab import SCRIPTS, Lab

_POLL_S = 0.1
_CORES = 2
_MEMORY_MIB = 4096  # at most; taken from the host when it is written


@dataclass(frozen=True)
class Job:
    """What one machine runs, and for how many seconds it may, booting included."""

    script: str
    limit_s: float


@dataclass(frozen=True)
class Outcome:
    """How it ended: the script's exit code, None where time ran out or the machine ended without one."""

    code: Optional[int]
    why: str  # there is no code; "" where there is
    shared: Path  # the directory that was /lab there
    out_of_time: bool = False

    @property
    def output(self) -> str:
        return (self.shared / "output").read_text(errors="replace")


def command(lab: Lab, shared: Path, number: int, memory_mib: int, link: Optional[int] = None) -> List[str]:
    """QEMU's command line; `link` is an open stream socket, whose other end is the other machine's."""
    network = ["-nic", "none"]
    if link is not None:
        card = f"virtio-net-pci,netdev=link,mac=52:54:00:00:00:{number:02x}"
        network = ["-netdev", f"socket,id=link,fd={link}", "-device", card]
    # Files below different mounts of the host may have the same inode number; the machine sees one file system.
    host = "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"
    share = "local,id=lab,path={},security_model=none".format(str(shared).replace(",", ",,"))
    return [
        # It ends with this process, also where that is killed.
        "setpriv", "--pdeathsig", "KILL",
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(_CORES), "-m", str(memory_mib),
        "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot", *network,
        "-kernel", str(lab.kernel), "-initrd", str(lab.initrd), "-append", "console=ttyS0 quiet panic=-1",
        "-fsdev", host, "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
        "-fsdev", share, "-device", "virtio-9p-pci,fsdev=lab,mount_tag=lab",
    ]  # fmt: skip


def _prepare(shared: Path, job: Job, number: int) -> None:
    shutil.rmtree(shared, ignore_errors=True)
    shared.mkdir(parents=True)
    shared.chmod(0o755)  # whatever the umask: ordinary users enter it there
    shutil.copyfile(SCRIPTS / "network.sh", shared / "network")
    (shared / "number").write_text(f"{number}\n")
    (shared / "script").write_text(job.script)
    (shared / "output").write_text("")


class Machine:
    """An emulator that runs, with the number by which its address and its name are told from another's.

    Who makes one ends it: it is a context manager.
    """

    def __init__(self, lab: Lab, job: Job, shared: Path, number: int = 1, memory_mib: int = _MEMORY_MIB,
                 link: Optional[socket.socket] = None) -> None:  # fmt: skip
        _prepare(shared, job, number)
        self.shared = shared
        self._limit_s = job.limit_s
        self._begin = time.monotonic()
        self._out_of_time = False
        file = None if link is None else link.fileno()
        words = command(lab, shared, number, memory_mib, file)
        try:
            with (shared / "console").open("wb") as console, interrupts_held_back():
                self._qemu = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
                                              start_new_session=True,
                                              pass_fds=() if file is None else (file,))  # fmt: skip
        except KeyboardInterrupt:
            self.end()
            raise

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends the emulator, as a host ends that loses its power; nothing if it has ended."""
        if self._qemu.poll() is None:
            self._qemu.kill()
        self._qemu.wait()

    def runs(self) -> bool:
        """Whether it does; ends it where its time is over."""
        if self._qemu.poll() is not None:
            return False
        if time.monotonic() - self._begin > self._limit_s:
            self._out_of_time = True
            self.end()
            return False
        return True

    def outcome(self) -> Outcome:
        """Of a machine that has ended."""
        try:
            return Outcome(int((self.shared / "exit").read_text()), "", self.shared)
        except (OSError, ValueError):
            pass
        if self._out_of_time:
            return Outcome(None, f"the machine did not end within {clock(self._limit_s)}", self.shared, True)
        console = self.shared / "console"
        return Outcome(None, f"the machine ended without an exit code; last lines of {console}:\n{tail(console)}",
                       self.shared)  # fmt: skip


class _Follower:
    """Gives what is added to a file to a function."""

    def __init__(self, path: Path, give: Callable[[str], None]) -> None:
        self._path, self._give, self._offset = path, give, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def look(self) -> None:
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            block = stream.read()
        self._offset += len(block)
        text = self._decoder.decode(block)
        if text:
            self._give(text)


def _wait(machines: Sequence[Machine], what: str, give: Callable[[str], None]) -> None:
    """Until all have ended; what the first writes is given on meanwhile."""
    begin = time.monotonic()
    next_beat = begin + HEARTBEAT_S
    follower = _Follower(machines[0].shared / "output", give)
    while any([machine.runs() for machine in machines]):
        follower.look()
        if what and time.monotonic() > next_beat:
            next_beat += HEARTBEAT_S
            say(f"{what}: {clock(time.monotonic() - begin)}")
        time.sleep(_POLL_S)
    follower.look()


def _memory_mib(machines: int) -> int:
    """Of each: together at most half of what this machine has."""
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return min(_MEMORY_MIB, have // (2 * machines))


def run(lab: Lab, jobs: Sequence[Job], shared: Path, what: str = "",
        give: Callable[[str], None] = lambda _: None) -> List[Outcome]:  # fmt: skip
    """Runs one job on one machine, or two on two that are joined by a wire; they are lab1 and lab2, 10.79.0.1 and 2.

    Each has a directory SHARED/NUMBER, with what it wrote in the file `output`; that of the first is also given on as
    it comes.  `what` is said with the time now and then.
    """
    with ExitStack() as stack:
        ends: Sequence[Optional[socket.socket]] = [None]
        if len(jobs) == 2:
            ends = [stack.enter_context(end) for end in socket.socketpair()]
        if len(jobs) != len(ends):
            raise ValueError(f"{len(jobs)} machines")
        machines = [stack.enter_context(Machine(lab, job, shared / str(number), number, _memory_mib(len(jobs)), end))
                    for number, (job, end) in enumerate(zip(jobs, ends), 1)]  # fmt: skip
        for end in ends:
            if end is not None:
                end.close()  # an emulator that ends is to be noticed by the other
        _wait(machines, what, give)
        return [machine.outcome() for machine in machines]
