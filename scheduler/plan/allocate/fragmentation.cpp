#include "scheduler/plan/allocate/fragmentation.hpp"

#include <algorithm>
#include <bit>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {
namespace {

// Costs are in millionths of a GPU.
constexpr std::int64_t kMillionthsPerMilli = 1000;
constexpr std::int64_t kMillionthsPerGpu = kMillionthsPerMilli * kGpuMilliPerGpu;
// Larger amounts on one node are clamped to this, so that products stay within 63 bits.
constexpr std::int64_t kMostMilli = 1'000'000'000;
constexpr std::int64_t kMostUnits = std::int64_t{1} << 30;

// A resource without which a GPU cannot be used, by the kind of its column. A resource that can
// strand GPUs needs a row here and nothing else.
struct Rule {
    ColumnKind kind;
    // the column is scaled by 2^-shift; -1: choose the shift so that the usual amount is below 2^20
    int shift;
    std::int64_t least;  // amount that any work needs for a GPU; 0: what the pool's median GPU has
};
constexpr Rule kRules[] = {
    {ColumnKind::cpu, 0, 0},
    {ColumnKind::memory, 20, 0},
    {ColumnKind::pod_slots, 0, 1},  // one for each pod
    {ColumnKind::extended, -1, 0},  // ephemeral storage, huge pages, devices next to GPUs
};
constexpr int kUsualBits = 20;

// Work that requests this part of the usual amount for a GPU counts, too. Among otherwise equal
// nodes, nodes with less than this part for each idle GPU take further work last.
constexpr std::int64_t kModestOneOf = 4;
// A GPU that no work can use costs more than all that one pod can fragment on a node for some work.
constexpr std::int64_t kWeightOfAny = 32;
// A pod with this many GPUs needs one pod slot for all of them. The fewer slots a node has left,
// the more each slot is worth, so that the use of slots is spread over nodes. The weight is chosen
// so that all that one pod can fragment for large pods costs less than one GPU that no work can
// use.
constexpr std::int64_t kGpusOfLargePods[] = {2, 4, 8};

// A fraction is common if at least one in this many pods with a fraction of a GPU requests it.
constexpr std::uint32_t kCommonOneOf = 32;
// Weights, tuned on five job mixes of the openb trace (Alibaba cluster trace); the result is flat
// around these values. The rest of a device that no common fraction can fill is lost permanently,
// whereas CPU may become free again.
constexpr std::int64_t kWeightOfRest = 3;
constexpr std::int64_t kWeightOfLeftOver = 30;
// Cost of the first fraction on a GPU, in millionths of a GPU: afterwards one completely idle GPU
// fewer is left. With this cost it is better to lose a tenth of a GPU that no common fraction fills
// than to open another GPU. The utilisation on openb differs by at most 0.02 % without this cost.
constexpr std::int64_t kCostOfOpening = 2'500'000;

// The last digits of a cost break ties between equally good nodes.
constexpr std::int64_t kTies = 32;

// The weighted median of `nodes`: the first value is compared, the second is the weight.
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

void Fragmentation::update_caches(const ClusterState& state, const Capacity& capacity,
                                  PoolId pool) {
    if (pools_.size() < state.tree.pools()) pools_.resize(state.tree.pools());
    if (pools_[pool.value()].offers != capacity.offers()) read_pool(state, capacity, pool);
    if (parts_read_ != state.pods.shapes().part_changes()) read_parts(state.pods.shapes());
}

// The amount of the resource next to the pool's median GPU. 0: almost no node with GPUs offers the
// resource, so GPUs are used without it.
std::int64_t Fragmentation::median_free_amount(const ClusterState& state, const NodeSet& nodes,
                                               const Capacity& capacity, Column column) {
    nodes_.clear();
    for (const std::uint32_t slot : nodes) {
        const Resources& has = state.node(NodeId{slot}).facts.allocatable;
        const std::int64_t gpus = whole_gpus_floor(gpus_total(has));
        if (gpus > 0) nodes_.push_back({capacity.allocatable(column, slot) / gpus, gpus, slot});
    }
    return weighted_median(nodes_);
}

void Fragmentation::read_pool(const ClusterState& state, const Capacity& capacity, PoolId pool) {
    PoolRow& known = pools_[pool.value()];
    known.offers = capacity.offers();
    std::vector<NeedPerGpu> resources;
    for (std::size_t i = 0; i < capacity.columns(); ++i) {
        const auto column = static_cast<Column>(i);
        for (const Rule& rule : kRules) {
            if (rule.kind != capacity.kind(column)) continue;
            NeedPerGpu per_gpu{column, rule.shift, rule.least, rule.least == 0};
            if (per_gpu.is_usual) {
                const std::int64_t usual =
                    median_free_amount(state, capacity.nodes_of(pool), capacity, column);
                if (per_gpu.shift < 0) {
                    const auto bits =
                        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(usual)));
                    per_gpu.shift = std::max(bits - kUsualBits, 0);
                }
                per_gpu.for_one = std::min(usual >> per_gpu.shift, kMostUnits);
            }
            if (per_gpu.for_one > 0) resources.push_back(per_gpu);
        }
    }
    if (resources == known.resources) return;
    known.resources = std::move(resources);
    ++known.version;
}

// Computes for each rest of a device the smallest waste that remains when common fractions fill the
// rest as well as possible.
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
    // The rests of shared devices do not change the cost of whole GPUs. Only whether any fraction
    // is requested does.
    const std::uint64_t parts = shape.part > GpuMilli{} ? parts_version_ : (parts_about_ ? 1 : 0);
    return (pools_[pool.value()].version << 32) + parts;
}

namespace {

// The number of idle GPUs, in millionths, for which the free amount of the other resource is not
// sufficient.
std::int64_t short_of(std::int64_t idle_milli, std::int64_t free, std::int64_t for_one) {
    // The common case, without a division.
    if (free * kGpuMilliPerGpu >= idle_milli * for_one) return 0;
    return idle_milli * kMillionthsPerMilli - free * kMillionthsPerGpu / for_one;
}

}  // namespace

// The number of further idle GPUs of the node that this many pods of the shape would strand.
Fragmentation::Stranded Fragmentation::stranded_by(const Capacity& capacity, PoolId pool,
                                                   std::uint32_t slot, std::int64_t idle_milli,
                                                   const Shape& shape, std::int64_t pods) const {
    if (idle_milli <= 0) return {};
    const std::int64_t idle_before = std::min(idle_milli, kMostMilli);
    const std::int64_t idle_after = std::min(idle_milli - shape.gpus.value() * pods, kMostMilli);
    Stranded before, after;
    const auto add = [](Stranded& to, std::int64_t idle, std::int64_t free, const NeedPerGpu& by) {
        free = std::clamp<std::int64_t>(free >> by.shift, 0, kMostUnits);
        const std::int64_t stranded = short_of(idle, free, by.for_one);
        if (stranded <= 0) return;
        if (!by.is_usual) {
            std::int64_t large = 0;
            for (const std::int64_t gpus : kGpusOfLargePods) {
                large += short_of(idle, free * gpus, by.for_one);
            }
            to.any = std::max(to.any, stranded);
            to.large = std::max(to.large, large);
            return;
        }
        to.usual = std::max(to.usual, stranded);
        to.modest = std::max(to.modest, short_of(idle, free * kModestOneOf, by.for_one));
    };
    auto need = shape.needs.begin();
    for (const NeedPerGpu& by : pools_[pool.value()].resources) {
        while (need != shape.needs.end() && need->column < by.column) ++need;
        const bool is_asked = need != shape.needs.end() && need->column == by.column;
        const std::int64_t has = capacity.usable(by.column, slot);
        add(before, idle_before, has, by);
        add(after, idle_after, has - (is_asked ? need->amount * pods : 0), by);
    }
    return {after.usual - before.usual, after.modest - before.modest, after.any - before.any,
            after.large - before.large};
}

bool Fragmentation::strands_gpus(const Capacity& capacity, PoolId pool, std::uint32_t slot,
                                 const Shape& shape, std::int64_t pods) const {
    const std::int64_t idle = capacity.idle_gpus(slot);
    const Stranded stranded = stranded_by(capacity, pool, slot, idle, shape, pods);
    return stranded.modest > 0 || stranded.any > 0;
}

// The fragmentation cost of the rest on a device that holds fractions.
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
        const std::int64_t more = has_fault(SeededFault::overfill_a_gpu) ? kGpuMilliPerGpu / 10 : 0;
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
    const std::int64_t idle = capacity.idle_gpus(slot);
    const Stranded stranded = stranded_by(capacity, pool, slot, idle, shape, 1);
    std::int64_t cost = stranded.usual + stranded.modest;
    if (!has_fault(SeededFault::strand_gpus_by_pod_slots)) {
        cost += kWeightOfAny * (kWeightOfAny * stranded.any + stranded.large);
    }
    if (shape.part > GpuMilli{}) cost += choose_device(capacity, slot, shape).cost;
    // If pods use fractions of GPUs, equally good nodes are filled one after another, which keeps
    // some nodes of every kind completely free. Otherwise the tightest node is taken, which keeps
    // whole GPUs together.
    std::int64_t tie = 0;
    if (!parts_about_) {
        tie = std::min(idle / kGpuMilliPerGpu, kTies - 1);
    } else if (shape.gpus == GpuMilli{}) {
        tie = idle > 0 ? 1 : 0;  // work without GPUs shares a node with idle GPUs only if it must
    }
    return cost * kTies + tie;
}

}  // namespace gpuctl
