#include "scheduler/state/nodes/capacity.hpp"

#include <algorithm>
#include <bit>

#include "scheduler/base/check.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl {

Capacity::Capacity() {
    for (const auto& [kind, name] :
         {std::pair{ColumnKind::cpu, "cpu"}, std::pair{ColumnKind::memory, "memory"},
          std::pair{ColumnKind::pod_slots, "pods"}}) {
        ColumnData column;
        column.kind = kind;
        column.resource = name;
        columns_.push_back(std::move(column));
    }
}

Column Capacity::column_of(ColumnKind kind, std::string_view resource) {
    TextMap<Column>& known = kind == ColumnKind::gpu        ? gpu_columns_
                             : kind == ColumnKind::gpu_part ? part_columns_
                                                            : extended_columns_;
    if (const auto found = known.find(resource); found != known.end()) return found->second;
    const auto made = static_cast<Column>(columns_.size());
    ColumnData column;
    column.kind = kind;
    column.resource = std::string{resource};
    column.share = share_of(resource);
    column.allocatable.resize(slots());
    column.free.resize(slots());
    column.bucket.resize(slots());
    columns_.push_back(std::move(column));
    known.emplace(resource, made);
    for (std::uint32_t pool = 0; pool < nodes_of_.size(); ++pool) make_room_in_index(PoolId{pool});
    if (is_indexed(kind)) {
        for (std::uint32_t slot = 0; slot < slots(); ++slot) put_in_index(columns_.back(), slot);
    }
    if (kind == ColumnKind::gpu_part) link_parts(made);
    return made;
}

Needs Capacity::needs_of(const Resources& request) {
    Needs needs = amounts_of(request, true);
    if (request.host_ports.empty() || has_fault(SeededFault::ignore_host_ports)) return needs;
    for (const HostPorts::PortNeed& port : ports_.acquire(request.host_ports)) {
        needs.push_back({static_cast<Column>(kFirstPortColumn + port.port), port.amount});
    }
    std::sort(needs.begin(), needs.end());
    return needs;
}

void Capacity::release_ports(const Needs& needs) {
    for (const Need& need : needs) {
        if (is_host_port(need.column)) ports_.release(port_of(need.column));
    }
}

Needs Capacity::amounts_of(const Resources& request, bool is_request) {
    Needs needs;
    const auto add = [&](Column column, std::int64_t amount) {
        if (amount > 0) needs.push_back({column, std::min(amount, kAmountMax)});
    };
    add(Column::cpu, request.cpu.value());
    add(Column::memory, request.memory.value());
    add(Column::pod_slots, std::max<std::int64_t>(request.pods, 1));
    bool has_part = false;
    for (const GpuAmount& gpu : request.gpus) {
        const bool is_part = is_request && !has_part && is_part_of_gpu(gpu.amount);
        has_part = has_part || is_part;
        // A second fraction of a GPU in one request would need a second device number: it gets a
        // whole GPU.
        const std::int64_t amount =
            is_part || !is_request
                ? gpu.amount.value()
                : (gpu.amount.value() + kGpuMilliPerGpu - 1) / kGpuMilliPerGpu * kGpuMilliPerGpu;
        add(column_of(is_part ? ColumnKind::gpu_part : ColumnKind::gpu, gpu.resource), amount);
    }
    for (const ExtendedAmount& other : request.extended) {
        add(column_of(ColumnKind::extended, other.resource), other.amount);
    }
    std::sort(needs.begin(), needs.end());
    return needs;
}

void Capacity::ensure_slot(std::uint32_t slot) {
    if (slot < slots()) return;
    pool_of_.resize(slot + 1);
    domains_.ensure_slot(slot);
    if (changes_.capacity() < 8 * slots() + 1026) changes_.reserve(16 * slots() + 1026);
    for (ColumnData& column : columns_) {
        column.allocatable.resize(slot + 1);
        column.free.resize(slot + 1);
        column.bucket.resize(slot + 1);
        if (column.kind == ColumnKind::gpu_part) column.open.resize(slot + 1);
    }
    for (std::uint32_t pool = 0; pool < nodes_of_.size(); ++pool) make_room_in_index(PoolId{pool});
}

void Capacity::make_room_in_index(PoolId pool) {
    nodes_of_[pool.value()].resize(slots());
    for (ColumnData& column : columns_) {
        if (!is_indexed(column.kind)) continue;
        if (column.by_pool.size() <= pool.value()) column.by_pool.resize(pool.value() + 1);
        for (NodeSet& set : column.by_pool[pool.value()]) set.resize(slots());
    }
}

int Capacity::bucket_of(ColumnKind kind, std::int64_t free) {
    if (free <= 0) return 0;
    if (kind == ColumnKind::gpu) {
        return static_cast<int>(std::min<std::int64_t>(free / kGpuMilliPerGpu, kBuckets - 1));
    }
    if (kind == ColumnKind::gpu_part) {
        return static_cast<int>(
            std::min<std::int64_t>(free * (kBuckets - 1) / kGpuMilliPerGpu, kBuckets - 1));
    }
    // CPU in thousandths: below 128 it is bucket 0, and each doubling is one bucket more.
    const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(free)));
    return std::clamp(width - 7, 0, kBuckets - 1);
}

void Capacity::put_in_index(ColumnData& column, std::uint32_t slot) {
    const PoolId pool = pool_of_[slot];
    if (!pool.exists()) return;
    const int bucket = bucket_of(column.kind, column.free[slot]);
    column.bucket[slot] = static_cast<std::uint8_t>(bucket);
    column.by_pool[pool.value()][static_cast<std::size_t>(bucket)].insert(slot);
}

void Capacity::offer(std::uint32_t slot, PoolId pool) {
    if (pool_of_[slot] == pool) return;
    withdraw(slot);
    ++offers_;
    note_change(slot);
    if (nodes_of_.size() <= pool.value()) nodes_of_.resize(pool.value() + 1);
    make_room_in_index(pool);
    pool_of_[slot] = pool;
    nodes_of_[pool.value()].insert(slot);
    for (ColumnData& column : columns_) {
        if (is_indexed(column.kind)) put_in_index(column, slot);
    }
}

void Capacity::withdraw(std::uint32_t slot) {
    const PoolId pool = pool_of_[slot];
    if (!pool.exists()) return;
    ++offers_;
    note_change(slot);
    nodes_of_[pool.value()].erase(slot);
    for (ColumnData& column : columns_) {
        if (is_indexed(column.kind)) {
            column.by_pool[pool.value()][column.bucket[slot]].erase(slot);
        }
    }
    pool_of_[slot] = PoolId::none();
}

void Capacity::change_free(ColumnData& column, std::uint32_t slot, std::int64_t change) noexcept {
    set_free(column, slot, column.free[slot] + change);
    if (column.kind == ColumnKind::gpu && column.counterpart != Column::cpu) {
        refresh_parts(columns_[at(column.counterpart)], slot);
    }
}

std::int64_t Capacity::gpus_free(std::uint32_t slot) const {
    std::int64_t sum = 0;
    for (const ColumnData& column : columns_) {
        if (column.kind == ColumnKind::gpu) sum += std::max<std::int64_t>(column.free[slot], 0);
    }
    return sum;
}

void Capacity::set_topology(std::uint32_t slot, const NodeTopology& where) {
    domains_.place(slot, where, gpus_free(slot));
}

void Capacity::set_free(ColumnData& column, std::uint32_t slot, std::int64_t free) noexcept {
    if (column.kind == ColumnKind::gpu) {
        const std::int64_t before = std::max<std::int64_t>(column.free[slot], 0);
        domains_.change_free(slot, std::max<std::int64_t>(free, 0) - before);
    }
    column.free[slot] = free;
    if (!is_indexed(column.kind)) return;
    const PoolId pool = pool_of_[slot];
    if (!pool.exists()) return;
    const auto bucket = static_cast<std::uint8_t>(bucket_of(column.kind, column.free[slot]));
    if (bucket == column.bucket[slot]) return;
    std::array<NodeSet, kBuckets>& sets = column.by_pool[pool.value()];
    sets[column.bucket[slot]].erase(slot);
    sets[bucket].insert(slot);
    column.bucket[slot] = bucket;
}

bool Capacity::set_allocatable(std::uint32_t slot, const Resources& allocatable) {
    Needs offered = amounts_of(allocatable, false);
    if (allocatable.pods <= 0) {  // needs_of() counts a request; a node without slots has none
        std::erase_if(offered, [](const Need& need) { return need.column == Column::pod_slots; });
    }
    bool grew = false;
    auto next = offered.begin();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::int64_t amount = 0;
        if (next != offered.end() && at(next->column) == i) amount = (next++)->amount;
        ColumnData& column = columns_[i];
        if (column.kind == ColumnKind::gpu_part) continue;  // follows from its GPU column
        const std::int64_t change = amount - column.allocatable[slot];
        if (change == 0) continue;
        grew = grew || change > 0;
        ++offers_;
        note_change(slot);
        column.allocatable[slot] = amount;
        if (has_fault(SeededFault::stale_index)) {
            column.free[slot] += change;
            continue;
        }
        change_free(column, slot, change);
    }
    return grew;
}

void Capacity::occupy(std::uint32_t slot, const Needs& needs, std::int64_t times,
                      std::int32_t device) noexcept {
    note_change(slot);
    for (const Need& need : needs) {
        if (is_host_port(need.column)) {
            ports_.occupy(port_of(need.column), slot, need.amount * times);
            continue;
        }
        ColumnData& column = columns_[at(need.column)];
        if (column.kind == ColumnKind::gpu_part) {
            change_part(column, slot, device, -need.amount * times);
        } else {
            change_free(column, slot, -need.amount * times);
        }
    }
}

// A log that is much longer than the table is slower to follow than a new start.
void Capacity::note_change(std::uint32_t slot) noexcept {
    if (changes_.size() > 8 * slots() + 1024) {
        changes_.clear();
        ++change_epoch_;
    }
    changes_.push_back(slot);
}

const NodeSet& Capacity::nodes_of(PoolId pool) const {
    static const NodeSet none;
    return pool.value() < nodes_of_.size() ? nodes_of_[pool.value()] : none;
}

std::int64_t Capacity::fitting(std::uint32_t slot, const Needs& needs, std::int64_t enough) const {
    for (const Need& need : needs) {
        const std::int64_t room = usable(need.column, slot);
        if (room < need.amount) return 0;
        if (enough > 1) enough = fitting_by(slot, need, enough);
        if (has_fault(SeededFault::fit_by_first_need)) break;
    }
    return enough;
}

std::int64_t Capacity::fitting_empty(std::uint32_t slot, const Needs& needs,
                                     std::int64_t enough) const {
    for (const Need& need : needs) enough = fitting_empty_by(slot, need, enough);
    return enough;
}

std::int64_t Capacity::fitting_empty_by(std::uint32_t slot, const Need& need,
                                        std::int64_t enough) const {
    std::int64_t room = allocatable(need.column, slot);
    std::int64_t times = 1;
    if (need.column == Column::pod_slots) room -= pod_slots_reserved_;
    if (kind(need.column) == ColumnKind::gpu_part) {
        times = allocatable(whole_column(need.column), slot) / kGpuMilliPerGpu;
    }
    if (times == 1) return times_in(room, need.amount, enough);
    return std::min(enough, std::max<std::int64_t>(room, 0) / need.amount * times);
}

Column Capacity::index_column(const Needs& needs) const {
    Column best = Column::cpu;
    std::int64_t most = 0;
    for (const Need& need : needs) {
        const bool is_gpu =
            kind(need.column) == ColumnKind::gpu || kind(need.column) == ColumnKind::gpu_part;
        if (!is_gpu || need.amount < most) continue;
        // Ties by name: the order of columns depends on history.
        if (need.amount == most && resource(best) < resource(need.column)) continue;
        best = need.column;
        most = need.amount;
    }
    return best;
}

const std::array<NodeSet, Capacity::kBuckets>* Capacity::buckets(PoolId pool, Column column) const {
    const ColumnData& data = columns_[at(column)];
    return pool.value() < data.by_pool.size() ? &data.by_pool[pool.value()] : nullptr;
}

std::vector<std::string> Capacity::check_index() const {
    std::vector<std::string> wrong;
    for (const ColumnData& column : columns_) {
        if (!is_indexed(column.kind)) continue;
        for (std::uint32_t pool = 0; pool < column.by_pool.size(); ++pool) {
            for (int bucket = 0; bucket < kBuckets; ++bucket) {
                const NodeSet& set = column.by_pool[pool][static_cast<std::size_t>(bucket)];
                for (std::uint32_t slot = 0; slot < slots(); ++slot) {
                    const bool belongs = pool_of_[slot] == PoolId{pool} &&
                                         bucket_of(column.kind, column.free[slot]) == bucket;
                    const bool found = set.next(slot) == slot;
                    if (belongs != found) {
                        wrong.push_back("index of " + column.resource + " is wrong at slot " +
                                        std::to_string(slot));
                    }
                }
            }
        }
    }
    for (std::size_t i = 1; i < kTopologyLevels; ++i) {
        for (const Domain& domain : domains_.of_level(static_cast<TopologyLevel>(i))) {
            std::int64_t sum = 0;
            for (const std::uint32_t slot : domain.slots) sum += gpus_free(slot);
            if (domain.slots.empty() || !domains_.is_counted(domain.slots.front())) continue;
            if (sum == domain.gpus_free) continue;
            wrong.push_back("the free GPUs of " + domain.name + " are counted wrong");
        }
    }
    return wrong;
}

}  // namespace gpuctl
