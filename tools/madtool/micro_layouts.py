"""The layouts of perf/micro by name, and the payloads measured of them, as its sources say before they are built."""

import re
from functools import lru_cache
from typing import Iterable, List, Tuple

from madtool.errors import Failure, Missing
from madtool.paths import CHECKOUT

SOURCES = CHECKOUT / "perf" / "micro"
_NAME = re.compile(r'^ +(?:\{|rows_kind\()"([a-z0-9-]+)", ', re.MULTILINE)
_SIZES = re.compile(r"^constexpr std::int64_t k(?:Payloads|Transposed)\[\] = \{(.+)\};$", re.MULTILINE)
_SIZE = re.compile(r"(\d+)(?: << (\d+))?")


def _text(files: Iterable[str]) -> str:
    return "\n".join((SOURCES / file).read_text() for file in files)


@lru_cache(maxsize=None)
def names() -> Tuple[str, ...]:
    found = _NAME.findall(_text(f"{part}_layouts.cc" for part in ("regular", "array", "irregular")))
    if "contiguous" not in found:
        raise Failure(f"the tables of layouts in {SOURCES} are not understood")
    return tuple(found)


def sizes() -> List[int]:
    """Payload bytes that `bench engine` measures, of layouts and of transposes."""
    lists = _SIZES.findall(_text(("layouts.h", "transpose_cell.h")))
    return sorted({int(size) << int(power or 0) for one in lists for size, power in _SIZE.findall(one)})


def check(wanted: Iterable[str]) -> None:
    """Refuses what is no layout."""
    unknown = [name for name in wanted if name not in names()]
    if unknown:
        raise Missing(f"--layouts: no {', '.join(unknown)}; there are: {', '.join(names())}")
