"""`tools/mad pingpong`: builds the ping-pong of perf/pingpong with the MPI of this project and runs it."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import List

from madtool import mpich_build
from madtool.errors import Failure
from madtool.log import run_logged, say, stage
from madtool.paths import CHECKOUT, Stamps, cache_root, digest, logs_dir, tree_digest

SOURCES = CHECKOUT / "perf" / "pingpong"
# Handed to the program as they are; their meaning and checks are its own (perf/pingpong/options.c).
_PASSED_ON = (
    ("--types", "LIST", "contiguous,index,hindex,vector,hvector,struct and the gapped twins index-gap, "
     "hindex-gap,vector-gap,hvector-gap,struct-gap (default: all)"),
    ("--bytes", "LIST", "message sizes, with suffix K or M if you like"),
    ("--blocks", "LIST", "numbers of blocks; struct has 3 per particle, contiguous 1"),
    ("--modes", "LIST", "auto,gather,hybrid,pipeline,pack,off (default: off,auto)"),
    ("--iterations", "N", "timed rounds of each mode in each cell"),
    ("--receive", "HOW", "paper (default): contiguous for index and vector, typed for struct; contiguous; typed"),
    ("--csv", "FILE", "write the results there as well"),
)  # fmt: skip


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "pingpong", help="RT-0306's ping-pong of derived datatypes, the optimisation off and on",
        description="Sets everything up if need be, then measures: rank 0 sends a derived datatype to rank 1 and "
        "receives as much back; every received byte is verified. Both ranks are on this machine, over the network "
        "interface lo unless MPIR_CVAR_CH4_MAD_INTERFACE names another.",
    )  # fmt: skip
    for name, value, text in _PASSED_ON:
        parser.add_argument(name, metavar=value, help=text)
    parser.add_argument("--plots", metavar="DIR", help="draw the report's figures there (PNG and SVG)")
    parser.add_argument("--quick", action="store_true", help="a small grid, under a minute")
    parser.set_defaults(function=run)


def program(prefix: Path) -> Path:
    """The ping-pong compiled with the MPI in `prefix`; compiled again when a source of it changes."""
    home = cache_root() / "pingpong" / digest(str(prefix))
    binary = home / "pingpong"
    stamps = Stamps(home / "stamps")
    wanted = tree_digest(sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.h")]))
    if stamps.get("built") != wanted or not binary.is_file():
        stamps.clear("built")
        home.mkdir(parents=True, exist_ok=True)
        files = [str(path) for path in sorted(SOURCES.glob("*.c"))]
        with stage("pingpong: compiling"):
            run_logged([str(prefix / "bin" / "mpicc"), "-O2", "-std=gnu11", *files, "-o", str(binary)],
                       logs_dir() / "pingpong-build.log", "compiling the ping-pong")  # fmt: skip
        stamps.set("built", wanted)
    return binary


def _options(arguments: argparse.Namespace) -> List[str]:
    words = ["--quick"] if arguments.quick else []
    for name, _, _ in _PASSED_ON:
        value = getattr(arguments, name[2:])
        if value is not None:
            words += [name, value]
    return words


def run(arguments: argparse.Namespace) -> int:
    """Builds, measures, plots; returns the program's exit code."""
    prefix = mpich_build.ensure_as_before().prefix
    binary = program(prefix)
    words = _options(arguments)
    csv = Path(arguments.csv) if arguments.csv else binary.parent / "results.csv"
    if arguments.plots and not arguments.csv:
        words += ["--csv", str(csv)]
    environment = dict(os.environ)
    environment.setdefault("MPIR_CVAR_CH4_MAD_INTERFACE", "lo")
    sys.stdout.flush()
    code = subprocess.run([str(prefix / "bin" / "mpiexec"), "-n", "2", str(binary), *words],
                          env=environment, check=False).returncode  # fmt: skip
    if code == 0 and arguments.plots:
        _plot(csv, Path(arguments.plots))
    return code


def _plot(csv: Path, directory: Path) -> None:
    with stage("pingpong: plotting"):
        answer = subprocess.run([sys.executable, "-B", str(SOURCES / "plot.py"), "--csv", str(csv), "--out",
                                 str(directory)], check=False)  # fmt: skip
    if answer.returncode != 0:
        raise Failure("the figures could not be drawn; the results are in " + str(csv))
    say(f"figures are in {directory}")
