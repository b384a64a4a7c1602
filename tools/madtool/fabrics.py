"""The fabrics that everything is shown on, and which of them this machine has."""

import re
import subprocess
from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple

from madtool import own_program
from madtool.errors import Failure, Missing
from madtool.paths import CHECKOUT
from madtool.stages import Tally

_TABLE = CHECKOUT / "netmod" / "abi" / "fabric.cc"
_ROW = re.compile(r'^ *\{"(.+)", \w+, Within::k(\w+), Tested::k(\w+), Asked::k(\w+)\},$', re.MULTILINE)


@dataclass(frozen=True)
class Fabric:
    """A name that a user may give, as libmad's table has it."""

    name: str
    within: str  # Memory or Sockets: what carries packets between processes of one host
    tested: str  # InFull, Differing, ByAnother, InLab, Never
    asked: str


def _table(source: str) -> Tuple[Fabric, ...]:
    rows = _ROW.findall(source)
    if not rows or len(rows) != source.count(", Within::k"):
        raise Failure(f"{_TABLE}: {len(rows)} rows of the table of fabrics are understood, of {source.count(', Within::k')}")
    return tuple(Fabric(*row) for row in rows)


TABLE = _table(_TABLE.read_text())
_FULL, OTHERS = (tuple(fabric.name for fabric in TABLE if fabric.tested == kind) for kind in ("InFull", "Differing"))
FABRICS = (*_FULL, *OTHERS)
IN_LAB = tuple(fabric.name for fabric in TABLE if fabric.tested == "InLab")
CANNOT = re.compile(r"^fabric (\S+) cannot be used: (.*)$", re.MULTILINE)


def in_memory(fabric: str) -> bool:
    """Whether processes of one host send through memory by it, or by the first of a list, and not through sockets."""
    first = fabric.split(";")[0]
    rows = [row for row in TABLE if first.startswith(row.name)]
    return bool(rows) and max(rows, key=lambda row: len(row.name)).within == "Memory"


def _is_known(fabric: str) -> bool:
    """As libmad's find_fabric() does: a row's name, or something else in the place of its capitals."""
    family, colon, rest = fabric.partition(":")
    return any(fabric == row.name or (row.name[-1].isupper() and bool(rest) and row.name.startswith(family + colon))
               for row in TABLE)  # fmt: skip


def check(names: str) -> None:
    """Refuses what can be no fabric, also in a list of them, before anything is built for it."""
    unknown = [fabric for fabric in names.split(";") if not _is_known(fabric)]
    if unknown:
        known = ", ".join(row.name for row in TABLE if row.tested != "Never")
        raise Missing(f"no fabric {', '.join(map(repr, unknown))}; the fabrics are {known}")


def unusable(fabrics: Sequence[str]) -> Dict[str, str]:
    """Those that this machine cannot have, and why, as `tools/mad info FABRIC` says."""
    command = [str(own_program.built("info")), "--interface", "lo", *fabrics]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    why = dict(CANNOT.findall(answer.stdout))
    if answer.returncode != (1 if why else 0):
        raise Failure(f"tools/mad info ended with {answer.returncode}: {answer.stdout}")
    return why


def usable(fabrics: Sequence[str], needed: Sequence[str] = ()) -> Tuple[List[str], Tally]:
    """Those that this machine has; the others counted as skipped, those needed as failed, with the reason."""
    why = unusable(fabrics)
    lacking = [fabric for fabric in fabrics if any(part in why for part in fabric.split(";"))]
    failed = sum(fabric in needed for fabric in lacking)
    notes = tuple(f"{fabric}: {words}" for fabric, words in why.items())
    return ([fabric for fabric in fabrics if fabric not in lacking],
            Tally(failed=failed, skipped=len(lacking) - failed, notes=notes))  # fmt: skip
