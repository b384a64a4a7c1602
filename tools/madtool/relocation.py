"""Moves an installed tree to another prefix: what names the old one, in text and in programs, names the new.

Programs and libraries keep their layout: a string that names the prefix ends earlier, and zeroes fill the rest. So
the new prefix may not be longer than the old one. That reaches run paths, and names of files such as that of
mpiexec's configuration, which a change of the run path alone would leave behind.
"""

import re
from pathlib import Path

from madtool.errors import Failure


def _moved(content: bytes, old: bytes, new: bytes) -> bytes:
    if b"\0" not in content:
        return content.replace(old, new)
    if len(new) > len(old):
        raise Failure(
            f"{new.decode()} is longer than {old.decode()}, where MPICH was built for; build it for a longer "
            "prefix, or for the default one"
        )
    string = re.compile(re.escape(old) + rb"[^\0]*")
    return string.sub(lambda match: match[0].replace(old, new).ljust(len(match[0]), b"\0"), content)


def relocate(root: Path, old: str, new: str) -> None:
    """Makes all files below `root`, installed for the prefix `old`, work where they are found at `new`."""
    for path in root.rglob("*"):
        if path.is_symlink():
            if old in str(path.readlink()):
                raise Failure(f"{path} is an absolute link; installed files should refer to each other relatively")
        elif path.is_file():
            content = path.read_bytes()
            moved = _moved(content, old.encode(), new.encode())
            if moved != content:
                path.write_bytes(moved)
