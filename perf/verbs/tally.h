/* tally: what a process asks of its RDMA devices, counted below libfabric and UCX. */
#ifndef PERF_VERBS_TALLY_H_
#define PERF_VERBS_TALLY_H_

#include <stddef.h>

/* Since the process began.  Work requests that send, write or read are counted when they are
 * posted, and completions when they are polled.  "User's" is memory in one of the two spans that
 * were given to verbs_tally_watch(). */
typedef struct VerbsTally {
  long long registrations;
  long long sends, writes, reads; /* work requests */
  long long inlined;              /* of them: their bytes were copied into the request */
  long long packets;              /* of them, by the path's MTU; to read: the request's */
  long long sent_bytes;           /* of sends, with the headers of whoever sends */
  long long written_bytes;
  long long from_user;          /* bytes sent or written from this process's user memory */
  long long to_peer;            /* bytes written into the peer's user memory */
  long long from_peer, to_user; /* bytes read there; bytes read into user memory here */
  long long receives_posted;
  long long sends_completed, receives_completed; /* completions of the device that were polled */
  long long polls;                               /* of completion queues */
} VerbsTally;

/* Provided by libtally.so, which LD_PRELOAD names; without it they are null. */
void verbs_tally(VerbsTally* out) __attribute__((weak));
/* Of the path, in bytes. */
long long verbs_tally_mtu(void) __attribute__((weak));
/* Memory of this process, and of its peer, at the peer's addresses. */
void verbs_tally_watch(const void* own, size_t own_bytes, const void* peers, size_t peers_bytes)
    __attribute__((weak));

#endif /* PERF_VERBS_TALLY_H_ */
