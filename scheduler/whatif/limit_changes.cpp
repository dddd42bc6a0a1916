// What whoever sets the limits could do: raise those in the way, as far as the job needs; where
// others wait before it under the same limits, as far as they and it need.

#include <algorithm>
#include <numeric>
#include <set>

#include "scheduler/state/limits.hpp"
#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

// What has to fit: a gang's missing ranks, or one pod.
Load asked(const ClusterState& state, const Readiness& ready) {
    const std::size_t pods =
        ready.all_or_nothing ? static_cast<std::size_t>(ready.ranks_needed) : 1;
    Load load;
    for (std::size_t i = 0; i < std::min(pods, ready.pods.size()); ++i) {
        const Shape& shape = state.shapes().at(state.pod(ready.pods[i]).shape);
        load.gpus += shape.gpus;
        load.cpu += shape.cpu;
        load.memory += shape.memory;
    }
    return load;
}

// What a job that waits would hold of a limit; nothing of those that it does not lie under.
class Demand {
public:
    Demand(const ClusterState& state, const JobRow& own, const LimitHit& hit)
        : state_(state), own_(own), hit_(hit) {}
    // Of everybody else who waits.
    [[nodiscard]] std::int64_t of_others() const {
        std::int64_t sum = 0;
        Readiness ready;
        for (const auto& [key, id] : state_.jobs_by_key()) {
            const JobRow& job = state_.job(id);
            if (key == own_.key || !lies_under(job)) continue;
            state_.read_readiness(id, ready);
            if (ready.hold == Reason::none && !ready.pods.empty()) sum += of(job, ready);
        }
        return sum;
    }
    // Of which whatever its pods hold or would hold is a whole number: no amount between two of
    // them lets anybody in whom the smaller does not.
    [[nodiscard]] std::int64_t grain() const {
        std::int64_t grain = 0;
        std::set<ShapeId> seen;
        for (const auto& [key, id] : state_.jobs_by_key()) {
            const JobRow& job = state_.job(id);
            if (!lies_under(job)) continue;
            for (const PodId pod : job.pods) {
                if (!seen.insert(state_.pod(pod).shape).second) continue;
                grain = std::gcd(grain, of(job, load_of(state_, {pod})));
            }
        }
        return grain;
    }

private:
    [[nodiscard]] bool lies_under(const JobRow& job) const {
        if (!hit_.queue.exists()) {
            const bool in_pool = hit_.kind == LimitKind::tenant_pool_gpus || is_budget(hit_.kind);
            return job.tenant == own_.tenant && (!in_pool || job.pool == own_.pool);
        }
        QueueId id = job.queue;
        while (id.exists() && id != hit_.queue) id = state_.queue(id).parent;
        return id.exists();
    }
    [[nodiscard]] std::int64_t of(const JobRow& job, const Readiness& ready) const {
        return of(job, ready.all_or_nothing ? asked(state_, ready) : load_of(state_, ready.pods));
    }
    [[nodiscard]] std::int64_t of(const JobRow& job, const Load& load) const {
        switch (hit_.kind) {
            case LimitKind::queue_jobs:
                return job.pods_held == 0 ? 1 : 0;
            case LimitKind::queue_gpus_per_job:
                return 0;
            case LimitKind::tenant_cpu:
                return load.cpu.value();
            case LimitKind::tenant_memory:
                return load.memory.value();
            case LimitKind::queue_budget:
                return time_of(state_.budgets().of(hit_.queue), job, load);
            case LimitKind::tenant_budget:
                return time_of(state_.budgets().of(own_.tenant, own_.pool), job, load);
            default:
                return load.gpus.value();
        }
    }
    [[nodiscard]] std::int64_t time_of(const Budget* budget, const JobRow& job,
                                       const Load& load) const {
        if (budget == nullptr) return 0;
        return budget->spending.needed(load.gpus, job.run_time_max, state_.now()).value();
    }

    const ClusterState& state_;
    const JobRow& own_;
    const LimitHit& hit_;
};

// The least by which raising a limit may make a difference, and not less than a file can hold.
std::int64_t unit_of(LimitKind kind, const Demand& demand) {
    constexpr std::int64_t kMemoryLeast = std::int64_t{1} << 20;
    switch (kind) {
        case LimitKind::queue_jobs:
        case LimitKind::queue_gpus_per_job:
            return 1;
        case LimitKind::queue_budget:
        case LimitKind::tenant_budget:
            return kGpuTimePerGpuHour / 1000;
        case LimitKind::tenant_memory:
            return std::max(demand.grain(), kMemoryLeast);
        default:
            return std::max<std::int64_t>(demand.grain(), 1);
    }
}

constexpr std::int64_t rounded_up(std::int64_t amount, std::int64_t unit) {
    return (amount + unit - 1) / unit * unit;
}

bool can_be_raised(LimitKind kind) {
    return kind != LimitKind::queue_lending && !is_of_pools(kind);  // what is kept is others'
}

LimitInWay in_way(const ClusterState& state, const JobRow& job, const LimitHit& hit) {
    const Demand demand{state, job, hit};
    LimitInWay out{hit, hit.held + hit.needed, unit_of(hit.kind, demand)};
    if (is_budget(hit.kind)) {
        // What was carried over from the period before is no part of what the policy says.
        const Budget* budget = hit.queue.exists() ? state.budgets().of(hit.queue)
                                                  : state.budgets().of(job.tenant, job.pool);
        out.least -= budget->spending.carried().value();
        out.least = rounded_up(out.least, out.unit);
    }
    out.levels = rounded_up(demand.of_others(), out.unit) / out.unit;
    // Nobody's going gives these back.
    const bool is_own = is_budget(hit.kind) || hit.kind == LimitKind::queue_gpus_per_job;
    if (!is_own) out.lowest = -((out.least - hit.limit - 1) / out.unit);
    return out;
}

}  // namespace

std::vector<LimitInWay> limits_in_way(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    Readiness ready;
    state.read_readiness(id, ready);
    const bool can_be_limited = ready.hold == Reason::none && !ready.pods.empty() &&
                                job.queue.exists() && job.priority < kSystemPriority;
    std::vector<LimitInWay> out;
    if (!can_be_limited) return out;
    // What is kept back for others is not the queue's to raise, but may be made room in by stopping
    // them: whether the rest is enough is tried.
    const auto take = [&](const LimitHit& hit) {
        if (can_be_raised(hit.kind)) out.push_back(in_way(state, job, hit));
        return true;
    };
    visit_limits(state, job, asked(state, ready), take);
    visit_model_limits(state, job, asked(state, ready), take);
    return out;
}

namespace {

// Of what waits under the limits, so many parts are let in; more may help less, as others may take
// the room, so that the small numbers are tried first.
constexpr std::int64_t kParts = 256;

Levels part(const std::vector<LimitInWay>& limits, std::int64_t parts) {
    Levels out;
    for (const LimitInWay& limit : limits) {
        out.push_back((limit.levels * parts + kParts - 1) / kParts);
    }
    return out;
}

std::optional<Levels> fewest_parts(const std::vector<LimitInWay>& limits,
                                   const std::function<bool(const Levels&)>& helps_with) {
    Levels tried;
    for (std::int64_t parts = 0; parts <= kParts; parts = std::max<std::int64_t>(2 * parts, 1)) {
        Levels levels = part(limits, parts);
        if (levels == tried) continue;
        if (helps_with(levels)) return levels;
        tried = std::move(levels);
    }
    return std::nullopt;
}

}  // namespace

std::optional<Remedy> try_higher_limits(Question& question) {
    const ClusterState& state = *question.state();
    const std::vector<LimitInWay> limits = limits_in_way(state, question.id());
    if (limits.empty()) return std::nullopt;
    const auto helps_with = [&](const Levels& levels) {
        return question.helps(Change{[&](Trial& trial) {
            trial.happen(PolicyChanged{raise(state, question.id(), limits, levels).policy});
        }});
    };
    std::optional<Levels> levels = fewest_parts(limits, helps_with);
    if (!levels) return std::nullopt;
    for (std::size_t i = 0; i < limits.size(); ++i) {
        const std::int64_t not_at_all = limits[i].lowest - 1;
        const std::int64_t low = limits[i].may_stay() ? not_at_all : limits[i].lowest;
        if ((*levels)[i] == low) continue;
        const auto with_this = [&](std::int64_t level) {
            Levels less = *levels;
            less[i] = level == not_at_all ? kNotRaised : level;
            return helps_with(less);
        };
        // Mostly nobody gives way, and one less is too little.
        if (!with_this((*levels)[i] - 1)) continue;
        if (const auto found = smallest(low, (*levels)[i] - 1, with_this)) {
            (*levels)[i] = *found == not_at_all ? kNotRaised : *found;
        }
    }
    const std::string said = raise(state, question.id(), limits, *levels).said;
    Remedy out{ChangeKind::higher_limits, "", 0, question.would_start() + " if " + said};
    out.levels = std::move(*levels);
    return with_stops(question, std::move(out));
}

}  // namespace gpuctl::whatif
