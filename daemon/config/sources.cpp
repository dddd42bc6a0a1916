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

bool is_set_by_policy(std::string_view rest) {
    return rest.ends_with(".order") || rest.starts_with(".backfill.") ||
           rest.starts_with(".preemption.");
}

}  // namespace

Sources::Sources(const Config& config) : config_(config) {
    for (const auto& [name, place] : config.places) places_[wire::folded_key(name)] = place;
}

std::string Sources::of(const std::string& path) const {
    std::string name = place_name(path);
    std::optional<Element> pool = element_of(path, kPolicyPools);
    if (!pool && (pool = element_of(path, kExpertPools))) {
        // All pools are printed, in the order of policy.pools; the file may have a few, in any
        // order.
        const std::vector<std::string>& written = config_.expert_pools;
        const auto found =
            std::find(written.begin(), written.end(), config_.policy.pools.at(pool->index).name);
        name = found == written.end() ? std::string{}
                                      : "expert.pools." + std::to_string(found - written.begin()) +
                                            std::string{pool->rest};
    }
    const auto place = places_.find(wire::folded_key(name));
    if (!name.empty() && place != places_.end()) return place->second;  // "": the whole file
    if (pool && is_set_by_policy(pool->rest)) {
        const PoolPolicy& of = config_.policy.pools.at(pool->index);
        return "policy " + std::string{policy_of_pool(config_, of.name).name};
    }
    if (path == "policy.evictionsPerJobPerHour") return "policy " + config_.policy_name;
    return "default";
}

}  // namespace gpuctl::config
