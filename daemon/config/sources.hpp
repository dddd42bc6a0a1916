#pragma once
// Where a printed value comes from: "default", "policy throughput", "gpuctld.yaml:3:5",
// "environment variable X" or "flag --listen".

#include <map>
#include <string>

#include "daemon/config/config.hpp"

namespace gpuctl::config {

class Sources {
public:
    // `config` must outlive it.
    explicit Sources(const Config& config);

    // Of a value by its printed path: policy.pools[0].queues[1].order.
    [[nodiscard]] std::string of(const std::string& path) const;

private:
    const Config& config_;
    std::map<std::string, std::string> places_;  // Config::places, by name without case and dashes
};

}  // namespace gpuctl::config
