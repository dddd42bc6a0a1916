// Explains why an elastic job has its number of ranks.

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {
namespace {

// The limit that blocks this many more ranks like `like`; none: no limit does.
LimitHit hit_by(const ClusterState& state, const JobRow& job, const Shape& like,
                std::int32_t more) {
    Load ask;
    ask.add(like.load(), more);
    LimitHit hit = state.accounts.limit_hit(job, ask);
    if (hit.exists()) return hit;
    visit_model_limits(state, job, ask, [&hit](const LimitHit& of_model) {
        if (!of_model.leaves_others) hit = of_model;
    });
    return hit;
}

// How far the job may grow towards `target` before a limit blocks it, and the limit.
struct Reach {
    std::int32_t ranks = 0;
    LimitHit hit;  // none: `target` is within all limits
};

// A larger number of ranks is never within more limits, so a binary search finds the largest number
// within all limits.
Reach reach_of(const ClusterState& state, const JobRow& job, std::int32_t there,
               std::int32_t target) {
    const Shape& like = state.shape_of(job.pods.front());
    Reach reach{target, hit_by(state, job, like, target - there)};
    if (!reach.hit.exists()) return reach;
    std::int32_t too_many = target;
    reach.ranks = there;
    while (too_many - reach.ranks > 1) {
        const std::int32_t middle = reach.ranks + (too_many - reach.ranks) / 2;
        const LimitHit hit = hit_by(state, job, like, middle - there);
        if (!hit.exists()) {
            reach.ranks = middle;
        } else {
            too_many = middle;
            reach.hit = hit;
        }
    }
    return reach;
}

fact::Limit limit_of(const ClusterState& state, const JobRow& job, const LimitHit& hit) {
    const Explanation found = explain_parts::explain_limit(state, job, hit);
    if (const auto* budget = std::get_if<fact::BudgetSpent>(&found.facts.front())) return *budget;
    return std::get<fact::LimitReached>(found.facts.front());
}

// What blocks one more rank like `like`; nothing: it is unknown.
std::optional<Fact> obstacle(const ClusterState& state, const JobRow& job, PodId like) {
    const Shape& shape = state.shape_of(like);
    const LimitHit hit = hit_by(state, job, shape, 1);
    if (hit.exists()) return fact::GrowthStopped{limit_of(state, job, hit)};
    const WindowSet closed = state.maintenance.calendar().active & ~reserved_for(state, job);
    const NodeSurvey found = survey(state, job.pool, shape, 1, closed);
    if (found.ranks_fitting > 0) return std::nullopt;
    return fact::GrowthWithoutRoom{state.pool(job.pool).name, found.gpus_free, shape.gpus.value()};
}

// Speed with this number of ranks, in tenths of the speed with the fewest ranks.
std::int64_t speed_tenths(const JobSpec& spec, std::int32_t ranks) {
    return speed_of(spec.speeds, ranks) / (kSpeedOfOne / 10);
}

// The next faster size of a job that states its speed by size.
std::optional<std::int32_t> next_size(const JobSpec& spec, std::int32_t ranks) {
    for (const SizeSpeed& size : spec.speeds) {
        if (size.ranks > ranks && speed_of(spec.speeds, ranks) < size.milli) return size.ranks;
    }
    return std::nullopt;
}

// Adds the size that the job would grow to, and what the growth waits for.
void add_growth(const ClusterState& state, const JobRow& job, std::int32_t there,
                std::vector<Fact>& facts) {
    const JobSpec& spec = job.record->spec;
    const bool is_paced = !spec.speeds.empty();
    const std::optional<std::int32_t> next =
        is_paced ? next_size(spec, there) : std::optional{spec.replicas_max};
    if (!next) {
        facts.push_back(fact::SizeStays{fact::SizeFixed::no_faster});
        return;
    }
    fact::GrowthAhead ahead{*next, is_paced ? speed_tenths(spec, *next) : 0, {}};
    if (!is_paced) {
        const Reach reach = reach_of(state, job, there, spec.replicas_max);
        if (reach.ranks > there && reach.ranks < spec.replicas_max) {
            ahead.ranks = reach.ranks;
            ahead.ended_by.push_back(limit_of(state, job, reach.hit));
        }
    }
    facts.push_back(std::move(ahead));
    if (auto found = obstacle(state, job, job.pods.front())) {
        facts.push_back(std::move(*found));
        return;
    }
    const Instant from = std::max(job.elastic.grow_from, job.elastic.not_before);
    if (from > state.now()) {
        facts.push_back(fact::GrowthDelayed{from - state.now()});
    } else {
        facts.push_back(fact::GrowthUndecided{is_paced});
    }
}

}  // namespace

std::vector<Fact> explain_size(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    const ElasticRanks ranks = state.elastic.ranks_of(job);
    if (ranks.there == 0 || !job.pool.exists() || !job.queue.exists()) return {};
    const JobSpec& spec = job.record->spec;
    const ElasticRow& elastic = job.elastic;
    const bool is_paced = !spec.speeds.empty();
    std::vector<Fact> out = {fact::ElasticSize{ranks.there, spec.replicas_min, spec.replicas_max,
                                               is_paced ? speed_tenths(spec, ranks.there) : 0}};
    if (ranks.has_surplus) {
        out.push_back(fact::SizeShrinks{elastic.why});
    } else if (ranks.is_ending) {
        out.push_back(fact::SizeStays{fact::SizeFixed::some_ended});
    } else if (elastic.deferred_from > 0) {
        out.push_back(fact::SizeWaitsForRoom{elastic.wanted - ranks.there});
    } else if (elastic.wanted > ranks.there) {
        out.push_back(fact::SizeGrows{elastic.wanted, elastic.why});
    } else {
        if (is_paced && elastic.why) out.push_back(fact::SizeChangedLast{*elastic.why});
        if (ranks.there >= spec.replicas_max) {
            out.push_back(fact::SizeStays{fact::SizeFixed::at_maximum});
        } else {
            add_growth(state, job, ranks.there, out);
        }
    }
    return out;
}

}  // namespace gpuctl
