"""The RDMA lab: what an emulated machine with a RoCE device in software needs, made once and kept in the cache.

The kernel is the one of Debian's archive, downloaded and unpacked but not installed: the host's own need not have
the modules. The initial file system is busybox, those modules and tools/rdma_lab/init.sh.
"""

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import List, Sequence

from madtool import lock, packages
from madtool.errors import Failure
from madtool.log import run_logged, stage
from madtool.paths import CHECKOUT, cache_root, digest, file_digest, logs_dir

SCRIPTS = CHECKOUT / "tools" / "rdma_lab"
_KERNEL_PACKAGE = "linux-image-amd64"  # depends on the newest kernel of the archive
# With those that they need: virtio's bus and the shared file systems, the layer above them, RoCE in software and its
# interfaces for programs, and its cards.
_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm", "veth",
            "virtio_net")  # fmt: skip
_BUSYBOX = Path("/bin/busybox")


class NoLab(Failure):
    """It cannot be had here; the reason."""


@dataclass(frozen=True)
class Lab:
    """What QEMU is started with."""

    kernel: Path
    initrd: Path


def ensure() -> Lab:
    """The lab, made if it is not there yet. NoLab: it cannot be had here."""
    if platform.machine() != "x86_64":
        raise NoLab(f"the emulated machine is an x86_64, this one is {platform.machine()}")
    try:
        packages.ensure(packages.RDMA)
        with lock.held(cache_root() / "rdma-lab" / "lock", "RDMA lab"):
            kernel = _kernel()
            return Lab(kernel / "vmlinuz", _initrd(kernel))
    except Failure as failure:
        raise NoLab(str(failure)) from failure


def _kernel() -> Path:
    """A directory with vmlinuz and the modules, whose names sort as they are loaded.

    One that was made stays good when the archive has a newer one: nothing is asked of the archive again.
    """
    place = cache_root() / "rdma-lab" / f"kernel-{digest(_KERNEL_PACKAGE, *_MODULES)}"
    if place.is_dir():
        return place
    partial = place.with_name(place.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "modules").mkdir(parents=True)
    with stage("RDMA lab: fetching Debian's kernel"):
        unpacked = _unpacked_kernel(partial)
        release = next((unpacked / "lib" / "modules").iterdir()).name
        run_logged(["depmod", "-b", str(unpacked), release], logs_dir() / "rdma-depmod.log", "depmod")
        for number, module in enumerate(_in_order(unpacked, release)):
            shutil.copyfile(module, partial / "modules" / f"{number:02d}-{module.name}")
        shutil.copyfile(unpacked / "boot" / f"vmlinuz-{release}", partial / "vmlinuz")
        shutil.rmtree(unpacked)
    partial.rename(place)
    return place


def kernel_package(depends: str) -> str:
    """The package that the kernel's metapackage depends on, from what `apt-cache depends` says."""
    found = re.search(r"^ *\|?Depends: (linux-image-\d\S*)$", depends, re.MULTILINE)
    if found is None:
        raise Failure(f"apt knows no kernel that {_KERNEL_PACKAGE} depends on; try apt-get update")
    return found.group(1)


def _unpacked_kernel(beside: Path) -> Path:
    """A directory in `beside` with what the kernel's package has."""
    try:
        archive = _downloaded(beside)
    except Failure:
        if os.geteuid() != 0:
            raise
        # The machine's lists may be missing or old.
        run_logged(["apt-get", "update"], logs_dir() / "apt-update.log", "apt-get update")
        archive = _downloaded(beside)
    unpacked = beside / "unpacked"
    run_logged(["dpkg-deb", "-x", str(archive), str(unpacked)], logs_dir() / "rdma-unpack.log", "dpkg-deb")
    archive.unlink()
    return unpacked


def _downloaded(beside: Path) -> Path:
    package = kernel_package(_answer(["apt-cache", "depends", _KERNEL_PACKAGE]))
    # apt's own user, who downloads for root, may not enter root's directories.
    download = ["apt-get", "-o", "APT::Sandbox::User=", "download", package]
    run_logged(download, logs_dir() / "rdma-kernel.log", f"apt-get download {package}", cwd=beside)
    return next(beside.glob("*.deb"))


def _answer(command: Sequence[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: {done.stdout.strip()}")
    return done.stdout


def _in_order(unpacked: Path, release: str) -> List[Path]:
    """The files of the modules and of those that they need, each once, in the order of loading."""
    told = "".join(_answer(["modprobe", "-d", str(unpacked), "-S", release, "--show-depends", module])
                   for module in _MODULES)  # fmt: skip
    return loading_order(told)


def loading_order(told: str) -> List[Path]:
    """The files that `modprobe --show-depends` names, each once."""
    return list(dict.fromkeys(Path(name) for name in re.findall(r"^insmod (\S+)", told, re.MULTILINE)))


def _initrd(kernel: Path) -> Path:
    """The initial file system, a compressed cpio archive."""
    init = SCRIPTS / "init.sh"
    made_of = digest(kernel.name, file_digest(kernel / "vmlinuz"), file_digest(init), file_digest(_BUSYBOX))
    initrd = kernel.parent / f"initrd-{made_of}.gz"
    if initrd.is_file():
        return initrd
    root, partial = kernel.parent / "initrd.root", initrd.with_name(initrd.name + ".partial")
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "dev", "proc", "sys"):
        (root / name).mkdir(parents=True)
    shutil.copytree(kernel / "modules", root / "modules")
    shutil.copy(_BUSYBOX, root / "bin" / "busybox")
    shutil.copyfile(init, root / "init")
    (root / "init").chmod(0o755)
    pack = f'find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 > "{partial}"'
    run_logged(["sh", "-c", pack], logs_dir() / "rdma-initrd.log", "initrd", cwd=root)
    shutil.rmtree(root)
    partial.rename(initrd)
    return initrd
