#include "k8s/json/labels.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuctl::k8s {

namespace {

constexpr auto kSuffixes = std::to_array<std::string_view>({"",
                                                            "pool",
                                                            "queue",
                                                            "job-type",
                                                            "priority",
                                                            "name",
                                                            "namespace",
                                                            "gpu-type",
                                                            "gang",
                                                            "gang-min",
                                                            "gang-role",
                                                            "gang-roles",
                                                            "gang-attempt",
                                                            "epoch",
                                                            "port",
                                                            "description",
                                                            "source",
                                                            "job-uid",
                                                            "preemptible",
                                                            "checkpoint-interval-seconds",
                                                            "restart-cost-seconds",
                                                            "gpu-fraction",
                                                            "gpu-memory",
                                                            "gpu-resource",
                                                            "gpu-device",
                                                            "gpu-sharing",
                                                            "required-topology",
                                                            "preferred-topology",
                                                            "topology-spread",
                                                            "health",
                                                            "drain"});
static_assert(kSuffixes.size() == static_cast<std::size_t>(OwnKey::drain) + 1,
              "one suffix per key, in the order of OwnKey, whose last one is named here");

// Prefixes of earlier products, still read; a value under the current prefix wins.
constexpr std::string_view kOldPrefixes[] = {"g8s.host", "gpuctl"};

OwnKey key_of(std::string_view suffix) {
    if (suffix == "gpuType") return OwnKey::gpu_type;  // the earlier product wrote both spellings
    const auto* found = std::find(kSuffixes.begin() + 1, kSuffixes.end(), suffix);
    return found == kSuffixes.end() ? OwnKey::none : static_cast<OwnKey>(found - kSuffixes.begin());
}

constexpr bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::string_view suffix_of(OwnKey key) { return kSuffixes[static_cast<std::size_t>(key)]; }

std::span<const std::string_view> old_label_prefixes() { return kOldPrefixes; }

std::string LabelKeys::text(OwnKey key) const {
    return prefix_ + "/" + std::string(suffix_of(key));
}

LabelKeys::Found LabelKeys::recognise(std::string_view key) const {
    const std::size_t slash = key.find('/');
    if (slash == std::string_view::npos) return {};
    const std::string_view prefix = key.substr(0, slash);
    if (prefix == prefix_) return {key_of(key.substr(slash + 1)), false};
    for (const std::string_view old : kOldPrefixes) {
        if (prefix == old) return {key_of(key.substr(slash + 1)), true};
    }
    return {};
}

bool is_label_value(std::string_view text) {
    if (text.empty()) return true;
    if (text.size() > 63) return false;
    if (!is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
    return std::all_of(text.begin(), text.end(), [](char c) {
        return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
    });
}

}  // namespace gpuctl::k8s
