"""`tools/mad bench piggyback`: datatypes made for each message, and values sent along, against other MPIs."""

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence

from madtool import compare_build, compare_plot, compare_wire, figure
from madtool.compare_table import Results
from madtool.compare_wire import MAD, OFI, OPENMPI, UCX
from madtool.contenders import Cell, Contender, Entry, Field
from madtool.errors import Failure, Missing
from madtool.figure import Axis, Curve, Figure, Panel
from madtool.log import say

_PROGRAM = compare_build.Program("piggyback", ("piggyback/contender.cc", "compare/channel.cc"))
_PEERS = (OFI, UCX, OPENMPI)
_BYTES, _FIELDS = 32, (1, 2, 4, 8, 16, 32)
_ROUNDS, _TURN_S = 15, 0.1
_WAYS, _OWN_WAYS = ("bare", "struct"), ("proto", "attached", "asked")
_CARRIED = Cell("piggyback", _BYTES)
_MOST_OVER_CONTIG_US = 0.25
_MOST_OF_STRUCT = 0.5
_MOST_ATTACHED_US = 0.05
_LABELS = {"bare": "bare", "attached": "value attached", "asked": "attached, asked"}


class Target(NamedTuple):
    what: str
    met: bool


def add_parser(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser(
        "piggyback", help="datatypes made for each message, values sent along",
        description="Half a round trip of 32 bytes between two ranks of this host (best and median): as a struct of 2 "
        "to 32 fields that is created, committed, sent and freed for each message; then with a value of 8 bytes sent "
        "along, by a struct made for each message, by a proto datatype and attached to the communicator. All MPIs run at "
        "the same time and take turns; every received byte is verified. The first time builds ch4:ofi, which takes as "
        "long as this device; the other peers are Debian's packages, installed if need be.",
    )  # fmt: skip
    parser.add_argument("--peers", metavar="LIST", help="only these, of " + ", ".join(_PEERS))
    parser.add_argument("--rounds", type=int, metavar="N", default=_ROUNDS, help=f"default: {_ROUNDS}")
    parser.add_argument("--plots", metavar="DIR", help="draw the fields' times there (PNG and SVG)")
    parser.set_defaults(function=run)


def fields_cell(fields: int) -> Cell:
    return Cell(f"fields-{fields}", _BYTES)


def _started(programs: Dict[str, Path], opened: ExitStack) -> Dict[str, Contender]:
    wire = compare_wire.of(["auto"])
    running: Dict[str, Contender] = {}
    for whose, program in programs.items():
        command = [*compare_build.launcher(whose, wire), str(program)]
        try:
            running[whose] = Contender(whose, command, compare_wire.environment(whose, wire))
        except Failure as failure:
            if whose == MAD:
                raise
            say(f"a peer's fault: {failure}")
        else:
            opened.callback(running[whose].close)
    return running


def _measure(field: Field, cells: Sequence[Cell], rounds: int) -> Results:
    results = Results()
    for cell in cells:
        field.round(cell, 0, _TURN_S)  # warms up and finds out how long it takes
    for turn in range(rounds):
        for cell in cells:
            results.add_all(cell, [field.round(cell, turn, _TURN_S)])
        if (turn + 1) % 5 == 0 or turn + 1 == rounds:
            say(f"bench: round {turn + 1} of {rounds}")
    return results


def _line(label: str, results: Results, cell: Cell, names: Sequence[str]) -> str:
    words = [label.ljust(18)]
    for name in names:
        best, median = results.best(cell, name), results.median(cell, name)
        words.append("-".rjust(16) if best is None or median is None else f"{best:8.3f} {median:7.3f}")
    return " ".join(words)


def table(fields: Results, carried: Results, entries: Dict[str, List[str]]) -> List[str]:
    """Of each MPI a column of least and median times, in microseconds; `entries`: its ways, by name."""
    names = list(entries)
    lines = [" ".join(["half RT in us".ljust(18), *(name.rjust(16) for name in names)])]
    for count in _FIELDS:
        label = "contiguous" if count == 1 else f"{count} fields"
        lines.append(_line(label, fields, fields_cell(count), names))
    for way in (*_WAYS, *_OWN_WAYS):
        label = _LABELS.get(way, f"value by {way}")
        mine = [entry if way in entries[name] else "" for name in names for entry in [f"{name} {way}"]]
        lines.append(_line(label, carried, _CARRIED, mine))
    return lines


def _least(results: Results, cell: Cell, name: str) -> float:
    best = results.best(cell, name)
    if best is None:
        raise Failure(f"{name} measured nothing of {cell.layout}")
    return best


def _fastest(results: Results, cell: Cell, names: Sequence[str]) -> Optional[float]:
    times = [best for best in (results.best(cell, name) for name in names) if best is not None]
    return min(times, default=None)


def _price_of_struct(carried: Results, names: Sequence[str]) -> Optional[float]:
    """What a value by a struct made for each message costs over the bare message, with the cheapest of these."""
    prices = []
    for name in names:
        struct, bare = (carried.best(_CARRIED, f"{name} {way}") for way in ("struct", "bare"))
        if struct is not None and bare is not None:
            prices.append(struct - bare)
    return min(prices, default=None)


def targets(fields: Results, carried: Results, peers: Sequence[str]) -> Iterator[Target]:
    """Which of the aims are met, by least times."""
    for count in _FIELDS[1:]:
        own, best = _least(fields, fields_cell(count), MAD), _fastest(fields, fields_cell(count), peers)
        if best is not None:
            yield Target(f"{count} fields: {own:.3f} us, fastest peer {best:.3f}", own <= best)
    over = _least(fields, fields_cell(_FIELDS[-1]), MAD) - _least(fields, fields_cell(1), MAD)
    yield Target(f"{_FIELDS[-1]} fields: {over:.3f} us over contiguous, {_MOST_OVER_CONTIG_US} wanted",
                 over <= _MOST_OVER_CONTIG_US)  # fmt: skip
    bare = _least(carried, _CARRIED, f"{MAD} bare")
    proto = _least(carried, _CARRIED, f"{MAD} proto") - bare
    for whose, names in (("ours", [MAD]), ("the best peer's", peers)):
        struct = _price_of_struct(carried, names)
        if struct is not None:
            yield Target(f"a value by a proto datatype costs {proto:.3f} us, half of {struct:.3f} wanted, a struct's each "
                         f"time, {whose}", proto <= _MOST_OF_STRUCT * struct)  # fmt: skip
    attached = _least(carried, _CARRIED, f"{MAD} attached") - bare
    yield Target(f"an attached value costs {attached:.3f} us, {_MOST_ATTACHED_US} wanted",
                 attached <= _MOST_ATTACHED_US)  # fmt: skip


def drawing(fields: Results, names: Sequence[str]) -> Figure:
    curves = [Curve(name, figure.colour(number), [(count, best) for count in _FIELDS
                                                  for best in [fields.best(fields_cell(count), name)] if best is not None])
              for number, name in enumerate(names)]  # fmt: skip
    ticks = ", ".join(f"'{count if count > 1 else 'contiguous'}' {count}" for count in _FIELDS)
    axis = Axis("fields of the struct", f"set logscale x 2\nset xrange [0.8:40]\nset xtics ({ticks})")
    return Figure("piggyback-fields", "A struct of 32 bytes, made for each message", axis,
                  (Panel("", "half round trip in µs (least)", True, curves),))  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """0 also where a target is missed: that is a finding and not a failure."""
    peers = arguments.peers.split(",") if arguments.peers else list(_PEERS)
    unknown = [one for one in peers if one not in _PEERS]
    if unknown:
        raise Missing(f"--peers: no {', '.join(unknown)}; there are: {', '.join(_PEERS)}")
    if arguments.rounds < 1:
        raise Missing("--rounds must be at least 1")
    plots = compare_plot.need_gnuplot(arguments.plots) if arguments.plots else None
    programs = compare_build.programs([MAD, *peers], _PROGRAM)
    with ExitStack() as opened:
        running = _started(programs, opened)
        ways = {whose: [*_WAYS, *(_OWN_WAYS if whose == MAD else ())] for whose in running}
        field = Field([Entry(whose, one, "-", ours=whose == MAD) for whose, one in running.items()])
        fields = _measure(field, [fields_cell(count) for count in _FIELDS], arguments.rounds)
        entries = [Entry(f"{whose} {way}", running[whose], way, ours=whose == MAD)
                   for whose in field.names() for way in ways[whose]]  # fmt: skip
        carrying = Field(entries)
        carried = _measure(carrying, [_CARRIED], arguments.rounds)
    for line in table(fields, carried, ways):
        print(line)
    for target in targets(fields, carried, peers):
        print(f"{'met' if target.met else 'MISSED'}: {target.what}")
    for complaint in (*field.complaints, *carrying.complaints):
        print(f"a peer's fault: {complaint}")
    if plots:
        compare_plot.draw(iter([drawing(fields, list(ways))]), plots)
    return 0
