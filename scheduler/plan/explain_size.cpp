// Why an elastic job has as many ranks as it has.

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {
namespace {

std::string ranks_text(std::int64_t ranks) { return explain_parts::count(ranks, "rank", "ranks"); }

// What keeps one more rank like `like` from being placed; empty: nothing that is known here.
std::string obstacle(const ClusterState& state, const JobRow& job, PodId like) {
    const Shape& shape = state.shapes().at(state.pod(like).shape);
    LimitHit hit = state.limit_hit(job, {shape.gpus, shape.cpu, shape.memory});
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

}  // namespace

std::string explain_size(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    const ClusterState::Ranks ranks = state.ranks_of(job);
    if (ranks.there == 0 || !job.pool.exists() || !job.queue.exists()) return "";
    const JobSpec& spec = job.record->spec;
    const ElasticRow& elastic = job.elastic;
    std::string text = "it has " + ranks_text(ranks.there) + " of " +
                       std::to_string(spec.replicas_min) + " to " +
                       std::to_string(spec.replicas_max);
    if (ranks.has_surplus) return text + ", and gives up what it had more: it was " + elastic.why;
    if (ranks.is_ending) return text + ", and keeps them: some have ended";
    if (elastic.wanted > ranks.there) {
        return text + ", and is growing to " + std::to_string(elastic.wanted) + ": " + elastic.why;
    }
    if (ranks.there >= spec.replicas_max) return text + ", as many as it may have";
    text += "; it would grow to " + std::to_string(spec.replicas_max);
    const std::string why = obstacle(state, job, job.pods.front());
    if (!why.empty()) return text + ": " + why;
    const Instant from = std::max(elastic.grow_from, elastic.not_before);
    if (from > state.now()) {
        return text + ", not before " + explain_parts::span(from - state.now()) + " from now";
    }
    return text + " when what is idle is kept for nobody who waits";
}

}  // namespace gpuctl
