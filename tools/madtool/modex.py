"""`tools/mad modex`: what a job's start-up data takes in bytes, messages and time, up to a million ranks.

Bytes and messages are counted by the code that packs real cards (perf/modex); times are those that the launcher's calls
take on this machine, in the chain of calls that a process waits for.  What a launcher takes to carry the bytes between
its own nodes is its own affair and not in them; the bytes are.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

from madtool import figure, mpich_build, own_program
from madtool.errors import Failure, Missing

# "RFC: changes to modex", Open MPI's developers' list, 15 April 2008: naming of five pieces of data, bytes a process.
_NAMING = (("names, as they were", 89), ("no string lengths", 69), ("short names", 71), ("both", 51), ("hashes", 20))
# What ch4 had of us before: an address of at most 110 bytes, a host's name of 64 and a size of 2, as hexadecimal text
# under the key "-allgather-shm-N-RANK", which every node read of all processes.
_OLD_CARD_BYTES = 176
_OLD_KEY = "-allgather-shm-1-"
_SUFFIXES = {"K": 1000, "M": 1000000}
_STEPS = (64, 256, 1024, 4096, 16384, 65536, 262144)
_PROBE = Path(__file__).with_name("modex_probe.py")
_RANKS_OF_PROBE = 4


class Calls(NamedTuple):
    """What the launcher's calls take on this machine, in µs."""

    put: float
    get: float
    fence: float


class Row(NamedTuple):
    """A job's start, bytes of text included: what one node gives and gets, and what a process waits for."""

    name: str
    process_bytes: float
    node_bytes: float
    puts: float  # of all
    gets: float  # of a node before anybody talks
    seconds: float


def number(text: str) -> int:
    """1000000 of 1M."""
    word = text.strip().upper()
    scale = _SUFFIXES.get(word[-1:], 1)
    digits = word[:-1] if scale > 1 else word
    if not digits.isdigit() or int(digits) == 0:
        raise Missing(f"{text!r} is no number of ranks; they are like 512, 64K, 1M")
    return int(digits) * scale


def old_way(ranks: int, per_node: int, calls: Calls) -> Row:
    """Every process puts a card; the processes of a node read all there are, in turns, from one proxy."""
    characters = 2 * _OLD_CARD_BYTES + len(_OLD_KEY) + len(str(ranks))
    seconds = (per_node * calls.put + calls.fence + ranks * calls.get) / 1e6
    return Row("a card each", characters, 0, ranks, ranks, seconds)


def new_way(costs: Dict[str, float], ranks: int, per_node: int, calls: Calls) -> Row:
    """A node puts its data, agreement is by groups; then a first message to another node."""
    text = costs["node_characters"]
    share = costs["process_bytes"] * per_node / (costs["process_bytes"] * per_node + costs["node_bytes"])
    waits = costs["node_puts"] * calls.put + costs["fences"] * calls.fence
    waits += (costs["agreement_gets"] + costs["contact_gets"]) * calls.get
    return Row("once a node", text * share / per_node, text * (1 - share), costs["nodes"] * costs["node_puts"],
               costs["agreement_gets"], waits / 1e6)  # fmt: skip


def table(rows: List[Row], ranks: int, per_node: int) -> List[str]:
    lines = [f"{ranks} ranks, {per_node} a node; characters of the launcher's text; no node is waited for but by calls",
             f"{'':<24}{'process':>9}{'node':>8}{'whole job':>14}{'puts':>10}{'gets a node':>13}{'seconds':>10}"]  # fmt: skip
    nodes = -(-ranks // per_node)
    for row in rows:
        whole = row.process_bytes * ranks + row.node_bytes * nodes
        lines.append(f"{row.name:<24}{row.process_bytes:>9.1f}{row.node_bytes:>8.0f}{whole / 1e6:>11.2f} MB"
                     f"{row.puts:>10.0f}{row.gets:>13.0f}{row.seconds:>10.4f}")  # fmt: skip
    return lines


def naming(costs: Dict[str, float], ranks: int, per_node: int) -> List[str]:
    """Beside the mail's variants, bytes of names alone."""
    names = 3 * 4  # of ours, once a node
    lines = ["names alone, bytes a process and in the whole job:"]
    for what, size in _NAMING:
        lines.append(f"{'  ' + what:<24}{size:>9.2f}{size * ranks / 1e6:>11.2f} MB")
    lines.append(f"{'  hashes once a node':<24}{names / per_node:>9.2f}{names * costs['nodes'] / 1e6:>11.2f} MB")
    lines.append(f"data, packed: {costs['process_bytes']:.2f} bytes a process and {costs['node_bytes']:.0f} a node")
    return lines


def measured() -> Calls:
    """Of the built MPI's launcher, with some processes on this machine."""
    mpiexec = mpich_build.need_prefix() / "bin" / "mpiexec"
    done = subprocess.run([str(mpiexec), "-n", str(_RANKS_OF_PROBE), sys.executable, "-B", str(_PROBE)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=120)  # fmt: skip
    if done.returncode != 0:
        raise Failure(f"the launcher could not be measured: {done.stderr.strip()[-500:]}")
    return Calls(**json.loads(done.stdout))


def _simulated(program: Path, ranks: int, per_node: int) -> Dict[str, float]:
    done = subprocess.run([str(program), str(ranks), str(per_node)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    return dict(json.loads(done.stdout))


def _plot(program: Path, ranks: int, per_node: int, calls: Calls, directory: Path) -> None:
    sizes = [*(size for size in _STEPS if per_node < size < ranks), ranks]
    old: List[Tuple[Row, int]] = [(old_way(size, per_node, calls), size) for size in sizes]
    new = [(new_way(_simulated(program, size, per_node), size, per_node, calls), size) for size in sizes]

    def curves(value: "object") -> List[figure.Curve]:
        assert callable(value)
        return [figure.Curve(rows[0][0].name, figure.colour(n), [(size, value(row, size)) for row, size in rows])
                for n, rows in enumerate((new, old))]  # fmt: skip

    def whole(row: Row, size: int) -> float:
        return (row.process_bytes * size + row.node_bytes * -(-size // per_node)) / 1e6

    drawn = figure.Figure("modex", f"start-up data, {per_node} ranks a node", figure.Axis("ranks", "set logscale x"), (
        figure.Panel("that every node is given", "MB", True, curves(whole)),
        figure.Panel("waiting for the launcher", "s", True, curves(lambda row, size: row.seconds)),
    ))  # fmt: skip
    figure.draw([drawn], directory)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "modex", help="what start-up data takes in a job of any size",
        description="Prints the bytes, messages and time of a job's start-up data, packed by the code that packs real "
        "cards, with the launcher's calls as they are measured on this machine, beside a card for each process and "
        "what names take in the variants of the mail that asked for it.",
    )  # fmt: skip
    parser.add_argument("--ranks", default="1M", metavar="N", help="as 512, 64K, 1M (default: 1M)")
    parser.add_argument("--per-node", default="64", metavar="N", help="ranks of a node (default: 64)")
    parser.add_argument("--plot", metavar="DIRECTORY", help="draw the figure there as well, from 256 ranks on")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    ranks, per_node = number(arguments.ranks), number(arguments.per_node)
    if arguments.plot and not figure.gnuplot():
        raise Missing("--plot needs gnuplot")
    program, calls = own_program.built("modex"), measured()
    costs = _simulated(program, ranks, per_node)
    print(f"the launcher here: put {calls.put:.0f} µs, get {calls.get:.0f} µs, fence {calls.fence:.0f} µs")
    rows = [new_way(costs, ranks, per_node, calls), old_way(ranks, per_node, calls)]
    for line in [*table(rows, ranks, per_node), *naming(costs, ranks, per_node)]:
        print(line)
    if arguments.plot:
        _plot(program, ranks, per_node, calls, Path(arguments.plot))
    return 0
