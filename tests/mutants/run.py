#!/usr/bin/env python3
"""Tests the tests of the checks: turns off or moves one check after the other and runs the tests that get there.

By hand, not in CI.  All mutants are built once, under AddressSanitizer, in a copy of the tree; which of them is awake
is chosen when a test starts.  Each case of the tests runs once with none, to see which checks it gets to; a mutant then
runs with the cases that get to it, of its own package first and the quickest first, until one fails.  A mutant that no
test notices has survived: either a test is missing, or the change makes no difference, which equivalent.txt then says
why.  What was found is kept, so that a run goes on where the last one stopped.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(CHECKOUT / "tools")]
sys.dont_write_bytecode = True

from madtool.paths import cache_root  # noqa: E402 pylint: disable=wrong-import-position
from mutants import Mutant, instrumented, of_source  # noqa: E402 pylint: disable=wrong-import-position

ROOMS = ("madlike/message", "madlike/driver", "datatype_path/plan", "datatype_path/serial")
# Their tests, and those elsewhere that are about their checks.
TESTS = ("//madlike/message/...", "//madlike/driver/...", "//datatype_path/plan:all", "//datatype_path/serial:all",
         "//tests/fault:all", "//tests/conformance/...", "//tests/fuzz:all")  # fmt: skip
STATE = cache_root() / "mutants"
TREE = STATE / "tree"
CAUGHT, SURVIVED, UNREACHED, STILLBORN = "caught", "survived", "no test gets there", "does not compile"
CONFIG = ("--config=asan", "--copt=-w", "--copt=-Wno-error")
ENVIRONMENT = {
    "ASAN_OPTIONS": "intercept_tls_get_addr=0:detect_leaks=0",
    "UCX_MEM_MMAP_HOOK_MODE": "none",
    "TEST_WORKSPACE": "mad",
}


def lines_of(*command: str) -> List[str]:
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()


def bazel(verb: str, *arguments: str) -> List[str]:
    command = ["bazel", f"--output_base={STATE / 'base'}", "--max_idle_secs=900", "--host_jvm_args=-Xmx768m",
               verb, *arguments]  # fmt: skip
    if verb == "build":
        command.insert(command.index(verb) + 1, f"--disk_cache={cache_root() / 'bazel-disk'}")
    done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bazel {verb} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.split()


def copy_tree() -> None:
    """All but the rooms' sources, which are only ever written with their mutants: a run may be building them."""
    names = [name for name in lines_of("git", "ls-files", "-co", "--exclude-standard") if (CHECKOUT / name).is_file()]
    for old in [path for path in TREE.rglob("*") if path.is_file() and str(path.relative_to(TREE)) not in names]:
        old.unlink()
    for name in set(names) - set(room_sources()):
        write_if_new(TREE / name, (CHECKOUT / name).read_bytes(), CHECKOUT / name)


def write_if_new(target: Path, content: bytes, model: Path) -> None:
    if target.exists() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    shutil.copymode(model, target)


def room_sources() -> List[str]:
    return [name for name in lines_of("git", "ls-files", "-co", "--exclude-standard", *ROOMS) if name.endswith((".cc", ".h"))]


def sources() -> List[str]:
    """Of the product: what only tests use is none of it."""
    only_tests = bazel("query", "labels('srcs', attr(testonly, 1, //...)) union labels('hdrs', attr(testonly, 1, //...))")
    skipped = {label[2:].replace(":", "/") for label in only_tests}
    return [name for name in room_sources() if name not in skipped]


@dataclass(frozen=True)
class Case:
    """One case of a test, or a corpus; `program` below the tree's outputs."""

    program: str
    name: str
    seconds: float
    reaches: Tuple[int, ...]


class Tests:
    """The built programs."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._outputs = Path(bazel("info", *CONFIG, "bazel-bin")[0])
        tests = bazel("query", f"kind(cc_test, {' + '.join(labels)}) except attr(tags, manual, {' + '.join(labels)})")
        corpora = bazel("query", f"kind(cc_binary, {' + '.join(labels)}) except attr(tags, manual, {' + '.join(labels)})")
        self.programs = [label[2:].replace(":", "/") for label in tests]
        self.corpora = [label[2:].replace(":", "/") for label in corpora if label.endswith("_corpus")]

    def cases(self, program: str) -> List[str]:
        if program in self.corpora:
            return [""]
        listed = subprocess.run([str(self._outputs / program), "--gtest_list_tests"], stdout=subprocess.PIPE,
                                text=True, check=True, env={**os.environ, **ENVIRONMENT}).stdout  # fmt: skip
        suite, found = "", []
        for line in listed.splitlines():
            name = line.split("#")[0].rstrip()
            if line.startswith("  "):
                found.append(suite + name.strip())
            elif name.endswith("."):
                suite = name
        return [case for case in found if "DISABLED_" not in case]

    def run(self, program: str, cases: Sequence[str], seconds: float, **environment: str) -> Tuple[bool, str]:
        """Whether they pass within `seconds`, and what was said."""
        with tempfile.TemporaryDirectory() as scratch:
            binary = self._outputs / program
            command = [str(binary), "--gtest_fail_fast", f"--gtest_filter={':'.join(cases)}"]
            if program in self.corpora:
                archive = TREE / "tests/fuzz/corpus" / (binary.name.replace("_corpus", "") + ".tar.gz")
                subprocess.run(["tar", "-xzf", str(archive), "-C", scratch], check=True)
                command = [str(binary), scratch]
            process = subprocess.Popen(command, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       errors="replace", start_new_session=True,
                                       env={**os.environ, **ENVIRONMENT, "TEST_TMPDIR": scratch, **environment})  # fmt: skip
            try:
                said, _ = process.communicate(timeout=seconds)
                return process.returncode == 0, said
            except subprocess.TimeoutExpired:
                return False, "too long"
            finally:
                end_session(process)


def end_session(process: "subprocess.Popen[str]") -> None:
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()


def probe(tests: Tests, count: int, jobs: int) -> List[Case]:
    """Runs each case alone, without a mutant: what it reaches, and how long it takes."""

    def one(entry: Tuple[str, str]) -> Optional[Case]:
        program, case = entry
        with tempfile.NamedTemporaryFile() as reached:
            reached.write(bytes(count))
            reached.flush()
            began = time.monotonic()
            passed, said = tests.run(program, [case], 120, MUTANTS_REACHED=reached.name)
            seconds = time.monotonic() - began
            marks = Path(reached.name).read_bytes()
        if not passed:
            print(f"left out, as it fails without a mutant: {program} {case}\n{said[-500:]}", flush=True)
            return None
        return Case(program, case, seconds, tuple(number for number, mark in enumerate(marks) if mark))

    entries = [(program, case) for program in (*tests.programs, *tests.corpora) for case in tests.cases(program)]
    print(f"{len(entries)} cases of {len(tests.programs) + len(tests.corpora)} tests run without a mutant ...", flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        return [case for case in pool.map(one, entries) if case]


def verdict(tests: Tests, mutant: Mutant, number: int, cases: Sequence[Case], budget: float) -> str:
    """`budget`: seconds that the cases may take without a mutant, all together."""
    package = str(Path(mutant.path).parent)
    reaching = [case for case in cases if number in case.reaches]
    if not reaching:
        return UNREACHED
    programs: Dict[str, List[Case]] = {}
    spent = 0.0
    for case in sorted(reaching, key=lambda case: (not case.program.startswith(package), case.seconds)):
        if spent + case.seconds <= budget or not programs:
            programs.setdefault(case.program, []).append(case)
            spent += case.seconds
    for program, own in programs.items():
        limit = 10 + 4 * sum(case.seconds for case in own)
        passed, said = tests.run(program, [case.name for case in own], limit, MUTANT=str(number))
        if not passed:
            return STILLBORN if "MUTANT: does not compile" in said else CAUGHT
    return SURVIVED


def equivalents() -> Dict[str, str]:
    """Reasons, by key."""
    lines = (HERE / "equivalent.txt").read_text().splitlines()
    entries = [line.rsplit("\t", 1) for line in lines if line and not line.startswith("#")]
    return {key: reason for key, reason in entries}


def load(file: Path) -> Dict[str, str]:
    return json.loads(file.read_text()) if file.exists() else {}


def report(found: Sequence[Mutant], verdicts: Dict[str, str], reasons: Dict[str, str]) -> int:
    """Prints what is known of the mutants `found`; the exit status."""
    known = [mutant for mutant in found if mutant.key in verdicts and mutant.key not in reasons]
    survivors = [mutant for mutant in known if verdicts[mutant.key] in (SURVIVED, UNREACHED)]
    counted = [f"{sum(verdicts[mutant.key] == verdict for mutant in known)} {verdict}"
               for verdict in (CAUGHT, SURVIVED, UNREACHED, STILLBORN)]  # fmt: skip
    equal = sum(mutant.key in reasons for mutant in found)
    for mutant in survivors:
        print(f"{verdicts[mutant.key]}: {mutant}\n    key: {mutant.key}")
    print(f"{len(found)} mutants, {len(known)} tried: {', '.join(counted)}; {equal} are equivalent")
    files = {mutant.path for mutant in found}
    stale = {key for key in reasons if key.split("\t")[0] in files} - {mutant.key for mutant in found}
    if stale:
        print("equivalent.txt has what is no mutant (any more):\n" + "\n".join(sorted(stale)))
    return 1 if survivors or stale else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"whose mutants to try; all of {', '.join(ROOMS)}")
    parser.add_argument("--list", action="store_true", help="print the mutants and do nothing")
    parser.add_argument("--report", action="store_true", help="print what is known and do nothing")
    parser.add_argument("--again", action="store_true", help="try the survivors once more, after tests were added")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so many; the next run goes on")
    parser.add_argument("--budget", type=float, default=30, metavar="SECONDS",
                        help="of tests for one mutant, by the time they take without one (default: %(default)s)")  # fmt: skip
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="LABEL",
                        help="the tests to run; all that are about these checks")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="tests at once (default: one a core)")
    return parser.parse_args()


def built(texts: Dict[str, str], numbered: Dict[str, List[int]], count: int, options: argparse.Namespace) -> Tuple[Tests, List[Case]]:
    """Builds all mutants; what the cases reach is kept as long as the tree stays as it is."""
    for name in room_sources():
        content = instrumented(texts[name], numbered[name]) if name in texts else (CHECKOUT / name).read_text()
        write_if_new(TREE / name, content.encode(), CHECKOUT / name)
    print(f"{count} mutants in {len(texts)} sources; building their tests ...", flush=True)
    bazel("build", "--keep_going", *CONFIG, "--build_tests_only=false", *options.tests)
    tests = Tests(options.tests)
    digest = hashlib.sha256(" ".join(options.tests).encode())
    for file in sorted(path for path in TREE.rglob("*") if path.suffix in (".cc", ".h") or path.name == "BUILD"):
        digest.update(file.read_bytes())
    kept = STATE / "cases.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    if known.get("tree") != digest.hexdigest():
        cases = probe(tests, count, options.jobs)
        entries = [[case.program, case.name, case.seconds, case.reaches] for case in cases]
        known = {"tree": digest.hexdigest(), "cases": entries}
        kept.write_text(json.dumps(known))
    return tests, [Case(program, name, seconds, tuple(reaches)) for program, name, seconds, reaches in known["cases"]]


def main() -> int:
    options = arguments()
    copy_tree()
    texts = {name: (CHECKOUT / name).read_text() for name in sources()}
    found = [mutant for name, text in texts.items() for mutant in of_source(name, text)]
    wanted = [mutant for mutant in found if not options.files or mutant.path in options.files]
    if options.list:
        print("\n".join(map(str, wanted)))
        return 0
    results = STATE / "verdicts.json"
    verdicts, reasons = load(results), equivalents()
    retried = (None, SURVIVED, UNREACHED) if options.again else (None,)
    left = [(number, mutant) for number, mutant in enumerate(found)
            if mutant in wanted and mutant.key not in reasons and verdicts.get(mutant.key) in retried]  # fmt: skip
    if options.report or not left:
        return report(wanted, verdicts, reasons)
    numbered: Dict[str, List[int]] = {name: [] for name in texts}
    for number, mutant in enumerate(found):
        numbered[mutant.path].append(number)
    tests, cases = built(texts, numbered, len(found), options)
    stop = time.monotonic() + 60 * options.minutes
    lock = threading.Lock()
    done = 0

    def attempt(entry: Tuple[int, Mutant]) -> None:
        nonlocal done
        if time.monotonic() > stop:
            return
        number, mutant = entry
        began = time.monotonic()
        outcome = verdict(tests, mutant, number, cases, options.budget)
        with lock:
            done += 1
            verdicts[mutant.key] = outcome
            results.write_text(json.dumps(verdicts, indent=1))
            print(f"[{done}/{len(left)}] {outcome} after {time.monotonic() - began:.1f} s: {mutant}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(attempt, left))
    return report(wanted, verdicts, reasons)


if __name__ == "__main__":
    sys.exit(main())
