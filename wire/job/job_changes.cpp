#include "wire/job/job_changes.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "wire/job/job_document.hpp"

namespace gpuctl::wire {
namespace {

using Json = nlohmann::ordered_json;

struct Rule {
    bool training;
    bool notebook;
    bool service;            // inference and compute
    std::string_view field;  // with all below it; the first rule that matches counts
};

// A Job's pod template is immutable, so of a training job only what its pods do not show can
// change; Deployments and StatefulSets replace their pods. Volume claims keep their size and class.
constexpr Rule kRules[] = {
    {false, false, false, "kind"},          {false, false, false, "job.name"},
    {false, false, false, "job.namespace"}, {true, true, true, "job.description"},
    {true, true, true, "version"},          {false, true, true, "storage.workdirs"},
    {false, false, false, "storage"},       {false, true, true, ""},
};

bool is_below(std::string_view field, std::string_view root) {
    if (root.empty() || field == root) return true;
    return field.starts_with(root) && field[root.size()] == '.';
}

// Lists are compared as a whole: users read and write them so.
void flatten(const Json& value, const std::string& path,
             std::vector<std::pair<std::string, std::string>>& out) {
    if (!value.is_object()) {
        out.emplace_back(path, value.dump(-1, ' ', false, Json::error_handler_t::replace));
        return;
    }
    for (const auto& [name, member] : value.items()) {
        flatten(member, path.empty() ? name : path + "." + name, out);
    }
}

}  // namespace

bool is_in_place(JobKind kind, std::string_view field) {
    for (const Rule& rule : kRules) {
        if (!is_below(field, rule.field)) continue;
        if (kind == JobKind::training) return rule.training;
        return kind == JobKind::notebook ? rule.notebook : rule.service;
    }
    return false;
}

std::vector<FieldChange> changes_between(const JobSpec& before, const JobSpec& after) {
    std::vector<std::pair<std::string, std::string>> from;
    std::vector<std::pair<std::string, std::string>> to;
    flatten(encode_job(before), "", from);
    flatten(encode_job(after), "", to);
    std::map<std::string, std::string> was(from.begin(), from.end());
    std::vector<FieldChange> out;
    const auto add = [&](const std::string& field, std::string old, std::string now) {
        out.push_back({field, std::move(old), std::move(now), is_in_place(before.kind, field)});
    };
    for (const auto& [field, value] : to) {
        const auto known = was.find(field);
        if (known == was.end()) {
            add(field, "", value);
        } else {
            if (known->second != value) add(field, known->second, value);
            was.erase(known);
        }
    }
    for (const auto& [field, value] : from) {
        if (was.contains(field)) add(field, value, "");
    }
    return out;
}

std::string immutable_fields(const std::vector<FieldChange>& changes) {
    std::string out;
    for (const FieldChange& change : changes) {
        if (change.is_in_place) continue;
        out += (out.empty() ? "" : ", ") + change.field;
    }
    return out;
}

}  // namespace gpuctl::wire
