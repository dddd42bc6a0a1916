#pragma once
// Where a printed value comes from: "default", "policy throughput", "gpuctld.yaml:3:5",
// "environment variable X" or "flag --listen".

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/config/config.hpp"

namespace gpuctl::config {

class Sources {
public:
    // `config` must outlive it.
    explicit Sources(const Config& config);

    // Of a printed value by its path: policy.pools[0].queues[1].order.
    [[nodiscard]] std::string of(const std::string& path, const std::string& value) const;

private:
    // Of a key that is written; by its dotted name.
    [[nodiscard]] std::optional<std::string> place_of(const std::string& name) const;
    [[nodiscard]] std::string of_policy(const std::string& pool) const;
    [[nodiscard]] std::string of_pool(std::size_t index, std::string_view rest,
                                      const std::string& value) const;
    [[nodiscard]] std::string of_expert_pool(std::size_t index, const std::string& rest) const;

    const Config& config_;
    std::map<std::string, std::string> places_;  // Config::places, by name without case and dashes
};

}  // namespace gpuctl::config
