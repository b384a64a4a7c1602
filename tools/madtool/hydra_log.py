"""What processes asked MPICH's launcher, hydra, as `mpiexec -v` tells it; PMI-1."""

import re
from typing import Dict, List, NamedTuple

# A request's words are on the line after its name.
_REQUEST = re.compile(r"^\[proxy:[^\]]*\] got pmi command \(from (\d+)\): (\w+)\n(.*)$", re.MULTILINE)


class Request(NamedTuple):
    """A put has a key and a value, a get a key, a fence is `barrier_in`."""

    process: int  # by hydra's number of its socket
    name: str
    key: str
    value: str


def requests(text: str) -> List[Request]:
    """In the order in which the launcher got them; of one host, whose lines come unmixed."""
    out = []
    for process, name, line in _REQUEST.findall(text):
        words: Dict[str, str] = dict(word.split("=", 1) for word in line.split() if "=" in word)
        out.append(Request(int(process), name, words.get("key", ""), words.get("value", "")))
    return out
