## The mad netmod: MPICH's ch4 over libmad.

if BUILD_CH4_NETMOD_MAD

# Declares the MPIX_Mad_* functions; installed beside mpi.h.
include_HEADERS += src/mpid/ch4/netmod/mad/mpix_mad.h

mpi_core_sources += \
    src/mpid/ch4/netmod/mad/func_table.c \
    src/mpid/ch4/netmod/mad/mad_address.c \
    src/mpid/ch4/netmod/mad/mad_am.c \
    src/mpid/ch4/netmod/mad/mad_answers.c \
    src/mpid/ch4/netmod/mad/mad_apply.c \
    src/mpid/ch4/netmod/mad/mad_atomic.c \
    src/mpid/ch4/netmod/mad/mad_board.c \
    src/mpid/ch4/netmod/mad/mad_check.c \
    src/mpid/ch4/netmod/mad/mad_combine.c \
    src/mpid/ch4/netmod/mad/mad_comm.c \
    src/mpid/ch4/netmod/mad/mad_cores.c \
    src/mpid/ch4/netmod/mad/mad_direct.c \
    src/mpid/ch4/netmod/mad/mad_dynamic.c \
    src/mpid/ch4/netmod/mad/mad_errors.c \
    src/mpid/ch4/netmod/mad/mad_exchange.c \
    src/mpid/ch4/netmod/mad/mad_external.c \
    src/mpid/ch4/netmod/mad/mad_failure.c \
    src/mpid/ch4/netmod/mad/mad_far.c \
    src/mpid/ch4/netmod/mad/mad_fields.c \
    src/mpid/ch4/netmod/mad/mad_headers.c \
    src/mpid/ch4/netmod/mad/mad_hooks.c \
    src/mpid/ch4/netmod/mad/mad_init.c \
    src/mpid/ch4/netmod/mad/mad_kernel.c \
    src/mpid/ch4/netmod/mad/mad_list.c \
    src/mpid/ch4/netmod/mad/mad_pmi.c \
    src/mpid/ch4/netmod/mad/mad_locks.c \
    src/mpid/ch4/netmod/mad/mad_neighbor.c \
    src/mpid/ch4/netmod/mad/mad_piggyback.c \
    src/mpid/ch4/netmod/mad/mad_progress.c \
    src/mpid/ch4/netmod/mad/mad_pstruct.c \
    src/mpid/ch4/netmod/mad/mad_pt2pt.c \
    src/mpid/ch4/netmod/mad/mad_pvars.c \
    src/mpid/ch4/netmod/mad/mad_recv.c \
    src/mpid/ch4/netmod/mad/mad_remote.c \
    src/mpid/ch4/netmod/mad/mad_serve.c \
    src/mpid/ch4/netmod/mad/mad_struct.c \
    src/mpid/ch4/netmod/mad/mad_switch.c \
    src/mpid/ch4/netmod/mad/mad_translate.c \
    src/mpid/ch4/netmod/mad/mad_turns.c \
    src/mpid/ch4/netmod/mad/mad_types.c \
    src/mpid/ch4/netmod/mad/mad_watch.c \
    src/mpid/ch4/netmod/mad/mad_win.c \
    src/mpid/ch4/netmod/mad/mad_window.c

errnames_txt_files += src/mpid/ch4/netmod/mad/errnames.txt

endif
