#include <algorithm>
#include <map>
#include <set>

#include "sim/replay/rows.hpp"

namespace gpuctl::replay {
namespace {

void sort_by_submit(Trace& trace) {
    std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
}

Result<Trace> finish(const CsvReader& csv, Trace trace) {
    if (csv.error()) return *csv.error();
    sort_by_submit(trace);
    return trace;
}

Result<std::vector<Owner>> read_quotas(const NamedText& quotas) {
    CsvReader csv(quotas.name, quotas.text);
    const auto name = csv.column("vc");
    const auto gpus = csv.column("quota_gpus");
    std::set<std::string> known;
    std::vector<Owner> owners = read_rows<Owner>(csv, [&](Owner& owner) {
        if (!known.insert(csv.text(name)).second) csv.refuse(name, "is there twice");
        owner = {csv.text(name), gpu_count(csv, gpus)};
    });
    if (csv.error()) return *csv.error();
    return owners;
}

// For a curve without a size that all epochs allow: the first epoch at which no size is left.
std::size_t epoch_without_size(const Curve& curve) {
    Curve begin = curve;
    while (!begin.epochs.empty() && !begin.size_min()) begin.epochs.pop_back();
    return begin.epochs.size();
}

Result<std::vector<Curve>> read_curves(const NamedText& epochs) {
    CsvReader csv(epochs.name, epochs.text);
    const auto app = csv.column("app");
    const auto epoch = csv.column("epoch");
    std::vector<std::int32_t> sizes;
    std::vector<CsvReader::Column> columns;
    for (std::int32_t size = 1; size <= 1024; ++size) {
        const auto column = csv.column_if_any("s" + std::to_string(size));
        if (!column) continue;
        sizes.push_back(size);
        columns.push_back(*column);
    }
    if (sizes.empty()) csv.column("s1");  // says what is missing
    std::vector<Curve> curves;
    std::set<std::string> known;
    while (csv.next_row()) {
        if (curves.empty() || curves.back().name != csv.text(app)) {
            if (!known.insert(csv.text(app)).second) {
                csv.refuse(app, "is there twice; its epochs must stand together");
            }
            curves.push_back(Curve{csv.text(app), sizes, {}});
        }
        Curve& curve = curves.back();
        const auto expected = static_cast<std::int64_t>(curve.epochs.size());
        if (csv.integer(epoch, 0, kGpusMax) != expected) {
            csv.refuse(epoch, "is not " + std::to_string(expected) + ", the next in order");
        }
        std::vector<Duration> times;
        for (const auto column : columns) {
            times.push_back(csv.is_empty(column) ? Curve::kNotAllowed
                                                 : positive_seconds(csv, column));
        }
        curve.epochs.push_back(std::move(times));
    }
    if (csv.error()) return *csv.error();
    return curves;
}

}  // namespace

Duration positive_seconds(CsvReader& csv, CsvReader::Column column) {
    const Duration value = csv.seconds(column);
    if (value <= Duration{0}) csv.refuse(column, "must be more than 0");
    return value;
}

std::int32_t gpu_count(CsvReader& csv, CsvReader::Column column) {
    return static_cast<std::int32_t>(csv.integer(column, 1, kGpusMax));
}

Duration Curve::epoch_time(std::size_t epoch, std::int32_t gpus) const {
    const auto above = std::upper_bound(sizes.begin(), sizes.end(), gpus);
    if (above == sizes.begin()) return kNotAllowed;
    return epochs[epoch][static_cast<std::size_t>(above - sizes.begin()) - 1];
}

bool Curve::allows(std::int32_t gpus, std::size_t from_epoch) const {
    for (std::size_t epoch = from_epoch; epoch < epochs.size(); ++epoch) {
        if (epoch_time(epoch, gpus) == kNotAllowed) return false;
    }
    return gpus > 0;
}

std::optional<std::int32_t> Curve::size_min() const {
    const auto found = std::find_if(sizes.begin(), sizes.end(),
                                    [this](std::int32_t size) { return allows(size); });
    return found == sizes.end() ? std::nullopt : std::optional{*found};
}

Result<Trace> read_philly(const NamedText& jobs) {
    CsvReader csv(jobs.name, jobs.text);
    const JobColumns columns(csv, "job_id", "num_gpu", "run_s");
    const auto restart = csv.column("restart_s");
    Trace trace;
    trace.jobs = read_rows<TraceJob>(csv, [&](TraceJob& job) {
        columns.read(csv, job);
        job.start_cost = job.restart_cost = csv.seconds(restart);
    });
    return finish(csv, std::move(trace));
}

Result<Trace> read_backfill(const NamedText& jobs) {
    CsvReader csv(jobs.name, jobs.text);
    const JobColumns columns(csv, "job_id", "procs", "run_s");
    const auto limit = csv.column("req_s");
    const auto user = csv.column("user");
    Trace trace;
    std::map<std::string, OwnerIndex> users;
    trace.jobs = read_rows<TraceJob>(csv, [&](TraceJob& job) {
        columns.read(csv, job);
        job.limit = positive_seconds(csv, limit);
        if (job.run > job.limit) csv.refuse(columns.run(), "is beyond the job's own limit req_s");
        const auto next = OwnerIndex{static_cast<std::uint32_t>(trace.owners.size())};
        const auto [known, is_new] = users.try_emplace(csv.text(user), next);
        if (is_new) trace.owners.push_back(Owner{csv.text(user), 0});
        job.owner = known->second;
    });
    return finish(csv, std::move(trace));
}

Result<Trace> read_fairness(const NamedText& jobs, Duration start_cost) {
    CsvReader csv(jobs.name, jobs.text);
    const JobColumns columns(csv, "job_id", "num_gpu", "exclusive_s");
    const auto declared = csv.column("declared_s");
    Trace trace;
    trace.jobs = read_rows<TraceJob>(csv, [&](TraceJob& job) {
        columns.read(csv, job);
        job.limit = positive_seconds(csv, declared);
        job.start_cost = job.restart_cost = start_cost;
    });
    return finish(csv, std::move(trace));
}

Result<Trace> read_virtual_clusters(const NamedText& jobs, const NamedText& quotas,
                                    Duration restart_cost) {
    Trace trace;
    auto owners = read_quotas(quotas);
    if (!owners) return owners.error();
    trace.owners = std::move(*owners);
    CsvReader csv(jobs.name, jobs.text);
    const JobColumns columns(csv, "job_id", "num_gpu", "run_s");
    const auto owner = csv.column("vc");
    trace.jobs = read_rows<TraceJob>(csv, [&](TraceJob& job) {
        columns.read(csv, job);
        job.restart_cost = restart_cost;
        for (std::uint32_t i = 0; i < trace.owners.size(); ++i) {
            if (trace.owners[i].name == csv.text(owner)) job.owner = OwnerIndex{i};
        }
        if (!job.owner.exists()) csv.refuse(owner, "has no line in " + quotas.name);
    });
    return finish(csv, std::move(trace));
}

Result<std::vector<Trace>> read_elastic(const NamedText& jobs, const NamedText& epochs,
                                        Duration start_cost) {
    const auto curves = read_curves(epochs);
    if (!curves) return curves.error();
    CsvReader csv(jobs.name, jobs.text);
    const JobColumns columns(csv, "job", "rigid_gpus", "rigid_run_s");
    const auto workload = csv.column("workload");
    const auto app = csv.column("app");
    std::map<std::int64_t, Trace> workloads;
    while (csv.next_row()) {
        TraceJob job;
        columns.read(csv, job);
        job.start_cost = job.restart_cost = start_cost;
        for (std::uint32_t i = 0; i < curves->size(); ++i) {
            if ((*curves)[i].name == csv.text(app)) job.curve = CurveIndex{i};
        }
        if (!job.curve.exists()) {
            csv.refuse(app, "has no line in " + epochs.name);
        } else if (const Curve& curve = (*curves)[job.curve.value()]; !curve.size_min()) {
            csv.refuse(app, "has no number of GPUs that all of its epochs allow: in " +
                                epochs.name +
                                " none that its epochs before allow is left in epoch " +
                                std::to_string(epoch_without_size(curve)));
        }
        workloads[csv.integer(workload, 0, kGpusMax)].jobs.push_back(std::move(job));
    }
    if (csv.error()) return *csv.error();
    std::vector<Trace> traces;
    for (auto& [number, trace] : workloads) {
        sort_by_submit(trace);
        trace.curves = *curves;
        traces.push_back(std::move(trace));
    }
    return traces;
}

}  // namespace gpuctl::replay
