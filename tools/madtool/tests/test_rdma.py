"""The RDMA lab without an emulator: what is started, what runs inside, and what is made of its files."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Dict, List
from unittest import mock

from madtool import (
    lab_command,
    mpi_stages,
    packages,
    rdma_checks,
    rdma_counts,
    rdma_lab,
    rdma_machine,
    rdma_mpi,
    rdma_stage,
    test_command,
)
from madtool.errors import Failure
from madtool.rdma_checks import GTEST, MPI, ROOT, USER, Check
from madtool.rdma_lab import SCRIPTS, Lab
from madtool.rdma_machine import Job, Outcome
from madtool.stages import Stage, Tally
from madtool.tests.support import CacheTest, call

_LAB = Lab(Path("/cache/vmlinuz"), Path("/cache/initrd.gz"))
_REPORT = """<testsuites><testsuite name="S">
<testcase name="Good" classname="S" status="run"/>
<testcase name="Bad" classname="S" status="run"><failure message="broke"/></testcase>
<testcase name="Not" classname="S" status="run" result="skipped"><skipped/></testcase>
</testsuite></testsuites>"""


class SettingUp(CacheTest):
    def test_kernel_of_the_metapackage(self) -> None:
        told = "linux-image-amd64\n  Depends: linux-image-6.1.0-37-amd64\n  Suggests: linux-doc\n"
        self.assertEqual(rdma_lab.kernel_package(told), "linux-image-6.1.0-37-amd64")
        with self.assertRaises(Failure):
            rdma_lab.kernel_package("linux-image-amd64\n")

    def test_each_module_once_and_after_what_it_needs(self) -> None:
        told = "insmod /l/a.ko \ninsmod /l/b.ko \nbuiltin c\ninsmod /l/a.ko \ninsmod /l/d.ko \n"
        self.assertEqual(rdma_lab.loading_order(told), [Path("/l/a.ko"), Path("/l/b.ko"), Path("/l/d.ko")])

    def test_skipped_where_packages_cannot_be_had(self) -> None:
        with mock.patch.object(packages, "missing", return_value=["qemu-system-x86"]), \
                mock.patch("os.geteuid", return_value=1000):  # fmt: skip
            tally = rdma_stage.run()
        self.assertEqual((tally.passed, tally.failed, tally.skipped), (0, 0, 1))
        self.assertIn("qemu-system-x86", tally.notes[0])

    def test_scripts_are_of_their_shells(self) -> None:
        for shell, name in (("sh", "init.sh"), ("bash", "network.sh"), ("bash", "parted.sh"), ("bash", "remote_shell.sh")):
            subprocess.run([shell, "-n", str(SCRIPTS / name)], check=True)


class Starting(CacheTest):
    def test_the_host_is_read_only_and_nothing_reaches_the_network(self) -> None:
        words = rdma_machine.command(_LAB, Path("/cache/a,b"), 1, 512)
        host = next(word for word in words if "path=/," in word)
        self.assertIn("readonly=on", host)
        self.assertEqual(words[words.index("-nic") + 1], "none")
        self.assertIn("local,id=lab,path=/cache/a,,b,security_model=none", words)

    def test_two_machines_are_told_apart_on_their_wire(self) -> None:
        one, two = (rdma_machine.command(_LAB, Path("/s"), number, 512, 7) for number in (1, 2))
        self.assertIn("socket,id=link,fd=7", one)
        self.assertNotEqual([word for word in one if "mac=" in word], [word for word in two if "mac=" in word])


@unittest.skipUnless(shutil.which("setpriv"), "no setpriv here")
class Running(CacheTest):
    """With a shell in the place of the emulator."""

    def _run(self, emulator: str, limit_s: float = 30, machines: int = 1) -> List[Outcome]:
        def command(_: Lab, shared: Path, *__: object) -> List[str]:
            return ["sh", "-c", emulator, "sh", str(shared)]

        with mock.patch.object(rdma_machine, "command", command):
            jobs = [Job("true\n", limit_s)] * machines
            return rdma_machine.run(_LAB, jobs, self.scratch / "shared", give=self.given.append)

    def setUp(self) -> None:
        super().setUp()
        self.given: List[str] = []

    def test_exit_code_and_output(self) -> None:
        outcome = self._run('cd "$1"; test "$(cat script)" = true && echo hello > output; echo 3 > exit')[0]
        self.assertEqual((outcome.code, outcome.why, outcome.output), (3, "", "hello\n"))
        self.assertEqual("".join(self.given), "hello\n")

    def test_two_have_numbers(self) -> None:
        outcomes = self._run('cd "$1"; cat number > exit', machines=2)
        self.assertEqual([outcome.code for outcome in outcomes], [1, 2])

    def test_without_an_exit_code_the_console_is_shown(self) -> None:
        outcome = self._run("echo Kernel panic")[0]
        self.assertIsNone(outcome.code)
        self.assertFalse(outcome.out_of_time)
        self.assertIn("Kernel panic", outcome.why)

    def test_time_limit(self) -> None:
        outcome = self._run('echo $$ > "$1/pid"; exec sleep 100', limit_s=0.5)[0]
        self.assertTrue(outcome.out_of_time)
        with self.assertRaises(ProcessLookupError):
            os.kill(int((outcome.shared / "pid").read_text()), 0)

    def test_interrupted(self) -> None:
        def interrupt(_: float) -> None:
            if (self.scratch / "shared" / "1" / "pid").exists():
                raise KeyboardInterrupt

        with mock.patch.object(rdma_machine.time, "sleep", interrupt), self.assertRaises(KeyboardInterrupt):
            self._run('echo $$ > "$1/pid.new"; mv "$1/pid.new" "$1/pid"; exec sleep 100')
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.scratch / "shared" / "1" / "pid").read_text()), 0)


class Checks(CacheTest):
    def _judged(self, check: Check, files: Dict[str, str]) -> Tally:
        for ending, text in files.items():
            (self.scratch / f"{check.name}.{ending}").write_text(text)
        return rdma_checks.judge(check, self.scratch)

    def test_by_exit_code(self) -> None:
        self.assertEqual(self._judged(Check("a", "true"), {"exit": "0\n", "output": ""}), Tally(passed=1))
        failed = self._judged(Check("b", "false"), {"exit": "1\n", "output": "no device\n"})
        self.assertEqual(failed.failed, 1)
        self.assertIn("no device", failed.notes[0])
        self.assertIn("did not come to its end", self._judged(Check("c", "false"), {}).notes[0])

    def test_by_cases(self) -> None:
        tally = self._judged(Check("a", "x", GTEST), {"exit": "1", "output": "", "xml": _REPORT})
        self.assertEqual((tally.passed, tally.failed, tally.skipped), (1, 1, 1))
        self.assertIn("S.Bad", tally.notes[0])

    def test_cases_of_a_program_that_died(self) -> None:
        tally = self._judged(Check("a", "x", GTEST), {"exit": "139", "output": "Segmentation fault"})
        self.assertEqual((tally.passed, tally.failed), (0, 1))
        self.assertIn("139", tally.notes[0])
        good = _REPORT.replace('<failure message="broke"/>', "")
        tally = self._judged(Check("b", "x", GTEST), {"exit": "134", "output": "", "xml": good})
        self.assertEqual((tally.passed, tally.failed), (2, 1))

    def test_by_the_last_line_of_mpi_programs(self) -> None:
        tally = self._judged(Check("a", "x", MPI), {"exit": "0", "output": "built\n4 passed, 0 failed, 1 skipped\n"})
        self.assertEqual((tally.passed, tally.failed, tally.skipped), (4, 0, 1))

    def test_faults_count_where_that_is_asked(self) -> None:
        files = {"exit": "0", "output": "", "before": "sent_pkts:3\nsend_rnr_err:1\nduplicate_request:0\n",
                 "after": "sent_pkts:9\nsend_rnr_err:3\nduplicate_request:4\n"}  # fmt: skip
        self.assertEqual(self._judged(Check("a", "x"), files).failed, 0)
        tally = self._judged(Check("b", "x", clean=True), files)
        self.assertEqual((tally.passed, tally.failed), (1, 1))
        self.assertTrue(tally.notes[0].endswith("the device counted send_rnr_err 2"), tally.notes[0])
        files["after"] = files["before"]
        self.assertEqual(self._judged(Check("c", "x", clean=True), files), Tally(passed=2))

    def test_script_is_bash_and_names_each_check_once(self) -> None:
        checks = [*rdma_stage.LAB, *(test.check(Path("/built")) for test in rdma_stage.TESTS)]
        self.assertEqual(len({check.name for check in checks}), len(checks))
        for account, limit in ((ROOT, "ulimit -l unlimited"), (USER, "ulimit -l 8192")):
            text = rdma_checks.script(checks, account, [Path("/built/a b")])
            subprocess.run(["bash", "-n", "-c", text], check=True)
            self.assertIn(limit, text)
            self.assertEqual("setpriv" in text, account is USER)
            self.assertEqual("reach '/built/a b'" in text, account is USER)

    def _bash(self, command: str) -> "subprocess.CompletedProcess[str]":
        text = rdma_checks._PRELUDE.replace('mkdir -p "$checks"; chmod 1777 "$checks"; cd /tmp', f"cd {self.scratch}")
        return subprocess.run(["bash", "-c", text + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)  # fmt: skip

    def test_clients_are_tried_until_their_server_listens(self) -> None:
        self.assertEqual(self._bash("pair 'sleep 0.3; touch up; sleep 0.2' 'test -e up'").returncode, 0)
        self.assertEqual(self._bash("pair 'exit 3' 'sleep 0.2'").returncode, 3)
        self.assertEqual(self._bash("pair 'exit 0' 'sleep 0.2; false'").returncode, 1)
        self.assertEqual(self._bash("again 'test -e there || { touch there; false; }'").returncode, 0)

    def test_targets_of_bazel(self) -> None:
        check = rdma_stage.Test("//tests/conformance:ofi_post_test", ("--gtest_filter=*x*",)).check(Path("/built"))
        self.assertEqual(check.name, "ofi_post_test")
        self.assertIn("/built/tests/conformance/ofi_post_test --gtest_output=xml:$REPORT '--gtest_filter=*x*'", check.command)


class MpiPrograms(CacheTest):
    def _run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-B", str(mpi_stages.PROGRAMS), f"--prefix={self.scratch}",
                   f"--build={self.scratch / 'built'}", "--fabric=tcp", *words, "hello"]  # fmt: skip
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def _tool(self, name: str, text: str) -> None:
        path = self.scratch / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def test_built_in_one_place_and_run_in_another(self) -> None:
        program = "#!/bin/sh\necho ok hello\n"
        self._tool("mpicc", 'while [ "$1" != -o ]; do shift; done\n'.join(["#!/bin/sh\n", ""])
                   + f"printf '{program}' > \"$2\" && chmod +x \"$2\"\n")  # fmt: skip
        self._tool("mpiexec", '#!/bin/sh\necho "$@" >> "$0.called"\nwhile [ "$1" = -n ]; do shift 2; done\nexec "$@"\n')
        self.assertEqual(self._run("--only-build").returncode, 0)
        self.assertFalse((self.scratch / "bin" / "mpiexec.called").exists())
        self._tool("mpicc", "#!/bin/sh\nexit 1\n")
        done = self._run("--built")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "1 passed, 0 failed, 0 skipped"), done.stdout)

    def test_what_a_failed_program_printed_is_told(self) -> None:
        text = ("far-threads   2 ranks  failed     0.4 s  exit status 1\n    far.c:43: rank 1: byte 4 is 1 and not 2\n"
                "good          2 ranks  passed     0.1 s\n1 passed, 1 failed, 0 skipped\n")  # fmt: skip
        tally = mpi_stages.count(text, self.scratch / "log", 1)
        self.assertEqual((tally.passed, tally.failed), (1, 1))
        self.assertEqual(tally.notes[0], "far-threads 2 ranks failed 0.4 s exit status 1\n"
                                         "    far.c:43: rank 1: byte 4 is 1 and not 2")  # fmt: skip

    def test_nothing_without_prefix(self) -> None:
        self.assertIsNone(rdma_mpi.build())

    def test_checks(self) -> None:
        mpi = rdma_mpi.Mpi(self.scratch / "a b", self.scratch / "programs")
        as_root, as_user = mpi.checks(ROOT), mpi.checks(USER)
        self.assertEqual([check.name for check in as_user], ["mpi"])
        self.assertEqual([check.name for check in as_root],
                         ["mpi", "mpi-others", "auto", "counts-ofi-verbs", "pingpong-ofi-verbs", "counts-ucx-rc",
                          "pingpong-ucx-rc", "suite-pt2pt", "suite-datatype", "suite-rma"])  # fmt: skip
        for check in as_root:
            subprocess.run(["bash", "-n", "-c", check.command], check=True)
        self.assertIn("--fabric=ofi:verbs", as_user[0].command)
        first, others = as_root[0].command, as_root[1].command
        self.assertNotIn("ucx", first)
        self.assertIn("--fabric=ucx:rc", others)

    def _counted(self, line: str) -> int:
        """The exit code of the check where this stands for the line of 8 bytes."""
        lines = [line] + [f"{message}: copied {copied} {copied}, reg {registered} {registered}, requests 1.00 1.00, done "
                          "1.00 1.00, packets 2.00 1.00, least 2.00, device 9.00"
                          for message, copied, registered in (
                              ("4096", 1, 0), ("65536", 1, 0), ("262144", 0, 1), ("1048576", 0, 1), ("65536/4096", 1, 0),
                              ("262144/4096", 1, 0), ("1048576/4096", 1, 0))]  # fmt: skip
        lines.append("1000 idle: 0 sends, 0 writes, 0 reads, 0 receives posted, 0 registrations")
        self._tool("mpiexec", "#!/bin/sh\necho '" + "\n".join(lines) + "'\n")
        check = rdma_counts.checks(self.scratch, self.scratch, "ofi:verbs", "roce0")[0]
        return subprocess.run(["bash", "-c", check.command], stdout=subprocess.DEVNULL, check=False).returncode

    def test_what_a_message_costs_is_compared(self) -> None:
        line = "8: copied {} 1.00, reg 0.00 {}, requests 1.00 1.00, done 1.00 1.00, packets {} 1.00, least 1.00, device 4"
        self.assertEqual(self._counted(line.format("1.00", "0.00", "1.00")), 0)
        self.assertEqual(self._counted(line.format("1.50", "0.00", "1.00")), 1)
        self.assertEqual(self._counted(line.format("1.00", "1.00", "1.00")), 1)
        self.assertEqual(self._counted(line.format("1.00", "0.00", "3.00")), 1)

    def test_machines_that_are_parted(self) -> None:
        mpi = rdma_mpi.Mpi(self.scratch / "a b", self.scratch / "programs")
        for (first, second), word in ((mpi.cable(), "eth0"), (mpi.dead_host(), "sysrq-trigger")):
            self.assertEqual(first.name, second.name)
            self.assertIn(word, first.command)
            self.assertTrue(second.command.endswith(" serve"))
            for check in (first, second):
                subprocess.run(["bash", "-n", "-c", check.command], check=True)

    def _parted(self, *codes: int) -> "subprocess.CompletedProcess[str]":
        """A job of parted.sh whose ranks 0 and 1 end with these codes, under an mpiexec that never ends."""
        started = " ".join(f'PMI_RANK={rank} "$@" {code} &' for rank, code in enumerate(codes))
        self._tool("mpiexec", f'#!/bin/bash\nwhile [ "$1" != bash ]; do shift; done\n{started}\nexec sleep 60\n')
        script = (rdma_lab.SCRIPTS / "parted.sh").read_text()
        script = script.replace("/lab/ranks", str(self.scratch / "ranks")).replace("seq 60", "seq 1")
        (self.scratch / "parted.sh").write_text(script)
        command = ["bash", str(self.scratch / "parted.sh"), "start", str(self.scratch / "bin" / "mpiexec"), "bash", "-c",
                   'echo said; [ "$0" != 0 ] || echo ok; exit "$0"']  # fmt: skip
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def test_ranks_of_a_parted_job_are_judged_by_what_they_leave(self) -> None:
        done = self._parted(0, 0)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("rank 1: said", done.stdout)
        self.assertEqual(self._parted(0, 3).returncode, 1)

    def test_commands_reach_the_other_machine(self) -> None:
        server = (rdma_lab.SCRIPTS / "shell_server.py").read_text().replace("514", "0")
        server = server.replace(".serve_forever()", "").replace('_Server((""', 'server = _Server(("127.0.0.1"')
        (self.scratch / "server.py").write_text(server + "    print(server.server_address[1], flush=True)\n"
                                                "    server.serve_forever()\n")  # fmt: skip
        with subprocess.Popen([sys.executable, str(self.scratch / "server.py")], stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                port = process.stdout.readline().strip()
                shell = (rdma_lab.SCRIPTS / "remote_shell.sh").read_text().replace("/514", f"/{port}")
                done = subprocess.run(["bash", "-c", shell, "shell", "127.0.0.1", "echo", "$((6 * 7))", "'a  b'"],
                                      stdout=subprocess.PIPE, text=True, check=False)  # fmt: skip
                self.assertEqual((done.returncode, done.stdout), (0, "42 a  b\n"))
            finally:
                process.kill()


class Stages(CacheTest):
    def test_asked_for_only(self) -> None:
        ran: List[str] = []

        def stage(name: str, asked_only: bool) -> Stage:
            return Stage(name, 1, name, lambda: ran.append(name) or Tally(1), asked_only=asked_only)

        with mock.patch.object(test_command, "stages", return_value=[stage("a", False), stage("b", True)]):
            call(["test"])
            self.assertEqual(ran, ["a"])
            call(["test", "b"])
            self.assertEqual(ran, ["a", "b"])
            lines = call(["test", "--list"])[1].splitlines()
        self.assertEqual(["only where it is named" in line for line in lines], [False, True])

    def test_the_lab_is_not_part_of_the_whole(self) -> None:
        self.assertEqual([stage.name for stage in test_command.stages() if stage.asked_only], ["rdma", "mixed", "slurm"])


class Command(CacheTest):
    def _called(self, words: List[str], *codes: "int | None") -> "tuple[int, mock.Mock]":
        outcomes = [Outcome(code, "" if code is not None else "why", self.scratch, code is None) for code in codes]
        (self.scratch / "output").write_text("")
        with mock.patch.object(rdma_lab, "ensure", return_value=_LAB), \
                mock.patch.object(rdma_machine, "run", return_value=outcomes) as run:  # fmt: skip
            return call(["lab", *words])[0], run

    def test_exit_codes(self) -> None:
        for codes, wanted in (((0,), 0), ((7,), 7), ((None,), 124), ((0, 5), 5), ((3, 5), 3)):
            with self.subTest(codes):
                self.assertEqual(self._called(["true"], *codes)[0], wanted)
        for words in ([], ["--second", "", "true"], ["--second", "sh -c 'x", "true"]):
            self.assertEqual(self._called(words)[0], 2)

    def test_every_word_after_the_command_is_its_own(self) -> None:
        _, run = self._called(["--limit", "5", "--", "ls", "--user", "a b"], 0)
        job = run.call_args[0][1][0]
        self.assertEqual(job.limit_s, 5)
        self.assertIn("ls --user 'a b'\n", job.script)
        self.assertNotIn("setpriv", job.script)

    def test_scripts_need_not_be_executable(self) -> None:
        (self.scratch / "s.sh").write_text("exit 3\n")
        self.assertIn("as_account bash ./s.sh 4\n", lab_command.script(["s.sh", "4"], ROOT, self.scratch))
        (self.scratch / "s.sh").chmod(0o755)
        self.assertIn("as_account ./s.sh 4\n", lab_command.script(["s.sh", "4"], ROOT, self.scratch))
        as_user = lab_command.script(["true"], USER, self.scratch)
        self.assertIn("as_account true\n", as_user)
        self.assertIn(f"reach {self.scratch}\n", as_user)

    def test_a_directory_is_not_overwritten(self) -> None:
        self.assertEqual(self._called(["--shared", str(self.scratch), "true"], 0)[0], 2)
