// A job that takes several GPU models finds room on none of them: each is told with its numbers, in
// the order in which they are tried (docs/adr/0021).

#include <algorithm>

#include "scheduler/plan/explain_parts.hpp"

namespace gpuctl::explain_parts {
namespace {

// What one model lacks first.
const NodeSurvey::OfNeed* short_of(const NodeSurvey& seen, std::int64_t ranks) {
    const auto found = std::find_if(
        seen.needs.begin(), seen.needs.end(),
        [ranks](const NodeSurvey::OfNeed& of) { return of.ranks_fitting_so_far < ranks; });
    return found == seen.needs.end() ? nullptr : &*found;
}

std::string told(const std::string& model, const NodeSurvey& seen, std::int64_t ranks,
                 bool has_rest) {
    if (seen.nodes_pool == 0) return model + " is on no node";
    if (seen.nodes_matching == 0) return model + " is on no node that it may use";
    return model + " has " + gpus(seen.gpus_free) + " of " + gpus_noun(seen.gpus_total) +
           (has_rest ? " wholly free, at most " : " free, at most ") +
           gpus(seen.gpus_free_on_one_node) + " on one node, room for " +
           std::to_string(seen.ranks_fitting) + " of " + count(ranks, "rank", "ranks") +
           (seen.ranks_fitting_empty < ranks ? ", even empty too little" : "");
}

}  // namespace

std::optional<Explanation> explain_models(const ClusterState& state, const JobRow& job,
                                          const Group& group, Explanation room) {
    const Capacity& capacity = state.capacity();
    const Shape& shape = state.shapes().at(group.shape);
    const PlacementRules& rules = state.shapes().constraint(shape.constraint).rules;
    std::vector<std::string_view> beside;
    if (!job.pods.empty()) beside = state.models_of_gang(job.pods.front());
    bool fits_once = false;  // were its nodes empty
    Reason reason = Reason::never_fits;
    Column lacking = shape.index_column;
    const bool wants_whole = capacity.kind(shape.index_column) == ColumnKind::gpu;
    const bool has_rest = wants_whole && has_rests(capacity, job.pool, shape.index_column);
    std::string each;
    for (const std::string& model : gpu_models(rules)) {
        if (!is_model_among(beside, model)) continue;
        const NodeSurvey seen = survey(state, job.pool, shape, group.ranks, group.barred, model);
        if (seen.ranks_fitting >= group.ranks) return std::nullopt;
        each += (each.empty() ? "" : "; ") + told(model, seen, group.ranks, has_rest);
        if (fits_once || seen.ranks_fitting_empty < group.ranks) continue;
        fits_once = true;
        const NodeSurvey::OfNeed* first = short_of(seen, group.ranks);
        if (first != nullptr) lacking = first->need.column;
        reason = reason_of(capacity.kind(lacking));
    }
    room.reason = reason;
    room.subject = fits_once ? capacity.resource(lacking) : state.pool(job.pool).name;
    // Enough of them, but of different models.
    const auto figure = [&room](std::string_view name) {
        for (const Figure& one : room.figures) {
            if (one.name == name) return one.value;
        }
        return std::int64_t{0};
    };
    if (reason == Reason::gpu_insufficient && figure("gpus_free") >= figure("gpus_needed")) {
        room.reason = group.ranks == 1 ? Reason::gpu_fragmented : Reason::nodes_insufficient;
    }
    room.sentence += beside.empty() ? "; of the models it takes " : "; of the model of its others ";
    room.sentence += each;
    return room;
}

}  // namespace gpuctl::explain_parts
