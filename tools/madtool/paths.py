"""Where things are: the checkout, and the cache outside it that holds everything built."""

import hashlib
import io
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterable, Iterator, Optional, TextIO

from madtool.errors import Missing

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise Missing("no home directory, where the cache would be; set MAD_CACHE") from error


def cache_root() -> Path:
    """$MAD_CACHE, or mad under $XDG_CACHE_HOME or ~/.cache.  Made if it is not there."""
    named = os.environ.get("MAD_CACHE")
    if named:
        root = Path(named).absolute()
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache").absolute() / "mad"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Missing(f"the cache cannot be made: {error}; MAD_CACHE names its place") from error
    return root


def logs_dir() -> Path:
    return cache_root() / "logs"


def digest(*parts: str) -> str:
    """A short hash of some strings."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode()
        hasher.update(str(len(data)).encode() + b":" + data)
    return hasher.hexdigest()[:16]


def file_digest(path: Path) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            hasher.update(block)
    return hasher.hexdigest()


def tree_digest(roots: Iterable[Path]) -> str:
    """A hash of the names and contents of all files at or below `roots`."""
    parts = []
    for root in roots:
        files = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.is_file())
        for path in files:
            if "__pycache__" not in path.parts:
                parts += [str(path.relative_to(root.parent)), file_digest(path)]
    return digest(*parts)


class Stamps:
    """Remembers, per stage, what the stage was last completed with."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, stage: str) -> Optional[str]:
        try:
            return (self._directory / stage).read_text()
        except OSError:
            return None

    def clear(self, stage: str) -> None:
        (self._directory / stage).unlink(missing_ok=True)

    def set(self, stage: str, value: str) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        write_atomically(self._directory / stage, value)


def _stays(path: Path) -> bool:
    """Whether it is no file of its own, but a link or a device, and is written where it is."""
    return path.is_symlink() or (path.exists() and not path.is_file())


def write_atomically(path: Path, text: str) -> None:
    if _stays(path):
        path.write_text(text)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def output_file(option: str, name: str) -> Path:
    """Where a command is to write what comes of it; Missing, before anything is done for it: it could not."""
    path = Path(name).absolute()
    if not path.parent.is_dir():
        raise Missing(f"{option} {name}: there is no such directory")
    if path.is_dir() or not os.access(path if _stays(path) else path.parent, os.W_OK):
        raise Missing(f"{option} {name}: it cannot be written")
    return path


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """What is written within takes the file's place at the end, if that is reached."""
    text = io.StringIO()
    yield text
    write_atomically(path, text.getvalue())


def _settings_file() -> Path:
    return cache_root() / "checkouts" / (digest(str(CHECKOUT)) + ".json")


def load_settings() -> "dict[str, Any]":
    """The options of this checkout's last `build`."""
    try:
        settings = json.loads(_settings_file().read_text())
        return settings if isinstance(settings, dict) else {}
    except (OSError, ValueError):
        return {}


def save_settings(settings: "dict[str, Any]") -> None:
    _settings_file().parent.mkdir(parents=True, exist_ok=True)
    write_atomically(_settings_file(), json.dumps(settings, indent=1))
