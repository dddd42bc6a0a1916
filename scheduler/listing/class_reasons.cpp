#include "scheduler/listing/class_reasons.hpp"

#include "scheduler/plan/explain.hpp"

namespace gpuctl {
namespace {

// A survey of the nodes of its pool, and what is said of them.
constexpr std::int64_t kExplanationNs = 5'000;
constexpr std::int64_t kNodeNs = 10;
constexpr std::size_t kByThemselvesMost = 256;

}  // namespace

JobId ClassReasons::spokesman(const ClusterState& state, JobId job) {
    const JobRow& row = state.job(job);
    const PoolRow& pool = state.pool(row.pool);
    if (pool.keeps_for(job)) return job;
    for (const WaitingJob& other : state.book().at(row.waits_in).jobs) {
        if (other.job == job || !pool.keeps_for(other.job)) return other.job;
    }
    return job;
}

Reason ClassReasons::read(const ClusterState& state, JobId job, std::uint64_t serial,
                          std::uint64_t revision, Known& known) {
    const std::int64_t second = state.now().ms() / 1'000;
    const bool is_known = known.revision != 0 && known.serial == serial;
    if (is_known) {
        if (known.revision == revision && known.second == second) return known.reason;
        const PoolId pool = state.job(job).pool;
        const std::int64_t nodes = pool.exists() ? state.pool(pool).nodes : 0;
        if (!allowance_.take(kExplanationNs + nodes * kNodeNs, state.now())) return known.reason;
    }
    state.read_readiness(job, ready_);
    const std::vector<Explanation> all = blockers(state, job, ready_, &eligibility_);
    known = {serial, revision, second, all.empty() ? Reason::none : all.front().reason};
    return known.reason;
}

std::optional<Explanation> ClassReasons::first_blocker(const ClusterState& state, JobId job) {
    state.read_readiness(job, ready_);
    std::vector<Explanation> all = explain(state, job, ready_, &eligibility_);
    if (all.empty()) return std::nullopt;
    return std::move(all.front());
}

Reason ClassReasons::of(const ClusterState& state, JobId job, std::uint64_t revision) {
    const JobRow& row = state.job(job);
    const JobId first = row.waits_in.exists() ? spokesman(state, job) : job;
    const bool is_alone = !row.waits_in.exists() || state.pool(row.pool).keeps_for(first);
    if (is_alone) {
        if (by_itself_.size() > kByThemselvesMost) by_itself_.clear();
        return read(state, job, row.arrival, revision, by_itself_[job]);
    }
    const ClassId id = row.waits_in;
    if (classes_.size() <= id.value()) classes_.resize(id.value() + 1);
    return read(state, first, state.book().at(id).serial, revision, classes_[id.value()]);
}

}  // namespace gpuctl
