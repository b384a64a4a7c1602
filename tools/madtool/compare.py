"""`tools/mad compare`: this device against other MPIs on the same wire, in one run."""

import argparse
import os
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from madtool import (
    compare_build,
    compare_one_sided,
    compare_plot,
    compare_steps,
    compare_table,
    compare_wire,
    micro_layouts,
)
from madtool.bench import sizes_of
from madtool.bench_table import short
from madtool.compare_kept import Kept
from madtool.compare_table import Comparison, Results, Timings
from madtool.compare_wire import MAD, OFI, OPENMPI, PATHS, RAW, UCX
from madtool.contenders import Cell, Contender, Entry, Field
from madtool.errors import Failure, Missing
from madtool.log import clock, say
from madtool.paths import output_file, replacing

_K, _M = 1 << 10, 1 << 20
_PEERS = (OFI, UCX, OPENMPI)
_USUAL_PATHS = "auto,off"
_ROUNDS = 9
_TURN_S = 0.03  # of one entry in one round of one cell

# layout: payload bytes.
_GRID: Dict[str, Sequence[int]] = {
    "contiguous": (8, _K, 16 * _K, 64 * _K, 256 * _K, _M),
    "vector": (64 * _K,),
    "struct": (64 * _K,),
    "index-gap": (_K, 64 * _K, _M),
    "vector-gap": (_K, 64 * _K, _M),
    "struct-gap": (_K, 16 * _K, _M),
    "padded": (_K, 64 * _K, _M),
    "rows-8": (_K, 64 * _K, _M),
    "rows-64": (16 * _K, _M),
    "rows-256": (64 * _K, _M),
    "rows-4k": (64 * _K, _M),
    "rows-64k": (_M,),
    "column64-4k": (64 * _K,),
    "face3d-x": (64 * _K,),
    "nested": (64 * _K,),
}
_WINDOW = 64  # messages
_WINDOW_SIZES = tuple(1 << power for power in range(21))  # 1 B to 1 MiB
_BOTH_WAYS = (1, 2)
_FULL_LAYOUTS = (*_GRID, "face3d-y", "face3d-z", "column-4k")
_FULL_SIZES = (8, 64, 256, _K, 4 * _K, 16 * _K, 64 * _K, 256 * _K, _M, 4 * _M, 16 * _M, 64 * _M)
_SMALLEST_OF_LAYOUTS = 256
# One that is sent as it lies, one whose blocks are copied together.
_STEP_LAYOUTS = ("contiguous", "rows-64")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "compare", help="this device against ch4:ofi, ch4:ucx, Open MPI and raw sockets",
        description="Ping-pongs of derived datatypes (half round trips, best and median) between two ranks, over TCP "
        "on the loopback interface and then through shared memory: a table each. All MPIs run at the same time and "
        "take turns, cell by cell and round by round; what was received is verified byte by byte, and so is an exchange of "
        "other contents behind it. With --one-sided operations on windows. ch4:ofi is built from the same source as this "
        "device, which takes as long the first time; the other peers are Debian's packages, installed if need be.",
    )  # fmt: skip
    parser.add_argument("--one-sided", action="store_true", help="windows and not messages: put, get, accumulate, "
                        "fetch_and_op and compare_and_swap, one with its flush and 64 in flight, with holes on either "
                        "side, and fences; --layouts has operations then, such as put or get:rows-64:target")  # fmt: skip
    parser.add_argument("--window", choices=compare_one_sided.WINDOWS, help="with --one-sided: by MPI_Win_allocate (the "
                        "default) or MPI_Win_create")  # fmt: skip
    parser.add_argument("--layouts", metavar="LIST", help="only these, of perf/micro, with commas")
    parser.add_argument("--sizes", metavar="LIST", help="payload bytes, with suffix K or M if you like")
    parser.add_argument("--full", action="store_true", help="the whole grid, 8 B to 64 MiB; an interrupted run goes "
                        "on with the next cell")  # fmt: skip
    parser.add_argument("--fresh", action="store_true", help="with --full: forget the cells of an interrupted run")
    parser.add_argument("--steps", action="store_true", help="this device alone, at sizes 2^(1/8) apart from 1 KiB "
                        "to 1 MiB: every step beyond linear growth (layouts: " + ",".join(_STEP_LAYOUTS)
                        + " unless told)")  # fmt: skip
    parser.add_argument("--windows", action="store_true", help=f"only windows of {_WINDOW} messages, one way and both "
                        "ways, at every power of two from 1 B to 1 MiB (contiguous unless told)")  # fmt: skip
    parser.add_argument("--peers", metavar="LIST", help="only these, of " + ", ".join((*_PEERS, RAW)))
    parser.add_argument("--fabrics", "--fabric", metavar="LIST", help="of this device, and one table only; all over "
                        "TCP, or all in shared memory: the peers use the same (default: tcp, then auto)")  # fmt: skip
    parser.add_argument("--paths", metavar="LIST", help="of this device: "
                        + ", ".join(PATHS) + " (default: auto,off)")  # fmt: skip
    parser.add_argument("--rounds", type=int, metavar="N", default=_ROUNDS, help=f"default: {_ROUNDS}")
    parser.add_argument("--csv", metavar="FILE", help="write the times of every round there as well")
    parser.add_argument("--plots", metavar="DIR", help="draw times and ratios, or steps, there (PNG and SVG)")
    parser.set_defaults(function=run)


def cells_of(arguments: argparse.Namespace) -> List[Cell]:
    named = arguments.layouts.split(",") if arguments.layouts else None
    sizes = sizes_of(arguments.sizes) if arguments.sizes else None
    if arguments.one_sided:
        return compare_one_sided.cells(named, sizes, arguments.windows, arguments.full)
    micro_layouts.check(named or ())
    if arguments.steps:
        return [Cell(layout, size) for layout in named or _STEP_LAYOUTS for size in compare_steps.sizes()]
    if arguments.windows:
        cells = _windows(named or ["contiguous"], sizes or _WINDOW_SIZES)
    else:
        cells = []
        for layout in named or (_FULL_LAYOUTS if arguments.full else _GRID):
            usual = _FULL_SIZES if arguments.full else _GRID.get(layout, (_K, 64 * _K, _M))
            cells += [Cell(layout, size) for size in _those_of(layout, sizes or usual)]
        if named is None and sizes is None:
            cells += _usual_windows()
    if not cells:
        raise Missing(f"no cells: layouts but contiguous have at least {_SMALLEST_OF_LAYOUTS} bytes")
    return cells


def _those_of(layout: str, sizes: Sequence[int]) -> List[int]:
    """The sizes that the layout can have."""
    return [size for size in sizes if size >= _SMALLEST_OF_LAYOUTS or layout == "contiguous"]


def _windows(layouts: Sequence[str], sizes: Sequence[int], ways: Sequence[int] = _BOTH_WAYS) -> List[Cell]:
    return [Cell(layout, size, _WINDOW, way) for way in ways for layout in layouts for size in _those_of(layout, sizes)]


def _usual_windows() -> List[Cell]:
    return [*_windows(["contiguous"], (8, _K, 4 * _K, 8 * _K, 16 * _K, 32 * _K, 64 * _K, _M)),
            *_windows(["arrays"], (256, 4 * _K), [1]), *_windows(["padded"], (16 * _K,), [1])]  # fmt: skip


class _Kind(NamedTuple):
    """What is compared: messages or operations on windows."""

    program: compare_build.Program
    peers: Sequence[str]  # that there are
    ours: Dict[str, str]  # this device's paths, by what their columns say beside its name
    path: str  # that the peers are told
    groups: compare_table.Groups
    what: str  # that the times are of


def _kind(arguments: argparse.Namespace) -> _Kind:
    if arguments.one_sided:
        window = arguments.window or compare_one_sided.WINDOWS[0]
        return _Kind(compare_build.ONE_SIDED, _PEERS, {"": window}, window, compare_one_sided.GROUPS, "operation")
    paths = (arguments.paths or _USUAL_PATHS).split(",")
    return _Kind(compare_build.CONTENDER, (*_PEERS, RAW), {path: path for path in paths}, "-", compare_table.GROUPS,
                 "half round trip")


@contextmanager
def _entries(kind: _Kind, programs: Dict[str, Path], fabrics: Sequence[str]) -> Iterator[List[Entry]]:
    wire = compare_wire.of(fabrics)
    with ExitStack() as started:

        def start(name: str, whose: str, more: Dict[str, str]) -> Contender:
            command = [*compare_build.launcher(whose, wire), str(programs[whose])]
            contender = Contender(name, command, {**compare_wire.environment(whose, wire), **more})
            started.callback(contender.close)
            return contender

        entries: List[Entry] = []
        for number, fabric in enumerate(fabrics):
            contender = start(f"mad {fabric}", MAD, {"MPIR_CVAR_CH4_MAD_FABRIC": fabric})
            for label, path in kind.ours.items():
                entries.append(Entry(f"{fabric if number else 'mad'} {label}".strip(), contender, path, ours=True))
        for peer in programs:
            if peer == MAD:
                continue
            try:
                entries.append(Entry(peer, start(peer, peer, {}), kind.path))
            except Failure as failure:
                say(f"a peer's fault: {failure}")
        yield entries


class _Run:
    """The measuring of cells, the first time and again alone; what is kept is not measured."""

    def __init__(self, field: Field, kept: Kept, rounds: int) -> None:
        self._field, self._kept, self._rounds = field, kept, rounds

    def in_turns(self, cells: Sequence[Cell]) -> List[Timings]:
        """The rounds of each of the cells, which take turns as well."""
        for cell in cells:
            self._field.round(cell, 0, _TURN_S)  # warms up and finds out how long it takes
        rounds = [[self._field.round(cell, turn, _TURN_S) for cell in cells] for turn in range(self._rounds)]
        return [list(one) for one in zip(*rounds)]

    def rounds_of(self, cell: Cell, alone: bool) -> Timings:
        known = self._kept.get(cell, alone)
        if known is None:
            begin = time.monotonic()
            known = self.in_turns([cell])[0]
            self._kept.add(cell, alone, known, time.monotonic() - begin)
        return known

    def _say(self, cells: Sequence[Cell]) -> None:
        to_go, seconds = len(self._kept.to_go(cells)), self._kept.seconds_to_go(cells)
        about = f", about {clock(seconds)}" if to_go and seconds is not None else ""
        say(f"compare: {len(cells) - to_go} of {len(cells)} cells done, {to_go} to go{about}")

    def measure(self, cells: Sequence[Cell]) -> Results:
        results, names = Results(), self._field.names()
        wide = compare_table.width(cells)
        self._say(cells)
        print(compare_table.heading(names, wide))
        for number, cell in enumerate(cells):
            results.add_all(cell, self.rounds_of(cell, alone=False))
            print(compare_table.line(results, cell, names, _PEERS, wide), flush=True)
            if (number + 1) % 10 == 0:
                self._say(cells)
        return results

    def slower(self, results: Results, questions: Sequence[Comparison]) -> List[List[Tuple[Cell, Sequence[str]]]]:
        """For each question the cells in which its entry is slower, in the first run and alone, and than whom."""
        answers: List[List[Tuple[Cell, Sequence[str]]]] = [[] for _ in questions]
        for cell in results.cells():
            first = [results.lost_to(cell, one.mine, one.others) for one in questions]
            if not any(first):
                continue
            alone = Results()
            alone.add_all(cell, self.rounds_of(cell, alone=True))
            for question, answer, others in zip(questions, answers, first):
                lost = alone.lost_to(cell, question.mine, others)
                # Of a peer that has ended meanwhile the first run is all there is.
                still = [other for other in others
                         if other in lost or alone.slower_rounds(cell, question.mine, other)[1] == 0]  # fmt: skip
                if still:
                    answer.append((cell, still))
        return answers


def _questions(entries: Sequence[Entry]) -> List[Comparison]:
    """The first entry against the peers, and every `auto` of ours against each other path of its fabric."""
    questions = [Comparison(entries[0].name, _PEERS, against_peers=True)]
    for entry in entries:
        if entry.ours and entry.path == "auto":
            questions += [Comparison(entry.name, [other.name]) for other in entries
                          if other.contender is entry.contender and other is not entry]  # fmt: skip
    return questions


def _compare(kind: _Kind, measuring: _Run, entries: Sequence[Entry],
             cells: Sequence[Cell]) -> Tuple[Results, List[str]]:
    results = measuring.measure(cells)
    lines = compare_table.summary(results, entries[0].name, _PEERS, kind.groups)
    lines += compare_table.against_limit(results, entries[0].name, RAW)
    lines += compare_table.against_own(results, [entry.name for entry in entries if entry.ours])
    questions = _questions(entries)
    for question, answer in zip(questions, measuring.slower(results, questions)):
        lines += compare_table.verdict(question, answer, len(cells))
    return results, lines


def _scan(measuring: _Run, entries: Sequence[Entry], cells: Sequence[Cell]) -> Tuple[Results, List[str]]:
    """The steps.  All sizes of a layout take turns, and both sizes of a step do when it is measured again."""
    results, names = Results(), [entry.name for entry in entries]
    lines: List[str] = []
    wide = compare_table.width(cells)
    print(compare_table.heading(names, wide))
    for layout in dict.fromkeys(cell.layout for cell in cells):
        mine = [cell for cell in cells if cell.layout == layout]
        say(f"compare: {len(mine)} sizes of {layout} in turns")
        for cell, rounds in zip(mine, measuring.in_turns(mine)):
            results.add_all(cell, rounds)
            print(compare_table.line(results, cell, names, (), wide), flush=True)
        for name in names:
            steps = [step for step in compare_steps.Scan.of(results, mine, name).steps(name)
                     if compare_steps.again(step, *measuring.in_turns([step.below, step.above]))]  # fmt: skip
            lines += [f"step: {layout}, {name}, {short(step.below.bytes)} to {short(step.above.bytes)}: "
                      f"{step.percent:+.1f} %" for step in steps]  # fmt: skip
            if not steps:
                lines.append(f"no step of more than {compare_steps.LEAST_PERCENT:g} %: {layout}, {name}")
    return results, lines


def _check(arguments: argparse.Namespace, kind: _Kind, peers: Sequence[str]) -> None:
    paths = [] if arguments.one_sided else [*kind.ours]
    for option, asked, there in (("paths", paths, PATHS), ("peers", peers, kind.peers)):
        unknown = [one for one in asked if one not in there]
        if unknown:
            raise Missing(f"--{option}: no {', '.join(unknown)}; there are: {', '.join(there)}")
    if arguments.rounds < 1:
        raise Missing("--rounds must be at least 1")
    if arguments.fresh and not arguments.full:
        raise Missing("--fresh needs --full: nothing else is kept")
    if arguments.one_sided and (arguments.steps or arguments.paths):
        raise Missing("--one-sided has neither --steps nor --paths")
    if arguments.window and not arguments.one_sided:
        raise Missing("--window needs --one-sided")
    if arguments.windows and (arguments.full or arguments.steps):
        raise Missing("--windows has cells of its own")
    if arguments.steps and (arguments.full or arguments.sizes):
        raise Missing("--steps has sizes of its own")
    if len(os.sched_getaffinity(0)) < 2:
        raise Missing("two processors are needed: each rank spins on its own")


def _complaints(field: Field, entries: Sequence[Entry], wire: str) -> List[str]:
    """Of those that failed, and of those that ran over something else; when all are closed."""
    complaints = list(field.complaints)
    for entry in entries:
        if not entry.ours and entry.name in field.names():
            complaints += compare_wire.complaints(entry.name, wire, entry.contender.said)
    return complaints


def _kept(arguments: argparse.Namespace, kind: _Kind, fabrics: Sequence[str], programs: Dict[str, Path]) -> Kept:
    if not arguments.full:
        return Kept()
    path = compare_build.kept_file(compare_build.identity(programs.values()), ",".join(fabrics),
                                   ",".join(kind.ours.values()), str(arguments.rounds))  # fmt: skip
    if arguments.fresh:
        path.unlink(missing_ok=True)
    return Kept(path)


class _Table(NamedTuple):
    """What all sent through the same."""

    wire: str
    results: Results
    names: List[str]


def _table(arguments: argparse.Namespace, kind: _Kind, fabrics: Sequence[str], cells: Sequence[Cell],
           peers: Sequence[str]) -> _Table:
    wire = compare_wire.of(fabrics)
    others = [] if arguments.steps else [one for one in peers if compare_wire.takes_part(one, wire)]
    programs = compare_build.programs([MAD, *others], kind.program)
    print(f"through {wire}; fabric of this device: {', '.join(fabrics)}")
    with _entries(kind, programs, fabrics) as entries:
        field, names = Field(entries), [entry.name for entry in entries]
        measuring = _Run(field, _kept(arguments, kind, fabrics, programs), arguments.rounds)
        results, lines = (_scan(measuring, entries, cells) if arguments.steps else
                          _compare(kind, measuring, entries, cells))
    for line in [*lines, *(f"a peer's fault: {complaint}" for complaint in _complaints(field, entries, wire))]:
        print(line)
    return _Table(wire, results, names)


def run(arguments: argparse.Namespace) -> int:
    """0 also where a cell is lost: that is a finding and not a failure."""
    kind, cells = _kind(arguments), cells_of(arguments)
    peers = arguments.peers.split(",") if arguments.peers else kind.peers
    _check(arguments, kind, peers)
    asked = [compare_wire.fabrics_of(arguments.fabrics)] if arguments.fabrics else list(compare_wire.USUAL)
    for fabrics in asked:
        compare_wire.of(fabrics)  # or a complaint, before anything is measured
    plots = compare_plot.need_gnuplot(arguments.plots) if arguments.plots else None
    csv = output_file("--csv", arguments.csv) if arguments.csv else None
    tables = [_table(arguments, kind, fabrics, cells, peers) for fabrics in asked]
    if csv:
        with replacing(csv) as out:
            compare_table.write_csv({table.wire: table.results for table in tables}, out)
    for table in tables if plots else ():
        drawn = compare_plot.steps(table.results, table.names) if arguments.steps else (
            compare_plot.comparison(table.results, table.names, _PEERS, kind.what))  # fmt: skip
        compare_plot.draw(drawn, plots if len(tables) == 1 else plots / table.wire.lower().replace(" ", "-"))
    return 0
