#include "policy_document/check_parts.hpp"

#include "wire/job/job_rules.hpp"

namespace gpuctl::config {

wire::Field place_in(const wire::Field& field, std::string_view key) {
    wire::Fields fields{field};
    const wire::Field found = fields.find(key);
    return found ? found : field;
}

void check_label(const wire::Field& field, std::string_view key, const std::string& value) {
    if (value.empty()) return;
    if (const std::string problem = wire::problem_with_label(value); !problem.empty()) {
        place_in(field, key).error("\"" + value + "\" " + problem);
    }
}

}  // namespace gpuctl::config
