// placement: {topology: {required, preferred}, spread} of a job document (docs/adr/0019).

#include "wire/job/job_sections.hpp"

namespace gpuctl::wire {
namespace {

TopologyLevel read_level(const Field& field, const char* name) {
    const auto text = field.word(Empty::is_warned);
    if (!text || *text == to_string(TopologyLevel::none)) return TopologyLevel::none;
    for (const TopologyLevel level :
         {TopologyLevel::host, TopologyLevel::nvlink, TopologyLevel::rack, TopologyLevel::block}) {
        if (*text == to_string(level)) return level;
    }
    field.error(std::string{name} + " must be host, nvlink, rack, block or none, not \"" + *text +
                "\"");
    return TopologyLevel::none;
}

}  // namespace

void read_placement(JobReader& reader, const Field& section) {
    TopologyRules& rules = reader.spec.topology;
    const bool has_ranks = reader.spec.kind == JobKind::training && reader.spec.replicas_max > 1;
    if (!section) {
        if (has_ranks) rules.preferred = reader.options.preferred_of_ranks;
        return;
    }
    bool is_preference_written = false;
    Fields fields{section};
    if (const Field topology = fields.find("topology")) {
        Fields levels{topology};
        rules.required = read_level(levels.find("required"), "placement.topology.required");
        const Field preferred = levels.find("preferred");
        is_preference_written = preferred.is_written();
        rules.preferred = read_level(preferred, "placement.topology.preferred");
        reader.finish(levels);
    }
    rules.spread = read_level(fields.find("spread"), "placement.spread");
    reader.finish(fields);
    // A document that has rules of its own gets none besides them.
    if (has_ranks && !is_preference_written && !rules.any()) {
        rules.preferred = reader.options.preferred_of_ranks;
    }
    if (const std::string problem = problem_with(rules); !problem.empty()) {
        section.error("placement is not possible: " + problem);
    }
    const bool is_strict =
        rules.required != TopologyLevel::none || rules.spread != TopologyLevel::none;
    if (is_strict && !reader.spec.gpu_types_next.empty()) {
        section.error(
            "placement.topology.required and placement.spread are not possible together with "
            "several models in resources.gpuType; preferred is");
    }
    // Its replicas are placed one by one: the first could choose a rack without room for the rest.
    if (reader.spec.kind != JobKind::training && rules.required != TopologyLevel::none) {
        section.error(
            "placement.topology.required is for training jobs, whose ranks start "
            "together; preferred and spread are for all");
    }
}

}  // namespace gpuctl::wire
