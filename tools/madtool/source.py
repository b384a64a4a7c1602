"""Gets MPICH's release source: Debian's source package, or a tree or tarball that the user names."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

from madtool.apt_sources import source_stanzas
from madtool.errors import Failure, Missing
from madtool.log import run_logged, say, stage
from madtool.paths import cache_root, digest, file_digest, logs_dir, write_atomically

RELEASE = "4.0.2"
RELEASE_SHA256 = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
TARBALL = f"mpich_{RELEASE}.orig.tar.xz"


@dataclass(frozen=True)
class Source:
    """A release tarball or an unpacked release tree; `identity` changes when its content does."""

    path: Path
    identity: str


def obtain(named: Optional[str]) -> Source:
    """The source to build: `named` by the user, or Debian's, fetched once and checked."""
    if named:
        return _named(Path(named).absolute())
    tarball = cache_root() / "source" / TARBALL
    if tarball.is_file() and file_digest(tarball) == RELEASE_SHA256:
        return Source(tarball, RELEASE_SHA256)
    with stage(f"source: fetching MPICH {RELEASE} through apt"):
        _fetch(tarball)
    return Source(tarball, RELEASE_SHA256)


def _named(path: Path) -> Source:
    if path.is_dir():
        check_release_tree(path)
        if (path / "config.status").exists():
            raise Missing(f"{path} was configured in place; name a clean tree (make distclean) or a tarball")
        # Names, sizes and times stand for the content: reading 200 MB at every call would be slow.
        facts = [f"{p.relative_to(path)} {p.stat().st_size} {p.stat().st_mtime_ns}"
                 for p in sorted(path.rglob("*")) if p.is_file()]  # fmt: skip
        return Source(path, digest(*facts))
    if path.is_file():
        sha = file_digest(path)
        if sha != RELEASE_SHA256:
            say(f"source: {path.name} is not the {RELEASE} release this project is tested with")
        return Source(path, sha)
    raise Missing(f"no such tree or tarball: {path}")


def _private_apt() -> Path:
    """An apt configuration of our own next to the system's: its sources as deb-src, its own lists."""
    root = cache_root() / "apt"
    for part in ("lists/partial", "cache/archives/partial", "parts"):
        (root / part).mkdir(parents=True, exist_ok=True)
    stanzas = source_stanzas()
    if not stanzas:
        raise Missing("no apt sources are configured here; name the source with --mpich TREE_OR_TARBALL")
    write_atomically(root / "parts" / "mad.sources", "\n\n".join(stanzas) + "\n")
    for stale in (root / "parts").glob(".*"):
        stale.unlink()
    configuration = root / "apt.conf"
    write_atomically(
        configuration,
        f'Dir::Etc::sourcelist "/dev/null";\n'
        f'Dir::Etc::sourceparts "{root}/parts";\n'
        f'Dir::State::lists "{root}/lists";\n'
        f'Dir::Cache "{root}/cache";\n'
        f'APT::Sandbox::User "";\n'
        # Hooks of the system's configuration would act on the system's caches.
        f"#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n"
        f"#clear APT::Update::Post-Invoke-Success;\n",
    )
    return configuration


def download(package: str, place: Path) -> Path:
    """The upstream tarball of one of Debian's source packages, in the new folder `place`."""
    if shutil.which("apt-get") is None:
        raise Missing(f"no apt-get here, by which the source of {package} is fetched")
    configuration = str(_private_apt())
    place.mkdir(parents=True)
    run_logged(["apt-get", "-c", configuration, "update"], logs_dir() / "source-update.log",
               "apt-get update (sources)")  # fmt: skip
    run_logged(["apt-get", "-c", configuration, "source", "--download-only", "--only-source", package],
               logs_dir() / f"source-{package}.log", f"apt-get source {package}", cwd=place)  # fmt: skip
    found = sorted(place.glob("*.orig.tar.*"))
    if not found:
        raise Failure(f"apt-get source brought no tarball of {package}")
    return found[0]


def _fetch(tarball: Path) -> None:
    if shutil.which("apt-get") is None:
        raise Missing("no apt-get here; name the source with --mpich TREE_OR_TARBALL")
    configuration = str(_private_apt())
    hint = "; or name the source with --mpich TREE_OR_TARBALL"
    try:
        run_logged(["apt-get", "-c", configuration, "update"], logs_dir() / "source-update.log",
                   "apt-get update (sources)")  # fmt: skip
        versions = _versions(configuration)
        if not versions:
            raise Failure(f"the machine's apt archives have no source package mpich {RELEASE}")
        incoming = tarball.parent / "incoming"
        shutil.rmtree(incoming, ignore_errors=True)
        incoming.mkdir(parents=True)
        run_logged(["apt-get", "-c", configuration, "source", "--download-only", "--only-source",
                    f"mpich={versions[0]}"], logs_dir() / "source-download.log",
                   "apt-get source mpich", cwd=incoming)  # fmt: skip
    except Failure as failure:
        raise Failure(f"{failure}\n{hint.lstrip('; ')}") from failure
    got = incoming / TARBALL
    if not got.is_file():
        raise Failure(f"apt-get source brought no {TARBALL}{hint}")
    sha = file_digest(got)
    if sha != RELEASE_SHA256:
        raise Failure(f"{TARBALL} has sha256 {sha}, expected {RELEASE_SHA256}{hint}")
    got.replace(tarball)
    shutil.rmtree(incoming)


def _versions(configuration: str) -> List[str]:
    answer = subprocess.run(
        ["apt-cache", "-c", configuration, "showsrc", "--only-source", "mpich"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    versions = re.findall(r"^Version: (\S+)$", answer.stdout, re.MULTILINE)
    return [v for v in versions if re.match(rf"(\d+:)?{re.escape(RELEASE)}-", v)]


def release_version(tree: Path) -> Optional[str]:
    """The MPICH version a tree says it is, or None if it is no MPICH tree."""
    for name, pattern in (
        ("maint/version.m4", r"MPICH_VERSION_m4\],\[([^\]]+)\]"),
        ("maint/Version", r"^MPICH_VERSION=(\S+)"),
    ):
        path = tree / name
        if path.is_file():
            match = re.search(pattern, path.read_text(errors="replace"), re.MULTILINE)
            if match:
                return match.group(1)
    return None


def check_release_tree(tree: Path) -> None:
    """Refuses what is not the source of an MPICH 4.0.x release."""
    if not tree.is_dir():
        raise Missing(f"no such directory: {tree}")
    version = release_version(tree)
    if version is None or not (tree / "src/mpid/ch4").is_dir():
        raise Missing(f"{tree} is not an MPICH source tree")
    if not re.match(r"4\.0(\.|$)", version):
        raise Missing(f"{tree} is MPICH {version}; the mad netmod is for MPICH 4.0.x")
    if not (tree / "configure").is_file():
        raise Missing(f"{tree} is MPICH {version} without ./configure; a release tree is needed")


def unpack(source: Source, target: Path) -> None:
    """Puts a fresh copy of the source at `target`; complete or not there at all."""
    partial = target.with_name(target.name + ".partial")
    for stale in (partial, target):
        shutil.rmtree(stale, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    if source.path.is_dir():
        shutil.copytree(source.path, partial, symlinks=True)
    else:
        partial.mkdir()
        run_logged(["tar", "-xf", str(source.path), "-C", str(partial), "--strip-components=1",
                    "--no-same-owner"], logs_dir() / "unpack.log", "unpacking MPICH")  # fmt: skip
    check_release_tree(partial)
    partial.rename(target)
