#pragma once
// Maintenance windows and reservations (docs/adr/0020-calendar.md): times when nodes accept no
// work, or only work of some queues, and what happens to running work. Pure arithmetic: times are
// arguments.

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"

namespace gpuctl {

struct NodeFacts;
struct PodFacts;

// Which pods are evicted to empty a node. A pod without a controller is never evicted.
enum class Drain : std::uint8_t { none, preemptible, all };
BOOST_DESCRIBE_ENUM(Drain, none, preemptible, all)

struct MaintenanceWindow {
    std::string name;
    // The nodes of the window: every condition that is set must hold.
    std::string pool;                           // empty: any
    std::vector<std::string> nodes;             // empty: any
    std::map<std::string, std::string> labels;  // empty: any
    Instant begin;
    Duration length;
    Duration every;  // 0: the window occurs once
    Drain drain = Drain::preemptible;
    Duration
        // evictions begin this long before the window, or by the grace period if that is longer
        notice;
    // Work with an unknown run time may start only until this long before the window begins.
    Duration closes_ahead = Duration::seconds(24 * 3600);
    // A calendar reservation: only work of these queues (with all queues below them) and of these
    // namespaces may use the nodes. Both empty: maintenance.
    std::vector<std::string> queues = {};
    std::vector<std::string> tenants = {};
    [[nodiscard]] bool is_reservation() const { return !queues.empty() || !tenants.empty(); }
    friend auto operator<=>(const MaintenanceWindow&, const MaintenanceWindow&) = default;
};
BOOST_DESCRIBE_STRUCT(MaintenanceWindow, (),
                      (name, pool, nodes, labels, begin, length, every, drain, notice, closes_ahead,
                       queues, tenants))

// A set of windows of a policy, by their positions.
using WindowSet = std::uint64_t;
inline constexpr std::size_t kWindowsMaximum = 64;

struct Occurrence {
    Instant begin;
    Instant end;  // Instant::never: there is no such occurrence
};
// The first occurrence that ends after `from`.
Occurrence next_occurrence(const MaintenanceWindow& window, Instant from);

bool covers(const MaintenanceWindow& window, const NodeFacts& node);

bool is_stopped_by(Drain drain, const PodFacts& pod);

}  // namespace gpuctl
