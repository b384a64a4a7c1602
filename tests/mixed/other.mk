# libmad and its tests for another machine, without Bazel, which has no toolchain for it.
#
#   make -f tests/mixed/other.mk CXX=... SODIUM=... OUT=...
#
# SODIUM: libsodium built for that machine.  Objects and programs stand in OUT: pair, units.

GTEST := /usr/src/googletest/googletest
OPTIMISED := -O1
CXXFLAGS := -std=c++17 $(OPTIMISED) -Wall -Wextra -Werror -Wno-unused-parameter -MMD -pthread -DFMT_HEADER_ONLY \
	-Itests/mixed/include -I. -isystem $(SODIUM)/include -isystem $(OUT)/headers -isystem $(GTEST)/include

ROOMS := $(addprefix madlike/,base checksum match message message/session) \
	$(addprefix madlike/driver/,connections door ip loopback memory rdma shm tcp) \
	$(addprefix datatype_path/,convert cursor describe explain kernels plan program signature transfer typed) netmod/abi
LEFT_OUT := datatype_path/kernels/kernels_avx% netmod/abi/%ucx_plugin.cc netmod/abi/ucx_loader.cc
LIBRARY := $(filter-out %_test.cc $(LEFT_OUT),$(foreach room,$(ROOMS),$(wildcard $(room)/*.cc))) \
	madlike/driver/ucx/names.cc tests/mixed/left_out.cc
PAIR := tests/mixed/pair.cc tests/support/random_type.cc
# Those to whom byte order, or a machine's types, may matter.
UNITS := madlike/checksum/crc32c_test.cc madlike/driver/door/handshake_test.cc madlike/driver/tcp/record_test.cc \
	madlike/message/wire_test.cc madlike/message/foreign_test.cc madlike/message/tagged_test.cc \
	madlike/message/checksum_test.cc madlike/message/session/chunk_test.cc netmod/abi/address_test.cc \
	datatype_path/convert/conversion_plan_test.cc \
	datatype_path/signature/type_signature_test.cc \
	tests/support/random_type.cc

objects = $(patsubst %.cc,$(OUT)/%.o,$(1))

all: $(OUT)/pair $(OUT)/units

$(OUT)/%.o: %.cc | $(OUT)/headers
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -c $< -o $@

# The headers of libraries that are nothing but headers.
$(OUT)/headers:
	mkdir -p $@
	ln -s /usr/include/fmt /usr/include/nlohmann $@/

$(OUT)/gtest.o: $(GTEST)/src/gtest-all.cc
	$(CXX) -std=c++17 -O1 -pthread -I$(GTEST) -I$(GTEST)/include -c $< -o $@
$(OUT)/gtest_main.o: $(GTEST)/src/gtest_main.cc
	$(CXX) -std=c++17 -O1 -pthread -I$(GTEST) -I$(GTEST)/include -c $< -o $@

$(OUT)/libmad.a: $(call objects,$(LIBRARY))
	rm -f $@
	$(AR) rcs $@ $^

LIBRARIES := $(OUT)/libmad.a $(SODIUM)/lib/libsodium.a -ldl
$(OUT)/pair: $(call objects,$(PAIR)) $(OUT)/libmad.a
	$(CXX) -static -pthread -o $@ $(call objects,$(PAIR)) $(LIBRARIES)
$(OUT)/units: $(call objects,$(UNITS)) $(OUT)/gtest.o $(OUT)/gtest_main.o $(OUT)/libmad.a
	$(CXX) -static -pthread -o $@ $(filter %.o,$^) $(LIBRARIES)

-include $(patsubst %.o,%.d,$(call objects,$(LIBRARY) $(PAIR) $(UNITS)))
