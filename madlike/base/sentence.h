// with_sentence: an error told where memory may have run out.
//
// A sentence takes memory.  Who has changed something already when it says what is wrong must not
// throw for want of it.
#ifndef MADLIKE_BASE_SENTENCE_H_
#define MADLIKE_BASE_SENTENCE_H_

#include <new>

#include "madlike/base/status.h"

namespace mad {

/// The error `code` with the sentence that `make()` returns; without one, if there is no memory for
/// it.
template <typename Make>
Status with_sentence(StatusCode code, const Make& make) {
  try {
    return {code, make()};
  } catch (const std::bad_alloc&) {
    return code;
  }
}

}  // namespace mad

#endif  // MADLIKE_BASE_SENTENCE_H_
