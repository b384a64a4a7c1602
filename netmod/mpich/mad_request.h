/* mad_request.h: life of the netmod's part of an active-message request. */
#ifndef MAD_REQUEST_H_INCLUDED
#define MAD_REQUEST_H_INCLUDED

#include "mad_impl.h"

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_init(MPIR_Request* req) {
  MPIDI_MAD_am_request_init(req);
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_finalize(MPIR_Request* req) {
  MPIDI_MAD_am_request_finalize(req);
}

#endif /* MAD_REQUEST_H_INCLUDED */
