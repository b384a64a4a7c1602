"""What `tools/mad modex` makes of the simulation's counts."""

import unittest

from madtool import modex
from madtool.errors import Missing

_CALLS = modex.Calls(put=10.0, get=20.0, fence=1000.0)
_COSTS = {"nodes": 16.0, "process_bytes": 12.0, "node_bytes": 132.0, "node_characters": 1200.0, "node_puts": 2.0,
          "fences": 2.0, "agreement_gets": 10.0, "contact_gets": 2.0}  # fmt: skip


class Modex(unittest.TestCase):
    def test_numbers_have_suffixes(self) -> None:
        self.assertEqual([modex.number(text) for text in ("512", "64K", "1m")], [512, 64000, 1000000])
        for wrong in ("", "0", "M", "1.5K", "-3"):
            with self.assertRaises(Missing):
                modex.number(wrong)

    def test_a_nodes_characters_are_shared_out(self) -> None:
        row = modex.new_way(_COSTS, 1024, 64, _CALLS)
        self.assertAlmostEqual(64 * row.process_bytes + row.node_bytes, 1200.0)
        self.assertAlmostEqual(row.seconds, (2 * 10 + 2 * 1000 + 12 * 20) / 1e6)
        self.assertEqual((row.puts, row.gets), (32, 10))

    def test_a_card_each_is_read_by_every_node(self) -> None:
        row = modex.old_way(1024, 64, _CALLS)
        self.assertEqual((row.puts, row.gets), (1024, 1024))
        self.assertAlmostEqual(row.seconds, (64 * 10 + 1000 + 1024 * 20) / 1e6)

    def test_the_mails_variants_stand_beside(self) -> None:
        text = "\n".join(modex.naming(_COSTS, 1024, 64))
        for size in ("89.00", "69.00", "71.00", "51.00", "20.00", "0.19"):
            self.assertIn(size, text)


if __name__ == "__main__":
    unittest.main()
