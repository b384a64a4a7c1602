"""What the stage `slurm` writes and reads; Slurm itself is only started where the stage is named."""

import unittest
from pathlib import Path

from madtool import slurm


class Slurm(unittest.TestCase):
    def test_every_node_is_on_this_host_with_a_port_of_its_own(self) -> None:
        lines = [line for line in slurm.configuration(Path("/h")).splitlines() if line.startswith("NodeName=")]
        self.assertEqual(len(lines), slurm.NODES)
        self.assertEqual(len({line.split("Port=")[1].split()[0] for line in lines}), slurm.NODES)
        self.assertTrue(all("NodeHostname=@HOST@ " in line for line in lines))

    def test_programs_run_on_all_nodes(self) -> None:
        text = slurm.script(Path("/programs"))
        for plugin in ("pmi2", "pmix"):
            words = f"srun --mpi={plugin} -N{slurm.NODES} -n{slurm.RANKS} /programs/launched {slurm.RANKS} {slurm.NODES}"
            self.assertIn(f"{words} && echo 'passed launched by {plugin}'", text)

    def test_what_did_not_pass_failed(self) -> None:
        text = "ok launched\npassed launched by pmi2\nsrun: error\nfailed collectives by pmi2\npassed launched by pmix\n"
        tally = slurm.judge(text)
        self.assertEqual((tally.passed, tally.failed), (2, 4))
        self.assertIn("first_contact by pmix failed under srun", tally.notes)


if __name__ == "__main__":
    unittest.main()
