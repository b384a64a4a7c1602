#include "madlike/driver/ucx/settings.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace mad {
namespace {

/// Whether the environment has this option, by one of the prefixes that UCX reads it with.
bool is_set(const std::string& option, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
    const std::string name = "UCX_" + prefix + option;
    return std::getenv(name.c_str()) != nullptr || std::getenv(("MAD_" + name).c_str()) != nullptr;
  });
}

void drop_those_set(std::vector<UcxSetting>* settings, const std::vector<std::string>& prefixes) {
  const auto set = [&](const UcxSetting& each) {
    const std::size_t begin = each.name.find('_') + 1;  // the option, in each of the tables
    return is_set(each.name.substr(begin), prefixes);
  };
  settings->erase(std::remove_if(settings->begin(), settings->end(), set), settings->end());
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text + "_";
}

// One send is signaled each, so that a buffer is free when its message is over: of many unsignaled
// ones of many connections none would come back.
std::vector<UcxSetting> rdma_settings(UcxTransport transport, const std::string& uct_name) {
  std::vector<UcxSetting> settings{
      {"IB_RX_QUEUE_LEN", std::to_string(RdmaBuffers::kReceives)},
      {"IB_RX_BUFS_GROW", std::to_string(RdmaBuffers::kReceives + RdmaBuffers::kKept)},
      {"IB_RX_MAX_BUFS", std::to_string(RdmaBuffers::kReceives + RdmaBuffers::kKept)},
      {"IB_TX_BUFS_GROW", std::to_string(RdmaBuffers::kSends)}};
  if (transport == UcxTransport::kRc) {
    settings.insert(settings.end(), {{"IB_TX_QUEUE_LEN", std::to_string(RdmaBuffers::kSends)},
                                     {"IB_TX_MAX_BUFS", std::to_string(RdmaBuffers::kSends)},
                                     {"RC_FC_WND_SIZE", std::to_string(RdmaBuffers::kWindow)}});
    if (uct_name == "rc_verbs") {
      settings.insert(settings.end(), {{"RC_TX_CQ_MODERATION", "0"}, {"RC_TX_CQ_LEN", "1024"}});
    }
  } else {
    settings.push_back({"UD_MAX_WINDOW", std::to_string(RdmaBuffers::kWindow)});
    settings.push_back({"UD_RX_QUEUE_LEN_INIT", std::to_string(RdmaBuffers::kReceives)});
    // It takes what only mlx5 writes there for the packet's kind (ud_inl.h,
    // uct_ud_iface_check_grh()), and drops all that goes by IPv4; what is not for us has not our
    // tag.
    if (uct_name == "ud_verbs") settings.push_back({"UD_ETH_DGID_CHECK", "n"});
  }
  const std::string family = upper(uct_name.substr(0, uct_name.find('_')));
  drop_those_set(&settings, {"IB_", "RC_", family, upper(uct_name)});
  return settings;
}

}  // namespace

std::vector<UcxSetting> interface_settings(UcxTransport transport, const std::string& uct_name,
                                           std::size_t segment_bytes) {
  if (is_rdma(transport)) return rdma_settings(transport, uct_name);
  if (transport == UcxTransport::kTcp) {
    return {{"MAX_IOV", "128"},
            {"CONN_NB", "y"},
            {"TX_SEG_SIZE", "8192"},
            {"RX_SEG_SIZE", "65536"},
            {"MAX_POLL", std::to_string(UcxLane::kSocketsAtOnce)}};
  }
  return {{"MM_SEG_SIZE", std::to_string(segment_bytes)},
          {"MM_FIFO_SIZE", std::to_string(UcxLane::kPlaces)},
          {"MM_FIFO_ELEM_SIZE", std::to_string(UcxLane::kMostShort)},
          {"MM_FIFO_MAX_POLL", std::to_string(UcxLane::kMessagesAtOnce)},
          {"MM_FIFO_RELEASE_FACTOR", "0.125"},  // a sender sees early that its peer takes messages
          {"MM_FIFO_HUGETLB", "n"},             // small, see UcxDomain::shared_bytes()
          {"MM_RX_MAX_BUFS", "-1"},             // any number
          {"MM_RX_BUFS_GROW", std::to_string(kPosixBuffers)}};
}

// Registered as it is, without a cache, which would need UCX's hooks in the C library.  Without
// events: UCX has a thread for them, and asks for those of connections that end; their queues are
// given back when the lane is closed.
std::vector<UcxSetting> rdma_domain_settings(int gid_index) {
  std::vector<UcxSetting> settings{{"REG_METHODS", "direct"}, {"ASYNC_EVENTS", "n"}};
  if (gid_index >= 0) settings.push_back({"GID_INDEX", std::to_string(gid_index)});
  const auto set = [](const UcxSetting& each) { return is_set(each.name, {"IB_"}); };
  settings.erase(std::remove_if(settings.begin(), settings.end(), set), settings.end());
  return settings;
}

}  // namespace mad
