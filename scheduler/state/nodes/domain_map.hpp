#pragma once
// The topology of the nodes: the domains of every level with dense ids per level, and the free GPUs
// of each domain, so that a rack without room is skipped without reading its nodes.
// An id is valid as long as the domain has a node. Ties are broken by the lowest slot of a domain,
// never by id. Owner: Capacity.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/job/topology.hpp"
#include "scheduler/state/interner.hpp"

namespace gpuctl {

struct Domain {
    std::string name;
    std::vector<std::uint32_t> slots;  // ascending; none: the id is vacant
    std::int64_t gpus_free = 0;        // thousandths, over all pools; an overdrawn node counts as 0
};

class DomainMap {
public:
    void ensure_slot(std::uint32_t slot);
    // Places the node in the domains; `gpus_free` is the free amount that it adds to them.
    void place(std::uint32_t slot, const NodeTopology& where, std::int64_t gpus_free);
    void change_free(std::uint32_t slot, std::int64_t change) noexcept;

    // False: the node is its own host and has no other topology label. Its free GPUs are in no sum,
    // because in clusters without labels each placement would have to update them.
    [[nodiscard]] bool is_counted(std::uint32_t slot) const {
        return of_slot_[slot][at(TopologyLevel::none)].exists();
    }
    // None: the position of the node at this level is unknown.
    [[nodiscard]] DomainId of(TopologyLevel level, std::uint32_t slot) const {
        return of_slot_[slot][at(level)];
    }
    // By id, including vacant ones.
    [[nodiscard]] const std::vector<Domain>& of_level(TopologyLevel level) const {
        return levels_[at(level)].domains;
    }
    [[nodiscard]] const Domain& at_id(TopologyLevel level, DomainId id) const {
        return levels_[at(level)].domains[id.value()];
    }

private:
    struct Level {
        std::vector<Domain> domains;
        std::vector<DomainId> vacant;
        TextMap<DomainId> ids;
    };
    static DomainId named(Level& level, const std::string& name);
    static void leave(Level& level, DomainId id, std::uint32_t slot, std::int64_t gpus_free);

    std::array<Level, kTopologyLevels> levels_;
    std::vector<std::array<DomainId, kTopologyLevels>> of_slot_;  // [none]: is_counted()
    std::vector<std::int64_t> gpus_free_;  // by slot, as counted in the domains
};

}  // namespace gpuctl
