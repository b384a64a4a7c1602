/* netmod_inline.h: what MPICH's core inlines of the mad netmod.
 *
 * Point-to-point communication is libmad's tagged messages.  RMA with neighbours on this node is
 * done at once in shared memory; blocking collectives with neighbours are its messages, too; all
 * other, collectives and partitioned communication are MPICH's generic ones, over point-to-point or
 * over active messages.
 */
#ifndef NETMOD_INLINE_H_INCLUDED
#define NETMOD_INLINE_H_INCLUDED

#include "mad_am.h"
#include "mad_coll.h"
#include "mad_impl.h"
#include "mad_neighbor.h"
#include "mad_part.h"
#include "mad_proc.h"
#include "mad_progress.h"
#include "mad_pt2pt.h"
#include "mad_request.h"
#include "mad_rma.h"

/* Generated from MPICH's list of netmod functions when the netmod is installed into a tree. */
#include "mad_noinline.h"

#endif /* NETMOD_INLINE_H_INCLUDED */
