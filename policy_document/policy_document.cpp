#include "policy_document/policy_document.hpp"

#include "policy_document/expert_keys.hpp"
#include "policy_document/policy_keys.hpp"
#include "policy_document/refusal.hpp"
#include "policy_document/run_time_rules.hpp"

namespace gpuctl::config {
namespace {

std::vector<Key<PolicyDocument>> sections() {
    return {group<PolicyDocument>("policy", policy_keys(), "how GPUs are shared",
                                  [](const wire::Field& field, PolicyDocument& document) {
                                      check(document.policy, field);
                                  }),
            group<PolicyDocument>("expert", expert_policy_sections(),
                                  "numbers that a policy or a default sets")};
}

}  // namespace

Result<PolicyReading> parse_policy(std::string_view text, const std::string& name) {
    const Result<wire::Document> document = one_document(text, name);
    if (document.has_error()) return document.error();
    wire::Problems problems;
    PolicyReading reading;
    const wire::Field root{*document, &document->root, "", problems};
    (void)read_keys(root, reading.document, sections());
    check_run_time_rules(reading.document, root);
    problems.sort();
    name_keys(problems.errors);
    if (!problems.errors.empty()) return refused(name, std::move(problems.errors), {});
    for (const Detail& warning : problems.warnings) {
        reading.warnings.push_back(place_text(name, warning.place) + ": " + warning.message);
    }
    return reading;
}

}  // namespace gpuctl::config
