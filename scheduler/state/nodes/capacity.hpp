#pragma once
// What every node offers and what is left of it: one column per resource, one row (slot) per node,
// and an index over it that answers "the fullest node that still takes this" without looking at
// nodes that cannot.
//
// The index holds per (pool, indexed column) seventeen sets of slots, by how much is free: whole
// GPUs 0..15 and "16 or more" for a GPU column, powers of two for CPU. Free amounts may be negative
// (a node shrank, foreign pods came): that counts as none.
//
// A GPU column counts whole devices only. One that pods hold parts of is open: it has left the GPU
// column with all of its 1000, and what remains on it is in the column of parts next to it
// (capacity_parts.cpp), whose `free` is the most that a pod could still have on one device.
//
// Host ports are columns with numbers of their own (host_ports.hpp), which no loop over `columns()`
// meets: every node offers all of each.
//
// Owner: ClusterState; the planner tries things out on it through a Transaction, which leaves no
// trace unless its pods are then assumed. A copy is a world for what-if questions by readers.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/gpu/devices.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/resource_kind.hpp"
#include "scheduler/model/resources.hpp"
#include "scheduler/queue/usage.hpp"
#include "scheduler/state/interner.hpp"
#include "scheduler/state/nodes/domain_map.hpp"
#include "scheduler/state/nodes/host_ports.hpp"
#include "scheduler/state/nodes/node_set.hpp"

namespace gpuctl {

enum class Column : std::uint32_t { cpu = 0, memory = 1, pod_slots = 2 };  // others follow
using ColumnKind = ResourceKind;
constexpr std::size_t at(Column column) { return static_cast<std::size_t>(column); }

// Above all others, so that a pod's ports come last among its needs.
inline constexpr std::uint32_t kFirstPortColumn = std::uint32_t{1} << 31;
constexpr bool is_host_port(Column column) {
    return static_cast<std::uint32_t>(column) >= kFirstPortColumn;
}

struct Need {
    Column column{};
    std::int64_t amount = 0;  // > 0
    friend auto operator<=>(const Need&, const Need&) = default;
};
using Needs = std::vector<Need>;  // by column, no zero amounts

// One physical GPU of which pods hold parts.
struct OpenDevice {
    std::int32_t number = kNoDevice;
    std::int64_t free = kGpuMilliPerGpu;  // negative: others put more on it than it has
    friend bool operator==(const OpenDevice&, const OpenDevice&) = default;
};

// No single amount is taken for more than this (64 TiB; 7 * 10^10 GPUs): sums over the largest
// cluster then stay within 63 bits whatever a pod claims to need.
inline constexpr std::int64_t kAmountMax = std::int64_t{1} << 46;

class Capacity {
public:
    static constexpr int kBuckets = 17;

    Capacity();

    // --- columns ---
    Column column_of(ColumnKind kind, std::string_view resource);
    [[nodiscard]] std::size_t columns() const { return columns_.size(); }
    [[nodiscard]] bool has_gpus() const { return !gpu_columns_.empty(); }
    [[nodiscard]] ColumnKind kind(Column column) const {
        return is_host_port(column) ? ColumnKind::host_port : columns_[at(column)].kind;
    }
    [[nodiscard]] const std::string& resource(Column column) const {
        return is_host_port(column) ? ports_.name(port_of(column)) : columns_[at(column)].resource;
    }
    // Host ports among them are kept until release_ports().
    Needs needs_of(const Resources& request);
    void release_ports(const Needs& needs);

    // --- nodes ---
    [[nodiscard]] std::size_t slots() const { return pool_of_.size(); }
    void ensure_slot(std::uint32_t slot);
    // Only offered nodes are in the index.
    void offer(std::uint32_t slot, PoolId pool);
    void withdraw(std::uint32_t slot);
    // True when something grew.
    bool set_allocatable(std::uint32_t slot, const Resources& allocatable);
    [[nodiscard]] std::int64_t free(Column column, std::uint32_t slot) const {
        if (is_host_port(column)) return ports_.free(port_of(column), slot);
        return columns_[at(column)].free[slot];
    }
    [[nodiscard]] std::int64_t allocatable(Column column, std::uint32_t slot) const {
        if (is_host_port(column)) return HostPorts::kWholePort;
        return columns_[at(column)].allocatable[slot];
    }
    // Both by slot, for comparing many, of any column but a host port's; good until a slot
    // is added.
    struct Amounts {
        const std::int64_t* free;
        const std::int64_t* allocatable;
    };
    [[nodiscard]] Amounts amounts(Column column) const {
        return {columns_[at(column)].free.data(), columns_[at(column)].allocatable.data()};
    }
    [[nodiscard]] PoolId pool_of(std::uint32_t slot) const { return pool_of_[slot]; }
    [[nodiscard]] const NodeSet& nodes_of(PoolId pool) const;

    // The node's place in the topology (docs/adr/0019).
    void set_topology(std::uint32_t slot, const NodeTopology& where);
    [[nodiscard]] const DomainMap& domains() const { return domains_; }

    // `device`: of needs for a part of a GPU; `times` is 1 or -1 for those.
    void occupy(std::uint32_t slot, const Needs& needs, std::int64_t times = 1,
                std::int32_t device = kNoDevice) noexcept;
    void give_back(std::uint32_t slot, const Needs& needs, std::int64_t times = 1,
                   std::int32_t device = kNoDevice) noexcept {
        occupy(slot, needs, -times, device);
    }

    // --- parts of GPUs (capacity_parts.cpp) ---
    // Did any pod ever ask for one? Of GPUs of this column, or for what this column counts?
    [[nodiscard]] bool has_parts() const { return !part_columns_.empty(); }
    [[nodiscard]] bool has_counterpart_column(Column column) const {
        return !is_host_port(column) && columns_[at(column)].counterpart != Column::cpu;
    }
    // The need for a part of a GPU, if there is one; there is never more than one.
    [[nodiscard]] const Need* part_of(const Needs& needs) const;
    [[nodiscard]] const std::vector<OpenDevice>& open_devices(Column parts,
                                                              std::uint32_t slot) const {
        return columns_[at(parts)].open[slot];
    }
    [[nodiscard]] Column whole_column(Column parts) const {
        return columns_[at(parts)].counterpart;
    }
    // A number that no open device of the node has: the lowest.
    [[nodiscard]] std::int32_t fresh_device(Column parts, std::uint32_t slot) const;
    // The open device with the least room that is enough, else a fresh one, also when the node has
    // none left; kNoDevice when the needs name no part.
    [[nodiscard]] std::int32_t tightest_device(std::uint32_t slot, const Needs& needs) const;
    [[nodiscard]] bool fits_on(std::uint32_t slot, const Needs& needs, std::int32_t device) const;
    // Something is held of this need on the node that is not there any more.
    [[nodiscard]] bool is_overdrawn(std::uint32_t slot, const Need& need,
                                    std::int32_t device) const;
    // Over all kinds of GPUs, in the units of their resources; free: 0 where more is held than
    // there.
    struct Gpus {
        std::int64_t free = 0;
        std::int64_t total = 0;
    };
    [[nodiscard]] Gpus gpus_on(std::uint32_t slot) const;
    // The most that `column` gains when this is given back. Parts and whole GPUs are one another's:
    // the last part of a device leaves all of it, and a whole one any part.
    [[nodiscard]] std::int64_t most_left_by(const Need& held, Column column) const;
    // GPUs without work, and what is left of those with some.
    [[nodiscard]] std::int64_t idle_gpus(std::uint32_t slot) const;
    // While closed, the node takes no more parts: a reservation counts on its devices.
    void close_to_parts(std::uint32_t slot) { set_closed(slot, true); }
    void open_to_parts(std::uint32_t slot) { set_closed(slot, false); }

    // --- what changed, for caches of judgements ---
    // Slots whose free amounts changed, oldest first: position n is valid while `change_epoch`
    // stays. `offers` moves with what nodes offer and with their pools.
    [[nodiscard]] const std::vector<std::uint32_t>& changes() const { return changes_; }
    [[nodiscard]] std::uint64_t change_epoch() const { return change_epoch_; }
    [[nodiscard]] std::uint64_t offers() const { return offers_; }

    // Pod slots that our own pods leave to DaemonSets on every node (S14b).
    void reserve_pod_slots(std::int64_t slots) {
        if (slots != pod_slots_reserved_) ++change_epoch_;  // every node has another room now
        pod_slots_reserved_ = slots;
    }
    [[nodiscard]] std::int64_t pod_slots_reserved() const { return pod_slots_reserved_; }

    // How often `amount` goes into `room`, at most `enough` times. Mostly none or once: computed
    // without a division, which is dear where thousands of nodes are asked.
    [[nodiscard]] static std::int64_t times_in(std::int64_t room, std::int64_t amount,
                                               std::int64_t enough) {
        if (room < amount) return 0;
        if (enough <= 1 || room - amount < amount) return std::min<std::int64_t>(enough, 1);
        return std::min(enough, room / amount);
    }
    // How many pods with these needs fit in addition to what is there; at most `enough`.
    [[nodiscard]] std::int64_t fitting(std::uint32_t slot, const Needs& needs,
                                       std::int64_t enough) const;
    // The same on an empty node.
    [[nodiscard]] std::int64_t fitting_empty(std::uint32_t slot, const Needs& needs,
                                             std::int64_t enough) const;
    // The same for one need alone.
    [[nodiscard]] std::int64_t fitting_by(std::uint32_t slot, const Need& need,
                                          std::int64_t enough) const;
    [[nodiscard]] std::int64_t fitting_empty_by(std::uint32_t slot, const Need& need,
                                                std::int64_t enough) const;
    [[nodiscard]] bool fits(std::uint32_t slot, const Needs& needs) const {
        for (const Need& need : needs) {
            if (usable(need.column, slot) < need.amount) return false;
        }
        return true;
    }
    // Free, less what must stay free.
    [[nodiscard]] std::int64_t usable(Column column, std::uint32_t slot) const {
        const std::int64_t amount = free(column, slot);
        return column == Column::pod_slots ? amount - pod_slots_reserved_ : amount;
    }

    // --- the index ---
    [[nodiscard]] static int bucket_of(ColumnKind kind, std::int64_t free);
    // The column that the index is asked by: the largest GPU need, else CPU.
    [[nodiscard]] Column index_column(const Needs& needs) const;
    // Null when the pool has no node yet.
    [[nodiscard]] const std::array<NodeSet, kBuckets>* buckets(PoolId pool, Column column) const;

    // Differences between the index and the columns, for the invariants; empty when none.
    [[nodiscard]] std::vector<std::string> check_index() const;

private:
    struct ColumnData {
        ColumnKind kind = ColumnKind::extended;
        std::string resource;
        GpuShare share;  // of a whole GPU, as far as the resource's name says it
        std::vector<std::int64_t> allocatable;
        std::vector<std::int64_t> free;
        std::vector<std::uint8_t> bucket;  // of indexed columns
        std::vector<std::array<NodeSet, kBuckets>> by_pool;
        Column counterpart = Column::cpu;           // parts and whole GPUs: each other; else none
        std::vector<std::vector<OpenDevice>> open;  // of parts: by slot, by number
    };
    static std::uint32_t port_of(Column column) {
        return static_cast<std::uint32_t>(column) - kFirstPortColumn;
    }
    static bool is_indexed(ColumnKind kind) {
        return kind == ColumnKind::gpu || kind == ColumnKind::cpu || kind == ColumnKind::gpu_part;
    }
    void set_free(ColumnData& column, std::uint32_t slot, std::int64_t free) noexcept;
    void change_part(ColumnData& parts, std::uint32_t slot, std::int32_t device,
                     std::int64_t change) noexcept;
    void refresh_parts(ColumnData& parts, std::uint32_t slot) noexcept;
    void link_parts(Column parts);
    void set_closed(std::uint32_t slot, bool is_closed);
    void note_change(std::uint32_t slot) noexcept;
    [[nodiscard]] std::int64_t gpus_free(std::uint32_t slot) const;
    Needs amounts_of(const Resources& resources, bool is_request);
    void put_in_index(ColumnData& column, std::uint32_t slot);
    void change_free(ColumnData& column, std::uint32_t slot, std::int64_t change) noexcept;
    void make_room_in_index(PoolId pool);

    std::vector<ColumnData> columns_;
    TextMap<Column> gpu_columns_;
    TextMap<Column> extended_columns_;
    TextMap<Column> part_columns_;
    DomainMap domains_;
    HostPorts ports_;
    std::vector<bool> closed_;  // by slot, to parts
    std::vector<std::uint32_t> changes_;
    std::uint64_t change_epoch_ = 1;
    std::uint64_t offers_ = 1;
    std::vector<PoolId> pool_of_;  // none: not offered
    std::vector<NodeSet> nodes_of_;
    std::int64_t pod_slots_reserved_ = 0;
};

// What-if: takes capacity now, gives it back exactly unless it is kept.
class Transaction {
public:
    struct Entry {
        std::uint32_t slot = 0;
        const Needs* needs = nullptr;  // of an interned shape, which outlives the transaction
        std::int64_t times = 0;
        std::int32_t device = kNoDevice;
    };
    // `log` is a buffer that the caller keeps between transactions, so that none allocates.
    Transaction(Capacity& capacity, std::vector<Entry>& log) : capacity_(capacity), log_(log) {
        log_.clear();
    }
    ~Transaction() { rollback_to(0); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    void occupy(std::uint32_t slot, const Needs& needs, std::int64_t times = 1,
                std::int32_t device = kNoDevice) {
        log_.push_back({slot, &needs, times, device});  // may throw, so before the change
        capacity_.occupy(slot, needs, times, device);
    }
    [[nodiscard]] std::size_t checkpoint() const { return log_.size(); }
    void rollback_to(std::size_t checkpoint) noexcept {
        while (log_.size() > checkpoint) {
            const Entry& last = log_.back();
            capacity_.give_back(last.slot, *last.needs, last.times, last.device);
            log_.pop_back();
        }
    }

private:
    Capacity& capacity_;
    std::vector<Entry>& log_;
};

// What shares are shares of.
inline Load offered_load(const NodeFacts& node) {
    const auto clamp = [](std::int64_t amount) {
        return std::clamp<std::int64_t>(amount, 0, kAmountMax);
    };
    return {GpuMilli{clamp(gpus_total(node.allocatable).value())},
            CpuMilli{clamp(node.allocatable.cpu.value())},
            Bytes{clamp(node.allocatable.memory.value())}};
}

}  // namespace gpuctl
