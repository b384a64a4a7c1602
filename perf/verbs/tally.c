/* libtally.so, to be preloaded: stands between a process and its RDMA devices, and counts.
 *
 * Posting and polling are calls by a table of each open device, into which ours are put.  A process
 * has one thread at a time there, as libmad and MPICH without threads have it.
 */
#define _GNU_SOURCE
#include "tally.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

typedef struct Span {
  uintptr_t begin;
  size_t bytes;
} Span;

static VerbsTally tally;
static Span own, peers;
/* All devices of a process are of one kind, and all paths are alike. */
static struct ibv_context_ops real;
static long long mtu = 1024;

/* libibverbs's own; UCX loads it for itself alone, so that nobody comes next in order. */
static void* next(const char* name) {
  void* const library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* const found = library ? dlsym(library, name) : NULL;
  if (found) return found;
  fprintf(stderr, "tally: no %s in libibverbs\n", name);
  abort();
}

static bool is_in(const Span* span, uint64_t address) {
  return address >= span->begin && address < span->begin + span->bytes;
}

void verbs_tally(VerbsTally* out) { *out = tally; }
long long verbs_tally_mtu(void) { return mtu; }

void verbs_tally_watch(const void* own_memory, size_t own_bytes, const void* peers_memory,
                       size_t peers_bytes) {
  own = (Span){(uintptr_t)own_memory, own_bytes};
  peers = (Span){(uintptr_t)peers_memory, peers_bytes};
}

static void count(const struct ibv_send_wr* request) {
  const bool reads = request->opcode == IBV_WR_RDMA_READ;
  const bool writes =
      request->opcode == IBV_WR_RDMA_WRITE || request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  long long bytes = 0, users = 0;

  for (int i = 0; i < request->num_sge; i++) {
    const struct ibv_sge* const segment = &request->sg_list[i];
    bytes += segment->length;
    if (is_in(&own, segment->addr)) users += segment->length;
  }
  tally.packets += bytes > 0 ? (bytes + mtu - 1) / mtu : 1;
  if ((request->send_flags & IBV_SEND_INLINE) != 0) tally.inlined++;
  if (reads) {
    tally.reads++;
    tally.to_user += users;
    if (is_in(&peers, request->wr.rdma.remote_addr)) tally.from_peer += bytes;
    return;
  }
  tally.from_user += users;
  if (writes) {
    tally.writes++;
    tally.written_bytes += bytes;
    if (is_in(&peers, request->wr.rdma.remote_addr)) tally.to_peer += bytes;
  } else {
    tally.sends++;
    tally.sent_bytes += bytes;
  }
}

static int post_send(struct ibv_qp* queue, struct ibv_send_wr* requests,
                     struct ibv_send_wr** refused) {
  const int error = real.post_send(queue, requests, refused);
  const struct ibv_send_wr* const end = error != 0 ? *refused : NULL;
  for (; requests != end; requests = requests->next) count(requests);
  return error;
}

static int post_recv(struct ibv_qp* queue, struct ibv_recv_wr* requests,
                     struct ibv_recv_wr** refused) {
  const int error = real.post_recv(queue, requests, refused);
  const struct ibv_recv_wr* const end = error != 0 ? *refused : NULL;
  for (; requests != end; requests = requests->next) tally.receives_posted++;
  return error;
}

static int post_srq_recv(struct ibv_srq* queue, struct ibv_recv_wr* requests,
                         struct ibv_recv_wr** refused) {
  const int error = real.post_srq_recv(queue, requests, refused);
  const struct ibv_recv_wr* const end = error != 0 ? *refused : NULL;
  for (; requests != end; requests = requests->next) tally.receives_posted++;
  return error;
}

static int poll_cq(struct ibv_cq* queue, int capacity, struct ibv_wc* out) {
  const int found = real.poll_cq(queue, capacity, out);
  tally.polls++;
  for (int i = 0; i < found; i++) {
    if ((out[i].opcode & IBV_WC_RECV) != 0) {
      tally.receives_completed++;
    } else {
      tally.sends_completed++;
    }
  }
  return found;
}

struct ibv_context* ibv_open_device(struct ibv_device* device) {
  struct ibv_context* (*const open)(struct ibv_device*) = next("ibv_open_device");
  struct ibv_context* const opened = open(device);
  if (!opened) return NULL;
  if (opened->ops.post_send != post_send) real = opened->ops;
  opened->ops.post_send = post_send;
  opened->ops.post_recv = post_recv;
  opened->ops.post_srq_recv = post_srq_recv;
  opened->ops.poll_cq = poll_cq;
  return opened;
}

int ibv_modify_qp(struct ibv_qp* queue, struct ibv_qp_attr* attributes, int mask) {
  int (*const modify)(struct ibv_qp*, struct ibv_qp_attr*, int) = next("ibv_modify_qp");
  if ((mask & IBV_QP_PATH_MTU) != 0) mtu = 128LL << attributes->path_mtu; /* IBV_MTU_256 is 1 */
  return modify(queue, attributes, mask);
}

struct ibv_mr* ibv_reg_mr(struct ibv_pd* domain, void* memory, size_t bytes, int access) {
  struct ibv_mr* (*const reg)(struct ibv_pd*, void*, size_t, int) = next("ibv_reg_mr");
  tally.registrations++;
  return reg(domain, memory, bytes, access);
}

struct ibv_mr* ibv_reg_mr_iova(struct ibv_pd* domain, void* memory, size_t bytes, uint64_t address,
                               int access) {
  struct ibv_mr* (*const reg)(struct ibv_pd*, void*, size_t, uint64_t, int) =
      next("ibv_reg_mr_iova");
  tally.registrations++;
  return reg(domain, memory, bytes, address, access);
}

struct ibv_mr* ibv_reg_mr_iova2(struct ibv_pd* domain, void* memory, size_t bytes, uint64_t address,
                                unsigned int access) {
  struct ibv_mr* (*const reg)(struct ibv_pd*, void*, size_t, uint64_t, unsigned int) =
      next("ibv_reg_mr_iova2");
  tally.registrations++;
  return reg(domain, memory, bytes, address, access);
}
