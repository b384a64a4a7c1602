"""Builds MPICH on ch4:mad: one build directory per source, options and compiler, kept in the cache.

The stages are unpack, netmod, configure, make, install.  Each leaves a stamp with what it was completed with,
so an interrupted build goes on where it stopped and one with nothing to do only compares stamps.  A change of
the netmod is brought into the kept tree and `make` finds out what it affects.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional

from madtool import libmad_build, lock, netmod_install, packages, side_libraries, source
from madtool.errors import Missing
from madtool.log import run_logged, say, stage
from madtool.paths import (
    Stamps,
    cache_root,
    digest,
    file_digest,
    load_settings,
    logs_dir,
    save_settings,
)

_COMPILED = r"^\s+(CC|CXX|FC|F77|PPFC|MOD|GEN|CCLD|LN_S)\s"
# Lines of the log of a complete build, with and without Fortran: what the heartbeat compares with.
_LINES, _LINES_FORTRAN = 1540, 1580
# By these names Debian's binaries and makefiles ask for the libraries that MPICH installs by its own.
_DEBIAN_NAMES = {
    "libmpich.so.12": "libmpi.so.12",
    "libmpichcxx.so.12": "libmpicxx.so.12",
    "libmpichfort.so.12": "libmpifort.so.12",
    "libmpichfort.so": "libmpifort.so",
    "pkgconfig/mpi.pc": "mpich.pc",
}


@dataclass(frozen=True)
class Build:
    """The places of one build."""

    origin: source.Source
    home: Path
    prefix: Path
    options: "tuple[str, ...]"

    @property
    def tree(self) -> Path:
        return self.home / "src" / f"mpich-{source.RELEASE}"

    @property
    def objects(self) -> Path:
        return self.home / "build"

    @property
    def stamps(self) -> Stamps:
        return Stamps(self.home / "stamps")


def _compiler() -> str:
    answer = subprocess.run(["gcc", "-dumpfullversion", "-dumpmachine"], stdout=subprocess.PIPE,
                            text=True, check=False)  # fmt: skip
    return " ".join(answer.stdout.split())


def _fortran() -> bool:
    return shutil.which("gfortran") is not None


def _options(device: str) -> List[str]:
    return [
        "CC=gcc",
        "CXX=g++",
        f"--with-device={device}",
        "--with-hwloc=/usr",
        "--enable-fast=O2,ndebug",
        "--disable-static",
    ]


def configure_options() -> List[str]:
    """Everything but the prefix."""
    options = [*_options("ch4:mad"), "--with-ch4-shmmods=none", "--enable-romio"]
    if _fortran():
        # MPICH 4.0's bindings predate the strictness of gfortran 10 and later.
        options += ["FC=gfortran", "F77=gfortran", "FFLAGS=-fallow-argument-mismatch",
                    "FCFLAGS=-fallow-argument-mismatch"]  # fmt: skip
    else:
        options += ["--disable-fortran"]
    return options


def plan(mpich: Optional[str], prefix: Optional[str]) -> Build:
    """Finds the source (fetching it if need be) and names the places."""
    origin = source.obtain(mpich)
    options = configure_options()
    key = digest(origin.identity, *options, _compiler(), prefix or "")
    home = cache_root() / "mpich" / key
    where = Path(prefix).absolute() if prefix else home / "prefix"
    options += [f"--prefix={where}", f"--with-mad={where}", f"LDFLAGS=-Wl,-rpath,{where}/lib"]
    return Build(origin, home, where, tuple(options))


def _plan_peer() -> Build:
    origin = source.obtain(named_source())
    options = [*_options("ch4:ofi"), "--with-ch4-shmmods=posix", "--with-libfabric=/usr", "--disable-romio",
               "--disable-fortran"]  # fmt: skip
    home = cache_root() / "mpich" / digest(origin.identity, *options, _compiler())
    where = home / "prefix"
    return Build(origin, home, where, (*options, f"--prefix={where}"))


def _environment(build: Build) -> Dict[str, str]:
    environment = dict(os.environ)
    for name in ("CFLAGS", "CPPFLAGS", "CXXFLAGS", "LDFLAGS", "LIBS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    wrappers = Path("/usr/lib/ccache")
    if (wrappers / "gcc").exists():
        # Through the path, not in CC, so that the installed mpicc does not depend on ccache.
        environment["PATH"] = f"{wrappers}:{environment.get('PATH', '')}"
        environment.setdefault("CCACHE_BASEDIR", str(build.home))
        environment.setdefault("CCACHE_NOHASHDIR", "1")
    return environment


def _unpack(build: Build) -> None:
    if build.tree.is_dir():
        return
    build.stamps.clear("configure")
    build.stamps.clear("install")
    shutil.rmtree(build.objects, ignore_errors=True)
    with stage("MPICH: unpacking the source"):
        source.unpack(build.origin, build.tree)


def _configure(build: Build, held: int, inputs: str) -> None:
    wanted = digest(*build.options, inputs)
    if build.stamps.get("configure") == wanted and (build.objects / "config.status").is_file():
        return
    build.stamps.clear("configure")
    build.objects.mkdir(parents=True, exist_ok=True)
    # Relative, so that compilations look the same to ccache in every cache directory.
    configure = os.path.relpath(build.tree / "configure", build.objects)
    with stage("MPICH: configure"):
        run_logged([configure, *build.options], logs_dir() / "mpich-configure.log",
                   "configure", cwd=build.objects, env=_environment(build), count="^checking ",
                   unit="checks", keep_fds=[held])  # fmt: skip
    build.stamps.set("configure", wanted)


def _make(build: Build, held: int, inputs: str) -> None:
    wanted = digest(build.stamps.get("configure") or "", inputs)
    if build.stamps.get("install") == wanted and (build.prefix / "bin" / "mpicc").is_file():
        return
    first = build.stamps.get("install") is None
    build.stamps.clear("install")
    total = (_LINES_FORTRAN if _fortran() else _LINES) if first else 0
    jobs = f"-j{os.cpu_count() or 2}"
    environment = _environment(build)
    with stage("MPICH: make" + (" (the long one: up to 18 minutes on 2 cores)" if first else "")):
        run_logged(["make", jobs], logs_dir() / "mpich-make.log", "make", cwd=build.objects,
                   env=environment, count=_COMPILED, unit="files", total=total, keep_fds=[held])  # fmt: skip
    with stage("MPICH: make install"):
        run_logged(["make", "install"], logs_dir() / "mpich-install.log", "make install",
                   cwd=build.objects, env=environment, keep_fds=[held])  # fmt: skip
    build.stamps.set("install", wanted)


def link_debian_names(prefix: Path) -> None:
    """Links them in PREFIX/lib; those of Fortran where it was built."""
    for name, target in _DEBIAN_NAMES.items():
        link = prefix / "lib" / name
        if (link.parent / target).exists() and not link.is_symlink():
            link.symlink_to(target)


def _absolute(path: Optional[str]) -> Optional[str]:
    """As it is remembered, for the next call may come from elsewhere; what is absolute stays: a build's key is of it."""
    return os.path.join(os.getcwd(), path) if path and not os.path.isabs(path) else path


def ensure_built(mpich: Optional[str] = None, prefix: Optional[str] = None) -> Build:
    """Brings the installed MPICH and libmad in line with this checkout; seconds if nothing changed."""
    mpich, prefix = _absolute(mpich), _absolute(prefix)
    packages.ensure()
    with lock.held(cache_root() / "build.lock", "build") as held:
        build = plan(mpich, prefix)
        libmad_build.ensure(build.prefix)
        _unpack(build)
        if build.stamps.get("netmod") != netmod_install.identity():
            build.stamps.clear("netmod")
            with stage("MPICH: the mad netmod into the tree"):
                netmod_install.install_into(build.tree)
            build.stamps.set("netmod", netmod_install.identity())
        _configure(build, held, netmod_install.build_files_identity())
        _make(build, held,
              netmod_install.identity() + file_digest(build.prefix / "include" / "mad.h"))  # fmt: skip
        link_debian_names(build.prefix)
        side_libraries.ensure(build.prefix, build.stamps)
        save_settings({"mpich": mpich, "named_prefix": prefix, "prefix": str(build.prefix),
                       "tree": str(build.tree)})  # fmt: skip
    return build


def ensure_peer_built() -> Build:
    """MPICH on ch4:ofi from the same source with the same options: what this device is compared with."""
    packages.ensure()
    with lock.held(cache_root() / "build.lock", "build") as held:
        build = _plan_peer()
        _unpack(build)
        _configure(build, held, "")
        _make(build, held, "")
    return build


def peer_prefix() -> Path:
    return _plan_peer().prefix


def ensure_as_before() -> Build:
    """As ensure_built, with the options of this checkout's last `build`."""
    settings = load_settings()
    return ensure_built(settings.get("mpich"), settings.get("named_prefix"))


def named_source() -> Optional[str]:
    """The source that this checkout's last `build` was told to use, if any."""
    named = load_settings().get("mpich")
    return str(named) if named else None


def built_prefix() -> Optional[Path]:
    """The prefix of this checkout's last build, if it is still there."""
    prefix = load_settings().get("prefix")
    if not prefix or not (Path(prefix) / "bin" / "mpiexec").is_file():
        return None
    return Path(prefix)


def need_prefix() -> Path:
    prefix = built_prefix()
    if prefix is None:
        raise Missing("not built yet; run: tools/mad build")
    return prefix


def program_environment() -> Dict[str, str]:
    """The caller's, in which programs find this MPI's libraries, also those that were built against another MPICH.

    Theirs are found by the library path, since such a program has no run path of ours; what the caller has
    put there for his own libraries comes after it.
    """
    lib = str(need_prefix() / "lib")
    own = os.environ.get("LD_LIBRARY_PATH")
    return {**os.environ, "LD_LIBRARY_PATH": f"{lib}:{own}" if own else lib}


def report(build: Build) -> None:
    say(f"MPICH on ch4:mad is in {build.prefix}")
