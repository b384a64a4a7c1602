"""The test programs' runs, as data."""

import re
from dataclasses import dataclass, field
from typing import Dict, Tuple

PATHS = "auto, gather, hybrid, pipeline, pack, off"


@dataclass(frozen=True)
class Test:
    """One run of one program.

    expect is what must happen:
      ok        exit status 0, and nothing printed but "ok PROGRAM"; or "SKIP: reason"
      says      exit status 0, "ok PROGRAM", and each of `texts` on a line of its own, once for every rank
      survives  "ok PROGRAM" from a witness; mpiexec's own exit status tells of the victim
      refused   exit status not 0, and each of `texts` somewhere in what is printed
      prints    exit status 0, and each of `texts` somewhere in what is printed
    """

    name: str
    program: str
    np: int
    args: Tuple[str, ...] = ()
    env: Dict[str, str] = field(default_factory=dict)
    expect: str = "ok"
    texts: Tuple[str, ...] = ()
    mpiexec: Tuple[str, ...] = ()
    # Each rank below a shell: mpiexec's proxy kills all its ranks when one of them ends by a signal, even with
    # -disable-auto-cleanup; a shell turns the signal into an exit status.
    shell: bool = False
    timeout: int = 60  # seconds
    two_hosts: bool = False  # half of the ranks on each, see hosts.py
    env_of_others: Dict[str, str] = field(default_factory=dict)  # of all ranks but the first
    apart: bool = False  # each rank without the processes and the shared memory of the others, as in containers


def _variable(name: str, value: str) -> Dict[str, str]:
    return {f"MPIR_CVAR_CH4_MAD_{name}": value}


def _refused(name: str, variable: str, value: str, *texts: str) -> Test:
    return Test(f"init-{name}", "hello", 2, env=_variable(variable, value), expect="refused", texts=texts,
                timeout=30)  # fmt: skip


def _counters(name: str, args: Tuple[str, ...], env: Dict[str, str]) -> Test:
    return Test(f"counters-{name}", "counters", 2, args=args, env=env)


def _death(scene: str, fabric: str = "tcp", ranks: int = 3) -> Test:
    suffix = {"tcp": "", "ofi:tcp": "-ofi"}.get(fabric, "-" + re.sub("[:;,]", "-", fabric))
    name = f"death-{scene}{suffix}"
    return Test(name, "death", ranks, args=(scene,), env=_variable("FABRIC", fabric), mpiexec=("-disable-auto-cleanup",),
                expect="ok" if scene == "leaving" else "survives", shell=True)  # fmt: skip


def _two_hosts(name: str, program: str, fabrics: str) -> Test:
    # The fabrics choose their interface: the wire between the hosts.
    env = {**_variable("FABRIC", fabrics), **_variable("INTERFACE", "")}
    return Test(f"two-hosts-{name}", program, 4, env=env, two_hosts=True, timeout=120)


_LIST = "ucx:posix;tcp"

TESTS = (
    # Point to point.
    Test("hello", "hello", 4),
    Test("hello-alone", "hello", 1),
    Test("first-contact", "first_contact", 2, timeout=30),
    Test("first-contact-crowd", "first_contact", 6, timeout=30),
    Test("hello-fortran", "hello_fortran", 2),
    Test("combiners", "combiners", 2),
    Test("paths", "paths", 2, timeout=120),
    Test("truncation", "truncation", 2),
    Test("probe", "probe", 3),
    Test("any-source", "any_source", 4),
    Test("self", "self", 2),
    Test("self-alone", "self", 1),
    Test("freed-types", "freed_types", 2),
    Test("persistent", "persistent", 2),
    Test("partitioned", "partitioned", 2),
    Test("send-modes", "send_modes", 2),
    Test("bursts", "bursts", 2),
    Test("cancel", "cancel", 2),
    Test("threads", "threads", 2),
    Test("bounded", "bounded", 2),
    Test("growth", "growth", 2, timeout=120),
    Test("crowd", "crowd", 16, timeout=120),
    Test("large", "large", 2, timeout=180),
    Test("stress", "stress", 4),
    # On other fabrics.
    *(Test(f"{program}-{suffix}", program, np, env=_variable("FABRIC", fabric), timeout=120)
      for fabric, suffix in (("ofi:tcp", "ofi"), ("ucx", "ucx"), ("ofi:shm", "shm"))
      for program, np in (("hello", 4), ("first_contact", 2), ("stress", 4), ("collectives", 4), ("ports", 4), ("parting", 2))),  # fmt: skip
    *(Test(f"{program}-{suffix}", program, np, env=_variable("FABRIC", fabric), timeout=120)
      for fabric, suffix in (("ucx", "ucx"), ("ofi:shm", "shm"))
      for program, np in (("rma", 3), ("threads", 2), ("crowd", 16), ("bursts", 2))),
    *(Test(f"{program}-ucx-tcp", program, np, env=_variable("FABRIC", "ucx:tcp"), timeout=120)
      for program, np in (("first_contact", 2), ("collectives", 4), ("ports", 4))),
    *(Test(f"{program}-ucx-cma", program, np, env=_variable("FABRIC", "ucx:posix,cma"), timeout=180)
      for program, np in (("stress", 4), ("rma", 3), ("large", 2), ("parting", 2))),
    Test("combiners-sockets", "combiners", 2, env=_variable("FABRIC", "ofi:sockets")),
    # Several fabrics in one job.
    *(Test(f"{program}-list", program, np, env=_variable("FABRIC", _LIST), timeout=120)
      for program, np in (("hello", 4), ("collectives", 4), ("ports", 4), ("spawn", 2), ("parting", 2))),
    *(Test(f"{program}-apart", program, 3, env={**_variable("FABRIC", _LIST), "MPIR_CVAR_NOLOCAL": "1"}, apart=True,
           expect="prints", texts=(f"ok {program}", "ucx: no shared memory with 127.0.0.1")) for program in ("hello", "collectives")),
    _two_hosts("ucx-posix", "two_hosts", "ucx:posix;tcp"),
    _two_hosts("collectives", "collectives", _LIST),
    _two_hosts("ports", "ports", _LIST),
    # Everything else that MPI does.
    Test("collectives", "collectives", 4),
    Test("rma", "rma", 3, timeout=120),
    Test("file-io", "file_io", 3),
    Test("spawn", "spawn", 2),
    Test("ports", "ports", 4, timeout=90),
    Test("parting", "parting", 2),
    # The switch.
    Test("switch", "switch", 2),
    Test("switch-variable", "switch", 2, env=_variable("DATATYPE_PATH", "pipeline")),
    Test("switch-verbose", "switch", 2, args=("verbose",), env={"MAD_VERBOSE": "1"}, expect="says",
         texts=(f"ch4:mad: ignoring hint mad_datatype_path=express; the paths are {PATHS}",)),  # fmt: skip
    Test("trace", "switch", 2, env={"MAD_TRACE": "stderr"}, expect="prints",
         texts=("12 bytes, pipeline -> pipeline", "12 bytes, hybrid -> hybrid", "summary of fabric ")),  # fmt: skip
    _counters("paths", ("paths",), {}),
    _counters("max-blocks", ("max_blocks",), _variable("MAX_BLOCKS", "10")),
    # 1 MiB: a first packet of up to 128 KiB, then packets of 4 KiB; or all in larger ones.
    _counters("flush-threshold", ("packets", "220", "400"), _variable("FLUSH_THRESHOLD", "4096")),
    _counters("flush-default", ("packets", "1", "200"), {}),
    # Of an unexpected message no more is kept than the limit says (and a few bytes of other messages).
    _counters("eager-limit", ("unexpected", "500", "1064"), _variable("EAGER_LIMIT", "1000")),
    _counters("eager-large", ("unexpected", "20000", "32064"), _variable("EAGER_LIMIT", "32000")),
    # 4096 blocks: 256 segments a packet on tcp, 4 on ofi:tcp, 8 on ofi:sockets, one of them the header's.
    _counters("fabric-tcp", ("gathered", "16", "500"), _variable("FABRIC", "tcp")),
    _counters("fabric-ofi-tcp", ("gathered", "1300", "4000"), _variable("FABRIC", "ofi:tcp")),
    _counters("fabric-sockets", ("gathered", "500", "1100"), _variable("FABRIC", "ofi:sockets")),
    # Checksums, on all fabrics: what is written remotely without them is sent in frames with them.
    Test("checksum", "checksum", 2, args=("on",), env=_variable("CHECKSUM", "1"), timeout=120),
    Test("checksum-off", "checksum", 2, args=("off",), timeout=120),
    Test("checksum-one", "checksum", 2, args=("one",), timeout=120),
    *(Test(f"checksum-{fabric.replace(':', '-')}", "checksum", 2, args=("on",),
           env={**_variable("CHECKSUM", "1"), **_variable("FABRIC", fabric)}, timeout=120)
      for fabric in ("ofi:tcp", "ofi:sockets", "ofi:shm", "ucx")),  # fmt: skip
    # Bad settings end MPI_Init, and say why.
    _refused("bad-path", "DATATYPE_PATH", "express", "express", PATHS),
    _refused("bad-fabric", "FABRIC", "carrier:pigeon", "carrier:pigeon", "ofi:tcp"),
    _refused("bad-provider", "FABRIC", "ofi:pigeon", "pigeon"),
    _refused("bad-list", "FABRIC", "tcp;tcp", "'tcp;tcp' names tcp twice", "rank 0 on", "rank 1 on"),
    _refused("bad-in-list", "FABRIC", "tcp;carrier:pigeon", "carrier:pigeon", "ofi:tcp"),
    Test("init-other-list", "hello", 3, env=_variable("FABRIC", "tcp"), env_of_others=_variable("FABRIC", _LIST),
         expect="refused", texts=("rank 0 on", "has the fabric tcp, rank 1 on", "rank 2 on", _LIST,
                                  "MPIR_CVAR_CH4_MAD_FABRIC must choose the same"), timeout=30),
    Test("init-one-cannot", "hello", 3, env=_variable("FABRIC", "tcp"), env_of_others=_variable("FABRIC", "ofi:pigeon"),
         expect="refused", texts=("[0] ch4:mad: rank 1 on", "[1] ch4:mad: rank 1 on", "[2] ch4:mad: rank 2 on", "pigeon"),
         timeout=30),
    _refused("bad-transport", "FABRIC", "ucx:pigeon", "ucx:pigeon", "ucx:posix"),
    _refused("cma-alone", "FABRIC", "ucx:cma,tcp", "ucx:cma,tcp", "needs posix"),
    _refused("bad-interface", "INTERFACE", "nosuch0", "nosuch0"),
    _refused("bad-eager-limit", "EAGER_LIMIT", "-5", "MPIR_CVAR_CH4_MAD_EAGER_LIMIT", "-5"),
    _refused("bad-flush", "FLUSH_THRESHOLD", "-1", "MPIR_CVAR_CH4_MAD_FLUSH_THRESHOLD", "-1"),
    _refused("bad-max-blocks", "MAX_BLOCKS", "-1", "MPIR_CVAR_CH4_MAD_MAX_BLOCKS", "-1"),
    _refused("bad-costs-file", "COSTS_FILE", "/no/such/costs.json", "/no/such/costs.json", "tools/mad calibrate"),
    # Strangers, deaths, and ends in good order.
    # Not on sockets: there the provider's own listening thread, in libfabric, crashes.
    Test("foreign", "foreign", 3),
    Test("foreign-ofi", "foreign", 3, env=_variable("FABRIC", "ofi:tcp")),
    *map(_death, ("receiving", "receiving-gapped", "sending", "sending-gapped", "awaited", "awaited-unknown",
                  "any-source", "unknown", "unmatched", "probed", "partitioned", "partitioned-receiver", "collective", "broadcasting",
                  "one-sided", "one-sided-open", "locking", "lock-queued", "group-post", "group-complete", "group-test", "leaving")),
    _death("scattering", ranks=8),
    *(_death(scene, fabric) for fabric in ("ofi:tcp", "ofi:shm", "ucx:tcp", "ucx", "ucx:posix,cma")
      for scene in ("receiving", "sending-gapped", "any-source", "one-sided", "leaving")),
    *(_death(scene, _LIST) for scene in ("receiving", "one-sided", "leaving")),
    Test("last-words", "last_words", 3),
    Test("sessions", "sessions", 2),
    # The benchmark.
    Test("pingpong-parts", "pingpong_parts", 1),
    Test("pingpong", "pingpong", 2, args=("--bytes=4,1000,70000", "--blocks=1,3,7", "--iterations=2",
         "--receive=typed", "--modes=off,auto,gather,hybrid,pipeline,pack"), expect="prints",
         texts=("contiguous", "struct-gap", "gain")),  # fmt: skip
    Test("pingpong-bad-mode", "pingpong", 2, args=("--modes=off,express",), expect="refused",
         texts=("express", PATHS)),  # fmt: skip
    Test("pingpong-bad-type", "pingpong", 2, args=("--types=matrix",), expect="refused",
         texts=("matrix", "one of contiguous, index")),  # fmt: skip
    Test("pingpong-three", "pingpong", 3, expect="refused", texts=("needs 2 processes, has 3",)),
)
