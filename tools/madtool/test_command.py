"""`tools/mad test`: what the continuous integration runs, stage by stage."""

import time
from typing import List, Optional, Sequence

from madtool import bazel_tests, debian_programs, generic_matching, installed_mpi, mixed_stage, mpi_stages, packages, pmix_programs, rdma_stage, slurm, style, unit_tests
from madtool.errors import Missing
from madtool.stages import Report, Stage, Tally, run_all


# Nothing in these packages, their tests included, starts a thread or knows of one; those of madlike/message play all
# sides in one, what several threads do is in its sessions.
_WITHOUT_THREADS = ("datatype_path/...", "tests/datatypes/...", "tests/fuzz/...", "tests/support/...", "perf/...",
                    "madlike/message:all")  # fmt: skip


# The whole ends within 90 minutes also where all is slow: what no time is left for is skipped, and named.
_LAST_START_S = 76 * 60.0


def _packages() -> Tally:
    packages.ensure()
    return Tally(passed=1)


def _sanitizers(*names: str, left_out: Sequence[str] = ()) -> Stage:
    # A test whose tags name no-SANITIZER says beside the tag why it is left out.
    arguments = [f"--config={name}" for name in names]
    arguments.append("--test_tag_filters=" + ",".join(f"-no-{name}" for name in names))
    return Stage("+".join(names), 5, "the same tests under " + " and ".join(f"--config={name}" for name in names),
                 lambda: bazel_tests.run(names[0], arguments, left_out), needs=("packages",))  # fmt: skip


def stages() -> List[Stage]:
    """All stages, in order; their budgets are an hour on 2 cores with nothing built before."""
    have, end = ("packages",), time.monotonic() + _LAST_START_S
    return [
        Stage("packages", 3, "Debian packages", _packages),
        Stage("tool", 1, "unit tests of tools/mad", unit_tests.run, have),
        Stage("style", 3, "include rules, headers alone, clang-format, clang-tidy", style.run, have),
        Stage("libmad", 2, "the library as it is installed", bazel_tests.build_libmad, have),
        Stage("unit", 6, "unit and property tests", lambda: bazel_tests.run("unit", []), have),
        _sanitizers("asan", "ubsan"),  # in one build, which takes little longer than either alone
        _sanitizers("tsan", left_out=_WITHOUT_THREADS),
        Stage("mpich", 16, "MPICH on ch4:mad", mpi_stages.build_mpich, have),
        Stage("mpi", 4, "MPI programs under mpiexec, and some of them over each other fabric",
              lambda: mpi_stages.run_programs(end), ("mpich",)),
        Stage("debian", 3, "Debian's programs, unmodified, CMake and pkg-config, and Open MPI's launcher, on this MPI",
              lambda: installed_mpi.run() + generic_matching.run() + pmix_programs.run() + debian_programs.run(), ("mpich",)),
        Stage("suite", 12, "MPICH's own test suite", lambda: mpi_stages.run_suite(end), ("mpich",)),
        Stage("fabrics", 3, "of MPICH's suite what differs over each other fabric",
              lambda: mpi_stages.run_fabrics(end), ("mpich",)),
        Stage("rdma", 10, "what needs an RDMA device, in an emulated machine with RoCE in software", rdma_stage.run, have,
              asked_only=True),
        Stage("mixed", 15, "libmad on a big-endian machine, which is emulated, and that with this one", mixed_stage.run,
              have, asked_only=True),
        Stage("slurm", 3, "MPI programs under srun, with Slurm on several nodes that are this machine", slurm.run,
              ("mpich",), asked_only=True),
    ]  # fmt: skip


def choose(only: Sequence[str]) -> List[Stage]:
    """The stages named and those that they need: no program is judged by an MPI of yesterday."""
    by_name = {stage.name: stage for stage in stages()}
    unknown = [name for name in only if name not in by_name]
    if unknown:
        raise Missing(f"no stage {', '.join(unknown)}; there are: {', '.join(by_name)}")
    chosen, ahead = set(), list(only)
    while ahead:
        name = ahead.pop()
        chosen.add(name)
        ahead += by_name[name].needs
    return [stage for stage in by_name.values() if stage.name in chosen]


def run(only: Optional[Sequence[str]]) -> Report:
    """Runs all stages but those that want to be asked for, or those named with what they need."""
    return run_all(choose(only) if only else [stage for stage in stages() if not stage.asked_only])
