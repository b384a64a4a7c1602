"""The fabrics of a machine, and what tests/mpi runs over each."""

import contextlib
import io
import math
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Tuple
from unittest import mock

from madtool import (
    conformance,
    conformance_fabrics,
    conformance_lanes,
    conformance_suite,
    fabrics,
    hosts,
    mpi_stages,
    mpich_build,
    own_program,
    packages,
    test_command,
)
from madtool.errors import Failure, Missing
from madtool.paths import CHECKOUT
from madtool.stages import Tally
from madtool.tests.support import CacheTest, call

with mock.patch.object(sys, "path", [str(CHECKOUT / "tests" / "mpi"), *sys.path]):
    import run as mpi_run
    import table as mpi_table


class Machine(CacheTest):
    def info(self, script: str) -> Path:
        program = self.scratch / "info"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    def usable(self, script: str, names: Sequence[str] = ("tcp", "shm"), needed: Sequence[str] = ()) -> object:
        with mock.patch.object(own_program, "built", return_value=self.info(script)):
            return fabrics.usable(names, needed)

    def test_has_what_info_does_not_deny(self) -> None:
        self.assertEqual(self.usable("echo 'fabric tcp: 256 segments'"), (["tcp", "shm"], Tally()))
        denied = "echo 'fabric shm cannot be used: no memory'; exit 1"
        self.assertEqual(self.usable(denied), (["tcp"], Tally(skipped=1, notes=("shm: no memory",))))
        self.assertEqual(self.usable(denied, ["shm;tcp"]), ([], Tally(skipped=1, notes=("shm: no memory",))))
        self.assertEqual(self.usable(denied, needed=["tcp", "shm"]), (["tcp"], Tally(failed=1, notes=("shm: no memory",))))

    def test_an_info_that_breaks_is_no_answer(self) -> None:
        for script in ("exit 1", "kill -9 $$", "echo 'fabric tcp cannot be used: x'"):
            self.assertRaises(Failure, self.usable, script)


class Table(unittest.TestCase):
    """The one table of fabrics, which is libmad's."""

    def test_every_row_is_read(self) -> None:
        source = (CHECKOUT / "netmod" / "abi" / "fabric.cc").read_text()
        self.assertRaises(Failure, fabrics._table, source.replace(", Tested", ",\n Tested", 1))  # pylint: disable=protected-access
        self.assertRaises(Failure, fabrics._table, "")  # pylint: disable=protected-access
        self.assertEqual(fabrics.FABRICS[0], "tcp", "which has everything at every run")

    def test_the_documents_name_each_driver(self) -> None:
        drivers = {fabric.name.split(":")[0] for fabric in fabrics.TABLE} - {"loopback"}
        for document in ("README.md", "docs/architecture.md", "netmod/abi/mad.h", "netmod/mpich/mad_init.c"):
            words = set(re.findall(r"[a-z]+", (CHECKOUT / document).read_text()))
            self.assertEqual(drivers - words, set(), document)

    def test_what_carries_packets_within_a_host(self) -> None:
        for name in ("auto", "shm", "shm;tcp", "ucx", "ucx:posix;tcp", "ucx:posix,tcp", "ucx:posix,cma,tcp"):
            self.assertTrue(fabrics.in_memory(name), name)
        for name in ("tcp", "tcp;shm", "ofi:tcp", "ofi:sockets", "ucx:tcp", "carrier:pigeon"):
            self.assertFalse(fabrics.in_memory(name), name)


class Names(CacheTest):
    """What can be no fabric is refused before anything is built."""

    def test_a_row_or_what_stands_in_the_place_of_its_capitals(self) -> None:
        for name in ("tcp", "loopback", "ucx:posix,cma", "ofi:psm2", "ofi:tcp+ofi_rxm", "ucx:rc_mlx5", "shm;tcp", "auto;ofi:x"):
            fabrics.check(name)
        for name in ("tpc", "", "ofi:", "tcp:x", "fi:tcp", "shm;tpc", "shm;", "shm,tcp", "all", "TCP"):
            with self.assertRaisesRegex(Missing, "no fabric .*; the fabrics are auto, tcp, .*ofi:PROVIDER", msg=name):
                fabrics.check(name)

    def test_every_command_that_takes_one_asks(self) -> None:
        with mock.patch.object(packages, "ensure", side_effect=AssertionError("something is built")):
            for words in (["conformance", "--fabric", "tcp", "--fabric", "tpc"], ["pingpong", "--fabric", "tcp,tpc"],
                          ["compare", "--fabrics", "tpc"], ["apps", "--fabrics", "tcp,tpc"],
                          ["selftest", "--fabric", "tpc"]):  # fmt: skip
                code, out, err = call(words)
                self.assertEqual((code, out), (2, ""), words)
                self.assertIn("no fabric 'tpc'; the fabrics are auto, tcp, shm, ", err)
            with mock.patch.dict(os.environ, {"MPIR_CVAR_CH4_MAD_FABRIC": "tpc"}):
                self.assertEqual(call(["pingpong"])[0], 2)


class Programs(unittest.TestCase):
    """tests/mpi: what is run over which fabric."""

    def test_the_smoke_tests_are_there_for_each_fabric(self) -> None:
        for name in mpi_table.SMOKE:
            self.assertIn(name, [test.name for test in mpi_table.TESTS if test.fabric == mpi_table.EVERY])
        for fabric in fabrics.FABRICS:
            few = mpi_table.over(fabric, smoke=True)
            self.assertEqual({test.env["MPIR_CVAR_CH4_MAD_FABRIC"] for test in few}, {fabric})
            self.assertLessEqual({f"{name}@{fabric}" for name in mpi_table.SMOKE}, {test.name for test in few})
            self.assertLess(len(few), len(mpi_table.over(fabric)))

    def test_numbers_are_tried_over_their_own_fabric_alone(self) -> None:
        for fabric, packets in (("ofi:tcp", "1300"), ("ucx:tcp", "30")):
            tests = [test for test in mpi_table.over(fabric) if test.name.startswith("counters-gathered")]
            self.assertEqual([test.args[1] for test in tests], [packets])
        self.assertIn("counters-gathered@tcp", [test.name for test in mpi_table.by_default()])
        self.assertNotIn("init-bad-fabric", [test.name.partition("@")[0] for test in mpi_table.over("tcp")])
        self.assertIn("init-bad-fabric", [test.name for test in mpi_table.by_default()])

    def test_some_are_run_over_a_list_as_well(self) -> None:
        over = {test.name: test.env["MPIR_CVAR_CH4_MAD_FABRIC"] for test in mpi_table.by_default() if "@" in test.name}
        self.assertEqual({name for name, fabric in over.items() if fabric == mpi_table.LIST},
                         {f"{name}@{mpi_table.LIST}" for name in mpi_table.LISTED})  # fmt: skip

    def test_names_are_unique(self) -> None:
        for tests in (mpi_table.by_default(), mpi_table.over("ofi:tcp")):
            names = [test.name for test in tests]
            self.assertEqual(len(names), len(set(names)))

    def names(self, *words: str, over: "tuple[str, ...]" = ()) -> List[str]:
        return [test.name for test in mpi_run.chosen(over, False, words)]

    def test_patterns_choose_with_and_without_the_fabric(self) -> None:
        self.assertEqual(self.names("hello"), ["hello", f"hello@{mpi_table.LIST}"])
        self.assertEqual(self.names("hello", over=("tcp", "ucx:tcp")), ["hello@tcp", "hello@ucx:tcp"])
        self.assertEqual(self.names("hello@u*", over=("tcp", "ucx:tcp")), ["hello@ucx:tcp"])
        self.assertRaises(SystemExit, self.names, "hello@u*", over=("tcp",))

    def test_what_comes_late_is_skipped_and_named(self) -> None:
        tests = [test for test in mpi_table.over("ofi:tcp") if test.program in ("foreign", "hello")]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            counts = mpi_run.run_all(tests, Path("/nonexistent"), mpi_run.Builder(Path("/"), Path("/")), 1.0, -1.0)
        self.assertEqual((counts["passed"], counts["failed"], counts["skipped"]), (0, 0, len(tests)))
        told = {line.split()[0]: line for line in out.getvalue().splitlines()}
        self.assertTrue(told["hello@ofi:tcp"].endswith("no time left"))

    def test_each_is_run_once_however_many_run_at_a_time(self) -> None:
        tests = mpi_table.by_default()
        with contextlib.redirect_stdout(io.StringIO()) as out, \
                mock.patch.object(mpi_run, "run_one", return_value=("passed", "", "")):  # fmt: skip
            counts = mpi_run.run_all(tests, Path("/"), mpi_run.Builder(Path("/"), Path("/")), 1.0, math.inf, 3)
        self.assertEqual(counts, {"passed": len(tests), "failed": 0, "skipped": 0})
        names = [line.split()[0] for line in out.getvalue().splitlines()]
        self.assertEqual(sorted(names), sorted(test.name for test in tests))
        self.assertLess(names.index("hello"), names.index("large"))  # which is alone, behind all others

    def test_a_fabric_is_not_taken_from_the_environment(self) -> None:
        with mock.patch.dict(os.environ, {"MPIR_CVAR_CH4_MAD_FABRIC": "ofi:tcp"}):
            (alone,) = mpi_run.chosen((), False, ["hello-alone"])
            self.assertEqual(mpi_run.environment(alone)["MPIR_CVAR_CH4_MAD_FABRIC"], "tcp")


class Stages(CacheTest):
    """The stages mpi and fabrics with programs and a suite that are given."""

    def run_stage(self, stage: str, why_not: Optional[Dict[str, str]] = None, no_hosts: str = "") -> Tally:
        self.calls: List[List[str]] = []
        self.on_two_hosts: List[bool] = []  # of the runs of the suite

        def run_logged(command: List[str], log: Path, *_: object, **__: object) -> int:
            self.calls.append(command[command.index("--build") + 4 :])
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("a@b   2 ranks  skipped  0.0 s  no time left\n1 passed, 0 failed, 1 skipped\n")
            return 0

        def run(_: object, names: List[str], __: object, conditions: conformance_lanes.Conditions) -> Tally:
            self.calls.append([conditions.settings["MPIR_CVAR_CH4_MAD_FABRIC"], *names])
            self.on_two_hosts.append("MAD_SUITE_MPIEXEC" in conditions.settings)
            return Tally(passed=10)

        @contextlib.contextmanager
        def two_hosts(_: int) -> Iterator[Tuple[List[str], List[str]]]:
            if no_hosts:
                raise hosts.NoHosts(no_hosts)
            yield ["enter"], ["-hosts", "a:1,b:1"]

        with mock.patch.object(mpi_stages, "run_logged", side_effect=run_logged), \
                mock.patch.object(mpich_build, "need_prefix", return_value=self.scratch), \
                mock.patch.object(conformance_suite, "mad_suite"), \
                mock.patch.object(conformance, "run", side_effect=run), \
                mock.patch.object(hosts, "two_hosts", side_effect=two_hosts), \
                mock.patch.object(fabrics, "unusable", return_value=why_not or {}):  # fmt: skip
            (chosen,) = [one for one in test_command.stages() if one.name == stage]
            return chosen.run()

    def test_mpi_is_the_default_fabric_and_the_smoke_of_the_others(self) -> None:
        tally = self.run_stage("mpi", {"ofi:tcp": "no provider"})
        first, second = self.calls
        self.assertRegex(first.pop(), "^--last-start=[0-9]{4}$")
        self.assertEqual(first, [])
        self.assertRegex(second.pop(), "^--last-start=[0-9]{4}$")
        self.assertEqual(second[0], "--smoke")
        self.assertEqual(second[1:], [f"--fabric={name}" for name in fabrics.OTHERS if name != "ofi:tcp"])
        self.assertEqual((tally.passed, tally.skipped), (2, 3))
        self.assertIn("ofi:tcp: no provider", tally.notes)
        self.assertIn("a@b 2 ranks skipped 0.0 s no time left", tally.notes)

    def test_fabrics_is_each_other_one_that_can_be_had(self) -> None:
        tally = self.run_stage("fabrics", {"ofi:tcp": "no provider"})
        others = [name for name in fabrics.OTHERS if name != "ofi:tcp"]
        self.assertEqual([call[0] for call in self.calls], [*others, "auto"])
        self.assertEqual(self.on_two_hosts, [False] * len(others) + [True])
        self.assertEqual({tuple(call[1:]) for call in self.calls}, {conformance_fabrics.DIFFERING})
        self.assertEqual((tally.passed, tally.skipped), (10 * len(fabrics.OTHERS), 1))

    def test_fabrics_says_why_there_are_no_two_hosts(self) -> None:
        tally = self.run_stage("fabrics", no_hosts="no namespaces")
        self.assertEqual((tally.passed, tally.skipped), (10 * len(fabrics.OTHERS), 1))
        self.assertEqual(tally.notes, ("no two hosts here: no namespaces",))


class TwoHosts(CacheTest):
    """What the suite's runner calls in the place of mpiexec."""

    def test_mpiexec_starts_on_a_host_where_its_caller_stands(self) -> None:
        prefix, here = self.scratch / "prefix", self.scratch / "a place"
        (prefix / "bin").mkdir(parents=True)
        here.mkdir()
        conformance_suite.script(prefix / "bin" / "mpiexec", '#!/bin/sh\npwd; printf "%s\\n" "$@"\n')
        suite = conformance_suite.Suite(prefix, self.scratch)
        hosts_here = contextlib.nullcontext((["env", "--chdir=/"], ["-hosts", "a:1,b:1"]))
        with mock.patch.object(hosts, "two_hosts", return_value=hosts_here) as two_hosts, \
                conformance_lanes.over_two_hosts(suite) as settings:  # fmt: skip
            said = subprocess.run([settings["MAD_SUITE_MPIEXEC"], "-n", "2", "./a test"], cwd=here,
                                  stdout=subprocess.PIPE, text=True, check=True).stdout  # fmt: skip
        two_hosts.assert_called_once_with(2)
        self.assertEqual(said.splitlines(), [str(here), "-hosts", "a:1,b:1", "-n", "2", "./a test"])
        self.assertEqual(settings["MPIR_CVAR_CH4_MAD_FABRIC"], "auto")
        self.assertEqual(settings["MPIR_CVAR_CH4_MAD_INTERFACE"], hosts.WIRE)
