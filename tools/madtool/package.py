"""`tools/mad package`: two Debian packages of what `build` installed, for machines without this checkout and cache.

mad-mpich has what programs need to run, mad-mpich-dev what they are compiled with. Their files are below
/opt/mad-mpich, beside Debian's own MPIs, but for the copyright, which Debian wants in /usr/share/doc. What is built is
moved there rather than built again for that prefix, so that what is packaged is what was tested.
"""

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import List, Sequence

from madtool import libmad_build, mpich_build, source
from madtool.errors import Failure, Missing
from madtool.log import say, stage
from madtool.paths import CHECKOUT, cache_root, file_digest, load_settings
from madtool.relocation import relocate

PREFIX = "/opt/mad-mpich"
RUN_TIME, DEVELOPMENT = "mad-mpich", "mad-mpich-dev"
_COMPILERS = ("mpicc", "mpicxx", "mpic++", "mpif77", "mpif90", "mpifort")
# libtool's archives name the build machine's libraries; what begins with a dot a killed install left.
_NOT_SHIPPED = ("*.la", "mad-stamps", ".*")
# Above Debian's Open MPI (50) and MPICH (40): whoever asks for the commands wants them.
_PRIORITY = 60
_MODULEFILE = """#%Module1.0
module-whatis "MPICH {release} on the mad netmod"
conflict mpi mpich openmpi
prepend-path PATH {prefix}/bin
prepend-path PKG_CONFIG_PATH {prefix}/lib/pkgconfig
setenv MPI_HOME {prefix}
"""


@dataclass(frozen=True)
class Alternatives:
    """A group of update-alternatives: the command that leads it and those that follow."""

    group: str
    leader: str
    followers: "tuple[str, ...]"

    def scripts(self) -> "dict[str, str]":
        """The maintainer scripts that enter and remove it."""
        target = f"{PREFIX}/bin/{self.leader}"
        words = ["update-alternatives", "--install", f"/usr/bin/{self.leader}", self.group, target, str(_PRIORITY)]
        for name in self.followers:
            words += ["--slave", f"/usr/bin/{name}", name, f"{PREFIX}/bin/{name}"]
        install = " ".join(words)
        return {
            "postinst": f'#!/bin/sh\nset -e\nif [ "$1" = configure ]; then\n    {install}\nfi\n',
            "prerm": '#!/bin/sh\nset -e\nif [ "$1" = remove ] || [ "$1" = deconfigure ]; then\n'
            f"    update-alternatives --remove {self.group} {target}\nfi\n",
        }


@dataclass(frozen=True)
class Package:
    name: str
    summary: str
    relations: str  # lines of the control file; {version} and {libraries} are filled in
    alternatives: Alternatives


PACKAGES = (
    Package(
        RUN_TIME,
        "MPICH on the mad netmod, run time",
        "Depends: {libraries}\nRecommends: openssh-client\nSuggests: mad-mpich-dev, environment-modules | lmod\n",
        Alternatives("mpirun", "mpirun", ("mpiexec",)),
    ),
    Package(
        DEVELOPMENT,
        "MPICH on the mad netmod, compilers and headers",
        "Depends: mad-mpich (= {version}), gcc, libc6-dev, libhwloc-dev\nRecommends: g++, gfortran, pkg-config\n",
        Alternatives("mpi", _COMPILERS[0], _COMPILERS[1:]),
    ),
)


def is_development(path: PurePath, link: bool) -> bool:
    """Of a path below the prefix: is it of use only where programs are compiled?"""
    top = path.parts[0]
    if top == "lib":
        return path.parts[1] == "pkgconfig" or (link and path.name.endswith(".so"))
    if top == "bin":
        return path.name in _COMPILERS
    if path.parts[:2] == ("share", "man"):
        return path.parts[2] == "man3" or path.stem in _COMPILERS
    return top == "include" or path.parts[:2] == ("share", "doc")


def version() -> str:
    """MPICH's and libmad's, as Debian writes what one package has of two, and of which commit, if that is known.

    A later commit's is higher, so that it replaces an earlier one.
    """
    git = subprocess.run(["git", "-C", str(CHECKOUT), "log", "-1", "--date=format-local:%Y%m%d.%H%M", "--format=+%cd.g%h"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
                         env={**os.environ, "TZ": "UTC"})  # fmt: skip
    return f"{source.RELEASE}+mad{libmad_build.target()[len('libmad.so.'):]}{git.stdout.strip()}"


def _output(*command: str, cwd: Path = Path()) -> str:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command[:2])} ended with {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout.strip()


def _is_elf(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"


def _programs(root: Path) -> List[Path]:
    return [p for p in sorted(root.rglob("*")) if p.is_file() and not p.is_symlink() and _is_elf(p)]


def _copy(prefix: Path, roots: "dict[str, Path]") -> None:
    """Deals the files of the prefix out to the packages, as if they had been installed below PREFIX."""
    whole = next(iter(roots.values())).parent / "whole"
    shutil.copytree(prefix, whole, symlinks=True, ignore=shutil.ignore_patterns(*_NOT_SHIPPED))
    relocate(whole, str(prefix), PREFIX)
    for path in sorted(whole.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        inside = path.relative_to(whole)
        root = roots[DEVELOPMENT if is_development(inside, path.is_symlink()) else RUN_TIME]
        target = root / PREFIX[1:] / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
    for path in (p for root in roots.values() for p in _programs(root)):
        _output("strip", "--strip-unneeded", str(path))


def _dependencies(root: Path, place: Path) -> str:
    """The packages whose libraries the programs below `root` need; its own are none of them."""
    (place / "debian").mkdir(exist_ok=True)
    (place / "debian" / "control").write_text(f"Source: {RUN_TIME}\n\nPackage: {RUN_TIME}\nArchitecture: any\n")
    own = root / PREFIX[1:] / "lib"
    answer = _output("dpkg-shlibdeps", "-O", "--ignore-missing-info", f"-l{own}",
                     *(f"-e{path}" for path in _programs(root)), cwd=place)  # fmt: skip
    match = re.search(r"^shlibs:Depends=(.+)$", answer, re.MULTILINE)
    if match is None:
        raise Failure(f"dpkg-shlibdeps found no dependencies: {answer}")
    return match[1]


def _maintainer() -> str:
    name = os.environ.get("DEBFULLNAME") or _output("id", "-un")
    return f"{name} <{os.environ.get('DEBEMAIL') or _output('id', '-un') + '@' + _output('uname', '-n')}>"


def _control(package: Package, libraries: str, installed_kib: int) -> str:
    return (
        f"Package: {package.name}\n"
        f"Version: {version()}\n"
        f"Architecture: {_output('dpkg', '--print-architecture')}\n"
        f"Maintainer: {_maintainer()}\n"
        "Section: libs\nPriority: optional\n"
        f"Installed-Size: {installed_kib}\n"
        + package.relations.format(version=version(), libraries=libraries)
        + f"Description: {package.summary}\n"
        f" MPICH {source.RELEASE} with the ch4 netmod mad, which moves noncontiguous data from\n"
        f" where it lies to where it belongs. Everything is below {PREFIX};\n"
        f" `module use {PREFIX}/share/modulefiles` makes the module {RUN_TIME} known.\n"
    )


def describe(package: Package, root: Path, libraries: str, alternatives: bool) -> None:
    """Writes DEBIAN: control, md5sums and, if asked for, the scripts of the alternatives."""
    files = [p for p in sorted(root.rglob("*")) if p.is_file() and not p.is_symlink()]
    kib = sum((path.stat().st_size + 1023) // 1024 for path in files)
    sums = _output("md5sum", *(str(path.relative_to(root)) for path in files), cwd=root)
    place = root / "DEBIAN"
    place.mkdir()
    (place / "control").write_text(_control(package, libraries, kib))
    (place / "md5sums").write_text(sums + "\n")
    for name, text in package.alternatives.scripts().items() if alternatives else ():
        (place / name).write_text(text)
        (place / name).chmod(0o755)


def _set_modes(root: Path) -> None:
    """As Debian has them, whatever umask the build ran with: what is executed is all in bin."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)


def make(prefix: Path, copyright_file: Path, output: Path, alternatives: bool) -> List[Path]:
    """Makes the packages of what is installed in `prefix`; returns their files, in `output`."""
    output.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory(prefix="mad-package-", dir=output) as scratch:
        place = Path(scratch)
        roots = {package.name: place / package.name for package in PACKAGES}
        _copy(prefix, roots)
        module = roots[RUN_TIME] / PREFIX[1:] / "share" / "modulefiles" / RUN_TIME / version()
        module.parent.mkdir(parents=True)
        module.write_text(_MODULEFILE.format(release=source.RELEASE, prefix=PREFIX))
        libraries = _dependencies(roots[RUN_TIME], place)
        for package in PACKAGES:
            root = roots[package.name]
            document = root / "usr" / "share" / "doc" / package.name / "copyright"
            document.parent.mkdir(parents=True)
            shutil.copyfile(copyright_file, document)
            _set_modes(root)
            describe(package, root, libraries, alternatives)
            answer = _output("dpkg-deb", "--root-owner-group", "--build", str(root), str(output))
            made.append(Path(re.findall(r"'([^']+\.deb)'", answer)[-1]))
    return made


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("package", help="make Debian packages of what build installed",
                                 description="Makes two Debian packages of what `build` installed: "
                                 f"{RUN_TIME} to run programs and {DEVELOPMENT} to compile them. Their files are "
                                 f"below {PREFIX}, with a modulefile. Install both with apt-get install "
                                 "./FILE ./FILE.")  # fmt: skip
    parser.add_argument("--output", metavar="DIR", help="where to put them (default: in the cache)")
    parser.add_argument("--alternatives", action="store_true", help="let the packages enter mpicc, mpirun and "
                        "their like in update-alternatives")  # fmt: skip
    parser.set_defaults(function=_package)


def _package(arguments: argparse.Namespace) -> int:
    prefix = mpich_build.need_prefix()
    if load_settings().get("named_prefix"):
        raise Missing(f"{prefix} was named by --prefix, and may have files of others; packages are made of a prefix of the "
                      "cache: run tools/mad build without --prefix first")  # fmt: skip
    output = Path(arguments.output).absolute() if arguments.output else cache_root() / "packages"
    with stage("packages: made of what is installed"):
        made = make(prefix, Path(load_settings()["tree"]) / "COPYRIGHT", output, arguments.alternatives)
    for path in made:
        say(f"{path} sha256 {file_digest(path)}")
        print(path)
    return 0
