#pragma once
// A document that is read by tables of keys: its text, and the error that refuses it.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

// "/policy/pools/0" -> "policy.pools.0"
std::string path_of(const std::string& pointer);
// "gpuctld.yaml:3:5"
std::string place_text(const std::string& file, const Place& place);

Error invalid(const std::string& message);
// The first of `details` in the message, with its place; `origins`: the environment variables that
// set values, by pointer.
Error refused(const std::string& file, std::vector<Detail> details,
              const std::map<std::string, std::string>& origins);
// "must be ..." -> "server.port must be ..."
void name_keys(std::vector<Detail>& details);

// A map of sections; an empty text has none.
Result<wire::Document> one_document(std::string_view yaml, const std::string& file_name);

}  // namespace gpuctl::config
