"""The test programs' runs, as data."""

from dataclasses import dataclass, field, replace
from typing import Dict, Optional, List, Tuple

from madtool import hosts

PATHS = "auto, gather, hybrid, pipeline, pack, off"
EVERY, NONE = "every", "none"


@dataclass(frozen=True)
class Test:
    """One run of one program.

    fabric is what the run is about: EVERY fabric alike; NONE, the default one will do; or the one whose numbers
    it has.

    expect is what must happen:
      ok        exit status 0, and nothing printed but "ok PROGRAM"; or "SKIP: reason"
      says      exit status 0, "ok PROGRAM", and each of `texts` on a line of its own, once for every rank
      survives  "ok PROGRAM" from a witness, and no rank found a failure; mpiexec's own exit status tells of the victim
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
    preload: str = ""  # a library in the prefix's lib that the ranks are started with
    timeout: int = 60  # seconds
    two_hosts: bool = False  # half of the ranks on each, see hosts.py
    env_of_others: Dict[str, str] = field(default_factory=dict)  # of all ranks but the first
    apart: bool = False  # each rank without the processes and the shared memory of the others, as in containers
    fabric: str = EVERY

    @property
    def alone(self) -> bool:
        """Whether no other test runs beside it: it has hosts of its own, whose names are taken, or most of the memory."""
        return self.two_hosts or self.program == "large"

    def over(self, fabric: str) -> "Test":
        """The same over one fabric, by a name that says so."""
        return replace(self, name=f"{self.name}@{fabric}", env={**self.env, **_variable("FABRIC", fabric)})  # fmt: skip


def _variable(name: str, value: str) -> Dict[str, str]:
    return {f"MPIR_CVAR_CH4_MAD_{name}": value}


def _refused(name: str, variable: str, value: str, *texts: str) -> Test:
    return Test(f"init-{name}", "hello", 2, env=_variable(variable, value), expect="refused", texts=texts,
                timeout=30, fabric=NONE)  # fmt: skip


def _counters(name: str, args: Tuple[str, ...], env: Dict[str, str]) -> Test:
    return Test(f"counters-{name}", "counters", 2, args=args, env=env)


def _numbers(fabric: str, low: int, high: int, mixed: str = "hybrid") -> Tuple[Test, ...]:
    """A fabric's own: packets for 4096 blocks that are gathered, from the segments a packet takes, one of them the
    header's; and what its costs make of long runs with short ones between them."""
    return (Test("counters-gathered", "counters", 2, args=("gathered", str(low), str(high)), fabric=fabric),
            Test("counters-auto", "counters", 2, args=("auto", mixed), fabric=fabric))  # fmt: skip


def _death(scene: str, ranks: int = 3) -> Test:
    by_messages = scene in ("one-sided", "one-sided-open", "flushing")
    return Test(f"death-{scene}", "death", ranks, args=(scene,), mpiexec=("-disable-auto-cleanup",),
                env=_variable("SHARED_WINDOWS", "0") if by_messages else {},
                expect="ok" if scene == "leaving" else "survives", shell=True)  # fmt: skip


def _survivors(scene: str) -> Test:
    return Test(f"survivors-{scene}", "survivors", 3, args=(scene,), mpiexec=("-disable-auto-cleanup",),
                expect="survives", shell=True)  # fmt: skip


def _two_hosts(name: str, program: str, fabrics: str) -> Test:
    env = {**_variable("FABRIC", fabrics), **_variable("INTERFACE", hosts.WIRE)}
    return Test(f"two-hosts-{name}", program, 4, env=env, two_hosts=True, timeout=120, fabric=NONE)


def _at_board(name: str, program: str, ranks: int, args: Tuple[str, ...] = (), env: Optional[Dict[str, str]] = None) -> Test:
    """Over the fabric whose processes have boards (mad_board.c)."""
    return Test(name, program, ranks, args=args, env={**_variable("FABRIC", "shm"), **(env or {})}, fabric=NONE)


def _silence(fabric: str) -> Test:
    test = _two_hosts(f"silence-{fabric.replace(':', '-')}", "silence", fabric)
    # All ranks end at once and without MPI_Finalize, which mpiexec now and then takes ill.
    return replace(test, args=(f"ip link set {hosts.WIRE} down",), env={**test.env, **_variable("SILENCE_TIMEOUT", "2")},
                   mpiexec=("-disable-auto-cleanup",), expect="survives")  # fmt: skip


LIST = "ucx:posix;tcp"
PIGGYBACK = "libmad_piggyback.so"
TWO_NODES = {"MPIR_CVAR_ODD_EVEN_CLIQUES": "1"}  # of the ranks with even numbers, and with odd ones

TESTS = (
    # Point to point.
    Test("hello", "hello", 4),
    Test("hello-alone", "hello", 1),
    Test("first-contact", "first_contact", 2, timeout=30),
    Test("first-contact-crowd", "first_contact", 6, timeout=30),
    Test("hello-mpif", "hello_mpif", 3, fabric=NONE),
    Test("hello-fortran", "hello_fortran", 2),
    Test("hello-f08", "hello_f08", 2, fabric=NONE),
    Test("hello-cxx", "hello_cxx", 2, fabric=NONE),
    Test("bottom", "bottom", 1, fabric=NONE),
    Test("external", "external", 1, fabric=NONE),
    Test("late-server", "late_server", 3, timeout=60, fabric=NONE),
    Test("alone", "alone", 1, expect="prints", texts=("ok alone", "spawn no processes; start them by mpiexec"), fabric=NONE),
    Test("packing", "packing", 2, fabric=NONE),
    Test("packing-off", "packing", 2, args=("off",), env=_variable("DATATYPE_PATH", "off"), fabric=NONE),
    Test("combiners", "combiners", 2),
    Test("paths", "paths", 2, timeout=120),
    Test("paths-single-copy", "paths", 2, env={**_variable("FABRIC", "shm"), "MAD_SHM_SINGLE_COPY": "1"}, timeout=120,
         fabric=NONE),
    Test("truncation", "truncation", 2),
    Test("types", "types", 2),
    Test("types-variable", "types", 2, args=("variable",), env=_variable("CHECK_TYPES", "1")),
    Test("types-many", "types", 5),
    Test("types-many-variable", "types", 5, args=("variable",), env=_variable("CHECK_TYPES", "1"), fabric=NONE),
    Test("piggyback", "piggyback", 2),
    Test("piggyback-many", "piggyback", 5),
    Test("piggyback-alone", "piggyback", 1, fabric=NONE),
    Test("piggyback-checked", "piggyback", 2, env={**_variable("CHECK_TYPES", "1"), **_variable("CHECKSUM", "1")},
         fabric=NONE),
    *(Test(f"races-{scene}", "races", 3, args=(scene,), env={"MAD_PIGGYBACK": "races"}, preload=PIGGYBACK,
           expect="prints", texts=("ok races", f"mad piggyback: {races} receives of any source raced"))
      for scene, races in (("ordered", "0 of 4"), ("free", "6 of 12"))),  # fmt: skip
    Test("races-fortran", "hello_fortran", 2, env={"MAD_PIGGYBACK": "races"}, preload=PIGGYBACK, expect="prints",
         texts=("ok hello_fortran", "mad piggyback: 0 of 0 receives of any source raced"), fabric=NONE),
    Test("traced", "traced", 3, env={"MAD_PIGGYBACK": "trace"}, preload=PIGGYBACK, expect="prints",
         texts=("ok traced", "waited")),  # fmt: skip
    Test("probe", "probe", 3),
    Test("any-source", "any_source", 4),
    Test("self", "self", 2),
    Test("self-alone", "self", 1),
    Test("to-oneself", "to_oneself", 2),
    Test("freed-types", "freed_types", 2),
    Test("structs", "structs", 2),
    Test("lists", "lists", 2),
    Test("proto-types", "proto_types", 2, fabric=NONE),
    Test("persistent", "persistent", 2),
    Test("partitioned", "partitioned", 2),
    Test("send-modes", "send_modes", 2),
    Test("bursts", "bursts", 2),
    Test("transposes", "transposes", 2),
    Test("absent", "absent", 2),
    Test("cancel", "cancel", 2),
    Test("matching", "matching", 2),
    Test("matching-threads", "matching", 2, args=("4",)),
    Test("threads", "threads", 2),
    Test("bounded", "bounded", 2),
    Test("slow-receivers", "slow_receivers", 11),
    Test("growth", "growth", 2, timeout=120),
    Test("crowd", "crowd", 16, timeout=120),
    Test("large", "large", 2, timeout=180),
    Test("stress", "stress", 4, timeout=120),
    # Several fabrics in one job; with LISTED below.
    *(Test(f"{program}-apart-{name}", program, 3, env={**_variable("FABRIC", fabric), "MPIR_CVAR_NOLOCAL": "1"},
           apart=True, fabric=NONE, expect="prints", texts=(f"ok {program}", said))
      for program in ("hello", "collectives")
      for name, fabric, said in (("ucx", LIST, "ucx: no shared memory with 127.0.0.1"),
                                 ("auto", "auto", "shm: no shared memory with process "))),
    _two_hosts("ucx-posix", "two_hosts", "ucx:posix;tcp"),
    _two_hosts("ucx-posix-cma", "two_hosts", "ucx:posix,cma;tcp"),
    _two_hosts("auto", "two_hosts", "auto"),
    _two_hosts("collectives", "collectives", LIST),
    _two_hosts("types", "types", "auto"),
    _two_hosts("ports", "ports", LIST),
    *map(_silence, ("tcp", "ucx:tcp")),
    # Everything else that MPI does.
    Test("collectives", "collectives", 4),
    Test("neighbors", "neighbors", 4),
    Test("apps", "apps", 3),
    Test("rma", "rma", 3, timeout=120),
    Test("accumulates", "accumulates", 3),
    Test("unsigned-numbers", "unsigned_numbers", 2, fabric=NONE),
    Test("ahead", "ahead", 4),
    Test("boards-tcp", "boards", 2, fabric=NONE),  # by messages
    _at_board("boards", "boards", 2),
    _at_board("boards-many", "boards", 5),
    _at_board("boards-threads", "boards", 3, ("3",)),
    Test("boards-long-tcp", "boards", 2, ("1", "long"), fabric=NONE),
    _at_board("boards-long", "boards", 2, ("1", "long")),
    _at_board("boards-long-many", "boards", 7, ("1", "long")),
    _at_board("boards-long-tree", "boards", 9, ("1", "long")),  # MPICH's table has it
    _at_board("boards-long-threads", "boards", 3, ("2", "long")),
    _at_board("boards-long-nodes", "boards", 4, ("1", "long"), env=TWO_NODES),
    _at_board("boards-long-checked", "boards", 3, ("1", "long"), env=_variable("CHECK_TYPES", "1")),
    _at_board("boards-nodes", "boards", 4, env=TWO_NODES),
    # One rank has a value on its messages from some operation on, the others not.
    _at_board("boards-values", "boards", 3, ("1", "values")),
    _at_board("boards-values-threads", "boards", 3, ("3", "values")),
    _at_board("boards-checked", "boards", 3, env=_variable("CHECK_TYPES", "1")),
    _at_board("boards-off", "boards", 3, env=_variable("SHARED_COLLECTIVES", "0")),
    Test("fences", "fences", 4),
    Test("fences-nodes", "fences", 4, env=TWO_NODES, fabric=NONE),
    Test("fences-messages", "fences", 3, env=_variable("SHARED_WINDOWS", "0"), fabric=NONE),
    Test("atomics", "atomics", 4),
    Test("random-windows", "random_windows", 4),
    # Of two nodes in one host, where some targets are near and others are not.
    Test("random-windows-nodes", "random_windows", 4, args=("--first", "1000"), env=TWO_NODES, fabric=NONE),
    # Windows in shared memory, where two nodes are made of one some of them; and by messages.
    Test("rma-allocated", "rma", 3, args=("allocated",), fabric=NONE),
    Test("rma-allocated-nodes", "rma", 4, args=("allocated",), env=TWO_NODES, fabric=NONE),
    Test("windows", "windows", 3, fabric=NONE),
    Test("columns", "columns", 3, fabric=NONE),
    Test("columns-alone", "columns", 1, fabric=NONE),
    Test("columns-nodes", "columns", 4, env=TWO_NODES, fabric=NONE),
    Test("columns-messages", "columns", 3, env=_variable("SHARED_WINDOWS", "0"), fabric=NONE),
    Test("kernel", "kernel", 4, fabric=NONE),
    Test("kernel-nodes", "kernel", 4, args=("messages",), env=TWO_NODES, fabric=NONE),
    Test("kernel-messages", "kernel", 2, args=("messages",), env=_variable("SHARED_WINDOWS", "0"), fabric=NONE),
    Test("kernel-one-refuses", "kernel", 3, args=("messages",), env_of_others=_variable("SHARED_WINDOWS", "0"), fabric=NONE),
    Test("kernel-refused", "kernel", 2, args=("refused",), env={**_variable("FABRIC", "tcp"), "MAD_VERBOSE": "1"},
         expect="prints", texts=("ok kernel", "ch4:mad: puts and gets in its windows are messages: /proc/"), fabric=NONE),
    Test("far", "far", 3, env=_variable("SHARED_WINDOWS", "0")),
    Test("updates", "updates", 3),
    Test("remote", "remote", 3),
    # Each neighbour on another node, so that the fabric does it, if that can.
    Test("remote-nodes", "remote", 4, args=("counted",), env=TWO_NODES),
    Test("far-threads", "far", 2, env={**_variable("SHARED_WINDOWS", "0"), "MPIR_CVAR_ASYNC_PROGRESS": "1"},
         fabric=NONE),
    Test("exclusion", "exclusion", 4),
    Test("exclusion-nodes", "exclusion", 4, env=TWO_NODES),
    Test("exclusion-messages", "exclusion", 4, env=_variable("SHARED_WINDOWS", "0"), fabric=NONE),
    Test("exclusion-crowd", "exclusion", 12, fabric=NONE),
    Test("file-io", "file_io", 3),
    Test("spawn", "spawn", 2),
    Test("spawn-unreachable", "spawn", 1, args=("unreachable",), env=_variable("FABRIC", "tcp"), fabric=NONE,
         expect="refused", texts=("MPI_Init", "no fabric reaches it: its address is on 'tcp'")),
    Test("visitors", "visitors", 1),
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
    # 1 MiB: a first packet of up to 128 KiB, or 256, then packets of 4 KiB; or all in larger ones.
    _counters("flush-threshold", ("packets", "190", "400"), _variable("FLUSH_THRESHOLD", "4096")),
    _counters("flush-default", ("packets", "1", "200"), {}),
    _counters("reductions", ("reductions",), _variable("SHARED_COLLECTIVES", "0")),
    replace(_counters("reductions-shared", ("reductions-shared",), _variable("FABRIC", "shm")), fabric=NONE),
    # Of an unexpected message no more is kept than the limit says (and a few bytes of other messages).
    _counters("eager-limit", ("unexpected", "500", "1064"), _variable("EAGER_LIMIT", "1000")),
    _counters("eager-large", ("unexpected", "20000", "32064"), _variable("EAGER_LIMIT", "32000")),
    *_numbers("tcp", 16, 500),  # 256 segments
    *_numbers("ofi:tcp", 1300, 4000, mixed="pipeline"),  # 4
    *_numbers("ucx:tcp", 30, 500, mixed="pipeline"),  # 128
    *_numbers("ucx:posix", 10, 500),  # as many as 40 KiB have
    *_numbers("ucx:posix,cma", 10, 500),
    # What is written remotely without checksums is sent in frames with them.
    Test("checksum", "checksum", 2, args=("on",), env=_variable("CHECKSUM", "1"), timeout=120),
    Test("checksum-off", "checksum", 2, args=("off",), timeout=120),
    Test("checksum-one", "checksum", 2, args=("one",), timeout=120),
    # Bad settings end MPI_Init, and say why.
    _refused("bad-path", "DATATYPE_PATH", "express", "express", PATHS),
    _refused("bad-fabric", "FABRIC", "carrier:pigeon", "carrier:pigeon", "ofi:tcp"),
    _refused("bad-provider", "FABRIC", "ofi:pigeon", "pigeon"),
    _refused("bad-list", "FABRIC", "tcp;tcp", "'tcp;tcp' names tcp twice", "rank 0 on", "rank 1 on"),
    _refused("bad-in-list", "FABRIC", "tcp;carrier:pigeon", "carrier:pigeon", "ofi:tcp"),
    Test("init-other-list", "hello", 3, env=_variable("FABRIC", "tcp"), env_of_others=_variable("FABRIC", "shm;ofi:tcp"),
         expect="refused", texts=("rank 0 on", "has the fabric tcp, rank 1 on", "rank 2 on", "shm;ofi:tcp",
                                  "MPIR_CVAR_CH4_MAD_FABRIC must choose one that is the same"), timeout=30, fabric=NONE),
    Test("init-longer-list", "hello", 3, env=_variable("FABRIC", "tcp"), env_of_others=_variable("FABRIC", "auto"),
         fabric=NONE),
    Test("init-vcis", "hello", 2, env={"MPIR_CVAR_CH4_NUM_VCIS": "2"}, expect="refused", timeout=30, fabric=NONE,
         texts=("[0] ch4:mad: rank 0 on", "[1] ch4:mad: rank 1 on", "MPIR_CVAR_CH4_NUM_VCIS is 2")),
    Test("init-one-cannot", "hello", 3, env=_variable("FABRIC", "tcp"), env_of_others=_variable("FABRIC", "ofi:pigeon"),
         expect="refused", texts=("[0] ch4:mad: rank 1 on", "[1] ch4:mad: rank 1 on", "[2] ch4:mad: rank 2 on", "pigeon"),
         timeout=30, fabric=NONE),
    Test("init-one-cannot-roots", "hello", 3, env={**_variable("FABRIC", "tcp"), "MPIR_CVAR_CH4_ROOTS_ONLY_PMI": "1"},
         env_of_others=_variable("FABRIC", "ofi:pigeon"), expect="refused",
         texts=("[0] ch4:mad: rank 1 on", "[1] ch4:mad: rank 1 on", "[2] ch4:mad: rank 2 on"), timeout=30, fabric=NONE),
    _refused("bad-transport", "FABRIC", "ucx:pigeon", "ucx:pigeon", "ucx:posix"),
    _refused("cma-alone", "FABRIC", "ucx:cma,tcp", "ucx:cma,tcp", "needs posix"),
    _refused("bad-interface", "INTERFACE", "nosuch0", "nosuch0"),
    _refused("bad-eager-limit", "EAGER_LIMIT", "-5", "MPIR_CVAR_CH4_MAD_EAGER_LIMIT", "-5"),
    _refused("bad-flush", "FLUSH_THRESHOLD", "-1", "MPIR_CVAR_CH4_MAD_FLUSH_THRESHOLD", "-1"),
    _refused("bad-max-blocks", "MAX_BLOCKS", "-1", "MPIR_CVAR_CH4_MAD_MAX_BLOCKS", "-1"),
    _refused("bad-costs-file", "COSTS_FILE", "/no/such/costs.json", "/no/such/costs.json", "tools/mad calibrate"),
    # Strangers, deaths, and ends in good order.
    Test("error-classes", "error_classes", 1, fabric=NONE),
    Test("foreign", "foreign", 3),
    Test("liar", "liar", 2, env=_variable("FABRIC", "tcp"), fabric=NONE),
    *map(_death, ("receiving", "receiving-gapped", "sending", "sending-gapped", "awaited", "awaited-unknown",
                  "any-source", "any-source-unknown", "unknown", "unmatched", "probed", "partitioned", "partitioned-receiver", "collective", "broadcasting",
                  "one-sided", "one-sided-open", "flushing", "unlooked", "locking", "lock-queued", "locking-near", "lock-queued-near", "accumulating",
                  "group-post", "group-complete", "group-test", "group-post-near", "group-complete-near", "fencing", "leaving")),
    *(replace(_death(scene, ranks), env={**_variable("FABRIC", "shm"), **env}, fabric=NONE)
      for scene, ranks, env in (("board", 3, {}), ("beside-board", 4, {}), ("two-boards", 6, TWO_NODES))),
    *map(_survivors, ("unlocking-all", "locking-all", "unlocking", "completing", "posting")),
    _death("scattering", ranks=8),
    _death("exchanging", ranks=5),
    _death("allgathering", ranks=4),
    _death("any-source-far", ranks=6),
    Test("cores", "cores", 2, fabric=NONE),
    Test("idle", "idle", 12, expect="prints", texts=("ok idle",)),
    Test("forks-dies", "forks", 3, args=("dies",), mpiexec=("-disable-auto-cleanup",), expect="survives", shell=True),
    Test("forks-exits", "forks", 3, args=("exits",)),
    Test("last-words", "last_words", 3),
    Test("sessions", "sessions", 2),
    Test("sessions-returned", "sessions", 2, args=("returned",), expect="prints",
         texts=("ok sessions", "cannot start MPI again"), fabric=NONE),
    Test("sessions-again", "sessions", 2, args=("again",), expect="refused", texts=("cannot start MPI again",), fabric=NONE),
    # The benchmark.
    Test("pingpong-parts", "pingpong_parts", 1, fabric=NONE),
    Test("pingpong", "pingpong", 2, args=("--bytes=4,1000,70000", "--blocks=1,3,7", "--iterations=2",
         "--receive=typed", "--modes=off,auto,gather,hybrid,pipeline,pack"), expect="prints",
         texts=("contiguous", "struct-gap", "gain")),  # fmt: skip
    Test("pingpong-bad-mode", "pingpong", 2, args=("--modes=off,express",), expect="refused",
         texts=("express", PATHS), fabric=NONE),  # fmt: skip
    Test("pingpong-bad-type", "pingpong", 2, args=("--types=matrix",), expect="refused",
         texts=("matrix", "one of contiguous, index"), fabric=NONE),  # fmt: skip
    Test("pingpong-three", "pingpong", 3, expect="refused", texts=("needs 2 processes, has 3",), fabric=NONE),
)

# A little of everything, for each fabric but tcp; with the fabric's own numbers.
SMOKE = ("hello", "first-contact", "combiners", "paths", "truncation", "bursts", "absent", "threads", "crowd", "stress",
         "collectives", "rma", "remote-nodes", "atomics", "random-windows", "ports", "parting", "checksum", "foreign", "death-receiving",
         "death-sending-gapped", "death-any-source", "death-one-sided", "death-leaving")  # fmt: skip

# What is run over LIST, too.
LISTED = ("hello", "collectives", "ports", "spawn", "parting", "death-receiving", "death-one-sided", "death-leaving")


def by_default() -> List[Test]:
    """All there is over tcp, with what is about no fabric over the default one, and some over a list."""
    on_tcp = _variable("FABRIC", "tcp")
    alone = [replace(test, env={**on_tcp, **test.env}) if test.fabric == EVERY else test
             if test.fabric == NONE else test.over(test.fabric)
             for test in TESTS if test.fabric in (EVERY, NONE, "tcp")]  # fmt: skip
    return alone + [test.over(LIST) for test in TESTS if test.name in LISTED]


def over(fabric: str, smoke: bool = False) -> List[Test]:
    """What makes sense over a fabric, or a little of it."""
    return [test.over(fabric) for test in TESTS
            if test.fabric == fabric or test.fabric == EVERY and (test.name in SMOKE or not smoke)]  # fmt: skip
