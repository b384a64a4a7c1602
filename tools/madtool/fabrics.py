"""The fabrics that everything is shown on, and which of them this machine has."""

import re
import subprocess
from typing import Dict, List, Sequence, Tuple

from madtool import own_program
from madtool.errors import Failure
from madtool.stages import Tally

# tcp has everything at every run, each of the others what differs for it.  auto, between processes of one host, is shm.
OTHERS = ("auto", "ofi:tcp", "ucx:tcp", "ucx:posix,cma")
FABRICS = ("tcp", *OTHERS)
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
