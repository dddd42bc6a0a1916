#pragma once
// Resource lists of API objects ({"cpu":"500m","nvidia.com/gpu":"1"}) as sums for the engine.
// Amounts saturate: no value in an object can overflow a sum.

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string_view>

#include "k8s/json/json_cursor.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl::k8s {

// Per resource in its smallest unit: CPU in milli, everything else in whole units. Names are views
// into the text that was parsed.
class Amounts {
public:
    struct Entry {
        std::string_view resource;
        std::int64_t value = 0;
    };

    void set(std::string_view resource, std::int64_t value);
    void add(const Amounts& other);
    void raise_to(const Amounts& other);  // the larger of both, per resource

    [[nodiscard]] auto begin() const { return entries_.begin(); }
    [[nodiscard]] auto end() const { return entries_.end(); }

private:
    std::int64_t& slot(std::string_view resource);
    boost::container::small_vector<Entry, 6> entries_;
};

// Quantities above the maximum count as the maximum; unreadable ones set `unreadable`.
Amounts read_amounts(JsonCursor& cursor, bool& unreadable);

// The maximum of a request; a node offers at most one less, so that such a pod fits no node.
struct AmountLimits {
    static constexpr std::int64_t kCpuMilli = std::int64_t{1} << 40;
    static constexpr std::int64_t kBytesOrCount = std::int64_t{1} << 46;
    static constexpr std::int64_t kGpus = std::int64_t{1} << 20;
};

// `slack` is subtracted from the limits: 0 for pods, 1 for nodes. `pods` comes from the list (a
// node's limit); a pod's own slot is set by the caller.
Resources to_resources(const Amounts& amounts, std::int64_t slack);

}  // namespace gpuctl::k8s
