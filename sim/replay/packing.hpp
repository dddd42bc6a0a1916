#pragma once
// Tasks that never end are placed one by one on nodes with whole and shared GPUs: the world of the
// openb traces. A task that does not fit is dropped.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/rng.hpp"
#include "scheduler/base/units.hpp"
#include "sim/replay/trace.hpp"

namespace gpuctl::replay {

using NodeIndex = DenseId<struct PackNodeTag>;  // position in PackTrace::nodes

inline constexpr std::int64_t kGpusPerNodeMax = 1'024;
using GpuModels = std::uint64_t;  // a bit for each entry of PackTrace::models; 0: no existing model
inline constexpr GpuModels kAnyModel = ~GpuModels{0};

struct PackTask {
    std::string name;
    CpuMilli cpu;
    Bytes memory;
    std::int32_t gpus = 0;
    GpuMilli gpu_each;             // of each GPU; below 1000 only for a single GPU
    GpuModels models = kAnyModel;  // it accepts one of these models

    [[nodiscard]] GpuMilli gpu_total() const { return gpu_each * gpus; }
};

struct PackNode {
    std::string name;
    CpuMilli cpu_free;
    Bytes memory_free;
    std::int32_t gpus = 0;
    GpuModels model = 0;                       // one bit is set
    std::vector<std::int32_t> gpu_free_milli;  // by GPU

    [[nodiscard]] std::int64_t gpu_free_total_milli() const;
    [[nodiscard]] std::int32_t gpus_completely_idle() const;
    // True if CPU, memory, GPU model and GPUs are sufficient. For a shared GPU one device must have
    // the whole amount.
    [[nodiscard]] bool fits(const PackTask& task) const;
};

struct PackTrace {
    std::vector<PackNode> nodes;  // without tasks, by name
    std::vector<PackTask> tasks;  // by name
    std::vector<std::string> models;
    std::vector<std::string> models_unknown;   // models that tasks request and no node has
    std::int64_t tasks_of_unknown_models = 0;  // tasks that request one of these models ...
    std::int64_t tasks_fitting_nowhere = 0;    // ... and no other model
};

// Reads the trace. `tasks` may lack gpu_spec and the time columns.
Result<PackTrace> read_openb(const NamedText& tasks, const NamedText& nodes);

// The order of arrivals: the trace shuffled, then drawn from with replacement, up to `percent` of
// the cluster's GPUs. It ends before the first task that would exceed this amount. An error if so
// few tasks request GPUs that more than kArrivalsMax tasks would have to arrive.
inline constexpr std::int64_t kArrivalsMax = 5'000'000;
Result<std::vector<PackTask>> draw_arrivals(const PackTrace& trace, std::int64_t percent,
                                            std::uint64_t seed);

// A node and, for a task with a share of a GPU, the GPU. Whole GPUs are the first free ones.
struct Spot {
    NodeIndex node;
    std::int32_t gpu = 0;
};

class Packing {
public:
    explicit Packing(const PackTrace& trace) : nodes_(trace.nodes) {}

    void place(const PackTask& task, Spot spot);  // the spot must have room
    [[nodiscard]] const std::vector<PackNode>& nodes() const { return nodes_; }
    [[nodiscard]] const PackNode& node(NodeIndex index) const { return nodes_[index.value()]; }

private:
    std::vector<PackNode> nodes_;
};

// The node after the task was placed on it.
[[nodiscard]] PackNode with_task(const PackNode& node, const PackTask& task, std::int32_t gpu);
void put_task(PackNode& node, const PackTask& task, std::int32_t gpu);

class Packer {
public:
    virtual ~Packer() = default;
    // Chooses a spot; nullopt: the task is dropped. The caller places the task before the next
    // call.
    virtual std::optional<Spot> choose(const PackTask& task, const Packing& world) = 0;
};

struct PackOutcome {
    std::int64_t gpus_milli = 0;  // of the cluster
    std::int64_t allocated_milli = 0;
    std::int64_t fragmented_micro = 0;  // millionths of a GPU
    std::int64_t placed = 0;
    std::int64_t dropped = 0;
    std::int64_t dropped_though_fitting = 0;  // the policy is not work-conserving then
};

PackOutcome run_packing(const PackTrace& trace, const std::vector<PackTask>& arrivals,
                        Packer& packer);

}  // namespace gpuctl::replay
