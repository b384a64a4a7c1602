"""`tools/mad modex`: what a job's start-up data takes in bytes, messages and time, up to a million ranks.

Bytes and messages are counted by the code that packs real cards (perf/modex); times are those that the launcher's calls
take on this machine, in the chain of calls that a process waits for.  What a launcher takes to carry the bytes between
its own nodes is its own affair and not in them; the bytes are.  `--real` starts the ranks and compares (modex_real.py),
`--start` an empty job of so many against other MPIs (modex_start.py).
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from madtool import compare_build, compare_plot, figure, hydra_log, modex_real, modex_start, mpich_build, own_program
from madtool.compare_wire import OFI, OPENMPI, UCX
from madtool.errors import Failure, Missing

# "RFC: changes to modex", Open MPI's developers' list, 15 April 2008: naming of five pieces of data, bytes a process.
_NAMING = (("names, as they were", 89), ("no string lengths", 69), ("short names", 71), ("both", 51), ("hashes", 20))
_NAMES = 3  # of ours, of 4 bytes, once a node
_PEERS = (OFI, UCX)
_STARTING = (OPENMPI, OFI, UCX)
_ROUNDS = 3
# ch4 of MPICH 4.0.2 (mpir_pmi.c) puts a card for each process, under "-allgather-shm-1-RANK".
_CARD_KEY = "-allgather-shm-"
_SUFFIXES = {"K": 1 << 10, "M": 1 << 20}  # as everywhere
_STEPS = (128, 256, 1024, 4096, 16384, 65536, 262144)
_PROBE = Path(__file__).with_name("modex_probe.py")
_RANKS_OF_PROBE, _PROBE_S = 4, 120


class Calls(NamedTuple):
    """What the launcher's calls take on this machine, in µs."""

    put: float  # of one process alone
    get: float
    fence: float
    served_put: float  # each, of many that all processes of a node have at once
    served_get: float


class Row(NamedTuple):
    """A job's start, in characters of the launcher's text; what a process waits for."""

    name: str
    process: float  # characters of one
    node: float  # of a node, without its processes'
    puts: float  # of all
    gets: float  # before anybody talks: of the processes of a node, by the one that gets most or all together
    seconds: float


def number(text: str) -> int:
    """1048576 of 1M."""
    word = text.strip().upper()
    scale = _SUFFIXES.get(word[-1:], 1)
    digits = word[:-1] if scale > 1 else word
    if not (digits.isascii() and digits.isdecimal()) or int(digits) == 0:
        raise Missing(f"{text!r} is no number of ranks; they are like 512, 64K, 1M")
    return int(digits) * scale


def others_way(name: str, card: int, ranks: int, per_node: int, calls: Calls) -> Row:
    """Every process puts a card, of so many characters; the processes of a node read all there are from one proxy."""
    characters = card + len(_CARD_KEY) + len("1-") + len(str(ranks - 1))
    seconds = (per_node * calls.served_put + calls.fence + ranks * calls.served_get) / 1e6
    return Row(name, characters, 0, ranks, ranks, seconds)


def our_way(costs: Dict[str, int], ranks: int, calls: Calls) -> Row:
    """A node puts its data, agreement is by groups; then a first message to another node."""
    nodes = costs["nodes"]
    text = costs["node_characters"] + costs["agreement_characters"]
    processes = text * costs["process_bytes"] / costs["bytes"]
    waits = costs["most_node_puts"] * calls.put + costs["fences"] * calls.fence
    waits += (costs["most_agreement_gets"] + costs["contact_gets"]) * calls.get
    return Row("ch4:mad", processes / ranks, (text - processes) / nodes, costs["node_puts"] + costs["agreement_puts"],
               costs["most_agreement_gets"], waits / 1e6)  # fmt: skip


def whole(row: Row, ranks: int, per_node: int) -> float:
    """Characters of all, in MB."""
    return (row.process * ranks + row.node * -(-ranks // per_node)) / 1e6


def table(rows: Sequence[Row], ranks: int, per_node: int) -> List[str]:
    lines = [f"{ranks} ranks, {per_node} a node; characters of the launcher's text, keys included",
             f"{'':<24}{'a process':>10}{'a node':>8}{'all':>14}{'puts':>10}{'gets a node':>13}{'seconds':>10}"]  # fmt: skip
    for row in rows:
        lines.append(f"{row.name:<24}{row.process:>10.1f}{row.node:>8.0f}{whole(row, ranks, per_node):>11.2f} MB"
                     f"{row.puts:>10.0f}{row.gets:>13.0f}{row.seconds:>10.4f}")  # fmt: skip
    return lines


def naming(costs: Dict[str, int], ranks: int, per_node: int) -> List[str]:
    """Beside the mail's variants, bytes of names alone."""
    ours = 4 * _NAMES
    lines = [f"{'names alone':<24}{'a process':>10}{'':>8}{'all':>14}"]
    for what, size in (*_NAMING, ("once a node, ours", ours / per_node)):
        lines.append(f"{'  ' + what:<24.24}{size:>10.2f}{'':>8}{size * ranks / 1e6:>11.2f} MB")
    node = (costs["bytes"] - costs["process_bytes"]) / costs["nodes"]
    process = costs["process_bytes"] / ranks
    lines.append(f"our data before it is text: {process:.2f} bytes a process and {node:.0f} a node")
    return lines


def measured() -> Calls:
    """Of the built MPI's launcher, with some processes on this machine."""
    mpiexec = mpich_build.need_prefix() / "bin" / "mpiexec"
    try:
        done = subprocess.run([str(mpiexec), "-n", str(_RANKS_OF_PROBE), sys.executable, "-B", str(_PROBE)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=_PROBE_S)  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise Failure(f"the launcher could not be measured: no answer within {_PROBE_S} s") from late
    if done.returncode != 0:
        raise Failure(f"the launcher could not be measured: {done.stderr.strip()[-500:]}")
    return Calls(**json.loads(done.stdout))


def card_characters(requests: Sequence[hydra_log.Request]) -> int:
    """Of the longest card that a process of another MPICH put."""
    cards = [len(each.value) for each in requests if each.name == "put" and each.key.startswith(_CARD_KEY)]
    if not cards:
        raise Failure("this MPICH gives its launcher no cards; modex knows those of MPICH 4.0")
    return max(cards)


def _cards(peers: Sequence[str]) -> Dict[str, int]:
    """Of each peer, in a small job."""
    programs = compare_build.programs(peers, modex_real.PROGRAM)
    return {whose: card_characters(hydra_log.requests(modex_real.log_of(whose, program, 4, 2)))
            for whose, program in programs.items()}  # fmt: skip


def _simulated(program: Path, ranks: int, per_node: int) -> Dict[str, int]:
    done = subprocess.run([str(program), str(ranks), str(per_node)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    return dict(json.loads(done.stdout))


def drawing(rows: Sequence[Tuple[int, Sequence[Row]]], per_node: int) -> figure.Figure:
    """Of jobs of so many ranks, each with the same rows."""
    def curves(value: Callable[[Row, int], float]) -> List[figure.Curve]:
        return [figure.Curve(row.name, figure.colour(place), [(ranks, value(of[place], ranks)) for ranks, of in rows])
                for place, row in enumerate(rows[0][1])]  # fmt: skip

    axis = figure.Axis("ranks", "set logscale x\nset format x '10^{%T}'")
    return figure.Figure("modex", f"Start-up data, {per_node} ranks a node", axis, (
        figure.Panel("What every node is given", "MB", True, curves(lambda row, ranks: whole(row, ranks, per_node))),
        figure.Panel("A process waits for the launcher", "s", True, curves(lambda row, _: row.seconds)),
    ))  # fmt: skip


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "modex", help="what start-up data takes in a job of any size",
        description="Prints the bytes, messages and time of a job's start-up data, packed by the code that packs real "
        "cards, with the launcher's calls as they are measured on this machine, beside other MPICHs', whose cards are "
        "measured in a small job, and what names take in the variants of the mail that asked for it. The first time "
        "builds ch4:ofi, which takes as long as this device; ch4:ucx is Debian's package, installed if need be.",
    )  # fmt: skip
    parser.add_argument("--ranks", default="1000000", metavar="N", help="as 512, 64K, 1M (default: 1000000)")
    parser.add_argument("--per-node", default="64", metavar="N", help="ranks of a node (default: 64)")
    parser.add_argument("--peers", metavar="LIST", help=f"only these, of {', '.join(_PEERS)}; with --start of "
                        f"{', '.join(_STARTING)} (default: {OPENMPI})")  # fmt: skip
    parser.add_argument("--plots", metavar="DIR", help="draw bytes and times there, up to so many ranks (PNG and SVG)")
    parser.add_argument("--real", action="store_true",
                        help="start so many ranks here, as nodes of --per-node, and compare with the model's figures")
    parser.add_argument("--start", metavar="N", help="how long an empty job of N ranks takes here, and their memory, "
                        "against other MPIs, in turns")  # fmt: skip
    parser.add_argument("--rounds", type=int, metavar="N", default=_ROUNDS, help=f"of --start (default: {_ROUNDS})")
    parser.set_defaults(function=run)


def _chosen(text: Optional[str], known: Sequence[str], usual: Sequence[str]) -> List[str]:
    names = text.split(",") if text else list(usual)
    unknown = [one for one in names if one not in known]
    if unknown:
        raise Missing(f"--peers: no {', '.join(unknown)}; there are: {', '.join(known)}")
    return names


def run(arguments: argparse.Namespace) -> int:
    """1 where real ranks are not as predicted."""
    ranks, per_node = number(arguments.ranks), number(arguments.per_node)
    if arguments.rounds < 1:
        raise Missing("--rounds must be at least 1")
    if arguments.start:
        modex_start.run(_chosen(arguments.peers, _STARTING, [OPENMPI]), number(arguments.start), arguments.rounds)
        return 0
    peers = _chosen(arguments.peers, _PEERS, _PEERS)
    plots = compare_plot.need_gnuplot(arguments.plots) if arguments.plots else None
    program = own_program.built("modex")
    if arguments.real:
        return 0 if modex_real.run(program, ranks, per_node) else 1
    calls, cards = measured(), _cards(peers)

    def rows(size: int, costs: Dict[str, int]) -> List[Row]:
        return [our_way(costs, size, calls),
                *(others_way(whose, card, size, per_node, calls) for whose, card in cards.items())]  # fmt: skip

    costs = _simulated(program, ranks, per_node)
    print(f"the launcher here: put {calls.put:.0f} µs, get {calls.get:.0f} µs, fence {calls.fence:.0f} µs; "
          f"of many at once each put {calls.served_put:.0f} µs, each get {calls.served_get:.0f} µs")  # fmt: skip
    for line in [*table(rows(ranks, costs), ranks, per_node), *naming(costs, ranks, per_node)]:
        print(line)
    if plots:
        smaller = [size for size in _STEPS if per_node < size < ranks]
        points = [(size, rows(size, _simulated(program, size, per_node))) for size in smaller]
        compare_plot.draw(iter([drawing([*points, (ranks, rows(ranks, costs))], per_node)]), plots)
    return 0
