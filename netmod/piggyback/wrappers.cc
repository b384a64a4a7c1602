// The functions of MPI that libmad_piggyback.so stands before: those that make communicators, send,
// receive, and end requests.  Each calls its PMPI_ twin.
#include "netmod/piggyback/wrappers.h"

#include <algorithm>

using mad::piggyback::Receive;
using mad::piggyback::Timed;
using mad::piggyback::Tool;

namespace {

Tool& tool() { return Tool::get(); }

/// A status to look at, also where the program wants none.
class Seen {
 public:
  explicit Seen(MPI_Status* status) : status_(status == MPI_STATUS_IGNORE ? &own_ : status) {}
  MPI_Status* get() { return status_; }

 private:
  MPI_Status own_{};
  MPI_Status* status_;
};

class AllSeen {
 public:
  AllSeen(int count, MPI_Status* statuses)
      : own_(statuses == MPI_STATUSES_IGNORE ? static_cast<std::size_t>(std::max(count, 0)) : 0),
        statuses_(statuses == MPI_STATUSES_IGNORE ? own_.data() : statuses) {}
  MPI_Status* get() { return statuses_; }
  const MPI_Status& operator[](int i) const { return statuses_[i]; }

 private:
  std::vector<MPI_Status> own_;
  MPI_Status* statuses_;
};

using Requests = std::vector<MPI_Request>;  // as they were before the call that ended them

/// A negative count is MPI's to complain of.
Requests copied(const MPI_Request* requests, int count) {
  return {requests, requests + std::max(count, 0)};
}

int adopted(int error, const MPI_Comm* comm) {
  if (error == MPI_SUCCESS) tool().adopt(*comm);
  return error;
}

}  // namespace

#pragma GCC visibility push(default)  // of the library only these are seen
extern "C" {

int MPI_Init(int* argc, char*** argv) {
  const int error = PMPI_Init(argc, argv);
  if (error == MPI_SUCCESS) tool().start();
  return error;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int error = PMPI_Init_thread(argc, argv, required, provided);
  if (error == MPI_SUCCESS) tool().start();
  return error;
}

int MPI_Finalize(void) {
  tool().finish();
  return PMPI_Finalize();
}

// ---- communicators ----

#define MAKES_COMM(name_, parameters_, arguments_, made_) \
  int MPI_##name_ parameters_ { return adopted(PMPI_##name_ arguments_, made_); }

MAKES_COMM(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made), made)
MAKES_COMM(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made), (comm, info, made),
           made)
MAKES_COMM(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made), made)
MAKES_COMM(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made),
           (comm, group, tag, made), made)
MAKES_COMM(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made),
           (comm, color, key, made), made)
MAKES_COMM(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
           (comm, type, key, info, made), made)
MAKES_COMM(Cart_create,
           (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
            MPI_Comm* made),
           (comm, dimensions, sizes, periods, reorder, made), made)
MAKES_COMM(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* made), (comm, remain, made),
           made)
MAKES_COMM(Graph_create,
           (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
            MPI_Comm* made),
           (comm, nodes, index, edges, reorder, made), made)
MAKES_COMM(Dist_graph_create,
           (MPI_Comm comm, int n, const int sources[], const int degrees[],
            const int destinations[], const int weights[], MPI_Info info, int reorder,
            MPI_Comm* made),
           (comm, n, sources, degrees, destinations, weights, info, reorder, made), made)
MAKES_COMM(Dist_graph_create_adjacent,
           (MPI_Comm comm, int in, const int sources[], const int source_weights[], int out,
            const int destinations[], const int destination_weights[], MPI_Info info, int reorder,
            MPI_Comm* made),
           (comm, in, sources, source_weights, out, destinations, destination_weights, info,
            reorder, made),
           made)
MAKES_COMM(Intercomm_create,
           (MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm* made),
           (local, leader, peer, remote_leader, tag, made), made)
MAKES_COMM(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm* made), (comm, high, made), made)

// ---- sends, and collective operations ----

#define SENDS(name_, parameters_, arguments_) \
  int MPI_##name_ parameters_ {               \
    const Timed timed("MPI_" #name_);         \
    tool().sending();                         \
    return PMPI_##name_ arguments_;           \
  }

#define SEND_PARAMETERS \
  const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm
#define SEND_ARGUMENTS data, count, type, to, tag, comm
SENDS(Send, (SEND_PARAMETERS), (SEND_ARGUMENTS))
SENDS(Ssend, (SEND_PARAMETERS), (SEND_ARGUMENTS))
SENDS(Bsend, (SEND_PARAMETERS), (SEND_ARGUMENTS))
SENDS(Rsend, (SEND_PARAMETERS), (SEND_ARGUMENTS))
SENDS(Isend, (SEND_PARAMETERS, MPI_Request* request), (SEND_ARGUMENTS, request))
SENDS(Issend, (SEND_PARAMETERS, MPI_Request* request), (SEND_ARGUMENTS, request))
SENDS(Ibsend, (SEND_PARAMETERS, MPI_Request* request), (SEND_ARGUMENTS, request))
SENDS(Irsend, (SEND_PARAMETERS, MPI_Request* request), (SEND_ARGUMENTS, request))

#define OUT const void *out, int out_count, MPI_Datatype out_type
#define IN void *in, int in_count, MPI_Datatype in_type
#define OUTS const void *out, const int out_counts[], const int out_places[], MPI_Datatype out_type
#define INS void *in, const int in_counts[], const int in_places[], MPI_Datatype in_type
#define REDUCES const void *out, void *in, int count, MPI_Datatype type, MPI_Op op
SENDS(Barrier, (MPI_Comm comm), (comm))
SENDS(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
      (data, count, type, root, comm))
SENDS(Reduce, (REDUCES, int root, MPI_Comm comm), (out, in, count, type, op, root, comm))
SENDS(Allreduce, (REDUCES, MPI_Comm comm), (out, in, count, type, op, comm))
SENDS(Scan, (REDUCES, MPI_Comm comm), (out, in, count, type, op, comm))
SENDS(Exscan, (REDUCES, MPI_Comm comm), (out, in, count, type, op, comm))
SENDS(Reduce_scatter_block, (REDUCES, MPI_Comm comm), (out, in, count, type, op, comm))
SENDS(Reduce_scatter,
      (const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (out, in, counts, type, op, comm))
SENDS(Gather, (OUT, IN, int root, MPI_Comm comm),
      (out, out_count, out_type, in, in_count, in_type, root, comm))
SENDS(Gatherv, (OUT, INS, int root, MPI_Comm comm),
      (out, out_count, out_type, in, in_counts, in_places, in_type, root, comm))
SENDS(Scatter, (OUT, IN, int root, MPI_Comm comm),
      (out, out_count, out_type, in, in_count, in_type, root, comm))
SENDS(Scatterv, (OUTS, IN, int root, MPI_Comm comm),
      (out, out_counts, out_places, out_type, in, in_count, in_type, root, comm))
SENDS(Allgather, (OUT, IN, MPI_Comm comm), (out, out_count, out_type, in, in_count, in_type, comm))
SENDS(Allgatherv, (OUT, INS, MPI_Comm comm),
      (out, out_count, out_type, in, in_counts, in_places, in_type, comm))
SENDS(Alltoall, (OUT, IN, MPI_Comm comm), (out, out_count, out_type, in, in_count, in_type, comm))
SENDS(Alltoallv, (OUTS, INS, MPI_Comm comm),
      (out, out_counts, out_places, out_type, in, in_counts, in_places, in_type, comm))

// ---- receives ----

int MPI_Recv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  const Timed timed("MPI_Recv");
  Seen seen(status);
  const Receive receive = tool().wanted(source, tag, comm);
  const int error = PMPI_Recv(data, count, type, source, tag, comm, seen.get());
  if (error == MPI_SUCCESS) tool().received(receive, *seen.get());
  return error;
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const Receive receive = tool().wanted(source, tag, comm);
  const int error = PMPI_Irecv(data, count, type, source, tag, comm, request);
  if (error == MPI_SUCCESS) tool().posted(*request, receive, false);
  return error;
}

int MPI_Recv_init(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const Receive receive = tool().wanted(source, tag, comm);
  const int error = PMPI_Recv_init(data, count, type, source, tag, comm, request);
  if (error == MPI_SUCCESS) tool().posted(*request, receive, true);
  return error;
}

int MPI_Start(MPI_Request* request) {
  tool().sending();
  tool().started(*request);
  return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[]) {
  tool().sending();
  for (int i = 0; i < count; ++i) tool().started(requests[i]);
  return PMPI_Startall(count, requests);
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void* in, int in_count, MPI_Datatype in_type, int source, int tag, MPI_Comm comm,
                 MPI_Status* status) {
  const Timed timed("MPI_Sendrecv");
  Seen seen(status);
  const Receive receive = tool().wanted(source, tag, comm);
  tool().sending();
  const int error = PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type,
                                  source, tag, comm, seen.get());
  if (error == MPI_SUCCESS) tool().received(receive, *seen.get());
  return error;
}

int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int out_tag, int source,
                         int tag, MPI_Comm comm, MPI_Status* status) {
  const Timed timed("MPI_Sendrecv_replace");
  Seen seen(status);
  const Receive receive = tool().wanted(source, tag, comm);
  tool().sending();
  const int error =
      PMPI_Sendrecv_replace(data, count, type, to, out_tag, source, tag, comm, seen.get());
  if (error == MPI_SUCCESS) tool().received(receive, *seen.get());
  return error;
}

// ---- probes: one of any source decides as a receive does ----

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const Timed timed("MPI_Probe");
  Seen seen(status);
  const Receive receive = tool().wanted(source, tag, comm);
  const int error = PMPI_Probe(source, tag, comm, seen.get());
  if (error == MPI_SUCCESS && receive.any_source) tool().received(receive, *seen.get());
  return error;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Seen seen(status);
  const Receive receive = tool().wanted(source, tag, comm);
  const int error = PMPI_Iprobe(source, tag, comm, flag, seen.get());
  if (error == MPI_SUCCESS && *flag != 0 && receive.any_source) {
    tool().received(receive, *seen.get());
  }
  return error;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const Timed timed("MPI_Mprobe");
  const Receive receive = tool().wanted(source, tag, comm);
  const int error = PMPI_Mprobe(source, tag, comm, message, status);
  if (error == MPI_SUCCESS) tool().matched(*message, receive);
  return error;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                MPI_Status* status) {
  const Receive receive = tool().wanted(source, tag, comm);
  const int error = PMPI_Improbe(source, tag, comm, flag, message, status);
  if (error == MPI_SUCCESS && *flag != 0) tool().matched(*message, receive);
  return error;
}

int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const Timed timed("MPI_Mrecv");
  Seen seen(status);
  const Receive receive = tool().take(*message);
  const int error = PMPI_Mrecv(data, count, type, message, seen.get());
  if (error == MPI_SUCCESS) tool().received(receive, *seen.get());
  return error;
}

int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
  const Receive receive = tool().take(*message);
  const int error = PMPI_Imrecv(data, count, type, message, request);
  if (error == MPI_SUCCESS) tool().posted(*request, receive, false);
  return error;
}

// ---- ends of requests ----

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const Timed timed("MPI_Wait");
  Seen seen(status);
  const MPI_Request before = *request;
  const int error = PMPI_Wait(request, seen.get());
  if (error == MPI_SUCCESS) tool().completed(before, *seen.get());
  return error;
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Seen seen(status);
  const MPI_Request before = *request;
  const int error = PMPI_Test(request, flag, seen.get());
  if (error == MPI_SUCCESS && *flag != 0) tool().completed(before, *seen.get());
  return error;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const Timed timed("MPI_Waitall");
  AllSeen seen(count, statuses);
  const Requests before = copied(requests, count);
  const int error = PMPI_Waitall(count, requests, seen.get());
  for (int i = 0; error == MPI_SUCCESS && i < count; ++i) tool().completed(before[i], seen[i]);
  return error;
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  AllSeen seen(count, statuses);
  const Requests before = copied(requests, count);
  const int error = PMPI_Testall(count, requests, flag, seen.get());
  for (int i = 0; error == MPI_SUCCESS && *flag != 0 && i < count; ++i) {
    tool().completed(before[i], seen[i]);
  }
  return error;
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const Timed timed("MPI_Waitany");
  Seen seen(status);
  const Requests before = copied(requests, count);
  const int error = PMPI_Waitany(count, requests, index, seen.get());
  if (error == MPI_SUCCESS && *index != MPI_UNDEFINED) {
    tool().completed(before[*index], *seen.get());
  }
  return error;
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  Seen seen(status);
  const Requests before = copied(requests, count);
  const int error = PMPI_Testany(count, requests, index, flag, seen.get());
  if (error == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED) {
    tool().completed(before[*index], *seen.get());
  }
  return error;
}

int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[],
                 MPI_Status statuses[]) {
  const Timed timed("MPI_Waitsome");
  AllSeen seen(count, statuses);
  const Requests before = copied(requests, count);
  const int error = PMPI_Waitsome(count, requests, done, indices, seen.get());
  for (int i = 0; error == MPI_SUCCESS && *done != MPI_UNDEFINED && i < *done; ++i) {
    tool().completed(before[indices[i]], seen[i]);
  }
  return error;
}

int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[],
                 MPI_Status statuses[]) {
  AllSeen seen(count, statuses);
  const Requests before = copied(requests, count);
  const int error = PMPI_Testsome(count, requests, done, indices, seen.get());
  for (int i = 0; error == MPI_SUCCESS && *done != MPI_UNDEFINED && i < *done; ++i) {
    tool().completed(before[indices[i]], seen[i]);
  }
  return error;
}

int MPI_Request_free(MPI_Request* request) {
  tool().forget(*request);
  return PMPI_Request_free(request);
}

}  // extern "C"
#pragma GCC visibility pop
