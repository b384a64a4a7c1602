"""`tools/mad calibrate`: measures what plans are made of on this machine, and writes it where libmad finds it."""

import argparse

from madtool import own_program

_OPTIONS = ("fabric", "interface", "output", "rounds")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("calibrate", help="measure the fabrics' costs, for better plans",
                                 description="Measures what a packet, a segment, a run in place, a byte and "
                                 "a copy cost on this machine's fabrics, and writes it to the file that "
                                 "libmad reads when an engine is opened. Half a minute a fabric; do it on a "
                                 "machine that does nothing else.")  # fmt: skip
    parser.add_argument("--fabric", metavar="F[,F]", help="fabrics (default: tcp)")
    parser.add_argument("--interface", metavar="I", help="network interface (default: lo)")
    parser.add_argument("--output", metavar="FILE", help="default: $XDG_CONFIG_HOME/mad/costs.json, or "
                        "~/.config/mad/costs.json")  # fmt: skip
    parser.add_argument("--rounds", metavar="N", type=int, help="rounds of each transfer (default: 200)")
    parser.set_defaults(function=_calibrate)


def _calibrate(arguments: argparse.Namespace) -> int:
    return own_program.run("calibrate", own_program.given(arguments, _OPTIONS))
