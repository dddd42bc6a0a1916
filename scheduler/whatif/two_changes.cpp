// For a job with two blockers, a limit and a lack of room: neither change alone helps, so both are
// tried together.

#include <algorithm>

#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

std::optional<Remedy> both(const OtherChange& limits, const Levels& levels,
                           std::optional<Remedy> other) {
    if (!other) return std::nullopt;
    Remedy higher{ChangeKind::higher_limits, "", 0, {change::HigherLimits{limits.limits}}};
    higher.levels = levels;
    Remedy out{ChangeKind::two_changes, other->subject, other->amount, other->facts};
    out.stops = other->stops;
    out.parts = {std::move(higher), std::move(*other)};
    return out;
}

// Levels of `limits` if a job has ended: less is held then, so limits need not be raised as far.
Levels without(const std::vector<LimitInWay>& limits, const std::vector<LimitInWay>& left) {
    Levels out;
    for (const LimitInWay& limit : limits) {
        const auto same = std::find_if(left.begin(), left.end(), [&](const LimitInWay& one) {
            return one.hit.kind == limit.hit.kind && one.hit.queue == limit.hit.queue &&
                   one.hit.model == limit.hit.model;
        });
        const bool is_left = same != left.end();
        out.push_back(is_left ? -((limit.least - same->least) / limit.unit) : kNotRaised);
    }
    return out;
}

OtherChange raised_to(const Question& question, const std::vector<LimitInWay>& limits,
                      const Levels& levels) {
    RaisedLimits raised = raise(*question.state(), question.id(), limits, levels);
    return {
        [policy = std::move(raised.policy)](Trial& trial) { trial.happen(PolicyChanged{policy}); },
        std::move(raised.limits)};
}

std::optional<Remedy> lower(Question& question, const std::vector<LimitInWay>& limits,
                            const std::string& job) {
    const std::optional<Change> end = end_of(question, job);
    std::optional<Trial> trial = question.begin_trial();
    if (!end || !trial) return std::nullopt;
    (*end)(*trial);
    const ClusterState& after = trial->state();
    const JobId id = after.jobs.find_job(question.job().key);
    if (!id.exists()) return std::nullopt;
    const Levels levels = without(limits, limits_in_way(after, id));
    const OtherChange other_change = raised_to(question, limits, levels);
    if (other_change.limits.empty()) return std::nullopt;
    return both(other_change, levels, try_job_ends(question, other_change, job));
}

}  // namespace

std::optional<Remedy> try_two_changes(Question& question) {
    const ClusterState& state = *question.state();
    const std::vector<LimitInWay> limits = limits_in_way(state, question.id());
    if (limits.empty()) return std::nullopt;
    const Levels levels(limits.size(), 0);
    const OtherChange other_change = raised_to(question, limits, levels);
    if (auto found = both(other_change, levels, try_job_ends(question, other_change))) {
        auto less = lower(question, limits, found->parts.back().subject);
        return less ? less : found;
    }
    return both(other_change, levels, try_more_nodes(question, other_change));
}

}  // namespace gpuctl::whatif
