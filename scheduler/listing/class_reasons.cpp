#include "scheduler/listing/class_reasons.hpp"

#include "scheduler/plan/explain/explain.hpp"

namespace gpuctl {
namespace {

// The cost of examining the nodes of a pool for one class, and of the explanation.
constexpr std::int64_t kExplanationNs = 5'000;
constexpr std::int64_t kNodeNs = 10;
constexpr std::size_t kByThemselvesMost = 256;

}  // namespace

JobId ClassReasons::spokesman(const ClusterState& state, JobId job) {
    const JobRow& row = state.job(job);
    const PoolRow& pool = state.pool(row.pool);
    if (pool.is_reserved_for(job)) return job;
    for (const WaitingJob& other : state.waiting.book().at(row.waiting.in_class).jobs) {
        if (other.job == job || !pool.is_reserved_for(other.job)) return other.job;
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
        if (!allowance_.spend(kExplanationNs + nodes * kNodeNs, state.now())) return known.reason;
    }
    state.waiting.read_readiness(job, ready_);
    const std::vector<Explanation> all = blockers(state, job, ready_, &eligibility_);
    known = {serial, revision, second, all.empty() ? Reason::none : all.front().reason};
    return known.reason;
}

std::optional<Explanation> ClassReasons::first_blocker(const ClusterState& state, JobId job) {
    state.waiting.read_readiness(job, ready_);
    std::vector<Explanation> all = explain(state, job, ready_, &eligibility_);
    if (all.empty()) return std::nullopt;
    return std::move(all.front());
}

Reason ClassReasons::of(const ClusterState& state, JobId job, std::uint64_t revision) {
    const JobRow& row = state.job(job);
    const JobId first = row.waiting.in_class.exists() ? spokesman(state, job) : job;
    const bool is_alone =
        !row.waiting.in_class.exists() || state.pool(row.pool).is_reserved_for(first);
    if (is_alone) {
        if (by_itself_.size() > kByThemselvesMost) by_itself_.clear();
        return read(state, job, row.arrival, revision, by_itself_[job]);
    }
    const ClassId id = row.waiting.in_class;
    if (classes_.size() <= id.value()) classes_.resize(id.value() + 1);
    return read(state, first, state.waiting.book().at(id).serial, revision, classes_[id.value()]);
}

}  // namespace gpuctl
