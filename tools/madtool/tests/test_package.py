"""Packages of a small installed tree: what is in which, where it runs, what scripts are there; moving a prefix."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from madtool import package
from madtool.errors import Failure
from madtool.relocation import relocate
from madtool.paths import save_settings
from madtool.tests.support import CacheTest, call

_LIBRARY = 'const char *mad_where(void) { return PREFIX "/etc/mad.conf"; }\n'
_PROGRAM = """#include <stdio.h>
const char *mad_where(void);
int main(void) { return puts(mad_where()) < 0; }
"""


def _run(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def _compile(text: str, output: Path, prefix: Path, *options: str) -> None:
    subprocess.run(["gcc", "-x", "c", "-", f'-DPREFIX="{prefix}"', f"-Wl,-rpath,{prefix}/lib", f"-L{prefix}/lib",
                    "-o", str(output), *options], input=text, text=True, check=True)  # fmt: skip


def installed_tree(prefix: Path) -> None:
    """What an installed MPICH looks like to the packages: a library, a program, and files of every kind."""
    for name in ("bin", "lib/pkgconfig", "lib/mad-stamps", "include", "share/man/man1", "share/man/man3"):
        (prefix / name).mkdir(parents=True)
    _compile(_LIBRARY, prefix / "lib/libmpi.so.12", prefix, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.12")
    (prefix / "lib/libmpi.so").symlink_to("libmpi.so.12")
    shutil.copyfile(prefix / "lib/libmpi.so.12", prefix / "lib/libmad_ucx.so")
    _compile(_PROGRAM, prefix / "bin/mpiexec", prefix, "-x", "none", str(prefix / "lib/libmpi.so"))
    (prefix / "bin/mpirun").symlink_to("mpiexec")
    (prefix / "bin/mpicc").write_text(f"#!/bin/sh\necho {prefix}/include\n")
    (prefix / "bin/mpicc").chmod(0o700)
    texts = ("lib/pkgconfig/mpich.pc", "lib/libmpi.la", "lib/mad-stamps/libmad", "lib/.libmad.so.1.4711", "include/mpi.h",
             "share/man/man1/mpicc.1", "share/man/man1/mpiexec.1", "share/man/man3/MPI_Send.3")  # fmt: skip
    for name in texts:
        (prefix / name).write_text(f"prefix={prefix}\n")


class Packages(unittest.TestCase):
    """One pair of packages, with the alternatives, looked at from all sides: making it takes most of the time."""

    @classmethod
    def setUpClass(cls) -> None:
        directory = tempfile.TemporaryDirectory(prefix="mad-tool-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.scratch = Path(directory.name)
        # Longer than the target, as a prefix in a cache is.
        prefix = cls.scratch / "a-prefix-in-the-cache"
        installed_tree(prefix)
        (cls.scratch / "COPYRIGHT").write_text("whose it is\n")
        cls.made = package.make(prefix, cls.scratch / "COPYRIGHT", cls.scratch / "out", alternatives=True)
        cls.unpacked = {}
        for name, path in zip((package.RUN_TIME, package.DEVELOPMENT), cls.made):
            cls.unpacked[name] = cls.scratch / name
            _run("dpkg-deb", "--raw-extract", str(path), str(cls.unpacked[name]))

    def test_nothing_is_left_beside_them(self) -> None:
        self.assertEqual(sorted(self.made), sorted((self.scratch / "out").iterdir()))

    def test_each_file_is_in_one_package_and_names_its_new_place(self) -> None:
        inside = {name: sorted(str(p.relative_to(root / package.PREFIX[1:])) for p in
                               (root / package.PREFIX[1:]).rglob("*") if not p.is_dir())
                  for name, root in self.unpacked.items()}  # fmt: skip
        module = f"share/modulefiles/mad-mpich/{package.version()}"
        self.assertEqual(inside[package.RUN_TIME], ["bin/mpiexec", "bin/mpirun", "lib/libmad_ucx.so",
                         "lib/libmpi.so.12", "share/man/man1/mpiexec.1", module])  # fmt: skip
        self.assertEqual(inside[package.DEVELOPMENT], ["bin/mpicc", "include/mpi.h", "lib/libmpi.so",
                         "lib/pkgconfig/mpich.pc", "share/man/man1/mpicc.1", "share/man/man3/MPI_Send.3"])  # fmt: skip
        for root in self.unpacked.values():
            self.assertTrue((root / "usr/share/doc" / root.name / "copyright").is_file())
            for path in (p for p in root.rglob("*") if p.is_file() and not p.is_symlink()):
                self.assertNotIn(str(self.scratch).encode(), path.read_bytes(), path)
        mode = (self.unpacked[package.DEVELOPMENT] / package.PREFIX[1:] / "bin/mpicc").stat().st_mode
        self.assertEqual(mode & 0o777, 0o755)

    def test_programs_find_their_libraries_at_the_new_place(self) -> None:
        root = self.unpacked[package.RUN_TIME] / package.PREFIX[1:]
        self.assertIn(f"[{package.PREFIX}/lib]", _run("readelf", "-d", str(root / "bin/mpiexec")))
        told = _run("env", f"LD_LIBRARY_PATH={root}/lib", str(root / "bin/mpiexec"))
        self.assertEqual(told, f"{package.PREFIX}/etc/mad.conf\n")

    def test_control_says_what_is_needed(self) -> None:
        control = (self.unpacked[package.RUN_TIME] / "DEBIAN/control").read_text()
        self.assertRegex(control, r"(?m)^Depends: .*libc6 \(>= ")
        self.assertIn(f"\nVersion: {package.version()}\n", control)
        control = (self.unpacked[package.DEVELOPMENT] / "DEBIAN/control").read_text()
        self.assertIn(f"\nDepends: mad-mpich (= {package.version()}), gcc", control)

    def test_alternatives_where_asked_for(self) -> None:
        for root, group in zip(self.unpacked.values(), ("/usr/bin/mpirun mpirun", "/usr/bin/mpicc mpi")):
            for name, words in (("postinst", f"--install {group} /opt/mad-mpich/bin/mpi"), ("prerm", "--remove mpi")):
                _run("sh", "-n", str(root / "DEBIAN" / name))
                self.assertIn(f"update-alternatives {words}", (root / "DEBIAN" / name).read_text())


class WithoutAlternatives(CacheTest):
    def test_no_scripts(self) -> None:
        (self.scratch / "root").mkdir()
        (self.scratch / "root" / "file").write_text("")
        package.describe(package.PACKAGES[0], self.scratch / "root", "libc6", alternatives=False)
        names = sorted(path.name for path in (self.scratch / "root" / "DEBIAN").iterdir())
        self.assertEqual(names, ["control", "md5sums"])


class BeforeBuild(CacheTest):
    def test_says_what_to_do(self) -> None:
        code, _, err = call(["package"])
        self.assertEqual(code, 2)
        self.assertIn("tools/mad build", err)


class NamedPrefix(CacheTest):
    def test_what_others_have_there_is_not_shipped(self) -> None:
        (self.scratch / "bin").mkdir()
        (self.scratch / "bin" / "mpiexec").write_text("")
        save_settings({"prefix": str(self.scratch), "named_prefix": str(self.scratch)})
        code, _, err = call(["package"])
        self.assertEqual(code, 2)
        self.assertIn("named by --prefix", err)


class Relocation(CacheTest):
    def test_no_room_in_a_program(self) -> None:
        (self.scratch / "program").write_bytes(b"\x7fELF/short/lib\0")
        with self.assertRaisesRegex(Failure, "longer than /short"):
            relocate(self.scratch, "/short", "/very/long/prefix")

    def test_zeroes_fill_the_rest_of_each_string(self) -> None:
        (self.scratch / "program").write_bytes(b"\0-L/old/prefix/lib:/old/prefix/lib64\0next")
        relocate(self.scratch, "/old/prefix", "/new")
        self.assertEqual((self.scratch / "program").read_bytes(), b"\0-L/new/lib:/new/lib64" + bytes(15) + b"next")

    def test_absolute_link(self) -> None:
        (self.scratch / "link").symlink_to("/old/prefix/lib")
        with self.assertRaisesRegex(Failure, "absolute link"):
            relocate(self.scratch, "/old/prefix", "/new")
