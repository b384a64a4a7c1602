"""The small edits MPICH's own files need, each with its reason.

Three let ch4 know a third netmod.  Two repair datatype bugs of 4.0.2 that upstream fixed later, so that what
MPICH does without us can be believed.  One lets MPI_Finalize end when a process of the node has died; three let
processes that wait for others of the node in MPI_Init sleep.  Those of
MPI_Pack and its kin let them work at absolute addresses; external32 is the netmod's. Three keep a session after the
last from crashing before it can be refused, three have MPI_Session_init ask its error handler, one has MPI_Mrecv ask that of its communicator, one gives a name that is
no port's its error class, two let partitioned requests have nobody.  Some give MPI's extended error classes their texts,
one keeps more VCIs than there are from being used before the netmod can refuse them, and one has MPI_Init of a
spawned process return why its parent cannot be reached.  One gives short reductions the algorithm with the fewest
messages, five have reductions return the errors of their parts, one keeps MPI_Reduce in place from an address that is none,
four give communicators of one node algorithms without steps for nodes (ADR 64), one keeps MPI_Comm_split_type from giving hints to
the communicator that it did not make, and two keep an error's text within its buffer and from a null pointer. Two
are for values that messages take along (ADR 50): a status has room for a number beside a count of 42 bits, and a
communicator of one process leaves MPICH's own way for messages to itself once it carries some. Some have structs of
few fields made, committed and freed by the netmod, and MPICH's datatype engine told of them when it needs them (ADR 52). Some have the
engine pack, unpack and copy what MPICH moves within a process (ADR 54). Four have MPICH ask the launcher that the
netmod chooses: PMI-1's or PMIx's (ADR 63). Four send what leaves at once before the receive of the same call (ADR 64).
Five have the table of collective algorithms searched by an operation's signature where it is (ADR 69). One has waits not look for VCIs where there is one. One has reductions made by MPI's own
operators, and five have those vectorized for the processor that is there.
An edit is applied once and recognised when already there.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Dict, List

from madtool.errors import Missing
from madtool.paths import digest, write_atomically


@dataclass(frozen=True)
class Edit:
    path: str  # in the MPICH tree
    old: str  # exactly `times` times in the pristine file
    new: str
    needed: bool  # False: other 4.0.x releases may already carry the repair
    why: str
    times: int = 1


_MAKEFILE = "src/mpid/ch4/netmod/Makefile.mk"
_IMPL = "src/mpid/ch4/netmod/include/netmod_impl.h"
_INIT_SHM = "src/mpid/common/shm/mpidu_init_shm.c"
_CH4_INIT = "src/mpid/ch4/src/ch4_init.c"
_COMPOSITIONS = "src/mpid/ch4/src/ch4_coll_impl.h"
_CLASSES = "src/mpi/errhan/baseerrnames.txt"
_CLASSES_SCRIPT = "maint/extracterrmsgs"
_YAKSA = "src/mpi/datatype/typerep/src/typerep_yaksa_pack.c"
_TYPE_CALLS = "src/binding/c/datatype"
_PACKING = "src/mpi/datatype/datatype_impl.c"
_SEARCH = "src/mpi/coll/src/csel.c"
_WHY_SELECTED = "an operation's signature was copied as soon as it was stored, which waits for all stores before (ADR 69)"
_STRUCT_TYPES = 39 * " " + "const MPI_Datatype array_of_types[], MPI_Datatype *newtype"
_SELECTION = "src/mpi/coll/src/csel_json_autogen.c"
_ALLREDUCE = "src/mpi/coll/allreduce/allreduce_intra"
_ERROR_TEXTS = "src/mpi/errhan/errutil.c"
_TYPES = "src/mpi/datatype/type_create.c"
_YAKSA_TYPES = "src/mpi/datatype/typerep/src/typerep_yaksa_init.c"
_FLATTENING = "src/mpi/datatype/typerep/src/typerep_flatten.c"
_LOCAL_COPIES = "src/mpi/misc/utils.c"
_NETMOD = "mpid/ch4/netmod/mad"
_TOPOLOGY = "src/util/mpir_hwtopo.c"
_WHY_RANK = "PMI-1's keys say who put them, PMIx is told"
_SENDRECV = "src/mpi/pt2pt/sendrecv.c"
_HELPERS = "src/mpi/coll/helper_fns.c"
_RECV = "src/mpid/ch4/src/ch4_recv.h"
_PROBE = "src/mpid/ch4/src/ch4_probe.h"
_BINOMIAL = "src/mpi/coll/reduce/reduce_intra_binomial.c"
_WHY_AHEAD = ("the receive was posted first, which the other side's receive waited for; then it takes the short way as well "
              "(docs/adr/0067-receives-by-the-short-way.md)")  # fmt: skip
_WHY_SHORT = ("a blocking receive took a request and a turn of progress, 1,400 instructions, also where its message had come "
              "or came at once (docs/adr/0067-receives-by-the-short-way.md)")  # fmt: skip
_WHY_PROBED = ("a message that was found was taken off its fabric all the same, and kept for the receive that followed "
               "(docs/adr/0079-probes.md)")  # fmt: skip
_WHY_SCAN = "of one node a scan was a scan, a message to rank 0, another scan and a broadcast of whether anything is left to do"
_PMI = "src/util/mpir_pmi.c"
_WHY_ANEW = "a session after the last one had ended died in MPI_Session_init, of control variables that were freed and not made again, before it could be told why it cannot be"
_WHY_RETURNED = "an error of MPI_Session_init ended the program whatever its error handler, and the next call went as if MPI had started"
_STARTING = "src/mpi/init/mpir_init.c"
_NAMES = "src/nameserv/pmi/pmi_nameserv.c"
_WHY_PMI = "MPICH asks PMI-1's launchers or PMIx's, as it is configured; the netmod chooses as the program starts"
_TOPOLOGY_LATE = ("every process read the whole machine's PCI configuration in MPI_Init, a third of the work of an empty job, "
                  "though only some hints of MPI_Comm_split_type and MPI_Alloc_mem ask for it")  # fmt: skip
_BARRIER_SPINS = ("where ranks outnumber cores, each that waited in the barrier of the node's start-up memory kept a core "
                  "for its time slice: MPICH is configured to yield by doing nothing")  # fmt: skip


def _user_buffer(function: str, buffer: str, count: str) -> Edit:
    """MPI_Pack and MPI_Unpack check the caller's buffer as MPI_Send does."""
    return Edit(
        f"{_TYPE_CALLS}/{function}.c",
        f"            if ({count} > 0) {{\n"
        f'                MPIR_ERRTEST_ARGNULL({buffer}, "{buffer}", mpi_errno);\n'
        "            }\n",
        f"            MPIR_ERRTEST_USERBUFFER({buffer}, {count}, datatype, mpi_errno);\n",
        False,
        "MPI_BOTTOM, which is null, was refused where the datatype has absolute addresses",
        times=2,  # MPI_X and MPI_X_c
    )


def _user_buffer_external(function: str, buffer: str, count: str) -> Edit:
    """The same for external32, whose check stood before that of the datatype, which it needs."""
    count_and_type = (
        f"            MPIR_ERRTEST_COUNT({count}, mpi_errno);\n"
        '            MPIR_ERRTEST_DATATYPE(datatype, "datatype", mpi_errno);\n'
        "            if (!HANDLE_IS_BUILTIN(datatype)) {\n"
        "                MPIR_Datatype *datatype_ptr ATTRIBUTE((unused)) = NULL;\n"
        "                MPIR_Datatype_get_ptr(datatype, datatype_ptr);\n"
        "                MPIR_Datatype_valid_ptr(datatype_ptr, mpi_errno);\n"
        "                if (mpi_errno) {\n"
        "                    goto fn_fail;\n"
        "                }\n"
        "                MPIR_Datatype_committed_ptr(datatype_ptr, mpi_errno);\n"
        "                if (mpi_errno) {\n"
        "                    goto fn_fail;\n"
        "                }\n"
        "            }\n"
    )
    plain = _user_buffer(function, buffer, count)
    null = f'            MPIR_ERRTEST_ARGNULL({buffer}, "{buffer}", mpi_errno);\n'
    return replace(plain, old=null + count_and_type, new=count_and_type + plain.new)


_END = "  fn_exit:\n    MPIR_CHKLMEM_FREEALL();\n    return mpi_errno;\n"
_END_WITH_ERRORS = "  fn_exit:\n    MPIR_CHKLMEM_FREEALL();\n    if (coll_ret)\n        mpi_errno = coll_ret;\n    return mpi_errno;\n"


def _errors_of(algorithm: str, before_return: str) -> Edit:
    """MPI_Allreduce by this algorithm returns the errors that it has collected."""
    old = f"  fn_exit:\n{before_return}    return mpi_errno;\n"
    return Edit(
        f"{_ALLREDUCE}_{algorithm}.c",
        old,
        old.replace("    return", "    if (mpi_errno_ret)\n        mpi_errno = mpi_errno_ret;\n    return"),
        False,
        "after a receive that failed, as from a process that died, MPI_Allreduce returned MPI_SUCCESS",
    )


def _class(line: str, number: int) -> Edit:
    """The text of an extended error class, under the number that mpi.h gives it."""
    name, _, text = line.split()
    return Edit(_CLASSES, line + "\n", f"{name} {number} {text}\n", False,
                "the numbers are old ones: a failed process was an unknown class, a wrong request a pending one")


def _asked_first(function: str, parameters: str, call: str) -> Edit:
    """The netmod is asked before the arguments are looked at; PARAMETERS end a function's list as MPICH has it."""
    start = (
        f"{parameters})\n{{\n    int mpi_errno = MPI_SUCCESS;\n\n    MPIR_ERRTEST_INITIALIZED_ORDIE();\n\n"
        "    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);\n    MPIR_FUNC_TERSE_ENTER;\n"
    )
    return Edit(
        f"{_TYPE_CALLS}/{function}.c",
        start,
        f"{start}    if (MPIDI_MAD_{call})\n        goto fn_exit;\n",
        True,
        "structs of few fields, and proto datatypes, which are none of MPICH's",
    )


def _with(header: str, path: str) -> Edit:
    """Includes what the netmod offers."""
    up, after = "../" * (path.count("/") - 1), '#include "mpiimpl.h"\n'
    return Edit(path, after, f'{after}#include "{up}{_NETMOD}/{header}"\n', False, "what the netmod does for MPICH")


def _with_structs(path: str) -> Edit:
    return _with("mad_struct.h", path)


_WHY_EXTERNAL = "external32 of structs and of MPI_WCHAR ended the process, long doubles were copied as they are, the room was not looked at"


def _external(old: str, new: str) -> Edit:
    """MPI_Pack_external and its kin are the netmod's."""
    return Edit(_PACKING, old, new, False, _WHY_EXTERNAL)


def _looked_up(partner: str) -> Edit:
    """A partitioned request's partner is no process where there is none."""
    place = f"MPIDIU_comm_rank_to_av(comm, {partner})"
    return Edit("src/mpid/ch4/src/ch4_part.c", f"av = {place}", f"av = ({partner} == MPI_PROC_NULL) ? NULL : {place}", False,
                "MPI_PROC_NULL was looked up before the table of processes")  # fmt: skip


_WHY_PACKED = "MPICH's datatype engine packed at half the speed of ours and less (perf/results.md)"


def _packed_by_us(function: str, count: str, arguments: str) -> Edit:
    """MPIR_Typerep_pack and MPIR_Typerep_unpack ask the netmod first; arguments as in MPICH's call of its own."""
    call = f"    mpi_errno = typerep_do_{function}({arguments}, NULL);\n"
    packing = "true" if function == "pack" else "false"
    plain = f"MPIDI_MAD_is_plain({count}, datatype, {packing})"
    asked = f"    if ({plain} ||\n        !MPIDI_MAD_{function}({arguments}))\n    {call}"
    return Edit(_YAKSA, call, asked, False, _WHY_PACKED)


# How MPI_Type_create_struct and MPI_Type_create_hindexed begin.
_LENGTHS = (
    "    if (sizeof(MPI_Aint) == sizeof(int)) {\n"
    "        p_blkl = (MPI_Aint *) array_of_blocklengths;\n"
    "    } else {\n"
    "        MPIR_CHKLMEM_MALLOC_ORJUMP(p_blkl, MPI_Aint *, count * sizeof(MPI_Aint), mpi_errno,\n"
    '                                   "aint blocklengths array", MPL_MEM_BUFFER);\n'
    "        for (int i = 0; i < count; i++) {\n"
    "            p_blkl[i] = array_of_blocklengths[i];\n"
    "        }\n"
    "    }\n"
)


def _struct_of_few_fields() -> Edit:
    """MPI_Type_create_struct asks the netmod first."""
    old = f"{_LENGTHS}    mpi_errno = MPIR_Type_struct("
    asked = (
        "    if (MPIDI_MAD_create_struct(count, array_of_blocklengths, array_of_displacements,\n"
        "                                array_of_types, newtype))\n"
        "        return MPI_SUCCESS;\n"
    )
    return Edit(_TYPES, old, asked + old, False,
                "a struct of few fields, sent once, was compiled for MPICH's datatype engine and for ours")  # fmt: skip


def _list_of_few_blocks(combiner: str, lengths: str, displacements: str, start: str) -> Edit:
    """A function of MPICH's that makes a list asks the netmod first; `start` begins its body."""
    asked = (
        "    const MPIDI_MAD_list_t list =\n"
        f"        {{{combiner}, count, {lengths}, {displacements}, oldtype}};\n"
        "    if (MPIDI_MAD_create_list(&list, newtype))\n"
        "        return MPI_SUCCESS;\n"
    )
    return Edit(_TYPES, start, asked + start, False,
                "a list of few blocks, sent once, was compiled for MPICH's datatype engine and for ours")  # fmt: skip


def _characters(text: str) -> str:
    """As MPICH keeps its tables of collective algorithms: an array of them."""
    return "".join(f"'{character}'," for character in text)


def _on_one_node(collective: str, first: str, direct: str) -> Edit:
    """A communicator of one node takes the algorithm that knows no nodes; `first` is what followed."""
    start, rest = f'"collective={collective}":{{"comm_type=intra":{{', f'"comm_hierarchy=parent":{{"{first}"'
    return Edit(
        _SELECTION,
        _characters(start + rest),
        _characters(f'{start}"comm_size=node_comm_size":{{"{direct}":{{}}}},{rest}'),
        False,
        "of one node a barrier was a barrier and a broadcast, and a reduction to, or broadcast from, another rank than 0 had a step more",
    )


def _cloned(file: str, operator: str) -> Edit:
    """Once for every x86 processor and once for those of the last ten years, chosen when libmpi is loaded."""
    return Edit(f"src/mpi/coll/op/{file}.c", f"\nvoid MPIR_{operator}(", f"\nMPIR_OP_CLONES void MPIR_{operator}(", True,
                "vectors of 16 bytes, where the processor has twice as long ones")  # fmt: skip


EDITS = (
    Edit(
        _MAKEFILE,
        "include $(top_srcdir)/src/mpid/ch4/netmod/stubnm/Makefile.mk\n",
        "include $(top_srcdir)/src/mpid/ch4/netmod/stubnm/Makefile.mk\n"
        "include $(top_srcdir)/src/mpid/ch4/netmod/mad/Makefile.mk\n",
        True,
        "the list of netmods' make fragments is written by hand",
    ),
    Edit(
        _IMPL,
        "#define __netmod_inline_ucx__   2\n",
        "#define __netmod_inline_ucx__   2\n#define __netmod_inline_mad__   3\n",
        True,
        "without its number the inline choice is 0, which is stubnm",
    ),
    Edit(
        _IMPL,
        '#include "../ucx/netmod_inline.h"\n#else\n',
        '#include "../ucx/netmod_inline.h"\n'
        "#elif NETMOD_INLINE==__netmod_inline_mad__\n"
        '#include "../mad/netmod_inline.h"\n#else\n',
        True,
        "the choice itself",
    ),
    Edit(
        _YAKSA,
        "        if (dtp->basic_type != MPI_DATATYPE_NULL) {\n"
        "            element_size = MPIR_Datatype_get_basic_size(datatype);\n",
        "        if (dtp->basic_type != MPI_DATATYPE_NULL) {\n"
        "            element_size = MPIR_Datatype_get_basic_size(dtp->basic_type);\n",
        False,
        "pmodels/mpich #6341: the element's size was read from the derived type's handle",
    ),
    Edit(
        _YAKSA,
        "        MPIR_Assert(element_size < 0 || *actual_unpack_bytes % element_size == 0);\n",
        "        MPIR_Assert(element_size <= 0 || *actual_unpack_bytes % element_size == 0);\n",
        False,
        "pmodels/mpich #6234: division by zero unpacking into a zero-length contiguous type",
    ),
    Edit(
        _INIT_SHM,
        "    mpi_errno = Init_shm_barrier();\n"
        "    MPIR_ERR_CHECK(mpi_errno);\n"
        "\n"
        "    if (local_size == 1)\n"
        "        MPL_free(memory.base_addr);\n"
        "    else {\n"
        "        mpl_err = MPL_shm_seg_detach(",
        "    /* No barrier: a process that died would never come, and detaching needs no others. */\n"
        "    if (local_size == 1)\n"
        "        MPL_free(memory.base_addr);\n"
        "    else {\n"
        "        mpl_err = MPL_shm_seg_detach(",
        False,
        "MPI_Finalize waited for ever in the barrier of the node's start-up memory once a local process had died",
    ),
    Edit(
        _INIT_SHM,
        "static int Init_shm_barrier(void)\n{\n",
        "/* Others may need the core in order to come. */\n"
        "static void await_all(void)\n"
        "{\n"
        "    for (int turn = 0; MPL_atomic_load_int(&barrier->wait) == sense; turn++) {\n"
        "        if (turn > 1000)\n"
        "            syscall(SYS_futex, &barrier->wait, FUTEX_WAIT, sense, NULL, NULL, 0);\n"
        "    }\n"
        "}\n"
        "\n"
        "static int Init_shm_barrier(void)\n{\n",
        False,
        _BARRIER_SPINS,
    ),
    Edit(
        _INIT_SHM,
        "        MPL_atomic_store_int(&barrier->wait, 1 - sense);\n"
        "    } else {\n"
        "        /* wait */\n"
        "        while (MPL_atomic_load_int(&barrier->wait) == sense)\n"
        "            MPL_sched_yield();  /* skip */\n"
        "    }\n",
        "        MPL_atomic_store_int(&barrier->wait, 1 - sense);\n"
        "        syscall(SYS_futex, &barrier->wait, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);\n"
        "    } else {\n"
        "        await_all();\n"
        "    }\n",
        False,
        _BARRIER_SPINS,
    ),
    Edit(
        _INIT_SHM,
        "#else /* ENABLE_NO_LOCAL */\n",
        "#else /* ENABLE_NO_LOCAL */\n"
        "#include <limits.h>\n"
        "#include <linux/futex.h>\n"
        "#include <sys/syscall.h>\n"
        "#include <unistd.h>\n",
        False,
        _BARRIER_SPINS,
    ),
    Edit(
        _TOPOLOGY,
        "int MPII_hwtopo_init(void)\n{\n",
        "static int look_at_machine(void)\n{\n",
        False,
        _TOPOLOGY_LATE,
    ),
    Edit(
        _TOPOLOGY,
        "int MPII_hwtopo_finalize(void)\n{\n    int mpi_errno = MPI_SUCCESS;\n",
        "static int is_looked_at;\n"
        "\n"
        "static void look_once(void)\n"
        "{\n"
        "    if (!is_looked_at) {\n"
        "        is_looked_at = 1;\n"
        "        (void) look_at_machine();\n"
        "    }\n"
        "}\n"
        "\n"
        "int MPII_hwtopo_init(void)\n"
        "{\n"
        "    return MPI_SUCCESS;\n"
        "}\n"
        "\n"
        "int MPII_hwtopo_finalize(void)\n{\n    int mpi_errno = MPI_SUCCESS;\n"
        "\n"
        "    if (!is_looked_at)\n"
        "        return MPI_SUCCESS;\n"
        "    is_looked_at = 0;\n",
        False,
        _TOPOLOGY_LATE,
    ),
    # From here on whoever reads one of the two looks first.
    Edit(
        _TOPOLOGY,
        "    bindset_is_valid = 0;\n\n    return mpi_errno;\n}\n",
        "    bindset_is_valid = 0;\n\n    return mpi_errno;\n}\n"
        "\n"
        "#define bindset_is_valid (look_once(), bindset_is_valid)\n"
        "#define hwloc_topology (look_once(), hwloc_topology)\n",
        False,
        _TOPOLOGY_LATE,
    ),
    Edit(
        "src/mpi_t/mpit_initthread.c",
        "    static int initialized = FALSE;\n\n    if (!initialized) {\n        initialized = TRUE;\n",
        "\n    if (cvar_table == NULL) {\n",
        False,
        _WHY_ANEW,
    ),
    Edit(
        "maint/extractcvars.in",
        "    const char *tmp_str;\n    static int initialized = FALSE;\n    MPIR_T",
        "    const char *tmp_str;\n    MPIR_T",
        False,
        _WHY_ANEW,
    ),
    Edit(
        "maint/extractcvars.in",
        "any MT issues here? */\n    if (initialized)\n        return MPI_SUCCESS;\n    initialized = TRUE;\n\nEOT",
        "any MT issues here? */\n\nEOT",
        False,
        _WHY_ANEW,
    ),
    Edit(
        "src/binding/c/pt2pt/mrecv.c",
        "MPIR_Request_free(rreq);\n",
        "if (mpi_errno) {\n"
        "            mpi_errno = MPIR_Err_create_code(mpi_errno, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_OTHER,\n"
        '                                             "**mpi_mrecv", 0);\n'
        "            mpi_errno = MPIR_Err_return_comm(rreq->comm, __func__, mpi_errno);\n"
        "            MPIR_Request_free(rreq);\n            *message = MPI_MESSAGE_NULL;\n"
        "            goto fn_exit;\n        }\n        MPIR_Request_free(rreq);\n",
        False,
        "what went wrong with a matched message was told to MPI_COMM_WORLD's error handler, not to its communicator's",
        times=3,  # MPI_X, and MPI_X_c with each size of a count
    ),
    Edit(
        "src/binding/c/init/session_init.c",
        "    mpi_errno = MPIR_Err_return_comm(0, __func__, mpi_errno);\n",
        "    if (errhandler_ptr && errhandler_ptr->handle == MPI_ERRORS_RETURN)\n        goto fn_exit;\n"
        "    if (errhandler_ptr && !HANDLE_IS_BUILTIN(errhandler_ptr->handle) &&\n"
        "        errhandler_ptr->language == MPIR_LANG__C) {\n"
        "        MPI_Session none = MPI_SESSION_NULL;\n"
        "        errhandler_ptr->errfn.C_Session_Handler_function(&none, &mpi_errno, 0);\n"
        "        goto fn_exit;\n    }\n"
        "    mpi_errno = MPIR_Err_return_comm(0, __func__, mpi_errno);\n",
        False,
        _WHY_RETURNED,
    ),
    Edit(
        _STARTING,
        "    init_counter++;\n",
        "    static int why_not = MPI_SUCCESS; /* it has failed, and can do so once */\n"
        "    mpi_errno = why_not;\n    MPIR_ERR_CHECK(mpi_errno);\n    init_counter++;\n",
        False,
        _WHY_RETURNED,
    ),
    Edit(
        _STARTING,
        "  fn_fail:\n    MPL_initlock_unlock(&MPIR_init_lock);\n",
        "  fn_fail:\n    if (MPL_atomic_load_int(&MPIR_Process.mpich_state) != MPICH_MPI_STATE__INITIALIZED)\n"
        "        why_not = mpi_errno;\n    MPL_initlock_unlock(&MPIR_init_lock);\n",
        False,
        _WHY_RETURNED,
    ),
    Edit(
        "src/mpid/ch4/src/ch4_spawn.c",
        'MPI_ERR_OTHER, "**argstr_no_port_name_tag"',
        'MPI_ERR_PORT, "**argstr_no_port_name_tag"',
        False,
        "a name that is no port's was an error of the class MPI_ERR_OTHER",
        times=2,  # its tag, its address
    ),
    _looked_up("dest"),
    _looked_up("source"),
    Edit(
        f"{_TYPE_CALLS}/unpack_external.c",
        "    if (insize == 0) {\n        goto fn_exit;\n    }\n",
        "    if (outcount == 0) {\n        goto fn_exit;\n    }\n",
        False,
        "of no bytes any number of elements could be unpacked",
        times=2,  # MPI_X and MPI_X_c
    ),
    _user_buffer("pack", "inbuf", "incount"),
    _user_buffer("unpack", "outbuf", "outcount"),
    _user_buffer_external("pack_external", "inbuf", "incount"),
    _user_buffer_external("unpack_external", "outbuf", "outcount"),
    _class("MPIX_ERR_PROC_FAILED_PENDING 19 **failure_pending", 102),
    _class("MPIX_ERR_PROC_FAILED 54     **proc_failed", 101),
    _class("MPIX_ERR_REVOKED    59      **revoked", 103),
    _class("MPIX_ERR_EAGAIN     60      **eagain", 104),
    _class("MPIX_ERR_NOREQ      61      **nomemreq", 105),
    Edit(
        _CLASSES_SCRIPT,
        "    # For the case of classes only, output the strings for the class \n",
        '    for (@class_msgs) { $_ = "**unknown" unless defined; }\n'
        "    # For the case of classes only, output the strings for the class \n",
        False,
        "the table of the classes' texts has a place for every number, also for those between 58 and 101",
    ),
    Edit(
        _CH4_INIT,
        "        MPIDI_global.n_vcis = MPIR_CVAR_CH4_NUM_VCIS;\n",
        "        MPIDI_global.n_vcis = MPL_MIN(MPIR_CVAR_CH4_NUM_VCIS, MPIDI_CH4_MAX_VCIS);\n",
        False,
        "the assertion that follows is compiled out, and more than there is room for were written behind the array",
    ),
    Edit(
        _CH4_INIT,
        "        MPID_Comm_connect(parent_port, NULL, 0, MPIR_Process.comm_world, &MPIR_Process.comm_parent);\n",
        "        mpi_errno =\n"
        "            MPID_Comm_connect(parent_port, NULL, 0, MPIR_Process.comm_world, &MPIR_Process.comm_parent);\n"
        "        MPIR_ERR_CHECK(mpi_errno);\n",
        False,
        "a spawned process that could not reach its parent went on with a null communicator, to signal 11",
    ),
    Edit(
        _SELECTION,
        _characters('"avg_msg_size<=8":{"algorithm=MPIR_Allreduce'),
        _characters('"avg_msg_size<=8192":{"algorithm=MPIR_Allreduce'),
        False,
        "MPI_Allreduce of more than 8 bytes was two exchanges a step, a scatter and a gather (perf/results.md)",
    ),
    Edit(
        "src/mpi/comm/comm_split_type.c",
        "    mpi_errno = MPIR_Comm_set_info_impl(*newcomm_ptr, info_ptr);\n    MPIR_ERR_CHECK(mpi_errno);\n",
        "    if (*newcomm_ptr) {\n"
        "        mpi_errno = MPIR_Comm_set_info_impl(*newcomm_ptr, info_ptr);\n"
        "        MPIR_ERR_CHECK(mpi_errno);\n"
        "    }\n",
        False,
        "MPI_Comm_split_type gave hints to the communicator that it had not made",
    ),
    Edit(
        _COMPOSITIONS,
        "        if (comm->rank == 0) {\n"
        "            MPIC_Send(recvbuf, count, datatype, root, MPIR_REDUCE_TAG, comm, errflag);\n"
        "        } else if (comm->rank == root) {\n"
        "            MPIC_Recv(ori_recvbuf, count, datatype, 0, MPIR_REDUCE_TAG, comm, MPI_STATUS_IGNORE,\n"
        "                      errflag);\n"
        "        }\n"
        "    }\n\n" + _END,
        "        mpi_errno = MPI_SUCCESS;\n"
        "        if (comm->rank == 0) {\n"
        "            mpi_errno =\n"
        "                MPIC_Send(recvbuf, count, datatype, root, MPIR_REDUCE_TAG, comm, errflag);\n"
        "        } else if (comm->rank == root) {\n"
        "            mpi_errno = MPIC_Recv(ori_recvbuf, count, datatype, 0, MPIR_REDUCE_TAG, comm,\n"
        "                                  MPI_STATUS_IGNORE, errflag);\n"
        "        }\n"
        "        if (mpi_errno)\n"
        "            MPIR_ERR_ADD(coll_ret, mpi_errno);\n"
        "    }\n\n" + _END_WITH_ERRORS,
        False,
        "MPI_Reduce over several nodes forgot its parts' errors, and that of the message to a root other than 0",
    ),
    Edit(
        _COMPOSITIONS,
        "            MPIR_ERR_ADD(coll_ret, mpi_errno);\n        }\n    }\n\n" + _END,
        "            MPIR_ERR_ADD(coll_ret, mpi_errno);\n        }\n    }\n\n" + _END_WITH_ERRORS,
        False,
        "MPI_Reduce over several nodes forgot the errors of all its parts but the last",
    ),
    Edit(
        _COMPOSITIONS,
        "    /* Create a temporary buffer on local roots of all nodes,\n",
        "    if (sendbuf == MPI_IN_PLACE && comm->node_roots_comm == NULL)\n        sendbuf = recvbuf;\n\n"
        "    /* Create a temporary buffer on local roots of all nodes,\n",
        False,
        "MPI_Reduce in place of more than 2 KiB over several nodes read address -1 where the root is not the first of its node",
    ),
    _errors_of("recursive_doubling", "    MPIR_CHKLMEM_FREEALL();\n"),
    _errors_of("reduce_scatter_allgather", "    MPIR_CHKLMEM_FREEALL();\n"),
    _errors_of("smp", ""),
    Edit(
        _ERROR_TEXTS,
        "        MPIR_Err_print_stack_string(errorcode, msg, num_remaining);\n"
        "        msg[num_remaining - 1] = '\\0';\n",
        "        /* It writes behind the end of a buffer that is too short. */\n"
        "        enum { ROOM = (MAX_ERROR_RING + 1) * (2 * MAX_LOCATION_LEN + MPIR_MAX_ERROR_LINE + 64) };\n"
        "        char *whole = MPL_calloc(ROOM, 1, MPL_MEM_BUFFER);\n"
        "        if (whole) {\n"
        "            MPIR_Err_print_stack_string(errorcode, whole, ROOM);\n"
        "            MPL_strncpy(msg, whole, num_remaining);\n"
        "            MPL_free(whole);\n"
        "        }\n"
        "        msg[num_remaining - 1] = '\\0';\n",
        False,
        "MPI_Error_string of an error with a long history wrote beyond MPI_MAX_ERROR_STRING characters",
    ),
    Edit(
        _ERROR_TEXTS,
        "    combiner = MPIR_Type_get_combiner(d);\n"
        "    if (combiner == MPI_COMBINER_NAMED) {\n"
        "        str = MPIR_Datatype_builtin_to_string(d);\n",
        "    if (!HANDLE_IS_BUILTIN(d)) {\n"
        "        MPIR_Datatype *datatype;\n"
        "        MPIR_Datatype_get_ptr(d, datatype);\n"
        "        if (datatype == NULL)\n"
        '            return "INVALID DATATYPE";\n'
        "    }\n"
        "    combiner = MPIR_Type_get_combiner(d);\n"
        "    if (combiner == MPI_COMBINER_NAMED) {\n"
        "        str = MPIR_Datatype_builtin_to_string(d);\n",
        False,
        "the text of an error about a handle that is no datatype's read what a null pointer points to",
    ),
    _with_structs(_TYPES),
    _struct_of_few_fields(),
    _list_of_few_blocks(
        "MPI_COMBINER_INDEXED_BLOCK", "NULL, blocklength", "array_of_displacements, NULL",
        "    if (sizeof(MPI_Aint) == sizeof(int)) {\n"
        "        p_disp = (MPI_Aint *) array_of_displacements;\n"
        "    } else {\n",
    ),
    _list_of_few_blocks(
        "MPI_COMBINER_HINDEXED_BLOCK", "NULL, blocklength", "NULL, array_of_displacements",
        "    mpi_errno = MPIR_Type_blockindexed(count, blocklength, array_of_displacements, 1,\n"
        "                                       oldtype, &new_handle);\n"
        "    MPIR_ERR_CHECK(mpi_errno);\n\n"
        "    ints[0] = count;\n",
    ),
    _list_of_few_blocks(
        "MPI_COMBINER_INDEXED", "array_of_blocklengths, 0", "array_of_displacements, NULL",
        "    if (sizeof(MPI_Aint) == sizeof(int)) {\n"
        "        p_blkl = (MPI_Aint *) array_of_blocklengths;\n"
        "        p_disp = (MPI_Aint *) array_of_displacements;\n",
    ),
    _list_of_few_blocks(
        "MPI_COMBINER_HINDEXED", "array_of_blocklengths, 0", "NULL, array_of_displacements",
        f"{_LENGTHS}    mpi_errno = MPIR_Type_indexed(count, p_blkl, array_of_displacements, 1,",
    ),
    _with_structs(_YAKSA_TYPES),
    Edit(
        _YAKSA_TYPES,
        "                    yaksa_type = typeptr->typerep.handle;\n",
        "                    if (typeptr->typerep.handle == YAKSA_TYPE__NULL)\n"
        "                        MPIDI_MAD_complete_struct(typeptr);\n"
        "                    yaksa_type = typeptr->typerep.handle;\n",
        False,
        "what the netmod made of a struct's fields has no handle of the engine's before it is needed",
    ),
    Edit(
        _FLATTENING,
        "yaksa_flatten_size(datatype_ptr->typerep.handle, &size)",
        "yaksa_flatten_size(MPII_Typerep_get_yaksa_type(datatype_ptr->handle), &size)",
        False,
        "the same",
    ),
    Edit(
        _FLATTENING,
        "yaksa_flatten(datatype_ptr->typerep.handle,",
        "yaksa_flatten(MPII_Typerep_get_yaksa_type(datatype_ptr->handle),",
        False,
        "the same",
    ),
    _with("mad_pack.h", _YAKSA),
    _packed_by_us(
        "pack",
        "incount",
        "inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes,\n"
        "                                actual_pack_bytes",
    ),
    _packed_by_us(
        "unpack",
        "outcount",
        "inbuf, insize, outbuf, outcount, datatype, outoffset,\n"
        "                                  actual_unpack_bytes",
    ),
    _with("mad_pack.h", _LOCAL_COPIES),
    _with("mad_sendrecv.h", _SENDRECV),
    Edit(
        _SENDRECV,
        "    MPIR_Request *rreq = NULL;\n\n    /* FIXME",
        "    MPIR_Request *rreq = NULL;\n\n"
        "    if (MPIDI_MAD_sent_ahead(sendbuf, sendcount, sendtype, dest, sendtag, comm_ptr, MPIR_CONTEXT_INTRA_PT2PT)) {\n"
        "        dest = MPI_PROC_NULL;\n"
        "        if (MPIDI_MAD_received(recvbuf, recvcount, recvtype, source, recvtag, comm_ptr, MPIR_CONTEXT_INTRA_PT2PT,\n"
        "                               status))\n"
        "            goto fn_exit;\n"
        "    }\n\n    /* FIXME",
        False,
        _WHY_AHEAD,
    ),
    Edit(
        _RECV,
        '#include "ch4_impl.h"\n',
        '#include "ch4_impl.h"\n#include "../netmod/mad/mad_sendrecv.h"\n',
        False,
        "what the netmod does for MPICH",
    ),
    Edit(
        _RECV,
        "    return MPID_Irecv(buf, count, datatype, rank, tag, comm, context_offset, request);\n",
        "    *request = NULL;\n"
        "    if (MPIDI_MAD_received(buf, count, datatype, rank, tag, comm, context_offset, status))\n"
        "        return MPI_SUCCESS;\n"
        "    return MPID_Irecv(buf, count, datatype, rank, tag, comm, context_offset, request);\n",
        False,
        _WHY_SHORT,
    ),
    Edit(
        _PROBE,
        '#include "ch4_impl.h"\n',
        '#include "ch4_impl.h"\n#include "../netmod/mad/mad_sendrecv.h"\n',
        False,
        "what the netmod does for MPICH",
    ),
    Edit(
        _PROBE,
        "            mpi_errno = MPIDI_iprobe(source, tag, comm, context_offset, av, &flag, status);\n"
        "            MPIR_ERR_CHECK(mpi_errno);\n\n",
        "            mpi_errno = MPIDI_MAD_probe(source, tag, comm, context_offset, &flag, status);\n"
        "            MPIR_ERR_CHECK(mpi_errno);\n"
        "            if (flag)\n"
        "                break;\n\n",
        False,
        _WHY_PROBED,
    ),
    Edit(
        _PROBE,
        "                MPIDI_improbe(source, tag, comm, context_offset, av, &flag, message, status);\n"
        "            MPIR_ERR_CHECK(mpi_errno);\n\n",
        "                MPIDI_improbe(source, tag, comm, context_offset, av, &flag, message, status);\n"
        "            MPIR_ERR_CHECK(mpi_errno);\n"
        "            if (flag)\n"
        "                break;\n\n",
        False,
        _WHY_PROBED,
    ),
    Edit(
        _PROBE,
        "        mpi_errno = MPIDI_iprobe(source, tag, comm, context_offset, av, flag, status);\n"
        "        MPIR_ERR_CHECK(mpi_errno);\n\n"
        "        if (!*flag) {\n",
        "        mpi_errno = MPIDI_iprobe(source, tag, comm, context_offset, av, flag, status);\n"
        "        MPIR_ERR_CHECK(mpi_errno);\n\n"
        "        if (!*flag && MPIDI_MAD_iprobe_progresses()) {\n",
        False,
        _WHY_PROBED,
    ),
    _with("mad_sendrecv.h", _HELPERS),
    Edit(
        _HELPERS,
        "        status = &mystatus;\n\n    /* If source is",
        "        status = &mystatus;\n\n"
        "    if (*errflag == MPIR_ERR_NONE\n"
        "        && MPIDI_MAD_sent_ahead(sendbuf, sendcount, sendtype, dest, sendtag, comm_ptr, context_offset)) {\n"
        "        dest = MPI_PROC_NULL;\n"
        "        if (MPIDI_MAD_received(recvbuf, recvcount, recvtype, source, recvtag, comm_ptr, context_offset, status))\n"
        "            goto fn_exit;\n"
        "    }\n\n    /* If source is",
        False,
        _WHY_AHEAD,
    ),
    _with("mad_exchange.h", _BINOMIAL),
    Edit(
        _BINOMIAL,
        "    /* Create a temporary buffer */\n",
        "    if (MPIDI_MAD_reduce_by_tree(sendbuf, recvbuf, count, datatype, op, root, comm_ptr, errflag, &mpi_errno))\n"
        "        goto fn_exit;\n\n"
        "    /* Create a temporary buffer */\n",
        False,
        "MPI_Reduce copied each rank's data first, and what a core has just written another one reads slowly",
    ),
    Edit(
        _SELECTION,
        _characters('"avg_msg_size<=2048":{"algorithm=MPIR_Reduce_intra_binomial'),
        _characters('"avg_msg_size<=65536":{"algorithm=MPIR_Reduce_intra_binomial'),
        False,
        "MPI_Reduce of more than 2 KiB was a scatter and a gather, 1.1 to 3 times as long up to 2 MiB (perf/results.md)",
        times=2,
    ),
    Edit(
        _SELECTION,
        _characters('"comm_size<8":{"avg_msg_size<=32768":{"algorithm=MPIR_Alltoall_intra_scattered'),
        _characters('"comm_size<3":{"algorithm=MPIR_Alltoall_intra_pairwise":{}},'
                    '"comm_size<8":{"avg_msg_size<=32768":{"algorithm=MPIR_Alltoall_intra_scattered'),
        False,
        "two ranks exchange once, for which a request of each message, and two of one to oneself, are much",
    ),
    Edit(
        _SELECTION,
        _characters('"collective=scan":{"comm_type=intra":{'),
        _characters('"collective=scan":{"comm_type=intra":{'
                    '"comm_size=node_comm_size":{"algorithm=MPIR_Scan_intra_recursive_doubling":{}},'),
        False,
        _WHY_SCAN,
    ),
    Edit(
        _SELECTION,
        _characters('"collective=scan":{"is_node_consecutive=yes"'),
        _characters('"collective=scan":{"comm_size=node_comm_size":{"composition=MPIDI_Scan_intra_composition_beta":{}},'
                    '"is_node_consecutive=yes"'),
        False,
        _WHY_SCAN,
    ),
    Edit(
        "src/include/mpir_csel.h",
        "void *MPIR_Csel_search(void *csel, MPIR_Csel_coll_sig_s coll_sig);\n",
        "void *MPIR_Csel_search(void *csel, const MPIR_Csel_coll_sig_s *coll_sig);\n"
        "#define MPIR_Csel_search(csel, coll_sig) MPIR_Csel_search(csel, &(coll_sig))\n",
        True,
        _WHY_SELECTED,
    ),
    Edit(
        _SEARCH,
        "void *MPIR_Csel_search(void *csel_, MPIR_Csel_coll_sig_s coll_info)\n",
        "void *(MPIR_Csel_search)(void *csel_, const MPIR_Csel_coll_sig_s *coll_sig)\n",
        True,
        _WHY_SELECTED,
    ),
    Edit(_SEARCH, '#include "mpir_csel.h"\n', '#include "mpir_csel.h"\n#define coll_info (*coll_sig)\n', True, _WHY_SELECTED),
    Edit(_SEARCH, "(MPIR_Csel_coll_sig_s coll_info)", "(const MPIR_Csel_coll_sig_s *coll_sig)", True, _WHY_SELECTED, times=7),
    Edit(_SEARCH, "(coll_info)", "(coll_sig)", True, _WHY_SELECTED, times=10),
    *(_on_one_node(*table) for table in (
        ("barrier", "algorithm=MPIR_Barrier_intra_smp", "algorithm=MPIR_Barrier_intra_dissemination"),
        ("barrier", "composition=MPIDI_Barrier_intra_composition_alpha", "composition=MPIDI_Barrier_intra_composition_beta"),
        ("bcast", "comm_size<8", "composition=MPIDI_Bcast_intra_composition_gamma"),
        ("reduce", "is_commutative=yes", "composition=MPIDI_Reduce_intra_composition_gamma"))),
    Edit(_PMI, '#include "mpir_nodemap.h"\n', f'#include "../{_NETMOD}/mad_pmi_names.h"\n#include "mpir_nodemap.h"\n', True,
         _WHY_PMI),
    replace(_with("mad_pmi_names.h", _NAMES), needed=True, why=_WHY_PMI, times=2),  # one of them is left out
    Edit(
        _PMI,
        "PMI_KVS_Get(pmi_kvs_name, key, val, val_size)",
        "MPIDI_MAD_pmi()->kvs_get(pmi_kvs_name, src, key, val, val_size)",
        True,
        _WHY_RANK,
    ),
    Edit(
        "src/util/mpir_nodemap.h",
        "PMI_KVS_Get(kvs_name, key, node_names",
        "MPIDI_MAD_pmi()->kvs_get(kvs_name, i, key, node_names",
        True,
        _WHY_RANK,
    ),
    Edit(
        _LOCAL_COPIES,
        "        /* For multi-step pack/unpack, using only blocking version for simplicity. */\n",
        "        if (MPIDI_MAD_copy(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, copy_sz))\n"
        "            goto fn_exit;\n"
        "\n"
        "        /* For multi-step pack/unpack, using only blocking version for simplicity. */\n",
        False,
        "the same, and in pieces of 16 KiB by way of a buffer of the heap",
    ),
    _with("mad_external.h", _PACKING),
    _external("    MPI_Aint actual_pack_bytes;\n    void *buf = (void *) ((char *) outbuf + *position);\n"
              "    mpi_errno = MPIR_Typerep_pack_external(inbuf, incount, datatype, buf, &actual_pack_bytes);\n"
              "    MPIR_ERR_CHECK(mpi_errno);\n    *position += actual_pack_bytes;\n",
              "    mpi_errno = MPIDI_MAD_pack_external(datarep, inbuf, incount, datatype, outbuf, outsize, position);\n"
              "    MPIR_ERR_CHECK(mpi_errno);\n"),
    _external("    MPI_Aint actual_unpack_bytes;\n    void *buf = (void *) ((char *) inbuf + *position);\n"
              "    mpi_errno = MPIR_Typerep_unpack_external(buf, outbuf, outcount, datatype, &actual_unpack_bytes);\n"
              "    MPIR_ERR_CHECK(mpi_errno);\n    *position += actual_unpack_bytes;\n",
              "    mpi_errno = MPIDI_MAD_unpack_external(datarep, inbuf, insize, position, outbuf, outcount, datatype);\n"
              "    MPIR_ERR_CHECK(mpi_errno);\n"),
    _external("    *size = incount * MPIR_Typerep_size_external32(datatype);\n    return MPI_SUCCESS;\n",
              "    return MPIDI_MAD_external_size(datarep, incount, datatype, size);\n"),
    _with_structs(f"{_TYPE_CALLS}/type_create_struct.c"),
    _asked_first("type_create_struct", f"const MPI_Aint array_of_displacements[],\n{_STRUCT_TYPES}",
                 "create_basic_struct(count, array_of_blocklengths, array_of_displacements,\n"
                 "                                      array_of_types, newtype)"),
    _with_structs(f"{_TYPE_CALLS}/type_commit.c"),
    _asked_first("type_commit", "(MPI_Datatype *datatype", "commit(datatype)"),
    _with_structs(f"{_TYPE_CALLS}/type_free.c"),
    _asked_first("type_free", "(MPI_Datatype *datatype", "free(datatype)"),
    Edit(
        "src/include/mpir_status.h",
        "    ((MPI_Count) ((((MPIR_Ucount) (((unsigned int) (status_).count_hi_and_cancelled) >> 1))"
        " << (8 * SIZEOF_INT)) +",
        "    ((MPI_Count) ((((MPIR_Ucount) ((((unsigned int) (status_).count_hi_and_cancelled) >> 1) &"
        " (((unsigned int) (status_).count_hi_and_cancelled) >> 25 == 0x56u ? 0x3ffu : 0x7fffffffu)))"
        " << (8 * SIZEOF_INT)) +",
        True,
        "a status with the mark of mad_piggyback.c has 42 bits of count, and the number of a value that came along",
    ),
    Edit(
        "src/mpid/ch4/src/ch4_wait.h",
        "    int idx = 0;\n    for (int i = 0; i < n; i++) {\n",
        "    int idx = 0;\n"
        "    if (MPIDI_CH4_MAX_VCIS == 1) {\n"
        "        state->vci[idx++] = 0;\n"
        "        n = 0;\n"
        "    }\n"
        "    for (int i = 0; i < n; i++) {\n",
        False,
        "each request was asked for its VCI by each wait and test, where there is one",
    ),
    Edit(
        "src/mpid/ch4/src/ch4_self.h",
        "    (comm->remote_size == 1 && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM)\n",
        "    (comm->remote_size == 1 && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && MPIDI_SELF_IS_BARE(comm))\n"
        "#ifdef HAVE_CH4_NETMOD_MAD\n"
        "#define MPIDI_SELF_IS_BARE(comm) ((comm)->dev.ch4.netmod.mad.piggyback == NULL)\n"
        "#else\n"
        "#define MPIDI_SELF_IS_BARE(comm) 1\n"
        "#endif\n",
        True,
        "MPICH's own way for messages of a communicator of one process takes no values along",
    ),
    Edit(
        "src/mpid/ch4/src/ch4_startall.h",
        "            if (comm->remote_size == 1 && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM) {\n",
        "            if (MPIDI_is_self_comm(comm)) {\n",
        True,
        "a started persistent request chose that way by a condition of its own",
        times=3,
    ),
    Edit(
        _YAKSA,
        "    if (!MPIR_CVAR_ENABLE_YAKSA_REDUCTION)\n        return 0;\n",
        "#if !defined(MPL_HAVE_CUDA) && !defined(MPL_HAVE_HIP) && !defined(MPL_HAVE_ZE)\n    return 0;\n#endif\n"
        "    if (!MPIR_CVAR_ENABLE_YAKSA_REDUCTION)\n        return 0;\n",
        False,
        "without a GPU MPI's operators are faster (perf/results.md), and they know unsigned numbers (pmodels/mpich #6083)",
    ),
    Edit(
        "src/include/mpir_op_util.h",
        "#define MPIR_OP_UTIL_H_INCLUDED\n",
        '#define MPIR_OP_UTIL_H_INCLUDED\n\n#ifdef __GNUC__\n#pragma GCC optimize ("O3")\n#endif\n\n'
        "#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)\n"
        '#define MPIR_OP_CLONES __attribute__((target_clones("avx2", "default")))\n'
        "#else\n#define MPIR_OP_CLONES\n#endif\n",
        True,
        "the operators' loops were not vectorized",
    ),
    *(_cloned(*operator) for operator in (("opsum", "SUM"), ("opprod", "PROD"), ("opmax", "MAXF"), ("opmin", "MINF"))),
)


def _edited(text: str, edits: List[Edit], path: Path) -> str:
    for edit in edits:
        if edit.new in text:
            continue
        if text.count(edit.old) == edit.times:
            text = text.replace(edit.old, edit.new)
        elif edit.needed:
            raise Missing(f"{path} does not look as expected ({edit.why}); is this MPICH 4.0.x unmodified?")
    return text


def apply_all(tree: Path, kept: Path) -> List[str]:
    """Applies what is not applied yet; returns the paths changed.

    In `kept` each file's text before the edits is kept with a digest of the text after them: when the edits of
    this project change, a file that nobody else has touched since is edited anew from what it was.
    """
    by_path: Dict[str, List[Edit]] = {name.stem.replace("+", "/"): [] for name in kept.glob("*.digest")}
    for edit in EDITS:
        by_path.setdefault(edit.path, []).append(edit)
    changed = []
    for name, edits in by_path.items():
        path = tree / name
        before, after = kept / name.replace("/", "+"), kept / (name.replace("/", "+") + ".digest")
        current = path.read_text() if path.is_file() else ""
        ours = before.is_file() and after.is_file() and after.read_text() == digest(current)
        original = before.read_text() if ours else current
        wanted = _edited(original, edits, path)
        if wanted == current:
            continue
        kept.mkdir(parents=True, exist_ok=True)
        before.write_text(original)
        write_atomically(after, digest(wanted))
        path.write_text(wanted)
        changed.append(name)
    return changed
