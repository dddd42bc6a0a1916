#include "scheduler/state/nodes/domain_map.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

void DomainMap::ensure_slot(std::uint32_t slot) {
    if (slot < of_slot_.size()) return;
    of_slot_.resize(slot + 1);
    gpus_free_.resize(slot + 1);
}

DomainId DomainMap::named(Level& level, const std::string& name) {
    if (const auto found = level.ids.find(name); found != level.ids.end()) return found->second;
    DomainId id{static_cast<std::uint32_t>(level.domains.size())};
    if (level.vacant.empty()) {
        level.domains.emplace_back();
    } else {
        id = level.vacant.back();
        level.vacant.pop_back();
    }
    level.domains[id.value()] = {name, {}, 0};
    level.ids.emplace(name, id);
    return id;
}

void DomainMap::leave(Level& level, DomainId id, std::uint32_t slot, std::int64_t gpus_free) {
    Domain& domain = level.domains[id.value()];
    std::erase(domain.slots, slot);
    domain.gpus_free -= gpus_free;
    if (!domain.slots.empty()) return;
    level.ids.erase(domain.name);
    level.vacant.push_back(id);
}

void DomainMap::place(std::uint32_t slot, const NodeTopology& where, std::int64_t gpus_free) {
    for (std::size_t i = 1; i < kTopologyLevels; ++i) {
        Level& level = levels_[i];
        DomainId& domain = of_slot_[slot][i];
        if (domain.exists()) leave(level, domain, slot, gpus_free_[slot]);
        domain = DomainId::none();
        const std::string& name = where.of(static_cast<TopologyLevel>(i));
        if (name.empty()) continue;
        domain = named(level, name);
        Domain& row = level.domains[domain.value()];
        row.slots.insert(std::lower_bound(row.slots.begin(), row.slots.end(), slot), slot);
        row.gpus_free += gpus_free;
    }
    gpus_free_[slot] = gpus_free;
    const bool is_labelled = !where.nvlink.empty() || !where.rack.empty() || !where.block.empty();
    of_slot_[slot][at(TopologyLevel::none)] = is_labelled ? DomainId{0} : DomainId::none();
    const DomainId host = of(TopologyLevel::host, slot);
    if (!host.exists()) return;
    Domain& row = levels_[at(TopologyLevel::host)].domains[host.value()];
    if (row.slots.size() == 1) return;
    row.gpus_free = 0;
    for (const std::uint32_t each : row.slots) {
        row.gpus_free += gpus_free_[each];
        of_slot_[each][at(TopologyLevel::none)] = DomainId{0};
    }
}

void DomainMap::change_free(std::uint32_t slot, std::int64_t change) noexcept {
    if (has_fault(SeededFault::forget_what_racks_gain) && change > 0) return;
    gpus_free_[slot] += change;
    if (!is_counted(slot)) return;
    for (std::size_t i = 1; i < kTopologyLevels; ++i) {
        const DomainId domain = of_slot_[slot][i];
        if (domain.exists()) levels_[i].domains[domain.value()].gpus_free += change;
    }
}

}  // namespace gpuctl
