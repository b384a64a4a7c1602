"""Where MPICH comes from: trees that are refused, apt's sources in both formats."""

import unittest
from pathlib import Path
from typing import Dict, List
from unittest import mock

from madtool import source, tree_edits
from madtool.apt_sources import source_stanzas, source_stanzas_from_deb822, source_stanzas_from_list
from madtool.errors import Failure, Missing
from madtool.netmod_install import install_into
from madtool.tests.support import CacheTest, mpich_like_tree


class WrongTrees(CacheTest):
    def refuses(self, tree: Path, word: str) -> None:
        before = sorted(tree.rglob("*")) if tree.is_dir() else []
        with self.assertRaises(Missing) as caught:
            install_into(tree)
        self.assertIn(word, str(caught.exception))
        self.assertEqual(sorted(tree.rglob("*")) if tree.is_dir() else [], before)

    def test_no_such_directory(self) -> None:
        self.refuses(self.scratch / "nowhere", "no such directory")

    def test_no_mpich(self) -> None:
        (self.scratch / "tree").mkdir()
        self.refuses(self.scratch / "tree", "not an MPICH source tree")

    def test_other_versions(self) -> None:
        for version in ("3.4.3", "4.1", "5.0.1", "40.2"):
            with self.subTest(version):
                tree = mpich_like_tree(self.scratch / version, version)
                self.refuses(tree, f"MPICH {version}; the mad netmod is for MPICH 4.0.x")

    def test_git_checkout_without_configure(self) -> None:
        self.refuses(mpich_like_tree(self.scratch / "tree", configure=False), "without ./configure")

    def test_configured_in_place(self) -> None:
        tree = mpich_like_tree(self.scratch / "tree")
        (tree / "config.status").write_text("")
        self.assertRaises(Missing, source.obtain, str(tree))

    def test_named_source_that_is_not_there(self) -> None:
        self.assertRaises(Missing, source.obtain, str(self.scratch / "mpich.tar.gz"))

    def test_tarball_that_is_none(self) -> None:
        broken = self.scratch / "mpich.tar.gz"
        broken.write_bytes(b"no tar")
        target = self.scratch / "tree"
        self.assertRaises(Failure, source.unpack, source.obtain(str(broken)), target)
        self.assertFalse(target.exists())


class Edits(CacheTest):
    def setUp(self) -> None:
        """A tree with the lines that the edits look for."""
        super().setUp()
        self.tree = self.scratch / "tree"
        self.kept = self.scratch / "kept"
        for edit in tree_edits.EDITS:
            path = self.tree / edit.path
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text() if path.is_file() else ""
            path.write_text(text + edit.times * ("line before\n" + edit.old + "line after\n"))

    def apply(self) -> List[str]:
        return tree_edits.apply_all(self.tree, self.kept)

    def contents(self) -> Dict[str, str]:
        return {edit.path: (self.tree / edit.path).read_text() for edit in tree_edits.EDITS}

    def test_applied_once(self) -> None:
        self.assertEqual(sorted(self.apply()), sorted({edit.path for edit in tree_edits.EDITS}))
        contents = self.contents()
        for edit in tree_edits.EDITS:
            self.assertIn(edit.new, contents[edit.path])
        self.assertEqual(self.apply(), [])
        self.assertEqual(contents, self.contents())

    def test_applied_everywhere_or_not_at_all(self) -> None:
        twice = tree_edits.Edit("src/file.c", "old\n", "new\n", False, "", times=2)
        path = self.tree / "src/file.c"
        with mock.patch.object(tree_edits, "EDITS", (twice,)):
            for before, after in (("old\na\nold\n", "new\na\nnew\n"), ("old\na\n", "old\na\n")):
                path.write_text(before)
                self.apply()
                self.assertEqual(path.read_text(), after)

    def test_needed_edit_without_its_place_is_refused(self) -> None:
        needed = next(edit for edit in tree_edits.EDITS if edit.needed)
        (self.tree / needed.path).write_text("something else\n")
        self.assertRaises(Missing, self.apply)

    def test_repairs_may_be_there_already(self) -> None:
        needed = {edit.path for edit in tree_edits.EDITS if edit.needed}
        for edit in tree_edits.EDITS:
            if edit.path not in needed:
                (self.tree / edit.path).write_text("a later release\n")
        self.assertEqual(set(self.apply()), needed)

    def test_an_edit_that_changed_replaces_the_one_applied_before(self) -> None:
        first = tree_edits.Edit("src/file.c", "old\n", "new 1\n", True, "")
        second = tree_edits.Edit("src/file.c", "old\n", "new 2\n", True, "")
        path = self.tree / "src/file.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a\nold\nb\n")
        with mock.patch.object(tree_edits, "EDITS", (first,)):
            self.apply()
        with mock.patch.object(tree_edits, "EDITS", (second,)):
            self.assertEqual(self.apply(), ["src/file.c"])
            self.assertEqual(path.read_text(), "a\nnew 2\nb\n")
            path.write_text(path.read_text() + "the user's own line\n")
            self.assertEqual(self.apply(), [])
        self.assertIn("the user's own line", path.read_text())

    def test_an_edit_that_is_no_more_is_taken_back(self) -> None:
        edit = tree_edits.Edit("src/file.c", "old\n", "new\n", True, "")
        path = self.tree / "src/file.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a\nold\nb\n")
        with mock.patch.object(tree_edits, "EDITS", (edit,)):
            self.apply()
        with mock.patch.object(tree_edits, "EDITS", ()):
            self.assertEqual(self.apply(), ["src/file.c"])
            self.assertEqual(path.read_text(), "a\nold\nb\n")
            self.assertEqual(self.apply(), [])


class AptSources(unittest.TestCase):
    def test_deb822(self) -> None:
        text = (
            "# comment\nTypes: deb\nURIs: http://archive.example/debian\nSuites: bookworm bookworm-updates\n"
            "Components: main\nArchitectures: amd64\nSigned-By: /k.gpg\n\n"
            "Types: deb\nURIs: http://off.example/\nSuites: x\nEnabled: no\n"
        )
        self.assertEqual(
            source_stanzas_from_deb822(text),
            ["Types: deb-src\nURIs: http://archive.example/debian\nSuites: bookworm bookworm-updates\n"
             "Components: main\nSigned-By: /k.gpg"],
        )  # fmt: skip

    def test_one_line(self) -> None:
        text = (
            "deb [arch=amd64 signed-by=/k.gpg] http://archive.example/debian bookworm main contrib # why\n"
            "# deb http://off.example/ x main\nnonsense\n"
        )
        self.assertEqual(
            source_stanzas_from_list(text),
            ["Types: deb-src\nURIs: http://archive.example/debian\nSuites: bookworm\n"
             "Components: main contrib\nSigned-By: /k.gpg"],
        )  # fmt: skip


class AptConfiguration(CacheTest):
    def test_both_formats_once_and_nothing_written(self) -> None:
        etc = self.scratch / "apt"
        parts = etc / "sources.list.d"
        parts.mkdir(parents=True)
        (etc / "sources.list").write_text("deb http://archive.example/debian bookworm main\n")
        (parts / "again.list").write_text("deb http://archive.example/debian bookworm main\n")
        (parts / "more.sources").write_text("Types: deb\nURIs: http://more.example/\nSuites: s\nComponents: c\n")
        (parts / "ignored.save").write_text("deb http://old.example/ x main\n")
        before = {path: path.read_bytes() for path in etc.rglob("*") if path.is_file()}
        self.assertEqual(len(source_stanzas(etc)), 2)
        self.assertEqual(before, {path: path.read_bytes() for path in etc.rglob("*") if path.is_file()})
