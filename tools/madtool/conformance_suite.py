"""MPICH's own test suite against an installed MPI: configured out of tree in the cache, compiled, run.

The suite is the release's, untouched.  Its programs are compiled beforehand on all cores and kept, since
its runner compiles them one by one; libmpi is shared, so they stay good when the library changes.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Tuple

from madtool import conformance_results as results
from madtool import lock, mpich_build, source
from madtool.errors import Failure, Missing
from madtool.log import run_logged, say, stage
from madtool.paths import Stamps, cache_root, digest, file_digest, logs_dir

# Not maintainer mode: it writes into the source, from several directories at once.
_OPTIONS = ("--enable-threads=multiple", "--disable-maintainer-mode")
# The suite's configure takes the bindings of Fortran 2008 for there only where it is called by MPICH's own; all but
# this library is ready for them nevertheless.
_F08 = ("libmtest_f08.la", "libmtest_f08_la_OBJECTS=mtest_f08.lo")
# The whole suite's mpiexec calls go through this: each leaves a line, which is how far it has come. Another mpiexec
# may be named that does the work.
_MPIEXEC = """#!/bin/sh
echo "$PWD $*" >> "$MAD_SUITE_PROGRESS"
exec "${{MAD_SUITE_MPIEXEC:-{mpiexec}}}" "$@"
"""
# The runner has each program made once more before it starts it: reading the Makefile takes as long as a short test.
_MAKE = """#!/bin/sh
[ $# -eq 1 ] && [ -x "$1" ] || exec {make} "$@"
"""
# What libtool does for a program of the suite, in a third of the time: all its libraries are archives.
_LINK = """#!/bin/sh
for word; do
  shift
  case $word in
    --silent | --tag=* | --mode=link) continue ;;
    */.libs/*.la) word=${word%.la}.a ;;
    *.la) word=${word%/*}/.libs/${word##*/} word=${word%.la}.a ;;
  esac
  set -- "$@" "$word"
done
exec "$@"
"""


@dataclass(frozen=True)
class Suite:
    """The suite configured for one MPI."""

    prefix: Path
    home: Path

    @property
    def objects(self) -> Path:
        return self.home / "build"

    @property
    def commands(self) -> Path:
        """What the runner finds before the system's own."""
        return self.home / "bin"

    @property
    def link(self) -> Path:
        return self.home / "link"

    @property
    def mpiexec(self) -> Path:
        return self.commands / "mpiexec"


def _suite_source(mpich: "str | None") -> Tuple[Path, str]:
    """test/mpi of the release source; unpacked once."""
    origin = source.obtain(mpich)
    home = cache_root() / "suite-source" / digest(origin.identity)
    tree = home / f"mpich-{source.RELEASE}"
    if not tree.is_dir():
        with stage("suite: unpacking MPICH's test suite"):
            source.unpack(origin, tree)
    return tree / "test" / "mpi", origin.identity


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def environment() -> Dict[str, str]:
    environment = dict(os.environ)
    wrappers = Path("/usr/lib/ccache")
    if (wrappers / "gcc").exists():
        environment["PATH"] = f"{wrappers}:{environment.get('PATH', '')}"
    return environment


def prepare(prefix: Path, mpich: "str | None" = None) -> Suite:
    """Configures the suite for the MPI in `prefix` and builds what its programs share."""
    with lock.held(cache_root() / "suite.lock", "suite"):
        return _prepare(prefix, mpich)


def _options(prefix: Path) -> List[str]:
    """What the suite is configured with: all languages that the MPI has a compiler for."""
    has = {name: (prefix / "bin" / name).is_file() for name in ("mpicxx", "mpifort")}
    return [*_OPTIONS, *([] if has["mpicxx"] else ["--disable-cxx"]),
            "--enable-fortran=" + ("all" if has["mpifort"] else "none")]  # fmt: skip


def _make_shared(suite: Suite, directory: str, *targets: str) -> None:
    """Makes what the programs of the suite link."""
    run_logged(["make", f"-j{os.cpu_count() or 2}", *targets], logs_dir() / f"suite-{directory}.log",
               f"suite: {directory}", cwd=suite.objects / directory, env=environment())  # fmt: skip


def _prepare(prefix: Path, mpich: "str | None") -> Suite:
    for name in ("mpicc", "mpiexec"):
        if not (prefix / "bin" / name).is_file():
            raise Missing(f"no MPI in {prefix}: bin/{name} is missing")
    tree, identity = _suite_source(mpich)
    suite = Suite(prefix, cache_root() / "conformance" / digest(str(prefix), identity))
    stamps = Stamps(suite.home / "stamps")
    options = _options(prefix)
    wanted = digest(*options, file_digest(prefix / "include" / "mpi.h"), file_digest(prefix / "bin" / "mpicc"))
    suite.commands.mkdir(parents=True, exist_ok=True)
    script(suite.mpiexec, _MPIEXEC.format(mpiexec=prefix / "bin" / "mpiexec"))
    script(suite.link, _LINK)
    script(suite.commands / "make", _MAKE.format(make=shutil.which("make")))
    if stamps.get("configured") == wanted:
        return suite
    stamps.clear("configured")
    shutil.rmtree(suite.objects, ignore_errors=True)
    suite.objects.mkdir(parents=True)
    (suite.objects / "source").symlink_to(tree)
    with stage("suite: configure"):
        run_logged([str(tree / "configure"), f"--with-mpi={prefix}", *options],
                   logs_dir() / "suite-configure.log", "suite: configure", cwd=suite.objects,
                   env=environment(), count="^checking ", unit="checks")  # fmt: skip
        _make_shared(suite, "dtpools")
        _make_shared(suite, "util")
        if "--enable-fortran=all" in options:
            _make_shared(suite, "util", *_F08)
    stamps.set("configured", wanted)
    return suite


def directories(suite: Suite) -> List[str]:
    """The directories that have a list of tests."""
    return sorted(p.parent.name for p in (suite.objects / "source").glob("*/testlist*")
                  if (suite.objects / p.parent.name).is_dir())  # fmt: skip


def expected(suite: Suite, directory: str) -> List[results.Listed]:
    try:
        return list(results.listed_tests(suite.objects, directory))
    except OSError as error:
        raise Missing(f"the suite has no tests in {directory}: {error}") from error


def compile_programs(suite: Suite, tests: List[results.Listed]) -> None:
    """Compiles what is listed, directories side by side; what does not compile is reported by the suite's runner."""
    places: Dict[str, List[str]] = {}
    for test in tests:
        if not (suite.objects / test.directory / test.program).exists():
            places.setdefault(test.directory, []).append(test.program)
    if not places:
        return
    # Directories as targets of one make, so that it has work for all cores to the end.
    lines = [f"all: {' '.join(places)}"]
    lines += [f"{place}:\n\t+@$(MAKE) -k -C $@ {' '.join(dict.fromkeys(names))}" for place, names in places.items()]
    makefile = suite.home / "compile.mk"
    makefile.write_text("\n".join([f".PHONY: all {' '.join(places)}", *lines]) + "\n")
    command = ["make", "-k", f"-j{os.cpu_count() or 2}", "-f", str(makefile), f"LIBTOOL={suite.link}"]
    run_logged(command, logs_dir() / "suite-compile.log", "suite: compiling", cwd=suite.objects, env=environment(),
               count=r"^\s+(CC|CXX|FC|F77|PPFC)LD\s", unit="programs", total=sum(map(len, places.values())),
               check=False)  # fmt: skip


def version(prefix: Path) -> str:
    """What the MPI says it is, in one line."""
    answer = subprocess.run([str(prefix / "bin" / "mpichversion")], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False)  # fmt: skip
    facts = [" ".join(line.split()) for line in answer.stdout.splitlines() if "Version:" in line or "Device:" in line]
    return ", ".join(facts) or "an MPI without mpichversion"


def mad_suite() -> Suite:
    """The suite for this checkout's own MPI."""
    build = mpich_build.ensure_as_before()
    say(f"suite: {version(build.prefix)}")
    return prepare(build.prefix, mpich_build.named_source())
