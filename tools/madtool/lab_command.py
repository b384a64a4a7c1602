"""`tools/mad lab`: a program or script of one's own in the RDMA lab."""

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import List, Sequence

from madtool import rdma_lab, rdma_machine
from madtool.errors import Failure, Missing
from madtool.rdma_checks import ROOT, USER, Account, become
from madtool.rdma_machine import Job

_LIMIT_S = 600
_NO_TIME_LEFT = 124  # as timeout(1)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "lab", help="run a program in an emulated machine with an RDMA device",
        description="Boots a machine in QEMU (10 s) with the RoCE device rxe0, made in software, on its card roce0 with the "
        "address 10.79.0.1, and runs a command there, whose output and exit code are passed on, e.g. `tools/mad lab "
        "ibv_devinfo`. It sees this machine's files as they are; what it writes is gone afterwards, except in /lab. Time "
        "means nothing there. Debian packages that are missing are installed first (as root; otherwise they are named).",
    )  # fmt: skip
    parser.add_argument("--user", action="store_true", help="as an ordinary user who may lock 8 MiB of memory (default: "
                        "as root, who may lock all)")  # fmt: skip
    parser.add_argument("--second", metavar="COMMAND", help="at the same time run this, words as for a shell, on a second "
                        "machine, which a wire joins to the first: they are lab1 and lab2, 10.79.0.1 and 10.79.0.2, on "
                        "cards eth0. Its output follows the first's; its exit code counts where the first's is 0")  # fmt: skip
    parser.add_argument("--limit", type=float, default=_LIMIT_S, metavar="S", help="seconds after which the machine is "
                        f"ended, with exit code {_NO_TIME_LEFT} (default %(default)s)")  # fmt: skip
    parser.add_argument("--shared", metavar="DIR", help="a directory of its own, not there yet, for /lab of each machine: "
                        "DIR/1, DIR/2 (default: a temporary one)")  # fmt: skip
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND [ARGUMENT...]", help="a program, or a bash "
                        "script, which need not be executable; it starts in the current directory")  # fmt: skip
    parser.set_defaults(function=_lab)


def script(words: Sequence[str], account: Account, directory: Path) -> str:
    """What the machine runs: the command in the directory."""
    first = directory / words[0]
    runner: List[str] = ["bash"] if first.is_file() and not os.access(first, os.X_OK) else []
    if "/" not in words[0] and first.is_file():
        words = [f"./{words[0]}", *words[1:]]
    move = f"cd {shlex.quote(str(directory))} || exit\n"
    return become(account, [directory]) + move + f"as_account {shlex.join([*runner, *words])}\n"


def _split(command: str) -> List[str]:
    """Words as for a shell."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Missing(f"--second {command}: {error}") from error
    if not words:
        raise Missing("--second: what is to run there?")
    return words


def _give(text: str) -> None:
    print(text, end="", flush=True)


def _lab(arguments: argparse.Namespace) -> int:
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    if not words:
        raise Missing("what is to run there?")
    commands = [words] if arguments.second is None else [words, _split(arguments.second)]
    account = USER if arguments.user else ROOT
    jobs = [Job(script(command, account, Path.cwd()), arguments.limit) for command in commands]
    with tempfile.TemporaryDirectory(prefix="mad-lab-") as temporary:
        shared = Path(arguments.shared or temporary).absolute()
        if arguments.shared and shared.exists():
            raise Missing(f"{shared} is there already")
        outcomes = rdma_machine.run(rdma_lab.ensure(), jobs, shared, give=_give)
        for outcome in outcomes[1:]:
            _give(outcome.output)
        return exit_code(outcomes)


def exit_code(outcomes: "Sequence[rdma_machine.Outcome]") -> int:
    """The first that is not 0."""
    for outcome in outcomes:
        if outcome.out_of_time:
            print(f"mad: {outcome.why}", file=sys.stderr)
            return _NO_TIME_LEFT
        if outcome.code is None:
            raise Failure(outcome.why)
        if outcome.code:
            return outcome.code
    return 0
