// Explains that a job which accepts several GPU models finds room on none of them. Each model is
// reported with its numbers, in the order in which the models are tried (docs/adr/0021).

#include <algorithm>

#include "scheduler/plan/explain/explain_parts.hpp"

namespace gpuctl::explain_parts {
namespace {

// The first need that the nodes of a model do not meet.
const NodeSurvey::OfNeed* short_of(const NodeSurvey& seen, std::int64_t ranks) {
    const auto found = std::find_if(
        seen.needs.begin(), seen.needs.end(),
        [ranks](const NodeSurvey::OfNeed& of) { return of.ranks_fitting_so_far < ranks; });
    return found == seen.needs.end() ? nullptr : &*found;
}

}  // namespace

std::optional<Explanation> explain_models(const ClusterState& state, const JobRow& job,
                                          const Group& group, Explanation room) {
    const Capacity& capacity = state.nodes.capacity();
    const Shape& shape = state.shape_of(group.shape);
    const PlacementRules& rules = state.rules_of(shape);
    std::vector<std::string_view> gang_models;
    if (!job.pods.empty()) gang_models = state.gangs.models_of_gang(job.pods.front());
    bool fits_once = false;  // the request fits if the nodes of the model are empty
    Reason reason = Reason::never_fits;
    Column lacking = shape.index_column;
    const bool wants_whole = capacity.kind(shape.index_column) == ColumnKind::gpu;
    fact::ModelsShort models;
    models.is_bound_to_gang = !gang_models.empty();
    models.has_fractions = wants_whole && has_rests(capacity, job.pool, shape.index_column);
    models.ranks = group.ranks;
    for (const std::string& model : gpu_models(rules)) {
        if (!is_model_among(gang_models, model)) continue;
        const NodeSurvey seen = survey(state, job.pool, shape, group.ranks, group.barred, model);
        if (seen.ranks_fitting >= group.ranks) return std::nullopt;
        models.models.push_back({.model = model,
                                 .nodes = seen.nodes_pool,
                                 .nodes_usable = seen.nodes_matching,
                                 .gpus_free = seen.gpus_free,
                                 .gpus_total = seen.gpus_total,
                                 .gpus_most = seen.gpus_free_on_one_node,
                                 .ranks_fitting = seen.ranks_fitting,
                                 .ranks_fitting_empty = seen.ranks_fitting_empty});
        if (fits_once || seen.ranks_fitting_empty < group.ranks) continue;
        fits_once = true;
        const NodeSurvey::OfNeed* first = short_of(seen, group.ranks);
        if (first != nullptr) lacking = first->need.column;
        reason = reason_of(capacity.kind(lacking));
    }
    room.reason = reason;
    room.subject = fits_once ? capacity.resource(lacking) : state.pool(job.pool).name;
    // The sum over all models is sufficient, but no single model is.
    const auto figure = [&room](std::string_view name) {
        for (const Figure& one : room.figures) {
            if (one.name == name) return one.value;
        }
        return std::int64_t{0};
    };
    if (reason == Reason::gpu_insufficient && figure("gpus_free") >= figure("gpus_needed")) {
        room.reason = group.ranks == 1 ? Reason::gpu_fragmented : Reason::nodes_insufficient;
    }
    room.facts.push_back(std::move(models));
    return room;
}

}  // namespace gpuctl::explain_parts
