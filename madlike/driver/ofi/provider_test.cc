#include "madlike/driver/ofi/provider.h"

#include <rdma/fi_endpoint.h>

#include <cstring>

#include "gtest/gtest.h"

namespace mad {
namespace {

OfiOptions on_lo(const char* provider) {
  OfiOptions options;
  options.provider = provider;
  options.interface = "lo";
  return options;
}

TEST(OfiProvider, LayersAreNamedWithoutWhatSeparatesFabrics) {
  EXPECT_EQ(libfabric_name("tcp+ofi_rxm"), "tcp;ofi_rxm");
  EXPECT_EQ(libfabric_name("verbs"), "verbs");
}

TEST(OfiProvider, EndpointsAreThoseThatAreLookedFor) {
  const auto connected = find_connected(on_lo("tcp"));
  ASSERT_TRUE(connected.ok()) << connected.status().message();
  EXPECT_EQ((*connected)->ep_attr->type, FI_EP_MSG);
  const auto datagrams = find_datagrams(on_lo("tcp+ofi_rxm"));
  ASSERT_TRUE(datagrams.ok()) << datagrams.status().message();
  EXPECT_EQ((*datagrams)->ep_attr->type, FI_EP_RDM);
  EXPECT_STREQ((*datagrams)->fabric_attr->prov_name, "tcp;ofi_rxm");
  EXPECT_EQ((*datagrams)->tx_attr->msg_order & FI_ORDER_SAS, FI_ORDER_SAS);
}

TEST(OfiProvider, WhereThereIsNoneTheSentenceSaysWhatThereIs) {
  const auto connected = find_connected(on_lo("tcp+ofi_rxm"));
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.status().code(), StatusCode::kNotFound);
  const auto none = find_datagrams(on_lo("pigeon"));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  const std::string said(none.status().message());
  EXPECT_NE(said.find("pigeon"), std::string::npos) << said;
  EXPECT_NE(said.find("tcp+ofi_rxm"), std::string::npos) << said;
}

TEST(OfiProvider, AnInterfaceIsOfThisHost) {
  OfiOptions options = on_lo("tcp+ofi_rxm");
  options.interface = "carrier0";
  EXPECT_EQ(find_datagrams(options).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(find_connected(options).status().code(), StatusCode::kNotFound);
}

// shm's addresses are names.
TEST(OfiProvider, WithoutIpAddressesTheInterfaceIsNotTheProviders) {
  const auto shm = find_datagrams(on_lo("shm"));
  ASSERT_TRUE(shm.ok()) << shm.status().message();
  EXPECT_EQ((*shm)->ep_attr->type, FI_EP_RDM);
}

}  // namespace
}  // namespace mad
