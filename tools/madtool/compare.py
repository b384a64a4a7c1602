"""`tools/mad compare`: this device against other MPIs on the same wire, in one run."""

import argparse
import os
import time
from contextlib import ExitStack, contextmanager
from typing import Dict, Iterator, List, Sequence

from madtool import compare_build, compare_table
from madtool.bench import sizes_of
from madtool.bench_table import short
from madtool.compare_build import ENVIRONMENTS, MAD, OFI, OPENMPI, RAW, UCX
from madtool.contenders import Cell, Contender, Entry, Field
from madtool.errors import Failure, Missing
from madtool.log import clock, say

_K, _M = 1 << 10, 1 << 20
_PEERS = (OFI, UCX, OPENMPI)
_PATHS = ("auto", "gather", "hybrid", "pipeline", "pack", "off")
_ROUNDS = 9
_TURN_S = 0.03  # of one entry in one round of one cell

#layout : payload bytes.At most 40 cells with the windows below.
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
_WINDOWS = (Cell("contiguous", 8, 64), Cell("contiguous", _K, 64), Cell("contiguous", 4 * _K, 64),
            Cell("arrays", 256, 64), Cell("arrays", 4 * _K, 64))  # fmt: skip
_FULL_SIZES = (8, 64, 256, _K, 4 * _K, 16 * _K, 64 * _K, 256 * _K, _M, 4 * _M, 16 * _M, 64 * _M)
_SMALLEST_OF_LAYOUTS = 256


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "compare", help="this device against ch4:ofi, ch4:ucx, Open MPI and raw sockets",
        description="Ping-pongs of derived datatypes (half round trips, best and median) between two ranks over TCP "
        "on the loopback interface. All MPIs run at the same time and take turns, cell by cell and round by round; "
        "every received byte is verified. ch4:ofi is built from the same source as this device, which takes as long "
        "the first time; the other peers are Debian's packages, installed if need be.",
    )  # fmt: skip
    parser.add_argument("--layouts", metavar="LIST", help="only these, of perf/micro, with commas")
    parser.add_argument("--sizes", metavar="LIST", help="payload bytes, with suffix K or M if you like")
    parser.add_argument("--full", action="store_true", help="the whole grid, 8 B to 64 MiB")
    parser.add_argument("--fabrics", metavar="LIST", default="tcp", help="of this device (default: tcp)")
    parser.add_argument("--paths", metavar="LIST", default="auto,off", help="of this device: "
                        + ", ".join(_PATHS) + " (default: auto,off)")  # fmt: skip
    parser.add_argument("--rounds", type=int, metavar="N", default=_ROUNDS, help=f"default: {_ROUNDS}")
    parser.add_argument("--csv", metavar="FILE", help="write the times of every round there as well")
    parser.set_defaults(function=run)


def cells_of(arguments: argparse.Namespace) -> List[Cell]:
    sizes = sizes_of(arguments.sizes) if arguments.sizes else None
    layouts = arguments.layouts.split(",") if arguments.layouts else list(_GRID)
    cells = []
    for layout in layouts:
        usual = _FULL_SIZES if arguments.full else _GRID.get(layout, (_K, 64 * _K, _M))
        for size in sizes or usual:
            if size >= _SMALLEST_OF_LAYOUTS or layout == "contiguous":
                cells.append(Cell(layout, size))
    if not cells:
        raise Missing(f"no cells: layouts but contiguous have at least {_SMALLEST_OF_LAYOUTS} bytes")
    if arguments.layouts is None and sizes is None:
        cells += _WINDOWS
    return cells


@contextmanager
def _entries(fabrics: Sequence[str], paths: Sequence[str]) -> Iterator[List[Entry]]:
    binaries, launchers = compare_build.programs(), compare_build.launchers()
    with ExitStack() as started:

        def start(name: str, whose: str, more: Dict[str, str]) -> Contender:
            command = [*launchers[whose], str(binaries[whose])]
            contender = Contender(name, command, {**ENVIRONMENTS[whose], **more})
            started.callback(contender.close)
            return contender

        entries: List[Entry] = []
        for number, fabric in enumerate(fabrics):
            contender = start(f"mad {fabric}", MAD, {"MPIR_CVAR_CH4_MAD_FABRIC": fabric})
            for path in paths:
                label = f"mad {path}" if number == 0 else f"{fabric} {path}"
                entries.append(Entry(label, contender, path, ours=True))
        for peer in (*_PEERS, RAW):
            try:
                entries.append(Entry(peer, start(peer, peer, {}), "-"))
            except Failure as failure:
                say(f"a peer's fault: {failure}")
        yield entries


def _measure(field: Field, cells: Sequence[Cell], rounds: int) -> compare_table.Results:
    results = compare_table.Results()
    names = field.names()
    print(compare_table.heading(names))
    begin = time.monotonic()
    for number, cell in enumerate(cells):
        field.round(cell, 0, _TURN_S)  # warms up and finds out how long it takes
        for turn in range(rounds):
            results.add(cell, field.round(cell, turn, _TURN_S))
        print(compare_table.line(results, cell, names, _PEERS), flush=True)
        if (number + 1) % 10 == 0:
            say(f"compare: {number + 1} of {len(cells)} cells, {clock(time.monotonic() - begin)}")
    return results


def _try_again(field: Field, results: compare_table.Results, rounds: int) -> List[str]:
    """The cells that are lost, in the first run and alone."""
    mine, lost = field.names()[0], []  # ours never drop out
    for cell in results.cells():
        to = results.lost_to(cell, mine, _PEERS)
        if not to:
            continue
        alone = compare_table.Results()
        for turn in range(rounds):
            alone.add(cell, field.round(cell, turn, _TURN_S))
        to = [peer for peer in alone.lost_to(cell, mine, _PEERS) if peer in to]
        if to:
            lost.append(f"lost: {cell.layout}, {short(cell.bytes)}"
                        + (f", {cell.window} in flight" if cell.window else "") + f", to {', '.join(to)}")  # fmt: skip
    return lost


def run(arguments: argparse.Namespace) -> int:
    """0 also where a cell is lost: that is a finding and not a failure."""
    cells = cells_of(arguments)
    paths, fabrics = arguments.paths.split(","), arguments.fabrics.split(",")
    unknown = [path for path in paths if path not in _PATHS]
    if unknown:
        raise Missing(f"--paths: no {', '.join(unknown)}; there are: {', '.join(_PATHS)}")
    if arguments.rounds < 1:
        raise Missing("--rounds must be at least 1")
    if len(os.sched_getaffinity(0)) < 2:
        raise Missing("two processors are needed: each rank spins on its own")
    csv = open(arguments.csv, "w", encoding="utf-8") if arguments.csv else None
    with _entries(fabrics, paths) as entries:
        field = Field(entries)
        results = _measure(field, cells, arguments.rounds)
        lost = _try_again(field, results, arguments.rounds)
    for line in [*compare_table.summary(results, entries[0].name, _PEERS), *lost]:
        print(line)
    if not lost:
        print(f"no cell lost in {len(cells)}")
    for complaint in field.complaints:
        print(f"a peer's fault: {complaint}")
    if csv:
        with csv:
            compare_table.write_csv(results, csv)
    return 0
