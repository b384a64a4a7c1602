"""`tools/mad bench`, and `engine` of it: the datatype engine against hand-written loops, MPICH and Open MPI."""

import argparse
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Dict, List, Sequence, Set, Tuple

from madtool import bench_build, bench_piggyback, bench_table, micro_layouts
from madtool.errors import Failure, Missing
from madtool.log import clock, say
from madtool.paths import output_file, replacing

_ROUNDS = 3
_QUICK_LAYOUTS = ("contiguous", "rows-8", "padded", "face3d-x", "weather", "seismic-12", "byte-per-line", "deep-8")
_QUICK_SIZES = (256, 64 << 10)
_COMPILE = "compile"
_TIMEOUT_S = 600.0  # of one program on one layout
# Times enough that a call of a few ns is measured over a million; a call longer than that is measured alone.
_MIN_TIME_S, _QUICK_MIN_TIME_S = 0.01, 0.001
_REPETITIONS = 3  # of each benchmark in one round, in random order
_SIZE = re.compile(r"([0-9]{1,12})([KM]?)", re.IGNORECASE)
# One process that sends nothing needs no fabric.
_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_ess_singleton_isolated": "1", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self",
                "UCX_TLS": "self", "UCX_LOG_LEVEL": "error"}  # fmt: skip


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    bench = commands.add_parser("bench", help="micro-benchmarks against other MPIs: the datatype engine, types made for a message")
    kinds = bench.add_subparsers(dest="kind", metavar="KIND", required=True)
    engine = kinds.add_parser(
        "engine", help="pack and unpack of derived datatypes",
        description="Packs and unpacks the layouts of perf/micro with this engine, with hand-written loops and with "
        "MPI_Pack of Debian's MPICH, of Open MPI and of this device, which is built if need be, in turns, and prints "
        "ratios and which targets are met. Matrices are transposed by a copy from one layout into another, too, "
        "against blocked loops. Every result is verified byte for byte before it is timed. All of it takes about 20 "
        "minutes and 1 GB of memory.",
    )  # fmt: skip
    engine.add_argument("--layouts", metavar="LIST", help="only these, by name, with commas (default: all)")
    engine.add_argument("--sizes", metavar="LIST", help="payload bytes, with suffix K or M if you like: of 256, 1K, "
                        "64K, 1M, 64M, transposes of 64K, 1M, 4M, 16M (default: all)")  # fmt: skip
    engine.add_argument("--repetitions", type=int, metavar="N", help=f"rounds through all programs and layouts, of "
                        f"{_REPETITIONS} repetitions each (default: {_ROUNDS})")  # fmt: skip
    engine.add_argument("--csv", metavar="FILE", help="write all times there as well")
    engine.add_argument("--quick", action="store_true", help="a few layouts and small sizes once, under a minute")
    engine.set_defaults(function=run)
    bench_piggyback.add_parser(kinds)


def sizes_of(text: str, option: str = "sizes", least: int = 1, most: int = 1 << 30) -> List[int]:
    """Payload bytes from a list such as 256,64K."""
    sizes = []
    for word in text.split(","):
        match = _SIZE.fullmatch(word.strip())
        size = int(match.group(1)) << {"": 0, "K": 10, "M": 20}[match.group(2).upper()] if match else None
        if size is None or not least <= size <= most:
            raise Missing(f"--{option}: {word!r} is none of {least} to {bench_table.short(most)}, like 256, 64K, 1M")
        sizes.append(size)
    return sizes


def chosen(what: str, wanted: Sequence[object], known: Sequence[object]) -> List[str]:
    """The known ones that are wanted, in their own order, as words; all must be known."""
    unknown = [str(one) for one in wanted if one not in known]
    if unknown:
        raise Missing(f"--{what}: no {', '.join(unknown)}; there are: {', '.join(map(str, known))}")
    return [str(one) for one in known if one in wanted]


class Programs:
    """The benchmark programs, each run for one layout at a time on one processor."""

    def __init__(self, binaries: Dict[str, Path], sizes: Sequence[str], min_time_s: float, repetitions: int) -> None:
        self._binaries = binaries
        self._sizes = "|".join(sizes)
        self._flags = [f"--benchmark_min_time={min_time_s}", f"--benchmark_repetitions={repetitions}",
                       "--benchmark_enable_random_interleaving=true", "--benchmark_format=json"]  # fmt: skip
        self._cpu = max(os.sched_getaffinity(0))

    def names(self) -> List[str]:
        return list(self._binaries)

    def run(self, name: str, layout: str, verify: bool) -> "Dict[str, object]":
        """The program's report; a wrong byte is a Failure."""
        sizes = "[^/]+" if layout == _COMPILE else f"({self._sizes})"
        command = [str(self._binaries[name]), f"--benchmark_filter=^{layout}/{sizes}/", *self._flags]
        environment = {**os.environ, **_ENVIRONMENT, "MICRO_VERIFY": "1" if verify else "0"}
        try:
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False, timeout=_TIMEOUT_S,
                                  preexec_fn=lambda: os.sched_setaffinity(0, [self._cpu]))  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{name}: {layout} took more than {clock(_TIMEOUT_S)}") from error
        if done.returncode != 0:
            raise Failure(f"{name}: {layout} failed (exit {done.returncode}): " + done.stderr.strip()[-500:])
        try:
            return dict(json.loads(done.stdout))
        except ValueError as error:
            raise Failure(f"{name}: {layout}: no report: {done.stdout[:200]!r}") from error


def listed(binary: Path) -> Dict[str, List[int]]:
    """The layouts that a program has, and the sizes of each."""
    done = subprocess.run([str(binary), "--benchmark_list_tests"], stdout=subprocess.PIPE, text=True, check=True)
    sizes: Dict[str, List[int]] = {}
    for layout, size in (line.split("/")[:2] for line in done.stdout.splitlines() if "/" in line):
        if layout != _COMPILE and int(size) not in sizes.setdefault(layout, []):
            sizes[layout].append(int(size))
    return sizes


def measure(programs: Programs, layouts: Sequence[str], rounds: int) -> Tuple[bench_table.Times, List[str]]:
    """All rounds, and what peers did wrong; the programs take turns at every layout."""
    times = bench_table.Times()
    complaints: List[str] = []
    out_of_it: Set[Tuple[str, str]] = set()
    begin, done, steps = time.monotonic(), 0, rounds * (len(layouts) + 1)
    for turn in range(rounds):
        for number, layout in enumerate([*layouts, _COMPILE]):
            names = programs.names()
            first = (turn + number) % len(names)
            for name in names[first:] + names[:first]:
                peer = "" if name == bench_table.ENGINE else name
                if (name, layout) in out_of_it or (peer and layout.startswith((_COMPILE, bench_table.OWN_LAYOUTS))):
                    continue
                try:
                    times.add(programs.run(name, layout, verify=turn == 0), peer)
                except Failure as failure:
                    if name not in bench_table.PEERS:
                        raise
                    out_of_it.add((name, layout))
                    complaints.append(str(failure))
                    say(str(failure))
            done += 1
            if done % 10 == 0 or done == steps:
                say(f"bench: round {turn + 1} of {rounds}, {done} of {steps} layouts, "
                    f"{clock(time.monotonic() - begin)}")  # fmt: skip
    return times, complaints


def _run(layouts: Sequence[str], sizes: Sequence[int], rounds: int, quick: bool) -> Tuple[bench_table.Times, List[str]]:
    binaries = bench_build.programs()
    known = listed(binaries[bench_table.ENGINE])
    known_sizes = sorted({size for of_layout in known.values() for size in of_layout})
    payloads = chosen("sizes", sizes or known_sizes, known_sizes)
    names = [name for name in chosen("layouts", layouts or list(known), list(known))
             if any(str(size) in payloads for size in known[name])]  # fmt: skip
    repetitions, min_time_s = (1, _QUICK_MIN_TIME_S) if quick else (_REPETITIONS, _MIN_TIME_S)
    return measure(Programs(binaries, payloads, min_time_s, repetitions), names, rounds)


def run(arguments: argparse.Namespace) -> int:
    """Builds, measures, reports; 0 also where a target is missed: that is a finding and not a failure."""
    layouts = arguments.layouts.split(",") if arguments.layouts else list(_QUICK_LAYOUTS) if arguments.quick else []
    sizes = sizes_of(arguments.sizes) if arguments.sizes else list(_QUICK_SIZES) if arguments.quick else []
    rounds = arguments.repetitions if arguments.repetitions is not None else 1 if arguments.quick else _ROUNDS
    if rounds < 1:
        raise Missing("--repetitions must be at least 1")
    micro_layouts.check(name for name in layouts if not name.startswith(bench_table.OWN_LAYOUTS))
    chosen("sizes", sizes, micro_layouts.sizes())
    csv = output_file("--csv", arguments.csv) if arguments.csv else None
    times, complaints = _run(layouts, sizes, rounds, arguments.quick)
    for line in bench_table.report(times):
        print(line)
    for complaint in complaints:
        print(f"a peer's fault: {complaint}")
    if csv:
        with replacing(csv) as out:
            bench_table.write_csv(times, out)
    return 0
