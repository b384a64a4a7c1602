"""The installed MPI: names that other MPICHs' programs ask for, the environment of `tools/mad run`, CMake."""

import os
import signal
from pathlib import Path
from typing import Optional
from unittest import mock

from madtool import installed_mpi, libmad_build, mpich_build, netmod_install, packages, side_libraries, source
from madtool.errors import Failure, Missing
from madtool.paths import CHECKOUT, Stamps, load_settings
from madtool.stages import Tally
from madtool.tests.support import CacheTest, call


class DebianNames(CacheTest):
    def test_are_linked_where_there_is_what_they_name(self) -> None:
        lib = self.scratch / "lib"
        (lib / "pkgconfig").mkdir(parents=True)
        (lib / "libmpi.so.12").write_text("the library")
        (lib / "pkgconfig" / "mpich.pc").write_text("flags")
        for _ in range(2):
            mpich_build.link_debian_names(self.scratch)
        self.assertEqual((lib / "libmpich.so.12").read_text(), "the library")
        self.assertEqual((lib / "pkgconfig" / "mpi.pc").read_text(), "flags")
        self.assertFalse((lib / "libmpichfort.so.12").is_symlink())


class Remembered(CacheTest):
    """What `build` was told is used again from wherever the next command is called."""

    def built(self, mpich: Optional[str], prefix: Optional[str]) -> "dict[str, object]":
        """The settings after a build whose steps are all left out."""
        build = mpich_build.Build(source.Source(self.scratch, "x"), self.scratch / "home", self.scratch / "prefix", ())
        (build.prefix / "include").mkdir(parents=True, exist_ok=True)
        (build.prefix / "include" / "mad.h").write_text("")
        steps = dict.fromkeys(("_unpack", "_configure", "_make", "link_debian_names"), mock.DEFAULT)
        with mock.patch.multiple(mpich_build, **steps), mock.patch.object(packages, "ensure"), \
                mock.patch.object(mpich_build.libmad_build, "ensure"), \
                mock.patch.object(mpich_build.side_libraries, "ensure"), \
                mock.patch.object(mpich_build.netmod_install, "install_into"), \
                mock.patch.object(mpich_build, "plan", return_value=build) as plan:  # fmt: skip
            mpich_build.ensure_built(mpich, prefix)
            self.assertEqual([*plan.call_args.args], [load_settings()["mpich"], load_settings()["named_prefix"]])
        return load_settings()

    def test_relative_places_are_made_absolute(self) -> None:
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.scratch)
        settings = self.built("tree", "there/")
        self.assertEqual((settings["mpich"], settings["named_prefix"]), (f"{self.scratch}/tree", f"{self.scratch}/there/"))

    def test_others_stay_as_they_are_as_keys_are_made_of_them(self) -> None:
        for mpich, prefix in ((None, None), ("/a/../tree", "/opt/x/")):
            settings = self.built(mpich, prefix)
            self.assertEqual((settings["mpich"], settings["named_prefix"]), (mpich, prefix))


class BrokenOff(CacheTest):
    """What is installed and breaks off leaves nothing in the prefix."""

    def test_a_copy(self) -> None:
        (self.scratch / "new").write_text("library")
        with mock.patch.object(os, "replace", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            libmad_build.replace_if_different(self.scratch / "new", self.scratch / "lib" / "libmad.so.1", 0o755)
        self.assertEqual([*(self.scratch / "lib").iterdir()], [])

    def test_a_compilation(self) -> None:
        compiler = self.scratch / "cc"
        compiler.write_text('#!/bin/sh\nfor word; do :; done\necho half > "$word"\nexit 1\n')
        compiler.chmod(0o755)
        (self.scratch / "lib").mkdir()
        library = side_libraries.Library("libx.so", "netmod/pmix", [], str(compiler))
        with self.assertRaises(Failure):
            side_libraries._ensure(library, self.scratch, Stamps(self.scratch / "stamps"))
        self.assertEqual([*(self.scratch / "lib").iterdir()], [])


class ProgramEnvironment(CacheTest):
    def search_path(self, environment: "dict[str, str]") -> str:
        with mock.patch.object(mpich_build, "need_prefix", return_value=self.scratch), \
                mock.patch.dict(os.environ, environment, clear=True):  # fmt: skip
            return mpich_build.program_environment()["LD_LIBRARY_PATH"]

    def test_finds_the_libraries(self) -> None:
        lib = str(self.scratch / "lib")
        self.assertEqual(self.search_path({}), lib)
        self.assertEqual(self.search_path({"LD_LIBRARY_PATH": ""}), lib)

    def test_is_what_run_gives_its_programs(self) -> None:
        with mock.patch.object(mpich_build, "need_prefix", return_value=self.scratch), \
                mock.patch.object(signal, "signal") as handled, \
                mock.patch.object(os, "execve") as execve:  # fmt: skip
            call(["run", "-n", "2", "./program"])
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            self.assertIn(mock.call(number, signal.SIG_DFL), handled.call_args_list)
        mpiexec, words, environment = execve.call_args.args
        self.assertEqual((mpiexec, words[1:]), (self.scratch / "bin" / "mpiexec", ["-n", "2", "./program"]))
        self.assertEqual(environment["LD_LIBRARY_PATH"].split(":")[0], str(self.scratch / "lib"))

    def test_keeps_the_callers_own(self) -> None:
        self.assertEqual(self.search_path({"LD_LIBRARY_PATH": "/opt/a:/opt/b"}), f"{self.scratch}/lib:/opt/a:/opt/b")


class IntoATree(CacheTest):
    def test_says_how_it_is_configured(self) -> None:
        with mock.patch.object(netmod_install, "need_autotools"), \
                mock.patch.object(netmod_install, "install_into", return_value=True):  # fmt: skip
            code, _, err = call(["install-into", str(self.scratch)])
        self.assertEqual(code, 0)
        words = "--with-device=ch4:mad --with-mad=PREFIX --with-ch4-shmmods=none"
        self.assertIn(f"{words}; PREFIX is what `tools/mad prefix` prints", err)
        self.assertIn(words, (CHECKOUT / "README.md").read_text())


class BuildSystems(CacheTest):
    def run_with(self, text: str, code: int) -> Tally:
        def logged(_: object, log: Path, *__: object, **___: object) -> int:
            log.parent.mkdir(parents=True)
            log.write_text(text)
            return code

        with mock.patch.object(packages, "ensure"), \
                mock.patch.object(mpich_build, "need_prefix", return_value=self.scratch), \
                mock.patch.object(installed_mpi, "run_logged", side_effect=logged):  # fmt: skip
            return installed_mpi.run()

    def test_counts_what_ctest_ran(self) -> None:
        self.assertEqual(self.run_with("100% tests passed, 0 tests failed out of 6\n", 0), Tally(passed=6))

    def test_a_build_that_fails_says_why(self) -> None:
        tally = self.run_with("CMake Error: MPI_C_COMPILER is /usr/bin/mpicc\n", 1)
        self.assertEqual(tally.failed, 1)
        self.assertIn("MPI_C_COMPILER is /usr/bin/mpicc", tally.notes[0])

    def test_without_cmake_it_is_skipped(self) -> None:
        with mock.patch.object(packages, "ensure", side_effect=Missing("install cmake")):
            self.assertEqual(installed_mpi.run(), Tally(skipped=1, notes=("install cmake",)))
