// Where two things are in the way at once: a limit, and room. Neither change alone helps, so both
// are tried together.

#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

std::optional<Remedy> both(const Beside& limits, const Levels& levels,
                           std::optional<Remedy> other) {
    if (!other) return std::nullopt;
    Remedy higher{ChangeKind::higher_limits, "", 0, limits.said};
    higher.levels = levels;
    Remedy out{ChangeKind::two_changes, other->subject, other->amount, other->sentence};
    out.stops = other->stops;
    out.parts = {std::move(higher), std::move(*other)};
    return out;
}

}  // namespace

std::optional<Remedy> try_two_changes(Question& question) {
    const ClusterState& state = *question.state();
    const std::vector<LimitInWay> limits = limits_in_way(state, question.id());
    if (limits.empty()) return std::nullopt;
    const Levels levels(limits.size(), 0);
    const RaisedLimits raised = raise(state, question.id(), limits, levels);
    const Beside beside{[&](Trial& trial) { trial.happen(PolicyChanged{raised.policy}); },
                        raised.said};
    if (auto found = both(beside, levels, try_job_ends(question, beside))) return found;
    return both(beside, levels, try_more_nodes(question, beside));
}

}  // namespace gpuctl::whatif
