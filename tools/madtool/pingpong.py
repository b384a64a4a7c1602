"""`tools/mad pingpong`: builds the ping-pong of perf/pingpong with the MPI of this project and runs it."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List, Sequence

from madtool import compare_wire, fabrics, mpich_build, own_program
from madtool.bench import chosen, sizes_of
from madtool.errors import Failure
from madtool.log import run_logged, say, stage
from madtool.paths import CHECKOUT, Stamps, cache_root, digest, logs_dir, output_file, tree_digest

SOURCES = CHECKOUT / "perf" / "pingpong"
_FABRIC = "MPIR_CVAR_CH4_MAD_FABRIC"
_TYPES = ("contiguous", "index", "hindex", "vector", "hvector", "struct",
          "index-gap", "hindex-gap", "vector-gap", "hvector-gap", "struct-gap")  # fmt: skip
_RECEIVE = ("paper", "contiguous", "typed")
# Handed to the program as they are; their meaning is its own (perf/pingpong/options.c).
_PASSED_ON = (
    ("--types", "LIST", "contiguous,index,hindex,vector,hvector,struct and the gapped twins index-gap, "
     "hindex-gap,vector-gap,hvector-gap,struct-gap (default: all)"),
    ("--bytes", "LIST", "message sizes, with suffix K or M if you like"),
    ("--blocks", "LIST", "numbers of blocks; struct has 3 per particle, contiguous 1"),
    ("--modes", "LIST", "auto,gather,hybrid,pipeline,pack,off (default: off,auto)"),
    ("--iterations", "N", "timed rounds of each mode in each cell"),
    ("--receive", "HOW", "paper (default): contiguous for index and vector, typed for struct; contiguous; typed"),
)  # fmt: skip


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "pingpong", help="RT-0306's ping-pong of derived datatypes, the optimisation off and on",
        description="Sets everything up if need be, then measures: rank 0 sends a derived datatype to rank 1 and "
        "receives as much back; every received byte is verified. Both ranks are on this machine: over TCP on the "
        "network interface lo, unless MPIR_CVAR_CH4_MAD_INTERFACE names another, and then through shared memory.",
    )  # fmt: skip
    for name, value, text in _PASSED_ON:
        parser.add_argument(name, metavar=value, help=text)
    parser.add_argument("--fabrics", "--fabric", metavar="LIST", help="a table for each (default: what "
                        "MPIR_CVAR_CH4_MAD_FABRIC names, else tcp,auto)")  # fmt: skip
    parser.add_argument("--csv", metavar="FILE", help="write the results there as well; of several fabrics, each "
                        "beside it in a file of its own")  # fmt: skip
    parser.add_argument("--plots", metavar="DIR", help="draw the report's figures there (PNG and SVG)")
    parser.add_argument("--quick", action="store_true", help="a small grid, under a minute")
    parser.set_defaults(function=run)


def binary(prefix: Path) -> Path:
    """Where the ping-pong of the MPI in `prefix` is, once it is compiled."""
    return cache_root() / "pingpong" / digest(str(prefix)) / "pingpong"


def program(prefix: Path) -> Path:
    """The ping-pong compiled with the MPI in `prefix`; compiled again when a source of it changes."""
    compiled = binary(prefix)
    home = compiled.parent
    stamps = Stamps(home / "stamps")
    wanted = tree_digest(sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.h")]))
    if stamps.get("built") != wanted or not compiled.is_file():
        stamps.clear("built")
        home.mkdir(parents=True, exist_ok=True)
        files = [str(path) for path in sorted(SOURCES.glob("*.c"))]
        with stage("pingpong: compiling"):
            run_logged([str(prefix / "bin" / "mpicc"), "-O2", "-std=gnu11", *files, "-o", str(compiled)],
                       logs_dir() / "pingpong-build.log", "compiling the ping-pong")  # fmt: skip
        stamps.set("built", wanted)
    return compiled


def _options(arguments: argparse.Namespace) -> List[str]:
    words = ["--quick"] if arguments.quick else []
    for name, _, _ in _PASSED_ON:
        value = getattr(arguments, name[2:])
        if value is not None:
            words += [name, value]
    return words


def _check(arguments: argparse.Namespace) -> None:
    """Refuses what the program would, before it is built."""
    for option, words, known in (("types", (arguments.types or "").split(","), _TYPES),
                                 ("modes", (arguments.modes or "").split(","), compare_wire.PATHS),
                                 ("receive", [arguments.receive], _RECEIVE)):  # fmt: skip
        if getattr(arguments, option) is not None:
            chosen(option, words, known)
    for option, least, most in (("bytes", 4, 1 << 30), ("blocks", 1, 1 << 26), ("iterations", 1, 1000000)):
        if getattr(arguments, option) is not None:
            sizes_of(getattr(arguments, option), option, least, most)


def _fabrics(arguments: argparse.Namespace) -> List[str]:
    if arguments.fabrics:
        return compare_wire.fabrics_of(arguments.fabrics)
    chosen = os.environ.get(_FABRIC)
    if chosen:
        fabrics.check(chosen)
    return [chosen] if chosen else [name for names in compare_wire.USUAL for name in names]


def _of_fabric(path: Path, fabric: str, of: Sequence[str]) -> Path:
    """The path itself for one fabric, else one beside it: results.csv, results-ofi-tcp.csv."""
    name = re.sub(r"\W+", "-", fabric)
    return path if len(of) == 1 else path.with_name(f"{path.stem}-{name}{path.suffix}")


def run(arguments: argparse.Namespace) -> int:
    """Builds, measures, plots; returns the program's first exit code that is not 0."""
    _check(arguments)
    over = _fabrics(arguments)
    asked = output_file("--csv", arguments.csv) if arguments.csv else None
    prefix = mpich_build.ensure_as_before().prefix
    compiled = program(prefix)
    results = asked or compiled.parent / "results.csv"
    for number, fabric in enumerate(over):
        words = _options(arguments)
        csv = _of_fabric(results, fabric, over)
        if asked or arguments.plots:
            words += ["--csv", str(csv)]
        environment = {"MPIR_CVAR_CH4_MAD_INTERFACE": "lo", **os.environ, _FABRIC: fabric}
        print(("\n" if number else "") + f"# fabric: {fabric}", flush=True)
        code = subprocess.run([str(prefix / "bin" / "mpiexec"), "-n", "2", str(compiled), *words],
                              env=environment, check=False).returncode  # fmt: skip
        if code != 0:
            return own_program.exit_code(code)
        if arguments.plots:
            _plot(csv, _of_fabric(Path(arguments.plots), fabric, over))
    return 0


def _plot(csv: Path, directory: Path) -> None:
    with stage("pingpong: plotting"):
        answer = subprocess.run([sys.executable, "-B", str(SOURCES / "plot.py"), "--csv", str(csv), "--out",
                                 str(directory)], check=False)  # fmt: skip
    if answer.returncode != 0:
        raise Failure("the figures could not be drawn; the results are in " + str(csv))
    say(f"figures are in {directory}")
