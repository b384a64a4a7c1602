"""Puts the `mad` netmod into an MPICH source tree and regenerates what depends on it.

Files are written only when their content changes, and generated files keep their time stamps when they come
out the same, so that a second run changes nothing and `make` rebuilds only what is affected.
"""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

from madtool import tree_edits
from madtool.errors import Missing
from madtool.log import run_logged, say
from madtool.paths import CHECKOUT, Stamps, digest, file_digest, logs_dir, tree_digest
from madtool.source import check_release_tree

NETMOD = CHECKOUT / "netmod" / "mpich"
_IN_TREE = "src/mpid/ch4/netmod/mad"
_GENERATED_HERE = ("func_table.c", "mad_noinline.h")
_BUILD_FILES = ("Makefile.mk", "subconfigure.m4")
_TABLES = (
    "src/include/mpir_cvars.h",
    "src/util/mpir_cvars.c",
    "README.envvar",
    "src/mpi/errhan/defmsg.h",
    "test/mpi/errhan/errcode.c",
)
_GENERATE_API = """
import os, sys
sys.path.insert(0, "maint")
import gen_ch4_api as generator
generator.load_ch4_api("./src/mpid/ch4/ch4_api.txt")
generator.dump_func_table_c("%(dir)s/func_table.c", "mad")
generator.dump_noinline_h("%(dir)s/mad_noinline.h", "mad", True)
""" % {"dir": _IN_TREE}
# The order is autogen.sh's: `configure` and `make` must find everything newer than its sources.
_GENERATE_TABLES = """
set -e
(cd maint && ./configure)
maint/extractcvars --dirs="$(cat maint/cvardirs)"
maint/extracterrmsgs -skip=src/util/multichannel/mpi.c $(cat maint/errmsgdirs) > src/mpi/errhan/defmsg.h.new
test -s src/mpi/errhan/defmsg.h.new
mv src/mpi/errhan/defmsg.h.new src/mpi/errhan/defmsg.h
"""


def netmod_files() -> List[Path]:
    """The files of the netmod that go into the tree."""
    files = sorted(p for p in NETMOD.glob("*") if p.suffix in (".c", ".h", ".mk", ".m4", ".txt"))
    for needed in (*_BUILD_FILES, "mad_pre.h", "netmod_inline.h", "errnames.txt"):
        if NETMOD / needed not in files:
            raise Missing(f"this checkout has no netmod/mpich/{needed}")
    return files


def identity() -> str:
    """Changes when anything that goes into the tree does."""
    return tree_digest([*netmod_files(), Path(tree_edits.__file__), Path(__file__)])


def build_files_identity() -> str:
    """Changes when MPICH must be configured anew."""
    parts = [file_digest(NETMOD / name) for name in _BUILD_FILES]
    edits = [edit.new for edit in tree_edits.EDITS if edit.path.endswith((".mk", ".m4", ".am", ".ac"))]
    return digest(*parts, *edits)


_DATE = re.compile(rb"^[ *]+(on|at): .*$", re.MULTILINE)  # extractcvars writes the time into its header


@contextmanager
def _times_kept(tree: Path, names: "Tuple[str, ...]") -> Iterator[None]:
    """Files that come out of the block with the same content, but for the date in it, stay as they were."""
    before: Dict[Path, Tuple[bytes, int]] = {}
    for name in names:
        path = tree / name
        if path.is_file():
            before[path] = (path.read_bytes(), path.stat().st_mtime_ns)
    yield
    for path, (content, time_ns) in before.items():
        if path.is_file() and _DATE.sub(b"", path.read_bytes()) == _DATE.sub(b"", content):
            path.write_bytes(content)
            os.utime(path, ns=(time_ns, time_ns))


def _copy(tree: Path) -> List[str]:
    """Brings the netmod's directory in line with the checkout; returns the names changed or removed."""
    target = tree / _IN_TREE
    target.mkdir(exist_ok=True)
    wanted = {path.name: path.read_bytes() for path in netmod_files() if path.name not in _GENERATED_HERE}
    changed = []
    for name, content in wanted.items():
        path = target / name
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)
            changed.append(name)
    for path in target.iterdir():
        if path.is_file() and path.name not in wanted and path.name not in _GENERATED_HERE \
                and not path.name.startswith("."):  # fmt: skip
            path.unlink()
            changed.append(path.name)
    return changed


def install_into(tree: Path) -> bool:
    """Makes `tree` an MPICH with the mad netmod, ready for ./configure; False: it already was.

    An interrupted run is completed by the next: the stamps in the tree are written last.
    """
    check_release_tree(tree)
    stamps = Stamps(tree / _IN_TREE / ".mad")
    whole, build = identity(), build_files_identity()
    changed = _copy(tree) + tree_edits.apply_all(tree, tree / _IN_TREE / ".mad" / "before")
    if not changed and stamps.get("tree") == whole:
        return False
    stamps.clear("tree")
    log = logs_dir() / "install-into.log"
    generated = tuple(f"{_IN_TREE}/{name}" for name in _GENERATED_HERE)
    with _times_kept(tree, generated):
        run_logged([sys.executable, "-B", "-c", _GENERATE_API], log, "gen_ch4_api", cwd=tree)
    with _times_kept(tree, _TABLES):
        run_logged(["sh", "-c", _GENERATE_TABLES], log, "control variables and error messages", cwd=tree)
    if stamps.get("build") != build:
        stamps.clear("build")
        say("netmod: regenerating MPICH's configure (about half a minute)")
        run_logged(["sh", "-ec", "maint/gen_subcfg_m4; autoreconf -if"], log, "autoreconf", cwd=tree)
        stamps.set("build", build)
    stamps.set("tree", whole)
    return True


def need_autotools() -> None:
    """Stops with the one line to type when install-into would fail half-way."""
    tools = {"autoreconf": "autoconf", "automake": "automake", "libtoolize": "libtool", "m4": "m4",
             "perl": "perl"}  # fmt: skip
    lacking = [p for t, p in tools.items()
               if subprocess.run(["sh", "-c", f"command -v {t}"], stdout=subprocess.DEVNULL,
                                 check=False).returncode]  # fmt: skip
    if lacking:
        raise Missing("missing; install with:\n    apt-get install -y " + " ".join(lacking))
