#pragma once
// What the descriptions of single objects share.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gpuctl::cli {

// "Title:          value"; nothing without a value.
void describe_line(std::string_view title, const std::string& value);
// The table of events, newest first.
void describe_events(std::string_view title, const nlohmann::json& events);

void describe_pool(const nlohmann::json& pool);
// `events`: of the pods on it.
void describe_node(const nlohmann::json& node, const nlohmann::json& events);
void describe_queue(const nlohmann::json& queue);

}  // namespace gpuctl::cli
