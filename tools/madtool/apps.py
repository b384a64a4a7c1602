"""`tools/mad apps`: programs that exchange halos, by hand packing and by datatypes, on this device and on other MPIs."""

import argparse
import os
from contextlib import ExitStack, contextmanager
from typing import Iterator, List, NamedTuple, Optional, Sequence

from madtool import apps_plot, apps_table, compare_build, compare_plot, compare_wire
from madtool.apps_table import METHODS, PROGRAMS, SEMANTICS, Compared, Setting
from madtool.bench import chosen, sizes_of
from madtool.compare_wire import MAD, OFI, OPENMPI, UCX
from madtool.contenders import Cell, Contender, Entry, Field
from madtool.errors import Failure, Missing
from madtool.log import say
from madtool.paths import output_file, replacing

_APPS = ("apps", "exchange", "programs", "grids", "fourier", "particles", "box", "face")
_PROGRAM = compare_build.Program("apps", [*(f"apps/{one}.cc" for one in _APPS), "compare/channel.cc",
                                          *(f"micro/{one}.cc" for one in ("mpi_type", "cell", "expansion"))],
                                 optimisation="-O3")  # fmt: skip
_PEERS = (OFI, UCX, OPENMPI)
_K = 1 << 10
_SIZES = (256, _K, 8 * _K, 64 * _K)
_LEAST_BYTES, _MOST_BYTES = 64, 1 << 20
_MOST_RANKS = 4
_ROUNDS, _TURN_S = 5, 0.03


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "apps", help="programs with halos and transposes, by hand packing and by datatypes, on this device and others",
        description="Whole programs on 1 to 4 ranks: a Jacobi solver in 2 and 3 dimensions, the Game of Life, a "
        "two-dimensional Fourier transform (its transpose) and migrating particles (padded structs in irregular lists). "
        "Each exchanges by packing by hand and by datatypes, by point-to-point, persistent, neighbourhood, partitioned "
        "and put. All MPIs run at the same time and take turns. What each way does is compared bit by bit with the same "
        "program on one rank, and the state after every measurement with that of all others: a peer's that differs is "
        "wrong, has no times, and makes the run fail at its end. Times are of an exchange, in microseconds; those of whole steps are in the CSV. The first time builds ch4:ofi, which takes as long as this "
        "device; the other peers are Debian's packages, installed if need be.",
    )  # fmt: skip
    parser.add_argument("--programs", metavar="LIST", help="only these, of " + ", ".join(PROGRAMS))
    parser.add_argument("--semantics", metavar="LIST", help="only these, of " + ", ".join(SEMANTICS))
    parser.add_argument("--sizes", metavar="LIST", help="bytes of the longest message to one neighbour, with suffix K or "
                        "M if you like (default: 256,1K,8K,64K); of grids the strided one; powers of two are met")  # fmt: skip
    parser.add_argument("--ranks", metavar="LIST", help=f"of 1 to {_MOST_RANKS} (default: as many as there are "
                        "processors; more ranks than these share them)")  # fmt: skip
    parser.add_argument("--fabrics", "--fabric", metavar="LIST", help="of this device, a table each; the peers go over "
                        "TCP or shared memory as these do (default: tcp,auto)")  # fmt: skip
    parser.add_argument("--peers", metavar="LIST", help="only these, of " + ", ".join(_PEERS) + "; none: this device alone")
    parser.add_argument("--rounds", type=int, metavar="N", default=_ROUNDS, help=f"default: {_ROUNDS}")
    parser.add_argument("--csv", metavar="FILE", help="write the times of every round there as well")
    parser.add_argument("--plots", metavar="DIR", help="draw times and ratios there (PNG and SVG)")
    parser.set_defaults(function=run)


class _Task(NamedTuple):
    """What is asked for."""

    cells: Sequence[Cell]
    semantics: Sequence[str]
    peers: Sequence[str]
    rounds: int

    def whose(self) -> List[str]:
        return [MAD, *self.peers]


def _named(option: str, text: Optional[str], known: Sequence[str]) -> List[str]:
    return chosen(option, text.split(","), known) if text else list(known)


def ranks_of(text: Optional[str]) -> List[int]:
    if text is None:
        return list(range(1, min(_MOST_RANKS, len(os.sched_getaffinity(0))) + 1))
    words = text.split(",")
    if not all(word.isdecimal() and word.isascii() and 1 <= int(word) <= _MOST_RANKS for word in words):
        raise Missing(f"--ranks {text}: of 1 to {_MOST_RANKS}, with commas")
    return [int(word) for word in words]


def task_of(arguments: argparse.Namespace) -> _Task:
    programs = _named("programs", arguments.programs, PROGRAMS)
    sizes = sizes_of(arguments.sizes, "sizes", _LEAST_BYTES, _MOST_BYTES) if arguments.sizes else _SIZES
    if arguments.rounds < 1:
        raise Missing("--rounds must be at least 1")
    peers = [] if arguments.peers == "none" else _named("peers", arguments.peers, _PEERS)
    cells = [Cell(program, size) for program in programs for size in sizes]
    return _Task(cells, _named("semantics", arguments.semantics, SEMANTICS), peers, arguments.rounds)


@contextmanager
def _entries(task: _Task, setting: Setting) -> Iterator[List[Entry]]:
    """Each MPI's ways; a peer that does not start is told of."""
    programs = compare_build.programs(task.whose(), _PROGRAM)
    with ExitStack() as started:
        entries: List[Entry] = []
        for whose, program in programs.items():
            command = [*compare_build.launcher(whose, setting.wire, setting.ranks), str(program)]
            environment = {**compare_wire.environment(whose, setting.wire),
                           **({"MPIR_CVAR_CH4_MAD_FABRIC": setting.fabric} if whose == MAD else {})}  # fmt: skip
            try:
                contender = Contender(whose, command, environment, setting.ranks)
            except Failure as failure:
                if whose == MAD:
                    raise
                say(f"a peer's fault: {failure}")
                continue
            started.callback(contender.close)
            entries += [Entry(apps_table.entry_name(whose, method, semantics), contender, f"{method}:{semantics}",
                              ours=whose == MAD) for semantics in task.semantics for method in METHODS]  # fmt: skip
        yield entries


def _measure(field: Field, task: _Task, setting: Setting) -> Compared:
    results = Compared()
    print(apps_table.heading(task.whose()))
    for number, cell in enumerate(task.cells):
        field.round(cell, 0, _TURN_S)  # verifies, warms up and finds out how long it takes
        results.add_all(cell, [field.round(cell, turn, _TURN_S) for turn in range(task.rounds)])
        for row in apps_table.rows(results, [cell], task.semantics, task.peers):
            print(apps_table.line(row, task.whose()), flush=True)
        say(f"apps: {number + 1} of {len(task.cells)} programs and sizes, {setting.wire}, {setting.ranks} ranks")
    return results


def _lacking(field: Field) -> List[str]:
    return [f"{name} has no {layout}: {why}" for (name, layout), why in field.lacking.items()]


def _table(task: _Task, setting: Setting) -> Compared:
    print(f"through {setting.wire}; fabric of this device: {setting.fabric}; ranks: {setting.ranks}")
    with _entries(task, setting) as entries:
        field = Field(entries)
        results = _measure(field, task, setting)
    table = list(apps_table.rows(results, task.cells, task.semantics, task.peers))
    complaints = [f"a peer's fault: {one}" for one in field.complaints]
    for line in (*apps_table.summary(table), *_lacking(field), *complaints, *results.told_wrong()):
        print(line, flush=True)
    return results


def _settings(arguments: argparse.Namespace) -> List[Setting]:
    fabrics = compare_wire.fabrics_of(arguments.fabrics) if arguments.fabrics else [one for [one] in compare_wire.USUAL]
    return [Setting(fabric, compare_wire.of([fabric]), ranks) for fabric in fabrics for ranks in ranks_of(arguments.ranks)]


def run(arguments: argparse.Namespace) -> int:
    """0 also where a target is missed: that is a finding and not a failure.  1 where a peer's results are wrong."""
    task, settings = task_of(arguments), _settings(arguments)
    plots = compare_plot.need_gnuplot(arguments.plots) if arguments.plots else None
    csv = output_file("--csv", arguments.csv) if arguments.csv else None
    measured = {setting: _table(task, setting) for setting in settings}
    if csv:
        with replacing(csv) as out:
            apps_table.write_csv(measured, out)
    for setting, results in measured.items() if plots else ():
        compare_plot.draw(apps_plot.figures(results, setting, task.semantics, task.peers), plots)
    return 1 if any(results.wrong for results in measured.values()) else 0
