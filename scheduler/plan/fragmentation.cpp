#include "scheduler/plan/fragmentation.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"

namespace gpuctl {
namespace {

// Costs are in millionths of a GPU.
constexpr std::int64_t kMillionthsPerMilli = 1000;
constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;
// More of anything on one node is taken for this much, so that products stay within 63 bits.
constexpr std::int64_t kMostMilli = 1'000'000'000;
constexpr std::int64_t kMostMib = std::int64_t{1} << 30;

// A size is common when at least so many of the pods with a part of a GPU ask for it.
constexpr std::uint32_t kCommonOneOf = 32;
// What weighs how much. Found on five mixes of the openb trace, flat around these values: a rest
// that common sizes cannot fill is lost for good, CPU may come back.
constexpr std::int64_t kWeightOfRest = 3;
constexpr std::int64_t kWeightOfLeftOver = 30;
// Of the first part on a GPU, in millionths of one: whoever wants a whole one has one fewer, so
// that a tenth of a GPU that no common size fills is better lost than another GPU opened. openb is
// within 0.02 % as full as without.
constexpr std::int64_t kCostOfOpening = 2'500'000;

// The last digits of a cost: among equally good nodes.
constexpr std::int64_t kTies = 32;

// The middle of `nodes` by their first value, each counted as often as its second says.
std::int64_t weighted_median(std::vector<std::array<std::int64_t, 3>>& nodes) {
    std::sort(nodes.begin(), nodes.end());
    std::int64_t total = 0;
    for (const auto& node : nodes) total += node[1];
    std::int64_t before = 0;
    for (const auto& node : nodes) {
        before += node[1];
        if (2 * before >= total) return node[0];
    }
    return 0;
}

}  // namespace

void Fragmentation::look_at(const ClusterState& state, const Capacity& capacity, PoolId pool) {
    if (pools_.size() < state.pools()) pools_.resize(state.pools());
    if (pools_[pool.value()].offers != capacity.offers()) read_pool(state, capacity, pool);
    if (parts_read_ != state.shapes().part_changes()) read_parts(state.shapes());
}

void Fragmentation::read_pool(const ClusterState& state, const Capacity& capacity, PoolId pool) {
    BesideGpu& known = pools_[pool.value()];
    known.offers = capacity.offers();
    const auto median = [&](const auto& amount_of) {
        nodes_.clear();
        const NodeSet& all = capacity.nodes_of(pool);
        for (std::uint32_t slot = all.next(0); slot != NodeSet::kEnd; slot = all.next(slot + 1)) {
            const Resources& has = state.node(NodeId{slot}).facts.allocatable;
            const std::int64_t gpus = whole_gpus_floor(gpus_total(has));
            if (gpus > 0) nodes_.push_back({amount_of(has) / gpus, gpus, slot});
        }
        return weighted_median(nodes_);
    };
    const std::int64_t cpu =
        median([](const Resources& has) { return std::min(has.cpu.value(), kMostMilli); });
    const std::int64_t memory = median(
        [](const Resources& has) { return std::min(has.memory.value() / kBytesPerMib, kMostMib); });
    if (cpu == known.cpu_milli && memory == known.memory_mib) return;
    known.cpu_milli = cpu;
    known.memory_mib = memory;
    ++known.version;
}

// What the common sizes leave of each rest when they fill it as well as they can.
void Fragmentation::read_parts(const ShapeTable& shapes) {
    parts_read_ = shapes.part_changes();
    const bool about = shapes.pods_with_part() > 0;
    if (about != parts_about_) ++parts_version_;
    parts_about_ = about;
    std::vector<std::int64_t> common;
    for (std::size_t part = 1; part < shapes.pods_by_part().size(); ++part) {
        const std::uint32_t pods = shapes.pods_by_part()[part];
        if (pods > 0 && pods * kCommonOneOf >= shapes.pods_with_part()) {
            common.push_back(static_cast<std::int64_t>(part));
        }
    }
    if (common == common_parts_) return;
    common_parts_ = std::move(common);
    ++parts_version_;
    for (std::size_t rest = 0; rest < left_over_.size(); ++rest) {
        std::int64_t least = static_cast<std::int64_t>(rest);
        for (const std::int64_t part : common_parts_) {
            if (part > static_cast<std::int64_t>(rest)) break;
            least = std::min(least, left_over_[rest - static_cast<std::size_t>(part)]);
        }
        left_over_[rest] = least;
    }
}

std::uint64_t Fragmentation::version(PoolId pool, const Shape& shape) const {
    // Whole GPUs are judged by other things than rests, but for whether there are any.
    const std::uint64_t parts = shape.part > GpuMilli{} ? parts_version_ : (parts_about_ ? 1 : 0);
    return (pools_[pool.value()].version << 32) + parts;
}

// Idle GPUs that no CPU, or no memory, is left for.
std::int64_t Fragmentation::unusable(const BesideGpu& beside, std::int64_t gpus_milli,
                                     std::int64_t cpu_milli, std::int64_t memory_bytes) {
    const std::int64_t idle = std::min(gpus_milli, kMostMilli) * kMillionthsPerMilli;
    std::int64_t carried = idle;
    const auto carry = [&carried](std::int64_t free, std::int64_t most, std::int64_t for_one) {
        if (for_one == 0) return;
        constexpr std::int64_t kOne = kMillionthsPerMilli * kGpuMilliPerGpu;
        const std::int64_t usable = std::clamp<std::int64_t>(free, 0, most);
        carried = std::min(carried, usable * kOne / for_one);
    };
    carry(cpu_milli, kMostMilli, beside.cpu_milli);
    carry(memory_bytes / kBytesPerMib, kMostMib, beside.memory_mib);
    return idle - carried;
}

// What a rest on an open device is worth keeping small or whole for.
std::int64_t Fragmentation::spoilt(std::int64_t rest_milli) const {
    if (rest_milli <= 0 || rest_milli >= kGpuMilliPerGpu) return 0;
    return kWeightOfRest * rest_milli * (kGpuMilliPerGpu - rest_milli) +
           kWeightOfLeftOver * kMillionthsPerMilli *
               left_over_[static_cast<std::size_t>(rest_milli)];
}

Fragmentation::Choice Fragmentation::choose_device(const Capacity& capacity, std::uint32_t slot,
                                                   const Shape& shape) const {
    const Need* need = capacity.part_of(shape.needs);
    if (need == nullptr) return {};
    Choice best{kNoDevice, kDoesNotFit};
    const auto consider = [&](std::int32_t device, std::int64_t free) {
        const std::int64_t opening = free == kGpuMilliPerGpu ? kCostOfOpening : 0;
        const std::int64_t cost = spoilt(free - need->amount) - spoilt(free) + opening;
        if (cost < best.cost) best = {device, cost};
    };
    for (const OpenDevice& device : capacity.open_devices(need->column, slot)) {
        const std::int64_t more = planted(PlantedBug::overfill_a_gpu) ? kGpuMilliPerGpu / 10 : 0;
        if (device.free + more >= need->amount) consider(device.number, device.free);
    }
    if (capacity.free(capacity.whole_column(need->column), slot) >= kGpuMilliPerGpu) {
        consider(capacity.fresh_device(need->column, slot), kGpuMilliPerGpu);
    }
    return best;
}

std::int32_t Fragmentation::device_for(const Capacity& capacity, std::uint32_t slot,
                                       const Shape& shape) const {
    return choose_device(capacity, slot, shape).device;
}

std::int64_t Fragmentation::cost(const Capacity& capacity, PoolId pool, std::uint32_t slot,
                                 const Shape& shape) const {
    if (!capacity.fits(slot, shape.needs)) return kDoesNotFit;
    const BesideGpu& beside = pools_[pool.value()];
    const std::int64_t idle = capacity.idle_gpus(slot);
    const std::int64_t cpu = capacity.free(Column::cpu, slot);
    const std::int64_t memory = capacity.free(Column::memory, slot);
    std::int64_t cost = 0;
    if (idle > 0) {
        cost = unusable(beside, idle - shape.gpus.value(), cpu - shape.cpu.value(),
                        memory - shape.memory.value()) -
               unusable(beside, idle, cpu, memory);
    }
    if (shape.part > GpuMilli{}) cost += choose_device(capacity, slot, shape).cost;
    // Where parts of GPUs are about, equally good nodes are filled one after another: that keeps
    // whole nodes of every kind. Else the tightest is taken, which keeps whole GPUs together.
    std::int64_t tie = 0;
    if (!parts_about_) {
        tie = std::min(idle / kGpuMilliPerGpu, kTies - 1);
    } else if (shape.gpus == GpuMilli{}) {
        tie = idle > 0 ? 1 : 0;  // work without GPUs stays beside them only if it must
    }
    return cost * kTies + tie;
}

}  // namespace gpuctl
