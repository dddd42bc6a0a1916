#pragma once
// What every node offers and what is free of it: one column for each resource, one row (slot) for
// each node, and an index that answers "the fullest node on which this still fits" without reading
// the nodes on which it does not.
//
// For each pool and indexed column, the index holds seventeen sets of slots by free amount: whole
// GPUs 0..15 and "16 or more" for a GPU column, powers of two for CPU. Free amounts may be
// negative, when a node shrank or pods of another scheduler were added: that counts as none.
//
// A GPU column counts only whole devices. A device of which pods hold fractions is open: all of its
// 1000 are taken out of the GPU column, and what is free on it is in the column of fractions
// (capacity_parts.cpp). `free` of that column is the most that a pod could still get on one device.
//
// Host ports are columns with numbers of their own (host_ports.hpp), which are not counted in
// `columns()`: every node offers all of each port.
//
// Owner: ClusterState. The planner tries changes through a Transaction, which is undone completely
// unless its pods are then assumed. Readers copy it for what-if questions.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
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

enum class Column : std::uint32_t { cpu = 0, memory = 1, pod_slots = 2 };  // more follow
using ColumnKind = ResourceKind;
constexpr std::size_t at(Column column) { return static_cast<std::size_t>(column); }

// Above all other columns, so that a pod's ports are last among its needs.
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

// A physical GPU of which pods hold fractions.
struct OpenDevice {
    std::int32_t number = kNoDevice;
    std::int64_t free = kGpuMilliPerGpu;  // negative: pods of another scheduler exceed it
    friend bool operator==(const OpenDevice&, const OpenDevice&) = default;
};

// The largest amount (64 TiB; 7 * 10^10 GPUs): sums over the largest cluster then stay within 63
// bits, whatever a pod requests.
inline constexpr std::int64_t kAmountMax = std::int64_t{1} << 46;

class Capacity {
public:
    static constexpr int kBuckets = 17;

    Capacity();
    Capacity(const Capacity&) = default;
    Capacity& operator=(const Capacity&) = delete;

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
    // Host ports among the needs stay in the table until release_ports().
    Needs needs_of(const Resources& request);
    void release_ports(const Needs& needs);

    // --- nodes ---
    [[nodiscard]] std::size_t slots() const { return pool_of_.size(); }
    void ensure_slot(std::uint32_t slot);
    // Only offered nodes are in the index.
    void offer(std::uint32_t slot, PoolId pool);
    void withdraw(std::uint32_t slot);
    // True if an amount has grown.
    bool set_allocatable(std::uint32_t slot, const Resources& allocatable);
    [[nodiscard]] std::int64_t free(Column column, std::uint32_t slot) const {
        if (is_host_port(column)) return ports_.free(port_of(column), slot);
        return columns_[at(column)].free[slot];
    }
    [[nodiscard]] std::int64_t allocatable(Column column, std::uint32_t slot) const {
        if (is_host_port(column)) return HostPorts::kWholePort;
        return columns_[at(column)].allocatable[slot];
    }
    // All amounts of a column by slot, for comparing many nodes; not for host ports. Valid until a
    // slot is added.
    struct Amounts {
        const std::int64_t* free;
        const std::int64_t* allocatable;
    };
    [[nodiscard]] Amounts amounts(Column column) const {
        return {columns_[at(column)].free.data(), columns_[at(column)].allocatable.data()};
    }
    [[nodiscard]] PoolId pool_of(std::uint32_t slot) const { return pool_of_[slot]; }
    [[nodiscard]] const NodeSet& nodes_of(PoolId pool) const;

    // The position of the node in the topology (docs/adr/0019).
    void set_topology(std::uint32_t slot, const NodeTopology& where);
    [[nodiscard]] const DomainMap& domains() const { return domains_; }

    // `device`: the GPU for a need of a fraction; `times` is 1 or -1 then.
    void occupy(std::uint32_t slot, const Needs& needs, std::int64_t times = 1,
                std::int32_t device = kNoDevice) noexcept;
    void give_back(std::uint32_t slot, const Needs& needs, std::int64_t times = 1,
                   std::int32_t device = kNoDevice) noexcept {
        occupy(slot, needs, -times, device);
    }

    // --- fractions of GPUs (capacity_parts.cpp) ---
    // True if a pod has ever requested a fraction of any GPU, or of a GPU of this column.
    [[nodiscard]] bool has_parts() const { return !part_columns_.empty(); }
    [[nodiscard]] bool has_counterpart_column(Column column) const {
        return !is_host_port(column) && columns_[at(column)].counterpart != Column::cpu;
    }
    // The need for a fraction of a GPU, or null; a pod has one at most.
    [[nodiscard]] const Need* part_of(const Needs& needs) const;
    [[nodiscard]] const std::vector<OpenDevice>& open_devices(Column parts,
                                                              std::uint32_t slot) const {
        return columns_[at(parts)].open[slot];
    }
    [[nodiscard]] Column whole_column(Column parts) const {
        return columns_[at(parts)].counterpart;
    }
    // The lowest number that no open device of the node has.
    [[nodiscard]] std::int32_t fresh_device(Column parts, std::uint32_t slot) const;
    // The open device with the least free amount that is enough; otherwise a fresh one, even if the
    // node has none left. kNoDevice if the needs have no fraction.
    [[nodiscard]] std::int32_t tightest_device(std::uint32_t slot, const Needs& needs) const;
    [[nodiscard]] bool fits_on(std::uint32_t slot, const Needs& needs, std::int32_t device) const;
    // True if more of this need is held on the node than it offers now.
    [[nodiscard]] bool is_overdrawn(std::uint32_t slot, const Need& need,
                                    std::int32_t device) const;
    // The sum over all kinds of GPUs, in units of their resources; free is 0 where more is held
    // than offered.
    struct Gpus {
        std::int64_t free = 0;
        std::int64_t total = 0;
    };
    [[nodiscard]] Gpus gpus_on(std::uint32_t slot) const;
    // The most that `column` gains when `held` is released. Fractions and whole GPUs affect each
    // other: with the last fraction a whole device becomes free, and a whole device has room for
    // any fraction.
    [[nodiscard]] std::int64_t most_left_by(const Need& held, Column column) const;
    // Idle GPUs, and the free fractions of GPUs in use.
    [[nodiscard]] std::int64_t idle_gpus(std::uint32_t slot) const;
    // While closed, a node takes no more fractions, because a reservation counts on its devices.
    void close_to_parts(std::uint32_t slot) { set_closed(slot, true); }
    void open_to_parts(std::uint32_t slot) { set_closed(slot, false); }

    // --- changes, for caches ---
    // Slots whose free amounts changed, oldest first: position n is valid while `change_epoch`
    // stays the same. `offers` changes when a node offers other amounts or is in another pool.
    [[nodiscard]] const std::vector<std::uint32_t>& changes() const { return changes_; }
    [[nodiscard]] std::uint64_t change_epoch() const { return change_epoch_; }
    [[nodiscard]] std::uint64_t offers() const { return offers_; }

    // Pod slots on every node that our own pods leave free for pods of DaemonSets.
    void reserve_pod_slots(std::int64_t slots) {
        if (slots != pod_slots_reserved_) ++change_epoch_;  // the room of every node has changed
        pod_slots_reserved_ = slots;
    }
    [[nodiscard]] std::int64_t pod_slots_reserved() const { return pod_slots_reserved_; }

    // How many times `amount` fits into `room`, `enough` at most. The answer is usually 0 or 1, and
    // is then computed without a division, which is slow for thousands of nodes.
    [[nodiscard]] static std::int64_t times_in(std::int64_t room, std::int64_t amount,
                                               std::int64_t enough) {
        if (room < amount) return 0;
        if (enough <= 1 || room - amount < amount) return std::min<std::int64_t>(enough, 1);
        return std::min(enough, room / amount);
    }
    // How many more pods with these needs fit; `enough` at most.
    [[nodiscard]] std::int64_t fitting(std::uint32_t slot, const Needs& needs,
                                       std::int64_t enough) const;
    // The same on an empty node.
    [[nodiscard]] std::int64_t fitting_empty(std::uint32_t slot, const Needs& needs,
                                             std::int64_t enough) const;
    // The same for one need.
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
    // The free amount, without what must stay free.
    [[nodiscard]] std::int64_t usable(Column column, std::uint32_t slot) const {
        const std::int64_t amount = free(column, slot);
        return column == Column::pod_slots ? amount - pod_slots_reserved_ : amount;
    }

    // --- the index ---
    [[nodiscard]] static int bucket_of(ColumnKind kind, std::int64_t free);
    // The column by which the index is searched: the largest GPU need, otherwise CPU.
    [[nodiscard]] Column index_column(const Needs& needs) const;
    // Null if the pool has no node yet.
    [[nodiscard]] const std::array<NodeSet, kBuckets>* buckets(PoolId pool, Column column) const;

    // Differences between the index and the columns, for the invariants; empty if there are none.
    [[nodiscard]] std::vector<std::string> check_index() const;

private:
    struct ColumnData {
        ColumnKind kind = ColumnKind::extended;
        std::string resource;
        GpuShare share;  // of a whole GPU, if the name of the resource states it
        std::vector<std::int64_t> allocatable;
        std::vector<std::int64_t> free;
        std::vector<std::uint8_t> bucket;  // of indexed columns
        std::vector<std::array<NodeSet, kBuckets>> by_pool;
        // of fractions and whole GPUs: each other; otherwise none
        Column counterpart = Column::cpu;
        std::vector<std::vector<OpenDevice>> open;  // of fractions: by slot, by number
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
    std::vector<bool> closed_;  // by slot: closed to fractions
    std::vector<std::uint32_t> changes_;
    std::uint64_t change_epoch_ = 1;
    std::uint64_t offers_ = 1;
    std::vector<PoolId> pool_of_;  // none: not offered
    std::vector<NodeSet> nodes_of_;
    std::int64_t pod_slots_reserved_ = 0;
};

// Capacity for trials: any code reads it, and only a Transaction or a Withholding changes it. It is
// passed like a reference. Code that may change the capacity may also make trials on it.
class TrialCapacity {
public:
    TrialCapacity(Capacity& capacity) : capacity_(capacity) {}
    TrialCapacity(const TrialCapacity&) = default;
    TrialCapacity& operator=(const TrialCapacity&) = delete;

    [[nodiscard]] const Capacity& read() const { return capacity_; }

private:
    friend class Transaction;
    friend class Withholding;
    Capacity& capacity_;
};

// What-if: occupies capacity, and releases exactly that unless it is kept.
class Transaction {
public:
    struct Entry {
        std::uint32_t slot = 0;
        const Needs* needs = nullptr;  // of an interned shape, which outlives the transaction
        std::int64_t times = 0;
        std::int32_t device = kNoDevice;
    };
    // `log` is a buffer of the caller, so that no transaction allocates memory. One transaction at
    // a time has it.
    Transaction(TrialCapacity trial, std::vector<Entry>& log)
        : capacity_(trial.capacity_), log_(log) {
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

// While it exists, free capacity of some nodes is missing from the columns.
class Withholding {
public:
    struct OnNode {
        std::uint32_t slot = 0;
        Needs amounts;
        bool closes_to_parts = false;  // the node takes no more parts of GPUs
    };
    // The caller keeps `nodes`, each node once, and does not change them while this exists.
    Withholding(TrialCapacity trial, std::span<const OnNode> nodes)
        : capacity_(trial.capacity_), nodes_(nodes) {
        for (const OnNode& node : nodes_) {
            capacity_.occupy(node.slot, node.amounts);
            if (node.closes_to_parts) capacity_.close_to_parts(node.slot);
        }
    }
    ~Withholding() {
        for (const OnNode& node : nodes_) {
            capacity_.give_back(node.slot, node.amounts);
            if (node.closes_to_parts) capacity_.open_to_parts(node.slot);
        }
    }
    Withholding(const Withholding&) = delete;
    Withholding& operator=(const Withholding&) = delete;

private:
    Capacity& capacity_;
    std::span<const OnNode> nodes_;
};

// What a node offers: shares of queues refer to the sum of these.
inline Load offered_load(const NodeFacts& node) {
    const auto clamp = [](std::int64_t amount) {
        return std::clamp<std::int64_t>(amount, 0, kAmountMax);
    };
    return {GpuMilli{clamp(gpus_total(node.allocatable).value())},
            CpuMilli{clamp(node.allocatable.cpu.value())},
            Bytes{clamp(node.allocatable.memory.value())}};
}

}  // namespace gpuctl
