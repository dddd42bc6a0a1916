#pragma once
// Maintenance windows (docs/adr/0020-calendar.md): when which nodes take no work, and what becomes
// of what runs there. Pure arithmetic on times that are handed in.

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"

namespace gpuctl {

struct NodeFacts;
struct PodFacts;

// Who is stopped, so that a node is empty. Never a pod that nobody would make again.
enum class Drain : std::uint8_t { none, preemptible, all };

struct MaintenanceWindow {
    std::string name;
    // Its nodes: all that is given must hold.
    std::string pool;                           // empty: any
    std::vector<std::string> nodes;             // empty: any
    std::map<std::string, std::string> labels;  // empty: any
    Instant begin;
    Duration length;
    Duration every;  // 0: once
    Drain drain = Drain::preemptible;
    Duration
        notice;  // it is stopped so long before the beginning, by its own grace if that is more
    // Work of which nobody knows how long it takes begins no later than so long before.
    Duration closes_ahead = Duration::seconds(24 * 3600);
    friend auto operator<=>(const MaintenanceWindow&, const MaintenanceWindow&) = default;
};
BOOST_DESCRIBE_STRUCT(MaintenanceWindow, (),
                      (name, pool, nodes, labels, begin, length, every, drain, notice,
                       closes_ahead))

// Some of the windows of a policy, by their places in it.
using WindowSet = std::uint64_t;
inline constexpr std::size_t kWindowsMaximum = 64;

struct Occurrence {
    Instant begin;
    Instant end;  // never: there is none
};
// The first that ends after `from`.
Occurrence next_occurrence(const MaintenanceWindow& window, Instant from);

bool covers(const MaintenanceWindow& window, const NodeFacts& node);

bool is_stopped_by(Drain drain, const PodFacts& pod);

}  // namespace gpuctl
