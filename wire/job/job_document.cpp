#include "wire/job/job_document.hpp"

#include <algorithm>
#include <map>

#include "scheduler/base/ascii.hpp"
#include "wire/job/job_sections.hpp"

namespace gpuctl::wire {
namespace {

using nlohmann::json;

Error at_place(ErrorCode code, const Document& document, const std::string& pointer,
               std::string message) {
    const Place place = document.place_of(pointer);
    Error error = make_error(code, message);
    if (place.line > 0) error.message = "line " + std::to_string(place.line) + ": " + message;
    error.details.push_back({place, std::move(message)});
    return error;
}

Error validation_failed(std::vector<Detail> details, const std::string& name) {
    std::string message = name.empty() ? "the job document" : "job " + name;
    message += ": ";
    const Detail& first = details.front();
    if (first.place.line > 0) {
        message += "line " + std::to_string(first.place.line) + ", column " +
                   std::to_string(first.place.column) + ": ";
    }
    message += first.message;
    if (details.size() > 1) {
        message += " (and " + std::to_string(details.size() - 1) + " more)";
    }
    return Error{ErrorCode::ValidationFailed, std::move(message), std::move(details)};
}

bool is_pool_kind(const std::string& kind) { return kind == "pool" || kind == "resource"; }

Error unsupported(const Document& document, const std::string& kind) {
    const auto error = [&](std::string message) {
        return at_place(ErrorCode::UnsupportedKind, document, "/kind", std::move(message));
    };
    if (is_pool_kind(kind)) {
        return error("kind " + kind +
                     " is no job: send it to /api/v1/pools, as `gpuctl create -f` does");
    }
    if (kind == "quota") {
        return error("kind quota is no job: send it to /api/v1/quotas, as `gpuctl create -f` does");
    }
    if (document.root.contains("apiVersion")) {
        return error("kind " + kind +
                     " with an apiVersion is a Kubernetes object, not a job document; send it to "
                     "Kubernetes, with schedulerName gpuctl if gpuctl should place its pods");
    }
    const std::string nearest = nearest_name(kind, {"training", "inference", "notebook", "compute",
                                                    "pool", "quota", "queue", "namespace"});
    return error("unknown kind \"" + kind.substr(0, 60) + "\"; " +
                 (nearest.empty() ? "jobs are training, inference, notebook or compute; other "
                                    "documents are pool, quota, queue or namespace"
                                  : "did you mean " + nearest + "?"));
}

Result<JobKind> kind_of_job(const Document& document) {
    if (!document.root.is_object()) {
        std::string message =
            "a job document is a map of keys and values, not " + kind_of(document.root);
        if (document.root.is_string()) {  // "kind:" with a no-break space behind it is no key
            const std::string text = document.root.get<std::string>();
            const auto invisible = text::first_invisible(text, text::Where::script);
            if (invisible) message += "; it contains " + to_string(*invisible);
        }
        return at_place(ErrorCode::ValidationFailed, document, "", std::move(message));
    }
    const auto it = document.root.find("kind");
    if (it == document.root.end()) {
        return at_place(ErrorCode::ValidationFailed, document, "",
                        "kind is missing: training, inference, notebook or compute");
    }
    if (!it->is_string() && !it->is_null()) {
        return at_place(ErrorCode::ValidationFailed, document, "/kind",
                        "kind must be text, not " + kind_of(*it));
    }
    Problems problems;
    if (!Field{document, &*it, "/kind", problems}.word()) {
        return validation_failed(std::move(problems.errors), "");
    }
    const std::string kind = lower_case(it->get<std::string>());
    for (const JobKind known :
         {JobKind::training, JobKind::inference, JobKind::notebook, JobKind::compute}) {
        if (kind == to_string(known)) return known;
    }
    return unsupported(document, it->get<std::string>());
}

// A rank's host name is the job's name, a hyphen and its index, and its domain the Service's name,
// "svc-" and the job's: DNS labels of 63 characters.
void check_rank_names(const JobSpec& spec, const Field& name) {
    constexpr std::size_t kLabelMax = 63;
    if (spec.replicas_max < 2) return;
    const std::size_t index = std::to_string(spec.replicas_max - 1).size();
    const std::size_t most = std::min(kLabelMax - 1 - index, kLabelMax - 4);
    if (spec.key.name.size() <= most) return;
    name.error("job.name has " + std::to_string(spec.key.name.size()) + " characters; with " +
               std::to_string(spec.replicas_max) + " ranks at most " + std::to_string(most) +
               " are possible");
}

}  // namespace

Result<DecodedJob> decode_job(const Document& document, const JobDocumentOptions& options,
                              std::vector<Detail>* warnings) {
    const Result<JobKind> kind = kind_of_job(document);
    if (kind.has_error()) return kind.error();

    Problems problems;
    JobReader reader{options, {}};
    JobSpec& spec = reader.spec;
    spec.kind = *kind;
    Fields fields{Field{document, &document.root, "", problems}};
    (void)find_key(fields, "kind");
    spec.version = find_key(fields, "version").word(Empty::is_value).value_or(spec.version);
    const Field job = find_key(fields, "job");
    read_job(reader, job);
    const Field environment = find_key(fields, "environment");
    const Field resources = find_key(fields, "resources");
    read_resources(reader, resources);  // before the environment, whose rules are of the pool
    read_environment(reader, environment);
    read_service(reader, find_key(fields, "service"));
    read_elastic(reader, find_key(fields, "elastic"), node_count_of(resources));
    read_placement(reader, find_key(fields, "placement"));
    read_storage(reader, find_key(fields, "storage"));
    read_autoscaling(reader, find_key(fields, "autoscaling"));
    read_model(reader, find_key(fields, "model"));
    read_output(reader, find_key(fields, "output"));
    reader.finish(fields);
    if (spec.kind != JobKind::training) {
        spec.replicas_min = spec.replicas_max = spec.service.replicas;
    } else if (job.is_map()) {
        Fields header{job};
        check_rank_names(spec, find_key(header, "job.name"));
    }

    problems.sort();
    if (!problems.errors.empty()) {
        // "environment is missing" is best understood next to "enviroment is not a key".
        if (warnings != nullptr) *warnings = std::move(problems.warnings);
        return validation_failed(std::move(problems.errors), spec.key.name);
    }
    return DecodedJob{std::move(spec), std::move(problems.warnings)};
}

namespace {

// Two jobs of one name in a file: the second would be refused when the first exists already.
Result<void> check_names(const std::vector<Document>& documents) {
    std::map<ObjectKey, Place> places;
    for (const Document& document : documents) {
        const json::json_pointer name{"/job/name"};
        if (!document.root.is_object() || kind_of_job(document).has_error()) continue;
        if (!document.root.contains(name) || !document.root[name].is_string()) continue;
        ObjectKey key{"", document.root[name].get<std::string>()};
        const json::json_pointer space{"/job/namespace"};
        if (document.root.contains(space) && document.root[space].is_string()) {
            key.namespace_name = document.root[space].get<std::string>();
        }
        const Place place = document.place_of("/job/name");
        const auto [it, is_new] = places.try_emplace(key, place);
        if (is_new) continue;
        return at_place(ErrorCode::ValidationFailed, document, "/job/name",
                        "two jobs of this file are called " + key.name + ", the first at line " +
                            std::to_string(it->second.line) +
                            "; give this one another name or another namespace");
    }
    return {};
}

}  // namespace

Result<void> check_stream(const std::vector<Document>& documents) {
    if (Result<void> named = check_names(documents); !named) return named;
    std::map<std::string, std::pair<Place, std::string>>
        owners;  // node -> place and name of the pool that claims it
    for (const Document& document : documents) {
        const json& root = document.root;
        if (!root.is_object() || !root.contains("kind") || !root["kind"].is_string()) continue;
        if (!is_pool_kind(lower_case(root["kind"].get<std::string>()))) continue;
        if (!root.contains("nodes") || !root["nodes"].is_object()) continue;
        std::string pool = "a pool";
        for (const char* header : {"pool", "metadata"}) {
            const json::json_pointer name{"/" + std::string{header} + "/name"};
            if (root.contains(name) && root[name].is_string()) pool = root[name].get<std::string>();
        }
        for (const auto& [node, rest] : root["nodes"].items()) {
            const Place place = document.place_of(pointer_to("/nodes", node));
            const auto [it, fresh] = owners.try_emplace(node, place, pool);
            if (fresh) continue;
            return at_place(ErrorCode::ValidationFailed, document, place.pointer,
                            "node " + node + " is in pool " + pool + " here and in pool " +
                                it->second.second + " at line " +
                                std::to_string(it->second.first.line) +
                                "; a node belongs to at most one pool");
        }
    }
    return {};
}

}  // namespace gpuctl::wire
