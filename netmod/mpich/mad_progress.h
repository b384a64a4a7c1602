/* mad_progress.h: progress, forwarded to mad_progress.c. */
#ifndef MAD_PROGRESS_H_INCLUDED
#define MAD_PROGRESS_H_INCLUDED

#include "mad_impl.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(int vci, int blocking) {
  return MPIDI_MAD_progress(vci);
}

#endif /* MAD_PROGRESS_H_INCLUDED */
