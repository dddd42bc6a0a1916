// Changes of limits by administrators: raises the blocking limits as far as the job needs. If jobs
// before it wait under the same limits, raises them as far as these jobs and the job need.

#include <algorithm>
#include <numeric>
#include <set>

#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

// The request that has to fit: that of all missing ranks of a gang, or of one pod.
Load asked(const ClusterState& state, const Readiness& ready) {
    const std::size_t pods =
        ready.all_or_nothing ? static_cast<std::size_t>(ready.ranks_needed) : 1;
    Load load;
    for (std::size_t i = 0; i < std::min(pods, ready.pods.size()); ++i) {
        const Shape& shape = state.shape_of(ready.pods[i]);
        load.gpus += shape.gpus;
        load.cpu += shape.cpu;
        load.memory += shape.memory;
    }
    return load;
}

// What a waiting job would hold under a limit; zero for a limit that does not apply to it.
class Demand {
public:
    Demand(const ClusterState& state, const JobRow& own, const LimitHit& hit)
        : state_(state), own_(own), hit_(hit) {}
    // The demand of all other waiting jobs.
    [[nodiscard]] std::int64_t of_others() const {
        std::int64_t sum = 0;
        Readiness ready;
        for (const auto& [key, id] : state_.jobs.jobs_by_key()) {
            const JobRow& job = state_.job(id);
            if (key == own_.key || !lies_under(job)) continue;
            state_.waiting.read_readiness(id, ready);
            if (ready.can_be_tried()) sum += of(job, ready);
        }
        return sum;
    }
    // The greatest common divisor of all amounts that pods hold or would hold. An amount between
    // two multiples admits no more than the smaller multiple.
    [[nodiscard]] std::int64_t grain() const {
        std::int64_t grain = 0;
        std::set<ShapeId> seen;
        for (const auto& [key, id] : state_.jobs.jobs_by_key()) {
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
            const bool in_pool = limit_row(hit_.kind).is_of_one_pool;
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
        if (limit_row(hit_.kind).freed == LimitFreed::by_nothing) return 0;
        switch (limit_row(hit_.kind).unit) {
            case LimitUnit::jobs:
                return job.holding.pods == 0 ? 1 : 0;
            case LimitUnit::cpu:
                return load.cpu.value();
            case LimitUnit::memory:
                return load.memory.value();
            case LimitUnit::gpu_time: {
                const Spending& spending = state_.accounts.budgets().of(own_, hit_).spending;
                return spending.needed(load.gpus, job.run.time_max, state_.now()).value();
            }
            case LimitUnit::gpus:
                break;
        }
        return load.gpus.value();
    }

    const ClusterState& state_;
    const JobRow& own_;
    const LimitHit& hit_;
};

// The smallest step of a limit that may make a difference and that a configuration file can state.
std::int64_t unit_of(const LimitRow& limit, const Demand& demand) {
    constexpr std::int64_t kMemoryLeast = std::int64_t{1} << 20;
    if (limit.freed == LimitFreed::by_nothing) return 1;
    switch (limit.unit) {
        case LimitUnit::jobs:
            return 1;
        case LimitUnit::gpu_time:
            return kGpuTimePerGpuHour / 1000;
        case LimitUnit::memory:
            return std::max(demand.grain(), kMemoryLeast);
        case LimitUnit::gpus:
        case LimitUnit::cpu:
            break;
    }
    return std::max<std::int64_t>(demand.grain(), 1);
}

constexpr std::int64_t rounded_up(std::int64_t amount, std::int64_t unit) {
    return (amount + unit - 1) / unit * unit;
}

LimitInWay in_way(const ClusterState& state, const JobRow& job, const LimitHit& hit) {
    const Demand demand{state, job, hit};
    LimitInWay out{hit, hit.held + hit.needed, unit_of(limit_row(hit.kind), demand)};
    if (is_budget(hit.kind)) {
        // The amount carried over from the previous period is not part of the policy.
        out.least -= state.accounts.budgets().of(job, hit).spending.carried().value();
        out.least = rounded_up(out.least, out.unit);
    }
    out.levels = rounded_up(demand.of_others(), out.unit) / out.unit;
    // Evictions do not release what other limits count.
    if (limit_row(hit.kind).freed == LimitFreed::by_other_jobs)
        out.lowest = -((out.least - hit.limit - 1) / out.unit);
    return out;
}

}  // namespace

std::vector<LimitInWay> limits_in_way(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    Readiness ready;
    state.waiting.read_readiness(id, ready);
    const bool can_be_limited =
        ready.can_be_tried() && job.queue.exists() && job.priority < kSystemPriority;
    std::vector<LimitInWay> out;
    if (!can_be_limited) return out;
    // What is reserved for other queues cannot be raised, but evictions may make room in it. A
    // trial shows whether raising the other limits is sufficient.
    const auto add_limit = [&](const LimitHit& hit) {
        if (limit_row(hit.kind).raise != nullptr) out.push_back(in_way(state, job, hit));
        return true;
    };
    visit_limits(state, job, asked(state, ready), add_limit);
    visit_model_limits(state, job, asked(state, ready), add_limit);
    return out;
}

namespace {

// The waiting demand is admitted step by step, in this many parts. A larger part may help less,
// because other jobs may take the room, so small numbers are tried first.
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
        // Usually no job has to be evicted for it, and one level less is not sufficient.
        if (!with_this((*levels)[i] - 1)) continue;
        if (const auto found = smallest(low, (*levels)[i] - 1, with_this)) {
            (*levels)[i] = *found == not_at_all ? kNotRaised : *found;
        }
    }
    RaisedLimits raised = raise(state, question.id(), limits, *levels);
    Remedy out{ChangeKind::higher_limits, "", 0,
               question.effect_of(change::HigherLimits{std::move(raised.limits)})};
    out.levels = std::move(*levels);
    return with_stops(question, std::move(out));
}

}  // namespace gpuctl::whatif
