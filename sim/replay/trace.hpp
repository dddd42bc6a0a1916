#pragma once
// The content of a trace: jobs with their true run times, and the GPUs that they may run on. The
// readers below make it from text; nothing here opens a file (the name is for messages only).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/base/time.hpp"

namespace gpuctl::replay {

using JobIndex = DenseId<struct TraceJobTag>;      // position in Trace::jobs
using CurveIndex = DenseId<struct TraceCurveTag>;  // position in Trace::curves
using OwnerIndex = DenseId<struct OwnerTag>;       // position in Trace::owners

struct TraceJob {
    std::string id;
    Duration submit;  // since the begin of the trace
    Duration run;     // run time without interruption, on `gpus`
    Duration limit;   // run-time limit of its user; a policy may read it if run times are unknown
    Duration start_cost;    // lost at the first start ...
    Duration restart_cost;  // ... and at each resumption or change of size
    std::int32_t gpus = 1;
    OwnerIndex owner;
    CurveIndex curve;  // elastic jobs: run time on other sizes
};

// Seconds per epoch by number of GPUs (elastic jobs). Epochs are executed in order.
struct Curve {
    static constexpr Duration kNotAllowed{0};

    std::string name;
    std::vector<std::int32_t> sizes;  // ascending
    // [epoch][size]; kNotAllowed if the job cannot run with this size
    std::vector<std::vector<Duration>> epochs;

    // The time for the next smaller listed size; kNotAllowed if there is none.
    [[nodiscard]] Duration epoch_time(std::size_t epoch, std::int32_t gpus) const;
    // True if all epochs from this one on allow the size, so that the job may run to its end with
    // it.
    [[nodiscard]] bool allows(std::int32_t gpus, std::size_t from_epoch = 0) const;
    // The smallest size that all epochs allow; none: the job can never run.
    [[nodiscard]] std::optional<std::int32_t> size_min() const;
};

struct Owner {
    std::string name;
    std::int32_t quota_gpus = 0;  // 0: no quota is given
};

struct Trace {
    std::vector<TraceJob> jobs;  // by submit time, then in the order of the file
    std::vector<Owner> owners;
    std::vector<Curve> curves;

    [[nodiscard]] const TraceJob& job(JobIndex index) const { return jobs[index.value()]; }
};

struct NamedText {
    std::string name;  // for messages
    std::string text;
};

Result<Trace> read_philly(const NamedText& jobs);
Result<Trace> read_backfill(const NamedText& jobs);
// `start_cost`, `restart_cost`: defaults, because these files have no costs. In a virtual cluster
// only a preemption costs time.
Result<Trace> read_fairness(const NamedText& jobs, Duration start_cost);
Result<Trace> read_virtual_clusters(const NamedText& jobs, const NamedText& quotas,
                                    Duration restart_cost);
// One trace for each workload, in the order of their numbers.
Result<std::vector<Trace>> read_elastic(const NamedText& jobs, const NamedText& epochs,
                                        Duration start_cost);

}  // namespace gpuctl::replay
