"""Who may include whom: the rules of docs/architecture.md, checked on the #include lines.

Bazel's visibility says which targets may be linked; this says the same of every header, so that a room that
looks up is told about by file and line.
"""

import re
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Set, Tuple

# A room, and what its files may include besides its own.  The longest name that fits a file is its room.
RULES: Dict[str, Tuple[str, ...]] = {
    "madlike/base": (),
    "madlike/checksum": (),
    "madlike/match": ("madlike/base",),
    "madlike/driver": ("madlike/base",),
    "madlike/message": (
        "madlike/base", "madlike/checksum", "madlike/driver/driver.h", "madlike/match/envelope.h",
    ),
    "datatype_path/describe": ("madlike/base",),
    "datatype_path/kernels": ("madlike/base",),
    "datatype_path/program": ("madlike/base", "datatype_path/describe", "datatype_path/kernels"),
    "datatype_path/cursor": ("madlike/base", "datatype_path/program", "datatype_path/kernels"),
    "datatype_path/serial": ("madlike/base", "datatype_path/program"),
    "datatype_path/explain": ("datatype_path/describe", "datatype_path/program"),
    "datatype_path/checksum": ("madlike/checksum", "datatype_path/cursor"),
    "datatype_path/typed": ("madlike/base", "datatype_path/describe"),
    "datatype_path/signature": ("madlike/base", "datatype_path/describe", "datatype_path/typed"),
    "datatype_path/convert": ("madlike/base", "datatype_path/describe", "datatype_path/typed"),
    "datatype_path/plan": ("madlike/base", "madlike/driver/driver.h", "datatype_path/program"),
    "datatype_path/transfer": (
        "madlike/base", "madlike/driver/driver.h", "madlike/message",
        "datatype_path/program", "datatype_path/cursor", "datatype_path/plan", "datatype_path/convert",
    ),
    "netmod/modex": ("madlike/base",),
    "netmod/pmix": ("netmod/mpich/mad_pmi.h",),
    "netmod/abi": ("madlike", "datatype_path", "netmod/modex"),
}  # fmt: skip
# A driver knows the interface, what drivers share and itself, not the other drivers; a wrapper of drivers is a driver
# too.
_DRIVERS = "madlike/driver/"
_SHARED = tuple(f"madlike/driver/{room}" for room in ("ip", "connections", "door", "memory", "rdma", "libfabric"))
_TESTS = ("tests/", "gtest/")
_QUOTED = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
_MPI = re.compile(r'^\s*#\s*include\s+[<"](mpi\.h|mpidimpl\.h|mpiimpl\.h|mpix_mad\.h)[>"]')


def room_of(path: str) -> Optional[str]:
    """The room of a file by its path in the checkout, or None if no rule is about it."""
    if path.startswith(_DRIVERS) and path.count("/") > 2:
        return path.rsplit("/", 1)[0]
    fitting = [room for room in RULES if path.startswith(room + "/")]
    return max(fitting, key=len, default=None)


def _allowed(room: str) -> Sequence[str]:
    if room.startswith(_DRIVERS):
        return ("madlike/base", "madlike/driver/driver.h", *_SHARED)
    return RULES[room]


def _within(include: str, place: str) -> bool:
    return include == place or include.startswith(place + "/")


_RULE = re.compile(r"^\w+\(\n(.*?)^\)", re.DOTALL | re.MULTILINE)


def test_support(build: str) -> Set[str]:
    """The files of a BUILD's `testonly` targets: they are for tests, and looked at as tests."""
    rules = [body for body in _RULE.findall(build) if "testonly = True" in body]
    return {name for body in rules for name in re.findall(r'"([^":/]+\.(?:h|cc))"', body)}


def violations(path: str, text: str, is_test: bool = False) -> List[str]:
    """What `path`, with this content, includes and may not.

    Tests may also use other tests' support and, in madlike/, a concrete driver to test with.
    """
    room = room_of(path)
    is_test = is_test or path.rsplit(".", 1)[0].endswith("_test")
    if room is None:
        return []
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if _MPI.match(line):
            found.append(f"{path}:{number}: {room} must not know MPI: {line.strip()}")
        match = _QUOTED.match(line)
        if match is None:
            continue
        include = match.group(1)
        if is_test and include.startswith(_TESTS if room.startswith(_DRIVERS) else (*_TESTS, _DRIVERS)):
            continue
        own = _within(include, room) and room_of(include) == room
        if not own and not any(_within(include, place) for place in _allowed(room)):
            found.append(f"{path}:{number}: {room} must not include {include}")
    return found


def check(checkout: Path, paths: Sequence[str]) -> Dict[str, List[str]]:
    """The violations of every file that has a room."""
    found = {}
    for path in paths:
        if room_of(path) is None:
            continue
        build = (checkout / path).parent / "BUILD"
        support = test_support(build.read_text()) if build.is_file() else set()
        text = (checkout / path).read_text(errors="replace")
        found[path] = violations(path, text, Path(path).name in support)
    return found
