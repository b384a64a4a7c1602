/* netmod_inline.h: what MPICH's core inlines of the mad netmod.
 *
 * MPICH's generic layer does the matching: point-to-point, probe, RMA, collectives and partitioned
 * communication are its active-message versions, and mad is their transport.
 */
#ifndef NETMOD_INLINE_H_INCLUDED
#define NETMOD_INLINE_H_INCLUDED

#include "mad_am.h"
#include "mad_impl.h"
#include "mad_part.h"
#include "mad_probe.h"
#include "mad_proc.h"
#include "mad_progress.h"
#include "mad_request.h"
#include "mad_rma.h"
#include "netmod_am_fallback_coll.h"
#include "netmod_am_fallback_recv.h"
#include "netmod_am_fallback_send.h"

/* Generated from MPICH's list of netmod functions when the netmod is installed into a tree. */
#include "mad_noinline.h"

#endif /* NETMOD_INLINE_H_INCLUDED */
