"""The style stage: include rules, headers that compile alone, clang-format and clang-tidy.

What a file was found good with is kept in the cache, so that only what changed is looked at again.
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Dict, List, Sequence

from madtool import layering, side_libraries
from madtool.log import say
from madtool.paths import CHECKOUT, Stamps, cache_root, digest, file_digest, tree_digest
from madtool.stages import Tally

_GOOGLETEST = "/usr/src/googletest/googletest/include"  # the package has its sources, as Bazel wants them
_LIBRARY = ("madlike/", "datatype_path/", "netmod/abi/", "netmod/modex/", "netmod/pmix/")
_GENERATED_OR_FOREIGN = ("tools/bazel/",)


def sources() -> List[str]:
    """The C and C++ files of the checkout, by path."""
    answer = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cc", "*.c", "*.h"],
        cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    paths = answer.stdout.split()
    if answer.returncode != 0:  # not a clone: an unpacked archive
        rooms = ("madlike", "datatype_path", "netmod", "tests", "perf")
        paths = sorted(str(p.relative_to(CHECKOUT)) for room in rooms for p in (CHECKOUT / room).rglob("*")
                       if p.suffix in (".cc", ".c", ".h"))  # fmt: skip
    return [p for p in paths if (CHECKOUT / p).is_file() and not p.startswith(_GENERATED_OR_FOREIGN)]


def _in_parallel(paths: Sequence[str], identity: Callable[[str], str], kind: str,
                 command: Callable[[str], List[str]]) -> Tally:  # fmt: skip
    """Runs `command(path)` for each path not known to be good; what it prints is the complaint."""
    stamps = Stamps(cache_root() / "style" / kind)

    def one(path: str) -> Tally:
        name, wanted = path.replace("/", "+"), digest(identity(path))
        if stamps.get(name) == wanted:
            return Tally(passed=1)
        answer = subprocess.run(command(path), cwd=CHECKOUT, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
        if answer.returncode != 0:
            lines = [line for line in answer.stdout.splitlines() if "warnings generated" not in line]
            return Tally(failed=1, notes=(f"{kind}: {path}\n" + "\n".join(lines[:20]),))
        stamps.set(name, wanted)
        return Tally(passed=1)

    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        return sum(pool.map(one, paths), Tally())


def _layers(paths: Sequence[str]) -> Tally:
    tally = Tally()
    for complaints in layering.check(CHECKOUT, paths).values():
        tally += Tally(failed=1, notes=tuple(complaints)) if complaints else Tally(passed=1)
    return tally


def _format(paths: Sequence[str]) -> Tally:
    config = file_digest(CHECKOUT / ".clang-format")
    return _in_parallel(paths, lambda p: config + file_digest(CHECKOUT / p), "clang-format",
                        lambda p: ["clang-format", "--dry-run", "-Werror", p])  # fmt: skip


def _headers_alone(paths: Sequence[str], library: str) -> Tally:
    headers = [p for p in paths if p.startswith(_LIBRARY) and p.endswith(".h")]

    def command(path: str) -> List[str]:
        language = ["-x", "c", "-std=c11"] if path == "netmod/abi/mad.h" else ["-x", "c++", "-std=c++17"]
        return ["g++" if "c++" in language else "gcc", *language, "-fsyntax-only", "-Wall", "-Wextra",
                "-Werror", "-Wno-unused-parameter", "-Wno-pragma-once-outside-header", "-I.",
                "-isystem", _GOOGLETEST, path]  # fmt: skip

    return _in_parallel(headers, lambda p: library + p, "header-alone", command)


def _tidy(paths: Sequence[str], library: str) -> Tally:
    config = file_digest(CHECKOUT / ".clang-tidy")
    files = [p for p in paths if p.startswith(_LIBRARY) and p.endswith(".cc") and not p.endswith("_test.cc")]

    def command(path: str) -> List[str]:
        return ["clang-tidy", "--quiet", path, "--", "-std=c++17", "-I.", "-isystem", _GOOGLETEST,
                *side_libraries.pmix_flags("--cflags")]  # fmt: skip

    return _in_parallel(files, lambda p: config + library + file_digest(CHECKOUT / p), "clang-tidy", command)


def run() -> Tally:
    """All four checks over the checkout."""
    paths = sources()
    headers = tree_digest([CHECKOUT / p for p in paths if p.startswith(_LIBRARY) and p.endswith(".h")])
    checks: Dict[str, Callable[[], Tally]] = {
        "include rules": lambda: _layers(paths),
        "clang-format": lambda: _format(paths),
        "headers alone": lambda: _headers_alone(paths, headers),
        "clang-tidy": lambda: _tidy(paths, headers),
    }
    tally = Tally()
    for name, check in checks.items():
        counted = check()
        say(f"style: {name}: {counted}")
        tally += counted
    return tally
