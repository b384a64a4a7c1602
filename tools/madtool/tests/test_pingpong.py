"""`tools/mad pingpong`: which fabrics, what reaches the program, and where results go."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Dict, List, Optional, Tuple
from unittest import mock

from madtool import compare_wire, mpich_build, pingpong
from madtool.tests.support import CacheTest, call

# Stands for mpiexec: writes down the fabric and the words after `-n 2 PROGRAM`, and makes the results asked for.
_MPIEXEC = """#!/bin/sh
shift 3
echo "$MPIR_CVAR_CH4_MAD_FABRIC $MPIR_CVAR_CH4_MAD_INTERFACE $*" >> "$0.calls"
while [ $# -gt 0 ]; do [ "$1" = --csv ] && echo results > "$2"; shift; done
[ "$MPIR_CVAR_CH4_MAD_FABRIC" != ofi:pigeon ] || exit 3
"""


class Pingpong(CacheTest):
    def setUp(self) -> None:
        super().setUp()
        self.mpiexec = self.scratch / "bin" / "mpiexec"
        self.mpiexec.parent.mkdir()
        self.mpiexec.write_text(_MPIEXEC)
        self.mpiexec.chmod(0o755)
        build = SimpleNamespace(prefix=self.scratch)
        for patch in (mock.patch.object(mpich_build, "ensure_as_before", return_value=build),
                      mock.patch.object(pingpong, "program", return_value=self.scratch / "pingpong")):  # fmt: skip
            patch.start()
            self.addCleanup(patch.stop)

    def calls(self, words: List[str], environment: Optional[Dict[str, str]] = None) -> Tuple[int, List[str]]:
        """The exit code, and what each run was given: fabric, interface, words."""
        calls = Path(f"{self.mpiexec}.calls")
        calls.unlink(missing_ok=True)
        with mock.patch.dict("os.environ", environment or {}):
            code = call(["pingpong", *words])[0]
        return code, calls.read_text().splitlines()

    def test_tcp_and_what_a_user_gets_on_one_host_are_a_table_each(self) -> None:
        self.assertEqual(self.calls(["--quick"]), (0, ["tcp lo --quick", "auto lo --quick"]))

    def test_a_fabric_that_is_chosen_is_the_only_one(self) -> None:
        chosen = {"MPIR_CVAR_CH4_MAD_FABRIC": "ofi:tcp", "MPIR_CVAR_CH4_MAD_INTERFACE": "eth9"}
        self.assertEqual(self.calls([], chosen), (0, ["ofi:tcp eth9 "]))
        self.assertEqual(self.calls(["--fabric", "ucx:posix,cma"], chosen), (0, ["ucx:posix,cma eth9 "]))

    def test_each_fabric_has_a_file_of_results(self) -> None:
        csv = self.scratch / "results.csv"
        self.assertEqual(self.calls(["--csv", str(csv), "--fabric", "shm"])[0], 0)
        self.assertTrue(csv.is_file())
        csv.unlink()
        self.assertEqual(self.calls(["--csv", str(csv), "--fabrics", "tcp,ofi:tcp"])[0], 0)
        self.assertEqual(sorted(path.name for path in self.scratch.glob("*.csv")),
                         ["results-ofi-tcp.csv", "results-tcp.csv"])  # fmt: skip

    def test_what_the_program_would_refuse_is_told_before_it_is_built(self) -> None:
        with mock.patch.object(mpich_build, "ensure_as_before", side_effect=AssertionError("something is built")):
            for words in (["--types", "vector,rows-8"], ["--modes", "off,mpi"], ["--receive", "paper,typed"],
                          ["--bytes", "64,3"], ["--bytes", "2000M"], ["--bytes", "1G"], ["--blocks", "0"],
                          ["--iterations", "many"], ["--types", ""], ["--csv", "/nonexistent/x.csv"]):  # fmt: skip
                code, _, err = call(["pingpong", *words])
                self.assertEqual(code, 2, words)
                self.assertIn(words[0], err)

    def test_what_it_takes_reaches_it(self) -> None:
        words = ["--types", ",".join(pingpong._TYPES), "--bytes", "4,1024M", "--blocks", "1,64M", "--modes",
                 ",".join(compare_wire.PATHS), "--iterations", "1000000", "--receive", "typed"]  # fmt: skip
        self.assertEqual(self.calls([*words, "--fabric", "tcp"]), (0, ["tcp lo " + " ".join(words)]))
        layout, options = ((pingpong.SOURCES / name).read_text() for name in ("layout.c", "options.c"))
        self.assertEqual(re.findall(r'^    \{"([a-z-]+)", (?:true|false)', layout, re.MULTILINE), [*pingpong._TYPES])
        self.assertIn(", ".join(f'"{name}"' for name in pingpong._RECEIVE), options)
        self.assertIn(",".join(compare_wire.PATHS), options)

    def test_a_run_that_fails_ends_it(self) -> None:
        self.assertEqual(self.calls(["--fabrics", "ofi:pigeon,tcp"]), (3, ["ofi:pigeon lo "]))
