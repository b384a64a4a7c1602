/* two_hosts.c: every pair of ranks talks over the fabric that the list of fabrics has for it.
 *
 * Run on two hosts with two fabrics, of which the first does not leave a host: pairs take turns,
 * and what the counters of each fabric gain meanwhile says which of them carried it.
 */
#include <stdio.h>

#include "support/check.h"
#include "support/counter.h"
#include "support/image_check.h"
#include "support/layout.h"

enum { kTag = 1, kSameHost = 0, kOtherHost = 1 };
/* What may go elsewhere during an exchange: credit and barriers of before. */
enum { kStray = 8192 };

static MPI_Comm comm;
static int rank, size;

/* Both ways at once; the bytes of one way. */
static uint64_t exchange(int peer, const Layout* layout, int count, uint32_t round) {
  const uint32_t mine = 1000 * round + rank, theirs = 1000 * round + peer;
  Image sent = layout_image(layout, count, mine, true);
  Image received = layout_image(layout, count, theirs, false);
  const uint64_t bytes = typemap_bytes(&sent.map);
  CHECK_MPI(MPI_Sendrecv(sent.base, count, layout->type, peer, kTag, received.base, count,
                         layout->type, peer, kTag, comm, MPI_STATUS_IGNORE));
  CHECK_IMAGE(&received, theirs, "round %u of ranks %d and %d", round, rank, peer);
  image_free(&sent);
  image_free(&received);
  return bytes;
}

static uint64_t exchange_all(int peer) {
  Layout layouts[] = {layout_contiguous(3), layout_contiguous(100000),
                      layout_strided(500, 300, 400), layout_strided(4000, 2, 7),
                      layout_irregular(90, 120)};
  uint64_t bytes = 0;
  for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
    for (int count = 1; count <= 3; count++)
      bytes += exchange(peer, &layouts[i], count, 3 * i + count);
    layout_free(&layouts[i]);
  }
  return bytes;
}

/* Whether the other is on this host, as MPI knows it. */
static bool is_neighbour(MPI_Comm neighbours, int other) {
  MPI_Group all, group;
  int there;
  MPI_Comm_group(comm, &all);
  MPI_Comm_group(neighbours, &group);
  MPI_Group_translate_ranks(all, 1, &other, group, &there);
  MPI_Group_free(&all);
  MPI_Group_free(&group);
  return there != MPI_UNDEFINED;
}

static void expect_carried(const char* name, const unsigned long long* before, int fabric,
                           uint64_t least, int peer) {
  unsigned long long now[kMaxElements] = {0};
  counter_read_all(name, now);
  for (int i = 0; i < kMaxElements; i++) {
    const unsigned long long gained = now[i] - before[i];
    if (i == fabric) {
      CHECK(gained >= least, "%s: fabric %d carried %llu of %llu bytes with rank %d", name, i,
            gained, (unsigned long long)least, peer);
    } else {
      CHECK(gained <= kStray, "%s: fabric %d carried %llu bytes with rank %d", name, i, gained,
            peer);
    }
  }
}

static void talk_to(int peer, int fabric) {
  unsigned long long sent[kMaxElements] = {0}, received[kMaxElements] = {0};
  exchange(peer, &(Layout){.type = MPI_BYTE}, 0, 0); /* connected now */
  counter_read_all("mad_fabric_bytes_sent", sent);
  counter_read_all("mad_fabric_bytes_received", received);
  const uint64_t bytes = exchange_all(peer);
  expect_carried("mad_fabric_bytes_sent", sent, fabric, bytes, peer);
  /* What the peer writes to this process's memory by itself is not received by it. */
  expect_carried("mad_fabric_bytes_received", received, fabric, 0, peer);
}

int main(int argc, char** argv) {
  MPI_Comm neighbours;
  int hosts_ranks, met[2] = {0, 0};
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &neighbours);
  MPI_Comm_size(neighbours, &hosts_ranks);
  CHECK(2 * hosts_ranks == size, "%d of %d ranks on this host", hosts_ranks, size);
  counters_open();
  for (int first = 0; first < size; first++) {
    for (int second = first + 1; second < size; second++) {
      const int peer = rank == first ? second : first;
      const int fabric = is_neighbour(neighbours, peer) ? kSameHost : kOtherHost;
      MPI_Barrier(comm);
      if (rank != first && rank != second) continue;
      talk_to(peer, fabric);
      met[fabric]++;
    }
  }
  CHECK(met[kSameHost] == size / 2 - 1, "met %d on this host", met[kSameHost]);
  CHECK(met[kOtherHost] == size / 2, "met %d on the other", met[kOtherHost]);
  counters_close();
  MPI_Comm_free(&neighbours);
  MPI_Comm_free(&comm);
  return check_finish();
}
