"""`tools/mad selftest`: what the report has and has not, and what becomes of hosts and fabrics that are not there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import List, Tuple
from unittest import mock

from madtool import mpich_build, own_program, pingpong, selftest, selftest_host, selftest_report
from madtool.paths import write_atomically
from madtool.selftest_report import MOST_LINES, Cell, Report, Scrubber, counted, plot
from madtool.tests.support import CacheTest, call

# Stands for mpiexec: runs what it is to run on a host, or says what ssh says of one that is not there; and plays the
# ping-pong.
_MPIEXEC = """#!/bin/sh
host=
[ "$1" != -hosts ] || { host=$2; shift 2; }
if [ "$host" = nowhere ]; then echo "ssh: Could not resolve hostname nowhere"; exec sleep 60; fi
shift 2
case $1 in
*/pingpong) ;;
*) exec "$@" ;;
esac
echo "libmad: fabric $MPIR_CVAR_CH4_MAD_FABRIC, 256 segments"
while [ $# -gt 0 ]; do
  if [ "$1" = --csv ]; then
    printf 'type,bytes,min_us\\ncontiguous,64,20\\ncontiguous,1048576,2000\\nvector-gap,64,30\\n' > "$2"
  fi
  shift
done
[ -z "$MAD_TRACE" ] || echo "mad 1: summary of fabric tcp" > "$(dirname "$MAD_TRACE")/trace.1"
"""
_INFO = """#!/bin/sh
echo "network interfaces: eth0 (192.168.7.9)"
for word in "$@"; do
  [ "$word" != ofi:pigeon ] || { echo "fabric ofi:pigeon cannot be used: no provider 'pigeon'"; exit 1; }
done
"""
# Stands for tests/mpi/run.py.
_PROGRAMS = "print('hello@tcp    2 ranks  passed     0.1 s'); print('1 passed, 0 failed, 0 skipped')"


class Selftest(CacheTest):
    def setUp(self) -> None:
        super().setUp()
        self.program = self.scratch / "info"
        for path, text in ((self.scratch / "bin" / "mpiexec", _MPIEXEC), (self.program, _INFO)):
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, text)
            path.chmod(0o755)
        (self.scratch / "lib" / "pkgconfig").mkdir(parents=True)
        (self.scratch / "lib" / "pkgconfig" / "mad.pc").write_text("Version: 9.8.7\n")
        (self.scratch / "bin" / "mpichversion").symlink_to("/bin/true")
        programs = self.scratch / "run.py"
        programs.write_text(_PROGRAMS)
        build = SimpleNamespace(prefix=self.scratch)
        for patch in (mock.patch.object(mpich_build, "ensure_as_before", return_value=build),
                      mock.patch.object(mpich_build, "program_environment", return_value=dict(os.environ)),
                      mock.patch.object(own_program, "built", return_value=self.program),
                      mock.patch.object(selftest.mpi_stages, "PROGRAMS", programs),
                      mock.patch.object(pingpong, "program", return_value=self.scratch / "pingpong")):  # fmt: skip
            patch.start()
            self.addCleanup(patch.stop)
        self.output = self.scratch / "report.txt"

    def report(self, *words: str) -> Tuple[int, str, str]:
        """Exit code, report, and what was said of errors."""
        code, _, err = call(["selftest", "--output", str(self.output), *words])
        return code, self.output.read_text() if self.output.exists() else "", err

    def test_two_processes_here(self) -> None:
        code, report, err = self.report("--fabric", "tcp")
        self.assertEqual(code, 0, err)
        lines = report.splitlines()
        self.assertEqual(lines[0], "mad selftest: fabric tcp, two processes of one host: passed")
        self.assertLessEqual(len(lines), MOST_LINES)
        for part in ("libmad 9.8.7", "kernel: Linux", "locked memory: ", "libmad: fabric tcp, 256 segments",
                     "hello@tcp    2 ranks  passed", "network interfaces: eth0 ((address))", "summary of fabric tcp",
                     "      1M    1000.00 ", "== counters of localhost's RDMA devices"):  # fmt: skip
            self.assertIn(part, report)
        self.assertNotIn("192.168", report)

    def test_two_hosts(self) -> None:
        code, report, err = self.report("--fabric", "ofi:verbs", "--hosts", "east,west")
        self.assertEqual(code, 0, err)
        self.assertIn("fabric ofi:verbs, east and west: passed", report)
        for host in ("east", "west"):
            self.assertIn(f"\n== {host}\n", report)
            self.assertIn(f"counters of {host}'s RDMA devices", report)

    def test_a_program_that_fails_is_1(self) -> None:
        (self.scratch / "run.py").write_text("print('0 passed, 1 failed, 0 skipped'); raise SystemExit(1)")
        code, report, _ = self.report("--fabric", "tcp")
        self.assertEqual(code, 1)
        self.assertTrue(report.startswith("mad selftest: fabric tcp, two processes of one host: FAILED"))

    def test_what_is_not_there_is_2(self) -> None:
        for words, said in ((["--hosts", "east,nowhere"], "nothing can be started on nowhere: ssh: Could not resolve"),
                            (["--fabric", "ofi:pigeon"], "the fabric cannot be used: ofi:pigeon: no provider 'pigeon'"),
                            (["--hosts", "a,b,c"], "two names are wanted"), (["--hosts", "a,a"], "two names"),
                            (["--hosts", "a,-x y"], "two names"), (["--nonsense"], "--nonsense")):  # fmt: skip
            code, report, err = self.report(*words)
            self.assertEqual((code, report), (2, ""), words)
            self.assertIn(said, err)


class Facts(CacheTest):
    def test_one_line_without_the_rest_of_the_tool(self) -> None:
        script = Path(selftest_host.__file__)
        said = subprocess.run([sys.executable, "-B", "-I", str(script)], stdout=subprocess.PIPE, check=True).stdout
        facts = json.loads(said)
        for name in ("kernel", "libfabric", "ucx", "locked memory", "counters", "names"):
            self.assertIn(name, facts)

    def test_counters_of_each_port(self) -> None:
        for name, value in (("hw_counters/rnr_nak", "3"), ("counters/port_xmit", "77"), ("hw_counters/odd", "N/A")):
            path = self.scratch / "mlx5_0" / "ports" / "1" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value + "\n")
        self.assertEqual(selftest_host.counters(self.scratch),
                         {"mlx5_0/1 counters/port_xmit": 77, "mlx5_0/1 hw_counters/rnr_nak": 3})  # fmt: skip


class Text(CacheTest):
    def test_nothing_tells_of_the_place(self) -> None:
        with mock.patch.object(selftest_report, "_user", return_value="ada"), \
                mock.patch.dict(os.environ, {"HOME": "/home/ada"}):  # fmt: skip
            scrubber = Scrubber(("east", "10.0.0.1"), ("east", "east.lab.example", "secret7"))
        for text, clean in (
            ("/home/ada/x of ada on secret7", "HOME/x of (user) on (host)"),
            ("10.0.0.1 and 10.0.0.2", "10.0.0.1 and (address)"),
            ("0000:0000:0000:0000:0000:ffff:0a4d:0001, fe80::1, ::1", "(address), (address), (address)"),
            ("aa:bb:cc:dd:ee:ff", "(address)"),
            ("east.lab.example, east", "(host), east"),
            ("firmware 16.35.2000, ucx:rc, 4: ACTIVE, 0:12", "firmware 16.35.2000, ucx:rc, 4: ACTIVE, 0:12"),
            (f"{self.cache}/logs/x", "CACHE/logs/x"),
        ):
            self.assertEqual(scrubber.scrub(text), clean)

    def test_it_is_short(self) -> None:
        report = Report(Scrubber((), ()))
        for _ in range(20):
            report.section("much", [f"line {number}" for number in range(100)], 21)
        lines = report.text("verdict").splitlines()
        self.assertEqual((lines[0], len(lines)), ("verdict", MOST_LINES))
        self.assertIn("(80 lines are left out)", lines)

    def test_bars(self) -> None:
        lines = plot([Cell("contiguous", 64, 1.0), Cell("contiguous", 1 << 20, 100.0), Cell("rows", 64, 10.0)], {})
        bars: List[Tuple[int, ...]] = [tuple(word.count("#") for word in line.split() if "#" in word) for line in lines]
        self.assertEqual(bars, [(), (), (1, 1), (30, 30), (), (), (15, 1)])
        self.assertEqual(plot([], {}), [])

    def test_counters_that_grew(self) -> None:
        self.assertEqual(counted({"a": 1, "b": 2}, {"a": 4, "b": 2, "x/lifespan": 10}), ["a +3"])
        self.assertEqual(counted({}, {}), ["no RDMA device counts anything here"])
        self.assertEqual(counted({"a": 1}, {"a": 1}), ["nothing was counted"])
        self.assertEqual(len(counted({}, {f"c{number}": 1 for number in range(99)})), 26)
