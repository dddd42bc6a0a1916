#include "daemon/config/sources.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "wire/job/fields.hpp"

namespace gpuctl::config {
namespace {

constexpr std::string_view kPolicyPools = "policy.pools[";
constexpr std::string_view kExpertPools = "expert.pools[";

// policy.pools[0].name -> policy.pools.0.name, as places are named.
std::string place_name(const std::string& path) {
    std::string name;
    for (const char c : path) {
        if (c == ']') continue;
        name += c == '[' ? '.' : c;
    }
    return name;
}

// The index in "<list>INDEX]...", and what follows the bracket.
struct Element {
    std::size_t index = 0;
    std::string_view rest;
};
std::optional<Element> element_of(const std::string& path, std::string_view list) {
    if (!path.starts_with(list)) return std::nullopt;
    Element element;
    const char* const end = path.data() + path.size();
    const auto [stop, problem] = std::from_chars(path.data() + list.size(), end, element.index);
    if (problem != std::errc{} || stop == end) return std::nullopt;
    element.rest = {stop + 1, static_cast<std::size_t>(end - stop - 1)};
    return element;
}

constexpr std::string_view kDuration = ".duration";

}  // namespace

Sources::Sources(const Config& config) : config_(config) {
    for (const auto& [name, place] : config.places) places_[wire::folded_key(name)] = place;
}

std::optional<std::string> Sources::place_of(const std::string& name) const {
    const auto place = places_.find(wire::folded_key(name));
    if (place == places_.end()) return std::nullopt;
    return place->second;
}

std::string Sources::of_policy(const std::string& pool) const {
    return "policy " + std::string{policy_of_pool(config_, pool).name};
}

// Of a value of policy.pools that is not written. Of what a named policy sets, only the order of
// the pool and of its queues is printed there.
std::string Sources::of_pool(std::size_t index, std::string_view rest,
                             const std::string& value) const {
    const std::vector<PoolPolicy>& pools = config_.policy.pools;
    if (rest.ends_with(".order")) {
        return index < pools.size() ? of_policy(pools[index].name)
                                    : "policy " + config_.policy_name;
    }
    const bool is_of_queue = rest.ends_with(".guaranteed") && rest.find(".models") == rest.npos;
    if (is_of_queue && value != "0") return "guarantees of its sub-queues or models";
    return "default";
}

// All pools are printed, in the order of policy.pools; the file may have a few, in any order.
std::string Sources::of_expert_pool(std::size_t index, const std::string& rest) const {
    const std::vector<PoolPolicy>& pools = config_.policy.pools;
    const bool is_name = rest == ".name";
    if (index >= pools.size()) {
        return is_name ? "an example; the values below hold for every pool"
                       : "policy " + config_.policy_name;
    }
    const std::vector<std::string>& written = config_.expert_pools;
    const std::string& name = pools[index].name;
    if (const auto found = std::find(written.begin(), written.end(), name);
        found != written.end()) {
        const std::string position = std::to_string(found - written.begin());
        if (const auto place = place_of("expert.pools." + position + rest)) return *place;
    }
    return is_name ? "policy.pools" : of_policy(name);
}

std::string Sources::of(const std::string& path, const std::string& value) const {
    if (const auto pool = element_of(path, kExpertPools)) {
        return of_expert_pool(pool->index, std::string{pool->rest});
    }
    const std::string name = place_name(path);
    const auto place = place_of(name);
    if (place && !name.empty()) return *place;  // "": the whole file
    if (const auto pool = element_of(path, kPolicyPools)) {
        return of_pool(pool->index, pool->rest, value);
    }
    if (path == "policy.evictionsPerJobPerHour") return "policy " + config_.policy_name;
    if (path.ends_with(kDuration)) {
        const std::string window = name.substr(0, name.size() - kDuration.size());
        if (const auto end = place_of(window + ".end")) return *end + " (end)";
    }
    return "default";
}

}  // namespace gpuctl::config
