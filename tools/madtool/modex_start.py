"""`tools/mad modex --start`: an empty job's time from start to end and its ranks' memory, against other MPIs."""

import re
import statistics
import subprocess
import time
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from madtool import compare_build, modex_real
from madtool.compare_wire import MAD, OPENMPI
from madtool.errors import Failure
from madtool.log import say

_LIMIT_S = 900
_MEMORY = re.compile(r"memory (\d+) (\d+)")


class Memory(NamedTuple):
    """Of a rank after MPI_Init, the mean, in MiB: its proportional share, and all that is resident."""

    share: float
    resident: float


def memory(told: str, ranks: int) -> Memory:
    """Of what the ranks printed."""
    found = [(int(share), int(resident)) for share, resident in _MEMORY.findall(told)]
    if len(found) != ranks:
        raise Failure(f"{len(found)} of {ranks} ranks told their memory")
    return Memory(*(statistics.mean(column) / 1024 for column in zip(*found)))


def _run(whose: str, program: Path, ranks: int, words: Sequence[str]) -> str:
    command = [*compare_build.launcher(whose, None, ranks), str(program), *words]
    try:
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, timeout=_LIMIT_S)  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{whose}: {ranks} ranks of an empty job did not end within {_LIMIT_S} s") from late
    if done.returncode != 0:
        told = done.stdout.strip()[:600]
        raise Failure(f"{whose}: {ranks} ranks of an empty job ended with {done.returncode}: {told}")
    return done.stdout


def table(times: Dict[str, List[float]], memories: Dict[str, Memory], ranks: int) -> List[str]:
    title = f"an empty job of {ranks} ranks"
    lines = [f"{title:<32}{'s, least':>10}{'median':>9}{'MiB a rank, shared out':>25}{'resident':>10}"]
    for whose, seconds in times.items():
        lines.append(f"{whose:<32}{min(seconds):>10.2f}{statistics.median(seconds):>9.2f}"
                     f"{memories[whose].share:>25.2f}{memories[whose].resident:>10.2f}")  # fmt: skip
    return lines


def targets(times: Dict[str, List[float]], memories: Dict[str, Memory]) -> Iterator[str]:
    """At most Open MPI's time and memory are wanted."""
    for what, own, other in (("s", min(times[MAD]), min(times[OPENMPI])),
                             ("MiB a rank", memories[MAD].share, memories[OPENMPI].share)):  # fmt: skip
        yield f"{'met' if own <= other else 'MISSED'}: {own:.2f} {what}, {OPENMPI} {other:.2f}"


def _measured(whose: str, program: Path, ranks: int) -> Tuple[Optional[float], str]:
    """The seconds of one run, and what it printed, or, if a peer's did not end well, none, which is said."""
    begin = time.monotonic()
    try:
        told = _run(whose, program, ranks, ["memory"])
    except Failure as failure:
        if whose == MAD:
            raise
        say(f"a peer's fault: {failure}")
        return None, ""
    return time.monotonic() - begin, told


def run(peers: Sequence[str], ranks: int, rounds: int) -> None:
    """All start the same program, in turns, with as many ranks as asked for on however many cores there are."""
    programs = compare_build.programs([MAD, *peers], modex_real.PROGRAM)
    memories: Dict[str, Memory] = {}
    times: Dict[str, List[float]] = {}
    for turn in range(rounds):
        for whose, program in programs.items():
            seconds, told = _measured(whose, program, ranks)
            if seconds is not None:
                times.setdefault(whose, []).append(seconds)
                memories[whose] = memory(told, ranks)
        say(f"modex: round {turn + 1} of {rounds}")
    for line in table(times, memories, ranks):
        print(line)
    for line in targets(times, memories) if OPENMPI in times else ():
        print(line)
