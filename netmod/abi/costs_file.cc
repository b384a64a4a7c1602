#include "netmod/abi/costs_file.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace mad {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

Status wrong(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

Status read_number(const Json& value, const std::string& name, double* out) {
  if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>())) {
    return wrong("'" + name + "' is " + value.dump() + ", not nanoseconds above 0");
  }
  *out = value.get<double>();
  return {};
}

Status read_fabric(const Json& fabric, Costs* costs) {
  const std::pair<const char*, double*> numbers[] = {
      {"message_ns", &costs->message_ns}, {"byte_ns", &costs->byte_ns},
      {"packet_ns", &costs->packet_ns},   {"segment_ns", &costs->segment_ns},
      {"place_ns", &costs->place_ns},     {"page_ns", &costs->page_ns}};
  for (const auto& [name, out] : numbers) {
    Status status = read_number(fabric.value(name, Json()), name, out);
    if (status.error()) return status;
  }
  // Of RDMA devices only; a file of before has none.
  const std::pair<const char*, double*> registering[] = {
      {"register_ns", &costs->register_ns}, {"register_byte_ns", &costs->register_byte_ns}};
  for (const auto& [name, out] : registering) {
    if (!fabric.contains(name)) continue;
    Status status = read_number(fabric[name], name, out);
    if (status.error()) return status;
  }
  const Json copies = fabric.value("copy_ns", Json());
  if (!copies.is_array() || copies.size() != Costs::kLengths) {
    return wrong("'copy_ns' is not a list of " + std::to_string(Costs::kLengths) + " numbers");
  }
  for (std::size_t k = 0; k < Costs::kLengths; ++k) {
    Status status = read_number(copies[k], "copy_ns", &costs->copy_ns[k]);
    if (status.error()) return status;
  }
  return {};
}

}  // namespace

std::string default_costs_file() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config != '\0') return std::string(config) + "/mad/costs.json";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/.config/mad/costs.json";
  return "";
}

Result<Costs> parse_costs(const std::string& text, const std::string& fabric) {
  const Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return wrong("it is not JSON");
  if (root.value("version", Json()) != kVersion) {
    return wrong("its version is not " + std::to_string(kVersion));
  }
  const Json fabrics = root.value("fabrics", Json());
  if (!fabrics.is_object()) return wrong("'fabrics' is missing");
  Costs costs = default_costs(fabric);
  const auto found = fabrics.find(fabric);
  if (found == fabrics.end()) return costs;
  if (!found->is_object()) return wrong("fabric '" + fabric + "' has no numbers");
  const Status status = read_fabric(*found, &costs);
  if (status.error()) return wrong("fabric '" + fabric + "': " + std::string(status.message()));
  return costs;
}

Result<Costs> read_costs(const std::string& path, const std::string& fabric) {
  const std::string name = path.empty() ? default_costs_file() : path;
  std::error_code error;
  if (path.empty() && (name.empty() || !std::filesystem::exists(name, error))) {
    return default_costs(fabric);
  }
  const std::ifstream file(name);
  std::ostringstream text;
  text << file.rdbuf();  // fails for a directory, and for an empty file, which is no JSON
  if (!file.is_open() || !text) {
    return Status(StatusCode::kNotFound, "cannot read the costs in " + name +
                                             "; `tools/mad calibrate` writes such a file");
  }
  auto costs = parse_costs(text.str(), fabric);
  if (costs.ok()) return costs;
  return Status(StatusCode::kInvalidArgument, "the costs in " + name + " cannot be used: " +
                                                  std::string(costs.status().message()) +
                                                  "; write it anew with `tools/mad calibrate`");
}

}  // namespace mad
