// libmad_pmix.so: PMI-1's calls, as mad_pmi.h has them, over libpmix.
//
// What a process puts goes out with the next barrier, which collects it at each node's server: a
// process asks for what it needs when it needs it, and the others' is not in its memory.
#include <pmix.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "netmod/mpich/mad_pmi.h"
#include "netmod/pmix/node_mapping.h"

namespace mad::pmix {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = -1;
// libpmix has no limit of its own; the longest is where the ranks are, if they lie irregularly.
constexpr int kValueLength = 65536;
constexpr const char* kMappingKey = "PMI_process_mapping";

pmix_proc_t self;  // libpmix's name for this process, from init() on

int checked(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return kDone;
  std::fprintf(stderr, "ch4:mad: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
  return kFailed;
}

pmix_proc_t process(pmix_rank_t rank) {
  pmix_proc_t name = self;
  name.rank = rank;
  return name;
}

pmix_info_t switched_on(const char* key) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

/// What the launcher says of the job.
int job_number(pmix_rank_t of, const char* key, int* number) {
  const pmix_proc_t name = process(of);
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&name, key, nullptr, 0, &value);
  if (status != PMIX_SUCCESS) return checked(status, key);
  *number = static_cast<int>(value->data.uint32);
  PMIX_VALUE_RELEASE(value);
  return kDone;
}

int copied(const std::string& text, char* to, int length) {
  if (length < 0 || text.size() >= static_cast<std::size_t>(length)) return kFailed;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kDone;
}

int init(int* has_parent) {
  *has_parent = 0;
  return checked(PMIx_Init(&self, nullptr, 0), "PMIx_Init");
}

int finalize() { return checked(PMIx_Finalize(nullptr, 0), "PMIx_Finalize"); }

int abort(int exit_code, const char* why) {
  return checked(PMIx_Abort(exit_code, why, nullptr, 0), "PMIx_Abort");
}

int get_rank(int* rank) {
  *rank = static_cast<int>(self.rank);
  return kDone;
}

int get_size(int* size) { return job_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, size); }

int get_appnum(int* appnum) { return job_number(self.rank, PMIX_APPNUM, appnum); }

int get_universe_size(int* size) { return job_number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, size); }

int name_length(int* length) {
  *length = PMIX_MAX_NSLEN + 1;
  return kDone;
}

int get_name(char* name, int length) { return copied(self.nspace, name, length); }

int key_length(int* length) {
  *length = PMIX_MAX_KEYLEN + 1;
  return kDone;
}

int value_length(int* length) {
  *length = kValueLength;
  return kDone;
}

int put(const char*, const char* key, const char* text) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_STRING;
  value.data.string = const_cast<char*>(text);  // libpmix copies it
  return checked(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
}

int commit(const char*) { return kDone; }  // barrier() does

int barrier() {
  if (checked(PMIx_Commit(), "PMIx_Commit") != kDone) return kFailed;
  const pmix_proc_t all = process(PMIX_RANK_WILDCARD);
  const pmix_info_t collect = switched_on(PMIX_COLLECT_DATA);
  return checked(PMIx_Fence(&all, 1, &collect, 1), "PMIx_Fence");
}

/// The number of each rank's node; empty: the launcher does not say.
std::vector<int> nodes() {
  int size = 0;
  char* list = nullptr;
  if (get_size(&size) != kDone || PMIx_Resolve_nodes(self.nspace, &list) != PMIX_SUCCESS) return {};
  std::vector<int> node_of_rank(static_cast<std::size_t>(size), -1);
  int node = 0;
  int placed = 0;
  char* rest = nullptr;
  for (char* name = strtok_r(list, ",", &rest); name; name = strtok_r(nullptr, ",", &rest)) {
    pmix_proc_t* there = nullptr;
    std::size_t count = 0;
    if (PMIx_Resolve_peers(name, self.nspace, &there, &count) != PMIX_SUCCESS) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (there[i].rank < node_of_rank.size() && node_of_rank[there[i].rank] < 0) {
        node_of_rank[there[i].rank] = node;
        ++placed;
      }
    }
    PMIX_PROC_FREE(there, count);
    ++node;
  }
  std::free(list);
  return placed == size ? node_of_rank : std::vector<int>();
}

int get(const char*, int rank, const char* key, char* text, int length) {
  if (std::strcmp(key, kMappingKey) == 0) {
    const std::vector<int> known = nodes();
    return known.empty() ? kFailed : copied(node_mapping(known), text, length);
  }
  if (rank < 0) return kFailed;  // libpmix finds what it is told the owner of
  const pmix_proc_t name = process(static_cast<pmix_rank_t>(rank));
  // A key that nobody put is an error at once; without this the answer waits for it.
  const pmix_info_t immediate = switched_on(PMIX_IMMEDIATE);
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&name, key, &immediate, 1, &value);
  if (status != PMIX_SUCCESS) return checked(status, key);
  const int outcome =
      value->type == PMIX_STRING ? copied(value->data.string, text, length) : kFailed;
  PMIX_VALUE_RELEASE(value);
  return outcome;
}

int no_names() {
  std::fprintf(stderr, "ch4:mad: jobs that PMIx started publish no names\n");
  return kFailed;
}

int publish(const char*, const char*) { return no_names(); }
int lookup(const char*, char*) { return no_names(); }
int unpublish(const char*) { return no_names(); }

constexpr mad_pmi kPmi = {
    init,        finalize, abort,      get_rank,     get_size, get_appnum, get_universe_size,
    name_length, get_name, key_length, value_length, put,      commit,     get,
    barrier,     publish,  lookup,     unpublish,
};

}  // namespace
}  // namespace mad::pmix

extern "C" __attribute__((visibility("default"))) const mad_pmi* mad_pmix() {
  return &mad::pmix::kPmi;
}
