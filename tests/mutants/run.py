#!/usr/bin/env python3
"""Tests the tests of the checks: breaks one check after the other in a copy of the tree, and runs what depends on it.

By hand, not in CI.  A mutant that no test notices has survived: either a test is missing, or the change makes no
difference, which equivalent.txt then says why.  What was found is kept, so that a run goes on where the last one
stopped; --again tries the survivors once more, after tests were added.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, Sequence

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(CHECKOUT / "tools")]
sys.dont_write_bytecode = True

from madtool.paths import cache_root  # noqa: E402 pylint: disable=wrong-import-position
from mutants import Mutant, applied, of_source  # noqa: E402 pylint: disable=wrong-import-position

ROOMS = ("madlike/message", "madlike/driver", "datatype_path/plan", "datatype_path/serial")
# Tests elsewhere that are about a room's checks: run where those of its own package notice nothing.
OUTER = {
    "madlike/message": ("//tests/fault:all",),
    "madlike/driver": ("//tests/conformance/...",),
    "datatype_path": ("//tests/fuzz:all",),
}
SECONDS = 120  # for one test
STATE = cache_root() / "mutants"
CAUGHT, SURVIVED, STILLBORN = "caught", "survived", "does not compile"
TESTS_FAILED, NO_TESTS = 3, 4  # bazel's exit codes


def sources() -> List[str]:
    listed = subprocess.run(["git", "ls-files", *ROOMS], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return [name for name in listed.stdout.split()
            if name.endswith((".cc", ".h")) and not name.endswith("_test.cc")]  # fmt: skip


class Tree:
    """A copy of the checkout with its own outputs."""

    def __init__(self) -> None:
        self._root = STATE / "tree"
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=CHECKOUT, stdout=subprocess.PIPE,
                               text=True, check=True).stdout.split("\n")  # fmt: skip
        kept = {name for name in names if name and (CHECKOUT / name).is_file()}
        for old in [path for path in self._root.rglob("*") if path.is_file()]:
            if str(old.relative_to(self._root)) not in kept:
                old.unlink()
        for name in kept:
            self._copy(name)

    def _copy(self, name: str) -> None:
        source, target = CHECKOUT / name, self._root / name
        if target.exists() and target.read_bytes() == source.read_bytes():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)

    def _bazel(self, verb: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = ["bazel", f"--output_base={STATE / 'base'}", "--max_idle_secs=900", "--host_jvm_args=-Xmx768m",
                   verb, *arguments]  # fmt: skip
        return subprocess.run(command, cwd=self._root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)  # fmt: skip

    def tests_of(self, path: str) -> List[str]:
        """Of its own package."""
        package = str(Path(path).parent)
        query = f"kind('.*_test', rdeps(//{package}:all, //{package}:{Path(path).name}))"
        return self._bazel("query", query).stdout.split()

    def outer_tests_of(self, path: str) -> List[str]:
        package = str(Path(path).parent)
        places = [place for room, places in OUTER.items() if path.startswith(room) for place in places]
        queries = [f"kind('.*_test', rdeps({place}, //{package}:{Path(path).name})) except attr(tags, manual, {place})"
                   for place in places]  # fmt: skip
        return [name for query in queries for name in self._bazel("query", query).stdout.split()]

    def test(self, names: Sequence[str], unchanged: bool = False) -> str:
        # Objects of unchanged sources come from the cache that all checkouts share; those of mutants stay out of it.
        cache = [f"--disk_cache={cache_root() / 'bazel-disk'}"] if unchanged else []
        done = self._bazel("test", *cache, "--copt=-Wno-error", f"--test_timeout={SECONDS}", "--notest_keep_going",
                           "--test_output=summary", *names)  # fmt: skip
        if done.returncode in (0, NO_TESTS):
            return SURVIVED
        return CAUGHT if done.returncode == TESTS_FAILED else STILLBORN

    def verdict(self, mutant: Mutant) -> str:
        file = self._root / mutant.path
        source = file.read_text()
        file.write_text(applied(mutant, source))
        try:
            inner = self.test(self.tests_of(mutant.path))
            return inner if inner != SURVIVED else self.test(self.outer_tests_of(mutant.path))
        finally:
            file.write_text(source)


def equivalents() -> Dict[str, str]:
    """Reasons, by key."""
    lines = (HERE / "equivalent.txt").read_text().splitlines()
    entries = [line.rsplit("\t", 1) for line in lines if line and not line.startswith("#")]
    return {key: reason for key, reason in entries}


def load(results: Path) -> Dict[str, str]:
    return json.loads(results.read_text()) if results.exists() else {}


def report(found: Sequence[Mutant], verdicts: Dict[str, str], reasons: Dict[str, str]) -> int:
    known = [mutant for mutant in found if mutant.key in verdicts]
    survivors = [mutant for mutant in known if verdicts[mutant.key] == SURVIVED and mutant.key not in reasons]
    print(f"{len(found)} mutants, {len(known)} tried: "
          + ", ".join(f"{sum(verdicts[m.key] == verdict for m in known)} {verdict}"
                      for verdict in (CAUGHT, SURVIVED, STILLBORN))
          + f"; {sum(m.key in reasons for m in found)} are equivalent")  # fmt: skip
    for mutant in survivors:
        print(f"survived: {mutant}\n    key: {mutant.key}")
    return 1 if survivors else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"sources to break; all of {', '.join(ROOMS)}")
    parser.add_argument("--list", action="store_true", help="print the mutants and do nothing")
    parser.add_argument("--report", action="store_true", help="print what is known and do nothing")
    parser.add_argument("--again", action="store_true", help="try the survivors again")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so many; the next run goes on")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    files = options.files or sources()
    found = [mutant for name in files for mutant in of_source(name, (CHECKOUT / name).read_text())]
    if options.list:
        print("\n".join(map(str, found)))
        return 0
    results = STATE / "verdicts.json"
    verdicts, reasons = load(results), equivalents()
    stop = time.monotonic() + 60 * options.minutes
    left = [mutant for mutant in found if mutant.key not in reasons
            and (mutant.key not in verdicts or options.again and verdicts[mutant.key] == SURVIVED)]  # fmt: skip
    if options.report or not left:
        return report(found, verdicts, reasons)
    tree = Tree()
    for name in sorted({mutant.path for mutant in left}):
        if tree.test(tree.tests_of(name), unchanged=True) != SURVIVED:
            sys.exit(f"the tests of {name} fail without a mutant")
    for number, mutant in enumerate(left, start=1):
        if time.monotonic() > stop:
            break
        began = time.monotonic()
        verdicts[mutant.key] = tree.verdict(mutant)
        print(f"[{number}/{len(left)}] {verdicts[mutant.key]} after {time.monotonic() - began:.0f} s: {mutant}", flush=True)
        results.write_text(json.dumps(verdicts, indent=1))
    return report(found, verdicts, reasons)


if __name__ == "__main__":
    sys.exit(main())
