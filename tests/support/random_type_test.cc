// The generator reaches what MPI allows: a property test over types it never makes proves nothing.
#include "tests/support/random_type.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/type_map.h"
#include "tests/support/typed_map.h"

namespace mad::test {
namespace {

using Features = std::map<std::string, int>;

const char* name_of(TypeDesc::Kind kind) {
  switch (kind) {
    case TypeDesc::Kind::kBytes:
      return "bytes";
    case TypeDesc::Kind::kContiguous:
      return "contiguous";
    case TypeDesc::Kind::kVector:
      return "vector";
    case TypeDesc::Kind::kIndexed:
      return "indexed";
    case TypeDesc::Kind::kIndexedBlock:
      return "indexed_block";
    case TypeDesc::Kind::kStruct:
      return "struct";
    case TypeDesc::Kind::kResized:
      return "resized";
  }
  return "?";
}

void blocks_of(const TypeDesc& t, const std::string& name, Features& seen) {
  if (t.count() == 0) ++seen[name + " of no blocks"];
  std::size_t stretch = 1;  // blocks of one length at one stride, in a row
  bool forwards = false, backwards = false, touching = false, equal = true, empty = false;
  for (std::size_t i = 0; i < t.count(); ++i) {
    empty |= t.blocklength(i) == 0;
    if (i == 0) continue;
    const std::int64_t step = t.displacement(i) - t.displacement(i - 1);
    forwards |= step > 0;
    backwards |= step < 0;
    touching |= step == static_cast<std::int64_t>(t.blocklength(i - 1)) * t.child(i - 1).extent();
    equal &= step == t.displacement(1) - t.displacement(0);
    const bool goes_on = i > 1 && t.blocklength(i) == t.blocklength(i - 1) &&
                         step == t.displacement(i - 1) - t.displacement(i - 2);
    stretch = goes_on ? stretch + 1 : 2;
    if (stretch == 10) ++seen[name + " with a long stretch"];
    if (step == 0) ++seen["blocks at one place"];
  }
  if (empty) ++seen[name + " with an empty block"];
  if (forwards) ++seen[name + " forwards"];
  if (backwards) ++seen[name + " backwards"];
  if (touching) ++seen[name + " whose blocks touch"];
  if (!equal) ++seen[name + " without one stride"];
  if (t.count() > 16) ++seen[name + " of many blocks"];
  if (t.count() > 65 && !equal) ++seen[name + " of a chunk of blocks"];
}

void features_of(const TypeDesc& t, const TypeDesc* parent, Features& seen) {
  const std::string name = name_of(t.kind());
  ++seen[name];
  if (parent != nullptr) ++seen[name + " in " + name_of(parent->kind())];
  if (t.size() == 0) ++seen["no bytes"];
  if (t.lb() < 0) ++seen["negative lb"];
  if (t.extent() < 0) ++seen["negative extent"];
  if (t.extent() == 0 && t.size() > 0) ++seen["extent 0 with bytes"];
  if (t.size() > 0 && t.true_extent() > t.extent()) ++seen["bytes beyond the extent"];
  if (t.size() > 0 && t.lb() > t.true_lb()) ++seen["lb above the first byte"];
  switch (t.kind()) {
    case TypeDesc::Kind::kBytes:
      break;
    case TypeDesc::Kind::kResized:
      if (t.lb() < 0) ++seen["resized to a negative lb"];
      if (t.extent() < t.child().true_extent()) ++seen["resized to less than the span"];
      break;
    case TypeDesc::Kind::kStruct: {
      std::set<const TypeDesc*> children;
      for (const TypeDescPtr& child : t.children()) children.insert(child.get());
      if (children.size() > 2) ++seen["struct of several types"];
      blocks_of(t, name, seen);
      break;
    }
    default:
      blocks_of(t, name, seen);
  }
  for (const TypeDescPtr& child : t.children()) features_of(*child, &t, seen);
}

TEST(RandomTypes, reach_everything) {
  RandomTypes random(seed_from_environment(51));
  Features seen;
  for (int n = 0; n < 6000; ++n) {
    const RandomType made = random.next();
    features_of(*made.type, nullptr, seen);
    const TypeMap map = expand(*made.type, 2);
    if (!receivable(map)) ++seen["overlaps"];
    if (joined(map).size() == 1 && map.size() > 8) ++seen["one run of many elements"];
    for (const char* part : {"subarray(", "darray(", ",C,", ",F,", "dist 0", "dist 1", "dist 2",
                             "arg -1", "arg 1", "arg 2"}) {
      if (made.text.find(part) != std::string::npos) ++seen[part];
    }
  }
  std::vector<std::string> wanted = {"no bytes",
                                     "indexed of a chunk of blocks",
                                     "vector in resized",
                                     "negative lb",
                                     "negative extent",
                                     "extent 0 with bytes",
                                     "bytes beyond the extent",
                                     "lb above the first byte",
                                     "resized to a negative lb",
                                     "resized to less than the span",
                                     "struct of several types",
                                     "blocks at one place",
                                     "overlaps",
                                     "one run of many elements",
                                     "subarray(",
                                     "darray(",
                                     ",C,",
                                     ",F,",
                                     "dist 0",
                                     "dist 1",
                                     "dist 2",
                                     "arg -1",
                                     "arg 1",
                                     "arg 2",
                                     "contiguous of no blocks",
                                     "contiguous of many blocks"};
  const char* const constructors[] = {"contiguous", "vector",  "indexed", "indexed_block",
                                      "struct",     "resized", "bytes"};
  for (const std::string inner : constructors) {
    for (const std::string outer : constructors) {
      if (outer != "bytes") wanted.push_back(inner + " in " + outer);
    }
  }
  for (const std::string name : {"vector", "indexed", "indexed_block", "struct"}) {
    for (const std::string feature : {" of no blocks", " with an empty block", " forwards",
                                      " backwards", " whose blocks touch"}) {
      wanted.push_back(name + feature);
    }
    if (name != "vector") wanted.push_back(name + " without one stride");
    if (name != "struct") wanted.push_back(name + " with a long stretch");
    if (name != "struct") wanted.push_back(name + " of many blocks");
  }
  for (const std::string& feature : wanted) EXPECT_GE(seen[feature], 10) << feature;
}

TEST(RandomTypes, without_overlaps_can_be_received_into) {
  RandomTypes random(seed_from_environment(52));
  RandomTypeOptions options;
  options.overlaps = false;
  Features seen;
  for (int n = 0; n < 1000; ++n) {
    const RandomType made = random.next(options);
    ASSERT_TRUE(receivable(expand(*made.type, 3))) << made.text;
    features_of(*made.type, nullptr, seen);
  }
  for (const char* feature : {"negative extent", "vector backwards", "struct in struct",
                              "resized to a negative lb", "indexed without one stride"}) {
    EXPECT_GE(seen[feature], 10) << feature;
  }
}

TEST(RandomTypes, keep_to_their_limits) {
  RandomTypes random(seed_from_environment(53));
  RandomTypeOptions options;
  options.max_bytes = 100;
  options.max_span = 400;
  options.max_depth = 3;
  for (int n = 0; n < 1000; ++n) {
    const TypeDescPtr type = random.next(options).type;
    ASSERT_LE(type->size(), 100u);
    ASSERT_LE(type->true_extent(), 400);
  }
}

TEST(RandomTypes, typed_ones_have_elements_of_every_kind) {
  RandomTypes random(seed_from_environment(54));
  RandomTypeOptions options;
  options.typed = true;
  std::map<BasicType, int> seen;
  for (int n = 0; n < 2000; ++n) {
    for (const TypedEntry& entry : expand_typed(*random.next(options).type, 1)) ++seen[entry.type];
  }
  EXPECT_EQ(seen.size(), kBasicTypes);
}

TEST(RandomTypes, repeat_with_their_seed) {
  RandomTypes one(7), same(7), other(8);
  std::string a, b, c;
  for (int n = 0; n < 20; ++n) {
    a += one.next().text;
    b += same.next().text;
    c += other.next().text;
  }
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

}  // namespace
}  // namespace mad::test
