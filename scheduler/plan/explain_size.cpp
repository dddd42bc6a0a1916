// Why an elastic job has as many ranks as it has.

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {
namespace {

// What stops so many more ranks like `like`; none: no limit does.
LimitHit hit_by(const ClusterState& state, const JobRow& job, const Shape& like,
                std::int32_t more) {
    Load ask;
    ask.add({like.gpus, like.cpu, like.memory}, more);
    LimitHit hit = state.limit_hit(job, ask);
    if (hit.kind != LimitKind::none) return hit;
    visit_model_limits(state, job, ask, [&hit](const LimitHit& of_model) {
        if (!of_model.leaves_others) hit = of_model;
    });
    return hit;
}

// How far it may grow towards `target` before a limit ends it, and which one.
struct Reach {
    std::int32_t ranks = 0;
    LimitHit hit;  // none: `target` is within all limits
};

// More never crosses fewer limits, so the last number that is within all is halved towards.
Reach reach_of(const ClusterState& state, const JobRow& job, std::int32_t there,
               std::int32_t target) {
    const Shape& like = state.shapes().at(state.pod(job.pods.front()).shape);
    Reach reach{target, hit_by(state, job, like, target - there)};
    if (reach.hit.kind == LimitKind::none) return reach;
    std::int32_t too_many = target;
    reach.ranks = there;
    while (too_many - reach.ranks > 1) {
        const std::int32_t middle = reach.ranks + (too_many - reach.ranks) / 2;
        const LimitHit hit = hit_by(state, job, like, middle - there);
        if (hit.kind == LimitKind::none) {
            reach.ranks = middle;
        } else {
            too_many = middle;
            reach.hit = hit;
        }
    }
    return reach;
}

// What keeps one more rank like `like` from being placed; empty: nothing that is known here.
std::string obstacle(const ClusterState& state, const JobRow& job, PodId like) {
    const Shape& shape = state.shapes().at(state.pod(like).shape);
    const LimitHit hit = hit_by(state, job, shape, 1);
    if (hit.kind != LimitKind::none) {
        return explain_parts::explain_limit(state, job, hit).sentence;
    }
    const WindowSet closed = state.calendar().active & ~reserved_for(state, job);
    const NodeSurvey found = survey(state, job.pool, shape, 1, closed);
    if (found.ranks_fitting > 0) return "";
    return "pool " + state.pool(job.pool).name + " has " +
           explain_parts::gpus_noun(found.gpus_free) +
           " free that it may use, and no node has room " + "for a rank of " +
           explain_parts::gpus_noun(shape.gpus.value());
}

std::string times(const JobSpec& spec, std::int32_t ranks) {
    const std::int32_t tenths = speed_of(spec.speeds, ranks) / (kSpeedOfOne / 10);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " times as fast";
}

// Why it has no more, of one that says how fast it is by size.
std::string next_size(const JobSpec& spec, std::int32_t ranks) {
    for (const SizeSpeed& size : spec.speeds) {
        if (size.ranks > ranks && speed_of(spec.speeds, ranks) < size.milli) {
            return std::to_string(size.ranks) + ", " + times(spec, size.ranks);
        }
    }
    return "";
}

// To how many ranks it would grow, and what it waits for.
std::string growth_ahead(const ClusterState& state, const JobRow& job, std::int32_t there) {
    const JobSpec& spec = job.record->spec;
    const bool is_paced = !spec.speeds.empty();
    std::string text = is_paced ? next_size(spec, there) : std::to_string(spec.replicas_max);
    if (text.empty()) return ", and would be no faster with more";
    if (!is_paced) {
        const Reach reach = reach_of(state, job, there, spec.replicas_max);
        if (reach.ranks > there && reach.ranks < spec.replicas_max) {
            text = std::to_string(reach.ranks) + " and no further (" +
                   explain_parts::explain_limit(state, job, reach.hit).sentence + ")";
        }
    }
    text = "; it would grow to " + text;
    const std::string why = obstacle(state, job, job.pods.front());
    if (!why.empty()) return text + ": " + why;
    const Instant from = std::max(job.elastic.grow_from, job.elastic.not_before);
    if (from > state.now()) {
        return text + ", not before " + explain_parts::span(from - state.now()) + " from now";
    }
    if (is_paced) return text + ", where that pays and others do not gain more by the room";
    return text + " when what is idle is kept for nobody who waits";
}

}  // namespace

std::string explain_size(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    const ElasticRanks ranks = state.ranks_of(job);
    if (ranks.there == 0 || !job.pool.exists() || !job.queue.exists()) return "";
    const JobSpec& spec = job.record->spec;
    const ElasticRow& elastic = job.elastic;
    const bool is_paced = !spec.speeds.empty();
    std::string text = "it has " + explain_parts::ranks_text(ranks.there) + " of " +
                       std::to_string(spec.replicas_min) + " to " +
                       std::to_string(spec.replicas_max);
    if (is_paced) {
        text += ", " + times(spec, ranks.there) + " as with " + std::to_string(spec.replicas_min);
    }
    if (ranks.has_surplus) return text + ", and gives up what it had more: " + elastic.why;
    if (ranks.is_ending) return text + ", and keeps them: some have ended";
    if (elastic.deferred_from > 0) {
        const std::int32_t more = elastic.wanted - ranks.there;
        return text + ", and " + explain_parts::ranks_text(more) +
               (more == 1 ? " more waits" : " more wait") + " for the room of those who leave";
    }
    if (elastic.wanted > ranks.there) {
        return text + ", and is growing to " + std::to_string(elastic.wanted) + ": " + elastic.why;
    }
    if (is_paced && !elastic.why.empty()) text += " (the last change: " + elastic.why + ")";
    if (ranks.there >= spec.replicas_max) return text + ", as many as it may have";
    return text + growth_ahead(state, job, ranks.there);
}

}  // namespace gpuctl
