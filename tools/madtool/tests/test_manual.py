"""The manual pages and the completion say what the tool, the netmod and the headers say."""

import argparse
import shutil
import subprocess
import unittest
from typing import List

from madtool import cli, completion, manual, roff
from madtool.libmad_build import HEADER
from madtool.paths import CHECKOUT
from madtool.tests.support import CacheTest, call
from madtool.tests.test_cli import SUBCOMMANDS


def _parser() -> argparse.ArgumentParser:
    return cli._parser()


class Roff(unittest.TestCase):
    def test_lines_that_look_like_requests_are_text(self) -> None:
        self.assertEqual(roff.escaped(".so x\n'quoted'\na-b\\n"), "\\&.so x\n\\&'quoted'\na\\-b\\en")


class Pages(CacheTest):
    def test_mad_1_has_every_subcommand_with_its_options(self) -> None:
        page = manual.documents(_parser())["man/man1/mad.1"]
        for name in SUBCOMMANDS:
            self.assertIn(f'.SS "{name}'.replace("-", "\\-"), page)
        for words, child in completion.subcommands(_parser()):
            self.assertTrue(child.description, f"{words} has no description")
            for action in child._actions:
                self.assertTrue(action.help, f"{words}: {action.dest} has no help")

    def test_mad_7_has_every_control_variable_of_the_netmod(self) -> None:
        names = {one.name for one in manual.variables()}
        sources = "".join(path.read_text() for path in manual.NETMOD.glob("*.c"))
        used = set(manual.re.findall(r"MPIR_CVAR_CH4_MAD_\w+", sources))
        self.assertEqual(names, used)
        page = manual.documents(_parser())["man/man7/mad.7"]
        for one in manual.variables():
            self.assertIn(one.name, page)
            self.assertTrue(one.description.endswith("."), one.name)

    def test_mad_7_has_every_other_variable_that_is_read(self) -> None:
        rooms = [path for room in ("madlike", "netmod") for path in (CHECKOUT / room).rglob("*.c*")
                 if path.suffix in (".c", ".cc") and not path.name.endswith("_test.cc")]  # fmt: skip
        sources = "".join(path.read_text() for path in [*rooms, CHECKOUT / "tools" / "madtool" / "paths.py"])
        listed = {name for name, _ in manual.ENVIRONMENT}
        self.assertEqual([name for name in listed if f'"{name}"' not in sources], ["MAD_UCX_..."])
        self.assertIn('("MAD_" + name)', sources)
        read = manual.re.findall(r'(?:getenv\(|environ\.get\(|Variable(?:\[\])? = )"(MAD_\w+)"', sources)
        self.assertEqual({*read} - listed, set())
        page = manual.documents(_parser())["man/man7/mad.7"]
        for name, sentence in manual.ENVIRONMENT:
            self.assertIn(f".B {name}\n", page)
            self.assertTrue(sentence.endswith("."), name)

    def test_info_says_which_variables_count(self) -> None:
        source = (CHECKOUT / "perf" / "info" / "command.cc").read_text()
        names = manual.re.findall(r'envname\("(\w+)"\)', source)
        names += ["MPIR_CVAR_CH4_MAD_" + name for name in manual.re.findall(r'pair\("--\w+", "(\w+)"\)', source)]
        help_text = next(child.description for words, child in completion.subcommands(_parser()) if words == "info")
        self.assertEqual(sorted(manual.re.findall(r"MPIR_CVAR_\w+", help_text or "")), sorted(names))

    def test_section_3_has_every_function_of_the_two_interfaces(self) -> None:
        documents = manual.documents(_parser())
        second_half = HEADER.read_text().partition(manual._MADELEINE)[2]
        declared = set(manual.re.findall(r"^MAD_API .*?\b(mad_\w+)\(", second_half, manual.re.MULTILINE))
        declared |= set(manual.re.findall(r"^int (MPIX_\w+)\(", manual.SWITCH_HEADER.read_text(), manual.re.MULTILINE))
        self.assertGreater(len(declared), 10)
        for name in declared:
            self.assertTrue(documents[f"man/man3/{name}.3"].startswith(".so man3/m"), name)

    def test_continuation_lines_stay_aligned(self) -> None:
        header = "/* Text. */\nMAD_API int f(int a,\n              int b);\n"
        self.assertEqual(manual.entries(header), [manual.Entry("Text.", ("int f(int a,", "      int b);"))])

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_groff_has_nothing_to_complain_about(self) -> None:
        manual.install(_parser(), self.scratch)
        for name in ("man1/mad.1", "man7/mad.7", "man3/mpix_mad.3", "man3/madeleine.3"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(self.scratch / "man" / name)],
                                  stderr=subprocess.PIPE, text=True, check=True)  # fmt: skip
            self.assertEqual(done.stderr, "", name)


@unittest.skipUnless(shutil.which("bash"), "no bash here")
class Completion(CacheTest):
    def _completed(self, words: List[str]) -> List[str]:
        code, script, _ = call(["completion"])
        self.assertEqual(code, 0)
        line = " ".join(f"'{word}'" for word in ["tools/mad", *words])
        ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _mad; echo ${{COMPREPLY[*]}}"
        done = subprocess.run(["bash", "-c", script + ask], stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.split()

    def test_commands_and_their_options(self) -> None:
        self.assertEqual(self._completed(["conf"]), ["conformance"])
        self.assertEqual(self._completed(["test", "--l"]), ["--list"])
        self.assertEqual(self._completed(["bench", "e"]), ["engine"])
        self.assertEqual(self._completed(["bench", "engine", "--qu"]), ["--quick"])
        self.assertEqual(self._completed(["build", "--nothing"]), [])
