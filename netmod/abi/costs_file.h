// The file that `tools/mad calibrate` writes: measured costs of the fabrics of one machine.
//
//   {"version": 1,
//    "fabrics": {"tcp": {"message_ns": 5800, "byte_ns": 0.09, "packet_ns": 4100, "segment_ns": 300,
//                        "place_ns": 190, "page_ns": 240, "copy_ns": [1.6, ...]}}}
//
// All in nanoseconds, above 0; copy_ns has one number for each length 1, 2, 4, ... 64 KiB of a run.
#ifndef NETMOD_ABI_COSTS_FILE_H_
#define NETMOD_ABI_COSTS_FILE_H_

#include <string>

#include "datatype_path/plan/costs.h"
#include "madlike/base/status.h"

namespace mad {

/// Where users keep theirs: $XDG_CONFIG_HOME/mad/costs.json, or ~/.config/mad/costs.json; empty
/// without a home.
std::string default_costs_file();

/// The costs of `fabric` from the text of such a file; default_costs() where it names the fabric
/// nowhere.  kInvalidArgument: it is not such a text; says where.
Result<Costs> parse_costs(const std::string& text, const std::string& fabric);

/// From the file `path`; where `path` is empty from default_costs_file(), if there is one, else
/// default_costs().  kNotFound, kInvalidArgument: names the file and what to do.
Result<Costs> read_costs(const std::string& path, const std::string& fabric);

}  // namespace mad

#endif  // NETMOD_ABI_COSTS_FILE_H_
