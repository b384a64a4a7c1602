"""Builds libmad with Bazel and installs it: library, the ucx driver it loads, header, pkg-config file.

MPICH links libmad.so.1 dynamically and finds it beside libmpi.so, so a new libmad never needs a new MPICH.
Files are replaced by renaming, so that programs that run keep the library they started with.
"""

import os
import re
import shutil
from pathlib import Path

from madtool import bazel
from madtool.errors import Failure
from madtool.log import stage
from madtool.paths import CHECKOUT, Stamps, digest, file_digest, tree_digest, write_atomically

HEADER = CHECKOUT / "netmod" / "abi" / "mad.h"
PKG_CONFIG = CHECKOUT / "netmod" / "abi" / "mad.pc.in"
SONAME = "libmad.so.1"
UCX_DRIVER = "libmad_ucx.so"  # looked for beside the library
_OPTIMISED = ("--config=install",)
_SOURCES = ("madlike", "datatype_path", "netmod/abi", "WORKSPACE", "BUILD", ".bazelrc", "tools/bazel")


def identity() -> str:
    """Changes when anything libmad is built from does."""
    return tree_digest([CHECKOUT / name for name in _SOURCES if (CHECKOUT / name).exists()])


def target() -> str:
    """The Bazel target of the shared library, libmad.so.VERSION in netmod/abi."""
    build = (CHECKOUT / "netmod" / "abi" / "BUILD").read_text()
    match = re.search(r'name\s*=\s*"(libmad\.so\.[\d.]+)"', build)
    if match is None:
        raise Failure("netmod/abi/BUILD has no target libmad.so.VERSION")
    return match.group(1)


def replace_if_different(source: Path, target: Path, mode: int) -> bool:
    """Copies by renaming; keeps the target, and its time, if the content is the same."""
    if target.is_file() and file_digest(target) == file_digest(source):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copyfile(source, temporary)
        temporary.chmod(mode)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def install(library: Path, prefix: Path) -> None:
    """Puts the library, what is built beside it, its header and its pkg-config file into `prefix`."""
    replace_if_different(library, prefix / "lib" / SONAME, 0o755)
    replace_if_different(library.with_name(UCX_DRIVER), prefix / "lib" / UCX_DRIVER, 0o755)
    link = prefix / "lib" / "libmad.so"
    if not link.is_symlink():
        link.unlink(missing_ok=True)
        link.symlink_to(SONAME)
    replace_if_different(HEADER, prefix / "include" / "mad.h", 0o644)
    _write_pkg_config(prefix, library.name[len("libmad.so.") :])


def _write_pkg_config(prefix: Path, version: str) -> None:
    text = PKG_CONFIG.read_text().replace("@PREFIX@", str(prefix)).replace("@VERSION@", version)
    directory = prefix / "lib" / "pkgconfig"
    directory.mkdir(parents=True, exist_ok=True)
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    write_atomically(directory / "mad.pc", text)


def ensure(prefix: Path) -> None:
    """Builds and installs unless `prefix` already has what this checkout makes."""
    stamps = Stamps(prefix / "lib" / "mad-stamps")
    now = digest(identity(), str(prefix))
    if stamps.get("libmad") == now and all((prefix / "lib" / name).is_file() for name in (SONAME, UCX_DRIVER)):
        return
    with stage("libmad: building with Bazel"):
        name = target()
        bazel.build([f"//netmod/abi:{name}", f"//netmod/abi:{UCX_DRIVER}"], "libmad", _OPTIMISED)
        stamps.clear("libmad")
        install(bazel.bin_dir(_OPTIMISED) / "netmod" / "abi" / name, prefix)
        stamps.set("libmad", now)
