"""The Debian packages everything needs: which are missing, and how to get them."""

import os
import shutil
import subprocess
from typing import List, Sequence

from madtool.errors import Failure, Missing
from madtool.log import run_logged, say, stage
from madtool.paths import logs_dir

PACKAGES = (
    # building MPICH from its release source with the netmod in it
    "build-essential gfortran autoconf automake libtool m4 perl pkg-config dpkg-dev xz-utils file ccache "
    "libfabric-dev libucx-dev libhwloc-dev libpmix-dev "
    # libmad and its tests
    "bazel-bootstrap bazel-rules-java bazel-rules-proto bazel-platforms googletest "
    "libfmt-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libbenchmark-dev libisal-dev "
    "libsodium-dev clang-format clang-tidy "
    # tests and plots
    "gnuplot-nox iproute2 procps"
).split()
# what MPICH's own ch4:ofi links: libfabric's private libraries (tools/mad compare)
OFI = "libpsm-infinipath1-dev libpsm2-dev librdmacm-dev libibverbs-dev".split()
# the MPIs that the datatype engine is measured against (tools/mad bench)
PEERS = "mpich libmpich-dev openmpi-bin libopenmpi-dev".split()
# programs built against Debian's MPICH, which they bring along (tools/mad test debian)
DEBIAN_PROGRAMS = "mpich netpipe-mpich2 nwchem-mpich scalapack-mpi-test".split()
CMAKE = ["cmake"]
# the emulated machine with a RoCE device (tools/mad lab, tools/mad test rdma): the emulator, what its initial file system
# is made of, and what is used inside
RDMA = ("qemu-system-x86 busybox-static kmod cpio rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest "
        "iproute2 libfabric-bin ucx-utils util-linux").split()  # fmt: skip

# another machine's compiler, and what runs its programs here (tools/mad test mixed)
MIXED = "g++-s390x-linux-gnu qemu-user".split()
# Slurm with its plugins for MPI, and several nodes on a machine (tools/mad test slurm)
SLURM = "slurmctld slurmd slurm-client slurm-wlm-basic-plugins iproute2 util-linux".split()


def missing(wanted: Sequence[str] = PACKAGES) -> List[str]:
    """The packages of the list that are not installed."""
    if shutil.which("dpkg-query") is None:
        raise Missing("this is not a Debian system (no dpkg-query); the tool is made for Debian 12")
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *wanted],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    installed = {
        line.split()[0] for line in answer.stdout.splitlines() if line.endswith(" installed")
    }
    return [name for name in wanted if name not in installed]


def ensure(wanted: Sequence[str] = PACKAGES) -> None:
    """Installs what is missing; without root prints the one line that does it and stops."""
    lacking = missing(wanted)
    if not lacking:
        return
    if os.geteuid() != 0:
        raise Missing(
            "these Debian packages are missing; install them and try again:\n"
            "    sudo apt-get update && sudo apt-get install -y --no-install-recommends "
            + " ".join(lacking)
        )
    say("Debian packages to install: " + " ".join(lacking))
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-y", "--no-install-recommends", *lacking]
    with stage(f"packages: installing {len(lacking)}"):
        log = logs_dir() / "packages.log"
        # The machine's lists may be missing or old: refresh them only if installing does not work as it is.
        if run_logged(install, log, "apt-get install", env=environment, check=False) != 0:
            run_logged(["apt-get", "update"], logs_dir() / "apt-update.log", "apt-get update",
                       env=environment)  # fmt: skip
            run_logged(install, log, "apt-get install", env=environment)
    still = missing(wanted)
    if still:
        raise Failure("apt-get said yes, but these are still missing: " + " ".join(still))
