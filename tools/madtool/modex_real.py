"""`tools/mad modex --real`: the model of start-up data beside a job of so many real ranks, byte for byte.

The ranks run on this machine, which MPICH is told to take for several nodes (MPIR_CVAR_NUM_CLIQUES).  What they gave
and asked is told by hydra, not by us; what the bytes are is read by the code that every process has for it.
"""

import json
import os
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence, Set, Tuple

from madtool import compare_build, compare_wire, hydra_log
from madtool.compare_wire import MAD
from madtool.errors import Failure, Missing
from madtool.hydra_log import Request
from madtool.log import say

PROGRAM = compare_build.Program("empty", ("modex/empty.cc",))
_NODE = re.compile(r"mad-0-(\d+)(?:\.\d+)?$")
_AGREE = re.compile(r"mad-0-agree-")
_LIMIT_S = 900
# What the log says by other names than the program that counts bytes.
_COUNTED = ("nodes", "bytes", "process_bytes", "node_puts", "node_characters", "agreement_puts", "agreement_characters",
            "agreement_gets", "most_agreement_gets", "fences")  # fmt: skip
_LABELS = {"bytes": "bytes of data", "process_bytes": "  of which the processes'", "node_puts": "puts of it",
           "node_characters": "  their characters", "agreement_puts": "puts to agree",
           "agreement_characters": "  their characters", "agreement_gets": "gets to agree",
           "most_agreement_gets": "  of the process with most"}  # fmt: skip


class Asked(NamedTuple):
    """What the processes of a job asked for its start-up data."""

    values: Dict[str, str]  # that they put, by key
    counts: Dict[str, int]
    contacts: Tuple[int, int]  # data of a node that some process looked at, after the agreement; the gets of it


def asked(requests: Sequence[Request]) -> Asked:
    """Of a job's log.  Who speaks for a group of nodes reads their data to agree; who reads it later wants to talk."""
    values: Dict[str, str] = {}
    counts: Counter[str] = Counter()
    to_agree: Counter[int] = Counter()  # gets of a process
    fences: Counter[int] = Counter()  # of a process, from its first put of ours until it knows of the agreement
    speakers = {each.process for each in requests if each.name == "put" and _AGREE.match(each.key)}
    counting: Set[int] = set()
    contacts: Dict[Tuple[int, str], int] = defaultdict(int)
    for process, name, key, value in requests:
        node, agrees = _NODE.match(key), _AGREE.match(key)
        if name == "put" and (node or agrees):
            values[key] = value
            kind = "agreement" if agrees else "node"
            counts[f"{kind}_puts"] += 1
            counts[f"{kind}_characters"] += len(key) + len(value)
            counting.add(process)
            if agrees:
                speakers.discard(process)
        elif name == "get" and (agrees or (node and process in speakers)):
            to_agree[process] += 1
            if agrees:
                counting.discard(process)
        elif name == "get" and node:
            contacts[process, node.group(1)] += 1
        elif name == "barrier_in" and process in counting:
            fences[process] += 1
    counts.update(agreement_gets=sum(to_agree.values()), most_agreement_gets=max(to_agree.values(), default=0),
                  fences=max(fences.values(), default=0))  # fmt: skip
    return Asked(values, dict(counts), (len(contacts), sum(contacts.values())))


def log_of(whose: str, program: Path, ranks: int, nodes: int) -> str:
    """What hydra says of an empty job of so many ranks on one machine that is taken for several nodes."""
    wire = compare_wire.of(["auto"])
    command = [*compare_build.launcher(whose, wire, ranks), str(program)]
    command.insert(1, "-v")
    settings = {**compare_wire.environment(whose, wire), "MPIR_CVAR_NUM_CLIQUES": str(nodes),
                "MPIR_CVAR_CLIQUES_BY_BLOCK": "1"}  # fmt: skip
    with tempfile.TemporaryFile("w+") as out:
        try:
            done = subprocess.run(command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.STDOUT, check=False, timeout=_LIMIT_S)  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{ranks} ranks of an empty job did not end within {_LIMIT_S} s") from late
        out.seek(0)
        text = out.read()
    if done.returncode != 0:
        raise Failure(f"{ranks} ranks of an empty job ended with {done.returncode}: {text[-500:]}")
    return text


def _predicted(model: Path, ranks: int, per_node: int, values: Dict[str, str]) -> Tuple[Dict[str, int], Dict[str, int]]:
    """The bytes as they are read, and the model's of a job with the same host name and process ids."""
    with tempfile.NamedTemporaryFile("w", suffix=".values") as file:
        file.writelines(f"{key} {value}\n" for key, value in values.items())
        file.flush()
        done = subprocess.run([str(model), str(ranks), str(per_node), file.name], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    real, model_said = done.stdout.splitlines()
    return json.loads(real), json.loads(model_said)


def report(real: Dict[str, int], model: Dict[str, int], job: Asked, ranks: int) -> Tuple[List[str], bool]:
    """A line for each figure, and whether all are as predicted."""
    lines = [f"{ranks} real ranks, started here:{'':<8}{'real':>12}{'model':>12}"]
    for name in _COUNTED:
        lines.append(f"  {_LABELS.get(name, name):<32}{real[name]:>12}{model[name]:>12}"
                     + ("" if real[name] == model[name] else "  DIFFERS"))  # fmt: skip
    alike = all(real[name] == model[name] for name in _COUNTED) and real["nodes_as_predicted"] == model["nodes"]
    lines.append(f"{real['nodes_as_predicted']} of {model['nodes']} nodes are as predicted, byte for byte; "
                 f"{job.contacts[0]} times a process looked at another node's data, by {job.contacts[1]} gets")  # fmt: skip
    return lines, alike


def run(model: Path, ranks: int, per_node: int) -> bool:
    """Prints the two beside each other; whether they are the same."""
    if ranks <= per_node or ranks % per_node:
        raise Missing(f"--real: {ranks} ranks are no nodes of {per_node}; those of one node ask the launcher nothing")
    program = compare_build.programs([MAD], PROGRAM)[MAD]
    say(f"modex: starting {ranks} ranks")
    job = asked(hydra_log.requests(log_of(MAD, program, ranks, ranks // per_node)))
    real, predicted = _predicted(model, ranks, per_node, job.values)
    lines, alike = report({**real, **job.counts}, predicted, job, ranks)
    for line in lines:
        print(line)
    return alike
