"""What a real job's log says, as `tools/mad modex --real` reads it."""

import unittest

from madtool import hydra_log, modex_real
from madtool.hydra_log import Request


def _log(*requests: Request) -> str:
    lines = ["mpiexec: hello"]
    for process, name, key, value in requests:
        words = "kvsname=kvs_1_0_2_host " + (f"key={key} " if key else "") + (f"value={value} " if value else "")
        lines += [f"[proxy:0:0@host] got pmi command (from {process}): {name}", words if key else "",
                  "[proxy:0:0@host] PMI response: cmd=result key=mad-0-7"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _barrier(*processes: int) -> "list[Request]":
    return [Request(process, "barrier_in", "", "") for process in processes]


# Two nodes of a process each; 0 speaks for both.
_JOB = [
    *_barrier(0, 6), Request(0, "put", "-bcast-1-0", "AA"),
    Request(0, "put", "mad-0-0", "1.abc"), Request(6, "put", "mad-0-1", "2.abc"), Request(6, "put", "mad-0-1.1", "d"),
    *_barrier(0, 6), Request(0, "get", "mad-0-1", ""), Request(0, "get", "mad-0-1.1", ""),
    Request(0, "put", "mad-0-agree-0-0", "xy"), *_barrier(0, 6),
    Request(0, "get", "mad-0-agree-0-0", ""), Request(6, "get", "mad-0-agree-0-0", ""),
    Request(6, "get", "mad-0-0", ""), *_barrier(0, 6),
]  # fmt: skip


class Real(unittest.TestCase):
    def test_requests_are_read_from_the_log(self) -> None:
        self.assertEqual(hydra_log.requests(_log(*_JOB)), _JOB)

    def test_what_agreement_takes_is_told_from_contact(self) -> None:
        job = modex_real.asked(_JOB)
        self.assertEqual(job.values, {"mad-0-0": "1.abc", "mad-0-1": "2.abc", "mad-0-1.1": "d", "mad-0-agree-0-0": "xy"})
        self.assertEqual(job.counts, {
            "node_puts": 3, "node_characters": 7 + 5 + 7 + 5 + 9 + 1, "agreement_puts": 1, "agreement_characters": 17,
            "agreement_gets": 4, "most_agreement_gets": 3, "fences": 2,
        })  # fmt: skip
        self.assertEqual(job.contacts, (1, 1))

    def test_what_differs_is_said(self) -> None:
        names = ("nodes", "bytes", "process_bytes", "node_puts", "node_characters", "agreement_puts",
                 "agreement_characters", "agreement_gets", "most_agreement_gets", "fences")  # fmt: skip
        model = dict.fromkeys(names, 2)
        real = {**model, "nodes_as_predicted": 2}
        job = modex_real.Asked({}, {}, (3, 6))
        self.assertTrue(modex_real.report(real, model, job, 4)[1])
        lines, alike = modex_real.report({**real, "fences": 3}, model, job, 4)
        self.assertFalse(alike)
        self.assertEqual([line for line in lines if "DIFFERS" in line], [lines[-2]])
        self.assertFalse(modex_real.report({**real, "nodes_as_predicted": 1}, model, job, 4)[1])


if __name__ == "__main__":
    unittest.main()
