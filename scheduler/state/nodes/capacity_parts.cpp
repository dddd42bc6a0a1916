// Fractions of GPUs: the open devices of a node, and what is free on them.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/state/nodes/capacity.hpp"

namespace gpuctl {
namespace {

template <typename Devices>
auto place_of(Devices& open, std::int32_t number) {
    return std::lower_bound(
        open.begin(), open.end(), number,
        [](const OpenDevice& device, std::int32_t wanted) { return device.number < wanted; });
}

const OpenDevice* find_device(const std::vector<OpenDevice>& open, std::int32_t number) {
    const auto found = place_of(open, number);
    return found != open.end() && found->number == number ? &*found : nullptr;
}

}  // namespace

// The column of fractions is made when the first pod requests one: clusters without fractions pay
// nothing.
void Capacity::link_parts(Column made) {
    const Column whole = column_of(ColumnKind::gpu, std::string{columns_[at(made)].resource});
    ColumnData& parts = columns_[at(made)];
    parts.counterpart = whole;
    parts.open.resize(slots());
    columns_[at(whole)].counterpart = made;
    for (std::uint32_t slot = 0; slot < slots(); ++slot) refresh_parts(parts, slot);
}

const Need* Capacity::part_of(const Needs& needs) const {
    for (const Need& need : needs) {
        if (kind(need.column) == ColumnKind::gpu_part) return &need;
    }
    return nullptr;
}

void Capacity::change_part(ColumnData& parts, std::uint32_t slot, std::int32_t device,
                           std::int64_t change) noexcept {
    std::vector<OpenDevice>& open = parts.open[slot];
    auto found = place_of(open, device);
    if (found == open.end() || found->number != device) {
        found = open.insert(found, OpenDevice{device, kGpuMilliPerGpu});
        change_free(columns_[at(parts.counterpart)], slot, -kGpuMilliPerGpu);
    }
    found->free += change;
    if (found->free == kGpuMilliPerGpu && !has_fault(SeededFault::keep_empty_devices_open)) {
        open.erase(found);  // no pod is left on it
        change_free(columns_[at(parts.counterpart)], slot, kGpuMilliPerGpu);
    }
    refresh_parts(parts, slot);
}

void Capacity::refresh_parts(ColumnData& parts, std::uint32_t slot) noexcept {
    const ColumnData& whole = columns_[at(parts.counterpart)];
    const auto full = [](std::int64_t gpus) {
        return gpus >= kGpuMilliPerGpu ? kGpuMilliPerGpu : 0;
    };
    parts.allocatable[slot] = full(whole.allocatable[slot]);
    std::int64_t most = full(whole.free[slot]);
    for (const OpenDevice& device : parts.open[slot]) most = std::max(most, device.free);
    // If a node has fewer GPUs than are in use, it is unknown which of the open devices still
    // exist.
    const bool is_overdrawn = whole.free[slot] < 0;
    const bool is_closed = slot < closed_.size() && closed_[slot];
    set_free(parts, slot, is_closed || is_overdrawn ? 0 : most);
}

void Capacity::set_closed(std::uint32_t slot, bool is_closed) {
    if (part_columns_.empty()) return;
    if (closed_.size() <= slot) closed_.resize(slots());
    if (closed_[slot] == is_closed) return;
    closed_[slot] = is_closed;
    note_change(slot);
    for (ColumnData& column : columns_) {
        if (column.kind == ColumnKind::gpu_part) refresh_parts(column, slot);
    }
}

std::int32_t Capacity::fresh_device(Column parts, std::uint32_t slot) const {
    std::int32_t number = 0;
    for (const OpenDevice& device : open_devices(parts, slot)) {
        if (device.number > number) break;
        number = std::max(number, device.number + 1);
    }
    return number;
}

std::int32_t Capacity::tightest_device(std::uint32_t slot, const Needs& needs) const {
    const Need* need = part_of(needs);
    if (need == nullptr) return kNoDevice;
    const OpenDevice* best = nullptr;
    for (const OpenDevice& device : open_devices(need->column, slot)) {
        if (device.free < need->amount || (best != nullptr && best->free <= device.free)) continue;
        best = &device;
    }
    return best != nullptr ? best->number : fresh_device(need->column, slot);
}

bool Capacity::fits_on(std::uint32_t slot, const Needs& needs, std::int32_t device) const {
    const Need* need = part_of(needs);
    if (need == nullptr || has_fault(SeededFault::overfill_a_gpu)) return true;
    const OpenDevice* open = find_device(open_devices(need->column, slot), device);
    if (open != nullptr) return open->free >= need->amount;
    return columns_[at(whole_column(need->column))].free[slot] >= kGpuMilliPerGpu;
}

bool Capacity::is_overdrawn(std::uint32_t slot, const Need& need, std::int32_t device) const {
    if (kind(need.column) != ColumnKind::gpu_part) return usable(need.column, slot) < 0;
    const OpenDevice* open = find_device(open_devices(need.column, slot), device);
    return (open != nullptr && open->free < 0) ||
           columns_[at(whole_column(need.column))].free[slot] < 0;
}

std::int64_t Capacity::fitting_by(std::uint32_t slot, const Need& need, std::int64_t enough) const {
    const std::int64_t room = usable(need.column, slot);
    if (kind(need.column) != ColumnKind::gpu_part) return times_in(room, need.amount, enough);
    if (room < need.amount) return 0;  // also if the node is closed
    const std::int64_t whole =
        std::max<std::int64_t>(columns_[at(whole_column(need.column))].free[slot], 0);
    std::int64_t sum = whole / kGpuMilliPerGpu * (kGpuMilliPerGpu / need.amount);
    for (const OpenDevice& device : open_devices(need.column, slot)) {
        sum += std::max<std::int64_t>(device.free, 0) / need.amount;
    }
    return std::min(enough, sum);
}

std::int64_t Capacity::most_left_by(const Need& held, Column column) const {
    if (held.column == column) return held.amount;
    if (is_host_port(held.column)) return 0;
    const Column counterpart = columns_[at(held.column)].counterpart;
    if (counterpart == Column::cpu || counterpart != column) return 0;
    const bool is_part = kind(held.column) == ColumnKind::gpu_part;
    if (has_fault(SeededFault::last_part_leaves_its_share)) return held.amount;
    return is_part ? kGpuMilliPerGpu : held.amount;
}

Capacity::Gpus Capacity::gpus_on(std::uint32_t slot) const {
    Gpus sum;
    for (const ColumnData& column : columns_) {
        if (column.kind != ColumnKind::gpu) continue;
        sum.free += std::max<std::int64_t>(column.free[slot], 0);
        sum.total += column.allocatable[slot];
    }
    return sum;
}

std::int64_t Capacity::idle_gpus(std::uint32_t slot) const {
    std::int64_t idle = 0;
    for (const ColumnData& column : columns_) {
        if (column.kind == ColumnKind::gpu) {
            const std::int64_t free = std::max<std::int64_t>(column.free[slot], 0);
            idle += (free * column.share.parts + column.share.of - 1) / column.share.of;
        }
        if (column.kind != ColumnKind::gpu_part) continue;
        for (const OpenDevice& device : column.open[slot]) {
            idle += std::max<std::int64_t>(device.free, 0);
        }
    }
    return idle;
}

}  // namespace gpuctl
