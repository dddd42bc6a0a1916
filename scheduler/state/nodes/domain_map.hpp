#pragma once
// Which nodes stand together: the domains of every level, dense ids per level, and how many GPUs
// are free in each, so that a rack without room is passed over without looking at its nodes.
//
// Ids live as long as a node of the domain; ties are broken by its lowest slot, never by id.
// Owner: Capacity.

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
    std::int64_t gpus_free = 0;        // thousandths, of every pool; a node that lacks some is 0
};

class DomainMap {
public:
    void ensure_slot(std::uint32_t slot);
    // The node is there from now on; `gpus_free` is what it brings with it.
    void place(std::uint32_t slot, const NodeTopology& where, std::int64_t gpus_free);
    void change_free(std::uint32_t slot, std::int64_t change) noexcept;

    // The free GPUs of a node that is its host, and of which no more is said, are in no sum: in
    // clusters without labels each placement would pay for it.
    [[nodiscard]] bool is_counted(std::uint32_t slot) const {
        return of_slot_[slot][at(TopologyLevel::none)].exists();
    }
    // None: the place of the node is unknown.
    [[nodiscard]] DomainId of(TopologyLevel level, std::uint32_t slot) const {
        return of_slot_[slot][at(level)];
    }
    // By id, vacant ones among them.
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
    std::vector<std::int64_t> gpus_free_;  // by slot, as the domains count it
};

}  // namespace gpuctl
