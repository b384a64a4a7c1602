"""The fabrics that everything is shown on: which of them this machine has, and whose turn it is."""

import re
import subprocess
from typing import Dict, List, Sequence, Tuple

from madtool import own_program
from madtool.errors import Failure
from madtool.paths import CHECKOUT
from madtool.stages import Tally

DEFAULT = "tcp"
OTHERS = ("ofi:tcp", "ofi:shm", "ofi:sockets", "ucx:tcp", "ucx:posix,cma")
FABRICS = (DEFAULT, *OTHERS)
# libfabric's sockets does not pass everything: docs/adr/0002-ofi-msg-endpoints.md.
IN_TURN = tuple(fabric for fabric in OTHERS if fabric != "ofi:sockets")
_CANNOT = re.compile(r"^fabric (\S+) cannot be used: (.*)$", re.MULTILINE)


def unusable(fabrics: Sequence[str]) -> Dict[str, str]:
    """Those that this machine cannot have, and why, as `tools/mad info FABRIC` says."""
    command = [str(own_program.built("info")), "--interface", "lo", *fabrics]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    why = dict(_CANNOT.findall(answer.stdout))
    if answer.returncode != (1 if why else 0):
        raise Failure(f"tools/mad info ended with {answer.returncode}: {answer.stdout}")
    return why


def usable(fabrics: Sequence[str]) -> Tuple[List[str], Tally]:
    """Those that this machine has; the others counted as skipped, with the reason."""
    why = unusable(fabrics)
    notes = tuple(f"{fabric}: {words}" for fabric, words in why.items())
    return [fabric for fabric in fabrics if fabric not in why], Tally(skipped=len(why), notes=notes)


def _git(*words: str) -> str:
    answer = subprocess.run(["git", *words], cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, check=False)  # fmt: skip
    return answer.stdout.strip() if answer.returncode == 0 else ""


def turn() -> int:
    """A number that is one more at each commit, of a clone without history any other at each; 0 without git."""
    if _git("rev-parse", "--is-shallow-repository") == "false":
        return int(_git("rev-list", "--count", "HEAD") or 0)
    return int(_git("rev-parse", "HEAD")[:8] or "0", 16)


def in_turn(number: int, usable: Sequence[str]) -> str:
    """The fabric whose turn it is."""
    return usable[number % len(usable)]


def rotated(number: int, names: Sequence[str]) -> List[str]:
    """The names, beginning elsewhere each time the same fabric comes, so that none is last for ever."""
    first = number // len(OTHERS) % len(names)
    return [*names[first:], *names[:first]]
