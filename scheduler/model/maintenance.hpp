#pragma once
// Maintenance windows and reservations (docs/adr/0020-calendar.md): when which nodes take no work,
// or only that of some, and what becomes of what runs there. Pure arithmetic on times that are
// handed in.

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
BOOST_DESCRIBE_ENUM(Drain, none, preemptible, all)

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
    // A reservation: work of these queues, with all below them, and namespaces goes on as if there
    // were none, and has the nodes for itself. Nobody's: maintenance.
    std::vector<std::string> queues = {};
    std::vector<std::string> tenants = {};
    [[nodiscard]] bool is_reservation() const { return !queues.empty() || !tenants.empty(); }
    friend auto operator<=>(const MaintenanceWindow&, const MaintenanceWindow&) = default;
};
BOOST_DESCRIBE_STRUCT(MaintenanceWindow, (),
                      (name, pool, nodes, labels, begin, length, every, drain, notice, closes_ahead,
                       queues, tenants))

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
