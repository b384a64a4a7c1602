"""What mpiexec's calls take, in µs: run below it by `tools/mad modex`.  It speaks PMI-1, as MPICH does, itself."""

import json
import os
import socket
import statistics
import time
from typing import Callable, Dict, List

_ROUNDS = 200
_VALUE = "v" * 600


class Launcher:
    def __init__(self) -> None:
        self._socket = socket.socket(fileno=int(os.environ["PMI_FD"]))
        self._lines = self._socket.makefile("r", encoding="ascii")
        self.ask("cmd=init pmi_version=1 pmi_subversion=1")
        self.name = self.ask("cmd=get_my_kvsname")["kvsname"]

    def ask(self, line: str) -> Dict[str, str]:
        self._socket.sendall(f"{line}\n".encode("ascii"))
        return dict(word.split("=", 1) for word in self._lines.readline().split() if "=" in word)


def median_us(call: "Callable[[int], object]") -> float:
    times: List[float] = []
    for number in range(_ROUNDS):
        begin = time.perf_counter()
        call(number)
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times)


def served_us(launcher: Launcher, call: "Callable[[int], object]") -> float:
    """Of each call while all processes have theirs served at once, one after the other by one proxy."""
    launcher.ask("cmd=barrier_in")
    begin = time.perf_counter()
    for number in range(_ROUNDS):
        call(number)
    launcher.ask("cmd=barrier_in")
    return 1e6 * (time.perf_counter() - begin) / (_ROUNDS * int(os.environ["PMI_SIZE"]))


def main() -> None:
    rank, launcher = os.environ["PMI_RANK"], Launcher()

    def put(number: int, key: str = "probe") -> object:
        return launcher.ask(f"cmd=put kvsname={launcher.name} key={key}-{rank}-{number} value={_VALUE}")

    def get(number: int) -> object:
        return launcher.ask(f"cmd=get kvsname={launcher.name} key=probe-0-{number}")

    times = {"served_put": served_us(launcher, put), "served_get": served_us(launcher, get)}
    if rank == "0":  # the others wait
        times["put"] = median_us(lambda number: put(number, "alone"))
        times["get"] = median_us(get)
    launcher.ask("cmd=barrier_in")
    times["fence"] = median_us(lambda _: launcher.ask("cmd=barrier_in"))
    if rank == "0":
        print(json.dumps(times), flush=True)
    launcher.ask("cmd=finalize")


if __name__ == "__main__":
    main()
