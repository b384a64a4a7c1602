"""The file that `tools/mad selftest` writes: short, and without what tells of the place and its people."""

import csv
import getpass
import math
import os
import re
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, NamedTuple, Sequence

from madtool.bench_table import short
from madtool.paths import CHECKOUT, cache_root

MOST_LINES = 200
_MOST_COUNTERS = 25  # of a host
_WIDTH = 100
_BAR = 30
_NO_COUNTER = "lifespan"  # how long the others may be old, in ms
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
# IPv6 addresses, GIDs, GUIDs and hardware addresses.
_COLONS = re.compile(r"(?<![\w:])[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:]*(?![\w:])")
_PUBLIC_USERS = ("root", "nobody")
_LOCAL_NAMES = ("localhost", "127.0.0.1")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an id without a name
        return ""


class Scrubber:
    """Takes addresses, names of hosts that were not given, users and places out of a text."""

    def __init__(self, given: Iterable[str], hosts: Iterable[str]) -> None:
        self._given = {*given, *_LOCAL_NAMES}
        self._words = {name: "(host)" for name in hosts if name not in self._given}
        user = _user()
        if user and user not in _PUBLIC_USERS:
            self._words[user] = "(user)"
        self._places = {str(CHECKOUT): "CHECKOUT", str(cache_root()): "CACHE"}
        home = os.path.expanduser("~")
        if home != "/":
            self._places[home] = "HOME"

    def _address(self, match: "re.Match[str]") -> str:
        return match.group() if match.group() in self._given else "(address)"

    def scrub(self, text: str) -> str:
        for place, word in sorted(self._places.items(), key=lambda each: -len(each[0])):
            text = text.replace(place, word)
        for word, instead in self._words.items():
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", instead, text)
        return _COLONS.sub(self._address, _IPV4.sub(self._address, text))


class Cell(NamedTuple):
    """One size of one layout: half a round trip, the least of all."""

    layout: str
    bytes: int
    us: float

    @property
    def mb_s(self) -> float:
        return self.bytes / self.us


def cells(results: Path) -> List[Cell]:
    """What perf/pingpong wrote."""
    with results.open(newline="") as file:
        return [Cell(row["type"], int(row["bytes"]), float(row["min_us"]) / 2) for row in csv.DictReader(file)]


def _bar(part: float) -> str:
    return "#" * max(1, round(part * _BAR))


def plot(measured: Sequence[Cell], titles: Mapping[str, str]) -> List[str]:
    """Of each layout a table with bars: times on a logarithmic scale, rates on a linear one."""
    if not measured:
        return []
    least, longest = (pick(cell.us for cell in measured) for pick in (min, max))
    span = math.log(longest / least) or 1.0
    fastest = max(cell.mb_s for cell in measured)
    lines: List[str] = []
    for layout in dict.fromkeys(cell.layout for cell in measured):
        lines += [titles.get(layout, layout), f"{'bytes':>8} {'us':>10} {'(logarithmic)':<{_BAR}} {'MB/s':>9}"]
        for cell in (cell for cell in measured if cell.layout == layout):
            time = _bar(math.log(cell.us / least) / span)
            lines.append(f"{short(cell.bytes):>8} {cell.us:10.2f} {time:<{_BAR}} {cell.mb_s:9.1f} {_bar(cell.mb_s / fastest)}")
    return lines


def counted(before: Mapping[str, int], after: Mapping[str, int]) -> List[str]:
    """What a host's RDMA devices counted in between."""
    if not after:
        return ["no RDMA device counts anything here"]
    grown: Dict[str, int] = {name: value - before.get(name, 0) for name, value in after.items()
                             if value != before.get(name, 0) and not name.endswith(_NO_COUNTER)}  # fmt: skip
    lines = [f"{name} +{value}" for name, value in sorted(grown.items())]
    if len(lines) > _MOST_COUNTERS:
        lines = [*lines[:_MOST_COUNTERS], f"and {len(lines) - _MOST_COUNTERS} more"]
    return lines or ["nothing was counted"]


class Report:
    """Sections of lines; one that is too long loses its middle, and the whole fits MOST_LINES."""

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._lines: List[str] = []

    def section(self, title: str, lines: Iterable[str], most: int = 40) -> None:
        cut = [line.rstrip()[:_WIDTH * 2] for line in lines]
        if len(cut) > most:
            half = (most - 1) // 2
            cut = [*cut[:half], f"({len(cut) - 2 * half} lines are left out)", *cut[-half:]]
        self._lines += ["", f"== {title}", *cut]

    def text(self, verdict: str) -> str:
        """The verdict comes first."""
        lines = [verdict, *self._lines]
        if len(lines) > MOST_LINES:
            lines = [*lines[: MOST_LINES - 1], f"({len(lines) - MOST_LINES + 1} lines are left out)"]
        return self._scrubber.scrub("\n".join(lines) + "\n")
