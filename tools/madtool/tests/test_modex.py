"""What `tools/mad modex` makes of the simulation's counts."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from madtool import figure, modex, mpich_build
from madtool.errors import Failure, Missing
from madtool.hydra_log import Request

_CALLS = modex.Calls(put=10.0, get=20.0, fence=1000.0, served_put=3.0, served_get=5.0)
_COSTS = {"nodes": 16, "bytes": 16 * 900, "process_bytes": 16 * 768, "node_puts": 32, "most_node_puts": 2,
          "node_characters": 16 * 1200, "agreement_puts": 4, "agreement_characters": 160, "agreement_gets": 88,
          "most_agreement_gets": 10, "fences": 2, "contact_gets": 2}  # fmt: skip


class Modex(unittest.TestCase):
    def test_numbers_have_suffixes(self) -> None:
        self.assertEqual([modex.number(text) for text in ("512", "64K", "1m")], [512, 65536, 1048576])
        for wrong in ("", "0", "M", "1.5K", "-3", "\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT TWO}K"):
            with self.assertRaises(Missing):
                modex.number(wrong)

    def test_a_nodes_characters_are_shared_out(self) -> None:
        row = modex.our_way(_COSTS, 1024, _CALLS)
        self.assertAlmostEqual(1024 * row.process + 16 * row.node, 16 * 1200 + 160)
        self.assertAlmostEqual(row.process / row.node, (768 / 64) / 132)
        self.assertAlmostEqual(row.seconds, (2 * 10 + 2 * 1000 + 12 * 20) / 1e6)
        self.assertEqual((row.puts, row.gets), (36, 10))

    def test_a_card_each_is_read_by_every_node(self) -> None:
        row = modex.others_way("ch4:ofi", 32, 1024, 64, _CALLS)
        self.assertEqual(row.process, 32 + len("-allgather-shm-1-1023"))
        self.assertEqual((row.puts, row.gets), (1024, 1024))
        self.assertAlmostEqual(row.seconds, (64 * 3 + 1000 + 1024 * 5) / 1e6)

    def test_a_card_is_what_others_put(self) -> None:
        requests = [Request(0, "put", "-bcast-1-0", "A" * 90), Request(0, "put", "-allgather-shm-1-0", "0200AB"),
                    Request(6, "put", "-allgather-shm-1-1", "0200")]  # fmt: skip
        self.assertEqual(modex.card_characters(requests), 6)
        with self.assertRaises(Failure):
            modex.card_characters(requests[:1])

    def test_a_launcher_that_hangs_is_a_failure(self) -> None:
        with tempfile.TemporaryDirectory() as prefix, mock.patch.object(modex, "_PROBE_S", 0.1), \
                mock.patch.object(mpich_build, "need_prefix", return_value=Path(prefix)):  # fmt: skip
            (Path(prefix) / "bin").mkdir()
            (Path(prefix) / "bin" / "mpiexec").write_text("#!/bin/sh\nexec sleep 60\n")
            (Path(prefix) / "bin" / "mpiexec").chmod(0o755)
            with self.assertRaisesRegex(Failure, "no answer within 0.1 s"):
                modex.measured()

    def test_the_mails_variants_stand_beside(self) -> None:
        text = "\n".join(modex.naming(_COSTS, 1024, 64))
        for size in ("89.00", "69.00", "71.00", "51.00", "20.00", "0.19", "12.00 bytes a process and 132 a node"):
            self.assertIn(size, text)

    def test_every_row_is_drawn(self) -> None:
        rows = [(ranks, [modex.our_way(_COSTS, ranks, _CALLS), modex.others_way("ch4:ofi", 32, ranks, 64, _CALLS)])
                for ranks in (256, 1024)]  # fmt: skip
        script = figure.script(modex.drawing(rows, 64))
        self.assertEqual(script.count("title 'ch4:mad'"), 4)  # two panels, PNG and SVG
        self.assertEqual(script.count("title 'ch4:ofi'"), 4)


if __name__ == "__main__":
    unittest.main()
