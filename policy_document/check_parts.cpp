#include "policy_document/check_parts.hpp"

#include "wire/job/job_rules.hpp"

namespace gpuctl::config {

wire::Field place_in(const wire::Field& field, std::string_view key) {
    wire::Fields fields{field};
    const wire::Field found = fields.find(key);
    return found ? found : field;
}

wire::Field member_of(const wire::Field& map, std::string_view key) {
    if (!map || !map.json().is_object()) return {};
    return wire::Fields{map}.find(key);
}

std::vector<wire::Field> elements_of(const wire::Field& list) {
    if (!list || !list.json().is_array()) return {};
    return list.elements();
}

void check_label(const wire::Field& field, std::string_view key, const std::string& value) {
    if (value.empty()) return;
    if (const std::string problem = wire::problem_with_label(value); !problem.empty()) {
        place_in(field, key).error("\"" + value + "\" " + problem);
    }
}

}  // namespace gpuctl::config
