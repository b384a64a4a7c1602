"""`tools/mad explain`: what the engine does with a layout on a fabric of this machine, and why."""

import argparse

from madtool import own_program

_OPTIONS = ("bytes", "fabric", "interface", "costs", "flush_threshold", "max_blocks")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "explain", help="what is done with a layout, and why",
        description="Prints what a layout looks like, what a fabric of this machine can do and costs, and the plan of "
        "each mode to send and to receive it, with its predicted time, packets and copies, and its reason. For the "
        "messages of a running program, set MAD_TRACE: README.md.",
    )  # fmt: skip
    parser.add_argument("layouts", nargs="*", metavar="LAYOUT", help="layouts of perf/micro")
    parser.add_argument("--list", action="store_true", help="print the layouts")
    parser.add_argument("--bytes", metavar="N", help="payload, with suffix K or M if you like (default: 64K)")
    parser.add_argument("--fabric", metavar="F", help="default: auto, as everywhere")
    parser.add_argument("--interface", metavar="I", help="network interface (default: the fabric's choice)")
    parser.add_argument("--costs", metavar="FILE", help="what tools/mad calibrate wrote (default: yours, if there is "
                        "one, else built-in numbers)")  # fmt: skip
    parser.add_argument("--flush-threshold", metavar="N", help="bytes that are prepared before a packet leaves")
    parser.add_argument("--max-blocks", metavar="N", help="blocks above which auto copies rather than references")
    parser.set_defaults(function=_explain)


def _explain(arguments: argparse.Namespace) -> int:
    listed = ["--list"] if arguments.list else []
    words = [*arguments.layouts, *listed, *own_program.given(arguments, _OPTIONS)]
    return own_program.run("explain", words)
