"""`tools/mad info`: the fabrics of this machine, and why one cannot be used."""

import argparse

from madtool import own_program

_OPTIONS = ("interface", "costs", "eager_limit", "flush_threshold", "max_blocks")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "info", help="the fabrics of this machine",
        description="Prints the network interfaces, the RDMA devices with what is in the way of using one, and, of every fabric, what it can do and costs, from which lengths "
        "on blocks are sent and received in place, and the thresholds in force; or why it cannot be used here. Of what "
        "the environment sets for MPI programs MPIR_CVAR_CH4_MAD_INTERFACE, MPIR_CVAR_CH4_MAD_COSTS_FILE, "
        "MPIR_CVAR_CH4_MAD_EAGER_LIMIT, MPIR_CVAR_CH4_MAD_FLUSH_THRESHOLD and MPIR_CVAR_CH4_MAD_MAX_BLOCKS count. Ends "
        "with 1 if a fabric that is named cannot be used.",
    )  # fmt: skip
    parser.add_argument("fabrics", nargs="*", metavar="FABRIC", help="default: all there may be")
    parser.add_argument("--interface", metavar="I", help="network interface (default: the fabric's choice)")
    parser.add_argument("--costs", metavar="FILE", help="what tools/mad calibrate wrote (default: yours, if there is "
                        "one, else built-in numbers)")  # fmt: skip
    parser.add_argument("--eager-limit", metavar="BYTES", help="as the control variable of that name")
    parser.add_argument("--flush-threshold", metavar="BYTES", help="as the control variable of that name")
    parser.add_argument("--max-blocks", metavar="N", help="as the control variable of that name")
    parser.add_argument("--self-test", action="store_true", help="have two engines of each fabric talk to each other")
    parser.set_defaults(function=_info)


def _info(arguments: argparse.Namespace) -> int:
    tested = ["--self-test"] if arguments.self_test else []
    return own_program.run("info", [*arguments.fabrics, *tested, *own_program.given(arguments, _OPTIONS)])
