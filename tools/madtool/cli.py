"""The command line: one function per subcommand."""

import argparse
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import List, NoReturn

from madtool import (
    apps,
    bench,
    calibrate,
    compare,
    completion,
    conformance,
    conformance_fabrics,
    conformance_lanes,
    conformance_suite,
    explain,
    fabrics,
    hosts,
    info,
    lab_command,
    manual,
    modex,
    mpich_build,
    netmod_install,
    package,
    pingpong,
    selftest,
    test_command,
)
from madtool.errors import Failure, Missing
from madtool.log import say
from madtool.paths import cache_root, output_file


_INTERRUPTED = 128 + signal.SIGINT  # as a shell says it


def _build(arguments: argparse.Namespace) -> int:
    build = mpich_build.ensure_built(arguments.mpich, arguments.prefix)
    manual.install(_parser(), build.prefix / "share")
    mpich_build.report(build)
    return 0


def _manual(arguments: argparse.Namespace) -> int:
    return manual.show(_parser(), arguments.page or ["1", "mad"], cache_root() / "share")


def _completion(_: argparse.Namespace) -> int:
    print(completion.script(_parser()), end="")
    return 0


def _prefix(_: argparse.Namespace) -> int:
    print(mpich_build.need_prefix())
    return 0


def _install_into(arguments: argparse.Namespace) -> int:
    tree = Path(arguments.tree).absolute()
    netmod_install.need_autotools()
    if netmod_install.install_into(tree):
        say(f"{tree} has the mad netmod; configure it with --with-device=ch4:mad --with-mad=PREFIX "
            "--with-ch4-shmmods=none; PREFIX is what `tools/mad prefix` prints")  # fmt: skip
    else:
        say(f"{tree} has the mad netmod already; nothing changed")
    return 0


def _test(arguments: argparse.Namespace) -> int:
    if arguments.list:
        for stage in test_command.stages():
            when = " (only where it is named)" if stage.asked_only else ""
            print(f"{stage.name:<12} {stage.budget_min:>3g} min  {stage.what}{when}")
        return 0
    report = test_command.run(arguments.stages)
    for line in report.lines():
        print(line)
    print(report.total, flush=True)
    return 1 if report.total.failed else 0


def _conformance(arguments: argparse.Namespace) -> int:
    if arguments.fresh and not arguments.fabric:
        raise Missing("--fresh is about what --fabric keeps")
    if arguments.fabric and math.isfinite(arguments.at_most):
        raise Missing("--at-most is not for --fabric, which may be ended and goes on where it was")
    chosen = conformance_fabrics.named(arguments.fabric or ())
    last_start = time.monotonic() + arguments.at_most
    if arguments.two_hosts and arguments.mpi:
        raise Missing("--two-hosts is for ch4:mad: other MPIs have settings of their own")
    known = Path(arguments.known or (os.devnull if arguments.mpi else conformance.KNOWN))
    conformance.known_differences(known)  # or a complaint, before anything is built
    table = output_file("--table", arguments.table) if arguments.table else None
    if arguments.mpi:
        suite = conformance_suite.prepare(Path(arguments.mpi).absolute(), mpich_build.named_source())
    else:
        suite = conformance_suite.mad_suite()
    if arguments.fabric:
        names = arguments.directories or list(conformance_fabrics.DIRECTORIES)
        over = conformance_fabrics.Run(suite, names, arguments.timeout, known, arguments.fresh)
        tally = over.all(chosen, arguments.fabric, table)
    elif arguments.two_hosts:
        names = arguments.directories or list(conformance_fabrics.DIRECTORIES)
        try:
            with conformance_lanes.over_two_hosts(suite) as settings:
                conditions = conformance_lanes.Conditions(arguments.timeout, settings, last_start)
                differences = conformance.known_differences(known, conformance_lanes.TWO_HOSTS)
                tally = conformance.run(suite, names, differences, conditions, table)
        except hosts.NoHosts as reason:
            raise Missing(f"no two hosts here: {reason}") from reason
    else:
        names = arguments.directories or list(conformance.DEFAULT)
        conditions = conformance_lanes.Conditions(arguments.timeout, last_start=last_start)
        tally = conformance.run(suite, names, conformance.known_differences(known), conditions, table)
    for note in tally.notes:
        say(note)
    print(tally, flush=True)
    return 1 if tally.failed else 0


def _run(words: List[str]) -> NoReturn:
    mpiexec = mpich_build.need_prefix() / "bin" / "mpiexec"
    sys.stdout.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and what it becomes would go on to
        signal.signal(number, signal.SIG_DFL)
    os.execve(mpiexec, [str(mpiexec), *words], mpich_build.program_environment())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tools/mad",
        description="Builds MPICH on the mad netmod, runs programs and benchmarks on it, tests it.",
        epilog="Everything built lives in $MAD_CACHE or ~/.cache/mad; the checkout stays as it is. "
        "Exit codes: 0 ok, 1 failed, 2 wrong use or something missing, 130 interrupted.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    build = commands.add_parser("build", help="set up the machine, build libmad and MPICH, install both",
                                description="Installs missing Debian packages (as root; otherwise names "
                                "them), fetches MPICH 4.0.2, puts the netmod in, builds and installs. "
                                "Can be interrupted and repeated at any point.")  # fmt: skip
    build.add_argument("--mpich", metavar="TREE_OR_TARBALL", help="MPICH 4.0.x release source to use "
                       "instead of Debian's source package")  # fmt: skip
    build.add_argument("--prefix", metavar="DIR", help="where to install (default: in the cache)")
    build.set_defaults(function=_build)

    prefix = commands.add_parser("prefix", help="print where bin/mpicc and lib/libmpi.so are",
                                 description="Prints where bin/mpicc and lib/libmpi.so are.")  # fmt: skip
    prefix.set_defaults(function=_prefix)

    into = commands.add_parser("install-into", help="put the netmod into an MPICH 4.0.x source tree",
                               description="The drop-in alone, for those who configure MPICH themselves. "
                               "A second run changes nothing.")  # fmt: skip
    into.add_argument("tree", metavar="TREE", help="the source of an MPICH 4.0.x release")
    into.set_defaults(function=_install_into)

    run = commands.add_parser("run", help="mpiexec of the built MPICH, with the arguments given",
                              description="Runs mpiexec of the built MPICH, e.g. `tools/mad run -n 4 ./program`.")  # fmt: skip
    run.add_argument("arguments", nargs="*", metavar="ARGS... PROGRAM", help="as for mpiexec")
    run.set_defaults(function=lambda _: run.error("what is to run?"))
    pingpong.add_parser(commands)
    bench.add_parser(commands)
    compare.add_parser(commands)
    apps.add_parser(commands)
    calibrate.add_parser(commands)
    explain.add_parser(commands)
    info.add_parser(commands)
    selftest.add_parser(commands)
    package.add_parser(commands)
    lab_command.add_parser(commands)
    modex.add_parser(commands)

    pages = commands.add_parser("manual", help="show a manual page: mad(1), mad(7), mpix_mad(3), madeleine(3)",
                                description="Shows a manual page with man(1). `build` installs them below "
                                "share/man of the prefix.")  # fmt: skip
    pages.add_argument("page", nargs="*", metavar="[SECTION] NAME", help="as for man(1), e.g. 7 mad or mad_pack "
                       "(default: 1 mad)")  # fmt: skip
    pages.set_defaults(function=_manual)
    words = commands.add_parser("completion", help="print the completion for bash and zsh",
                                description="Prints a script; use it by: source <(tools/mad completion)")  # fmt: skip
    words.set_defaults(function=_completion)

    test = commands.add_parser("test", help="run the tests (what the continuous integration runs)",
                               description="Sets the machine up and runs the tests, stage by stage: all but "
                               "those that run only where they are named. The last line counts what passed, failed and "
                               "was skipped.")  # fmt: skip
    test.add_argument("stages", nargs="*", metavar="STAGE", help="only these stages and those they need (default: all "
                      "but those that --list says run only where they are named)")
    test.add_argument("--list", action="store_true", help="print the stages and their time budgets")
    test.set_defaults(function=_test)

    suite = commands.add_parser("conformance", help="MPICH's own test suite on the built MPI",
                                description="Runs directories of MPICH's test suite. Fails on what is not "
                                "in tests/mpich/known_differences.txt.")  # fmt: skip
    suite.add_argument("directories", nargs="*", metavar="DIR", help="directories of the suite (default: "
                       + " ".join(conformance.DEFAULT) + "; with --fabric or --two-hosts: "
                       + " ".join(conformance_fabrics.DIRECTORIES) + ")")  # fmt: skip
    where = suite.add_mutually_exclusive_group()
    where.add_argument("--fabric", action="append", metavar="F", help="over this one, on lo, which this machine must "
                       "have; may be repeated; all, of which it may lack some: "
                       + " ".join(fabrics.FABRICS) + ". What is done is kept, and not run again")  # fmt: skip
    where.add_argument("--two-hosts", action="store_true", help="over auto, ranks in turns on two hosts that are "
                       "network namespaces: shared memory inside, TCP between")  # fmt: skip
    suite.add_argument("--fresh", action="store_true", help="with --fabric: forget what is kept of these")
    suite.add_argument("--timeout", type=int, default=conformance_lanes.PATIENCE_S, metavar="S", help="seconds a "
                       "test may take where its own line does not say more (default %(default)s)")  # fmt: skip
    suite.add_argument("--at-most", type=float, default=float("inf"), metavar="S", help="start no test later than so many "
                       "seconds after the command; what is left over is counted as skipped; not with --fabric")  # fmt: skip
    suite.add_argument("--mpi", metavar="PREFIX", help="judge the MPI installed there instead, without known "
                       "differences")  # fmt: skip
    suite.add_argument("--known", metavar="FILE", help="the list of known differences to hold it against")
    suite.add_argument("--table", metavar="FILE", help="also write the table of results there")
    suite.set_defaults(function=_conformance)
    return parser


def _goes_on(arguments: argparse.Namespace) -> bool:
    """Whether the same command, interrupted and called again, begins where it was."""
    kept = {"conformance": "fabric", "compare": "full"}.get(arguments.command, "")  # by this option
    return arguments.command == "build" or bool(getattr(arguments, kept, None)) and not arguments.fresh


def _terminated(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(argv: List[str]) -> int:
    signal.signal(signal.SIGTERM, _terminated)
    arguments = argparse.Namespace(command=None)
    try:
        if argv[:1] == ["run"] and argv[1:] not in ([], ["-h"], ["--help"]):
            return _run(argv[1:])  # every word is mpiexec's, options too
        arguments = _parser().parse_args(argv)
        cache_root()
        return int(arguments.function(arguments))
    except Failure as failure:
        print(f"mad: {failure}", file=sys.stderr)
        return failure.exit_code
    except KeyboardInterrupt:
        more = "; the same command goes on from here" if _goes_on(arguments) else ""
        print(f"mad: interrupted{more}", file=sys.stderr)
        return _INTERRUPTED
    except OSError as error:
        print(f"mad: {error}", file=sys.stderr)
        return 1
