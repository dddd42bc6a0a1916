#include "daemon/api/jobs/job_body.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "aio/entropy.hpp"
#include "aio/loop.hpp"
#include "daemon/api/http/reply.hpp"
#include "wire/job/document.hpp"
#include "wire/job/job_document.hpp"

namespace gpuctl::api {
namespace {

struct Incoming {
    wire::Document document;
    std::string source;  // the job's text, stored and shown to users
    bool dry_run = false;
    bool recreate = false;
    std::string resource_version;
};

std::string media_type(const Call& call) {
    std::string_view value = call.request.fields.get("Content-Type");
    value = value.substr(0, value.find(';'));
    while (value.ends_with(' ')) value.remove_suffix(1);
    std::string lower;
    for (const char c : value) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return lower;
}

Result<wire::Document> only_document(std::string_view yaml) {
    Result<std::vector<wire::Document>> documents = wire::parse_yaml(yaml);
    if (!documents) return documents.error();
    if (documents->size() == 1) return std::move(documents->front());
    if (documents->empty())
        return make_error(ErrorCode::InvalidYaml, "the body contains no document");
    return make_error(ErrorCode::BadRequest,
                      "the body contains " + std::to_string(documents->size()) +
                          " documents; this address accepts exactly one job (`gpuctl create -f` "
                          "sends each document by itself)");
}

// The text to show. `gpuctl create` puts empty lines before a document, so that line numbers in
// messages are those of the user's file; they are removed here.
std::string stored_text(std::string_view text) {
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', begin)) {
        if (text.substr(begin, end - begin).find_first_not_of(" \t\r") != text.npos) break;
        begin = end + 1;
    }
    return std::string{text.substr(begin)};
}

Result<Incoming> read_body(const Call& call) {
    const std::string type = media_type(call);
    Incoming incoming;
    if (type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml") {
        Result<wire::Document> document = only_document(call.request.body);
        if (!document) return document.error();
        incoming.document = std::move(*document);
        incoming.source = stored_text(call.request.body);
        return incoming;
    }
    if (type != "application/json") {
        return make_error(ErrorCode::UnsupportedMediaType,
                          "the body's Content-Type is \"" + type +
                              "\"; send application/yaml or application/json");
    }
    Result<wire::Document> document = wire::parse_json(call.request.body);
    if (!document) return document.error();
    if (!document->root.is_object() || !document->root.contains("yamlContent")) {
        incoming.document = std::move(*document);
        incoming.source = call.request.body;
        return incoming;
    }
    for (const auto& [name, value] : document->root.items()) {
        const bool known = (name == "yamlContent" && value.is_string()) ||
                           (name == "resourceVersion" && value.is_string()) ||
                           ((name == "dryRun" || name == "recreate") && value.is_boolean());
        if (!known) {
            return make_error(
                ErrorCode::BadRequest,
                "read the body: it must be {\"yamlContent\": text, \"dryRun\": true or false}, of "
                "a "
                "change also \"recreate\": true or false and \"resourceVersion\": text; \"" +
                    name + "\" is not valid");
        }
    }
    incoming.dry_run = document->root.value("dryRun", false);
    incoming.recreate = document->root.value("recreate", false);
    incoming.resource_version = document->root.value("resourceVersion", std::string{});
    incoming.source = document->root["yamlContent"].get<std::string>();
    Result<wire::Document> yaml = only_document(incoming.source);
    if (!yaml) return yaml.error();
    incoming.document = std::move(*yaml);
    return incoming;
}

Result<JobBody> decode(Services& services, const Call& call, Incoming& incoming,
                       std::vector<Detail>& warnings) {
    const Result<bool> strict = flag_of(call, "strict");
    if (!strict) return strict.error();
    const Result<bool> dry_run = flag_of(call, "dryRun");
    if (!dry_run) return dry_run.error();
    incoming.dry_run = incoming.dry_run || *dry_run;
    const Result<bool> recreate = flag_of(call, "recreate");
    if (!recreate) return recreate.error();
    const std::string_view version = call.query("resourceVersion");
    const Result<std::uint64_t> revision =
        read_revision(version.empty() ? std::string_view{incoming.resource_version} : version);
    if (!revision) return revision.error();
    wire::JobDocumentOptions options;
    options.strict = *strict;
    options.host_path_roots = services.settings.host_path_roots;
    options.preferred_of_ranks = TopologyLevel::rack;
    options.gpu_replicas = services.settings.gpu_replicas;
    options.variables_allowed = services.settings.variables_allowed;
    options.label_prefix = services.settings.label_prefix;
    if (const auto name = call.query("namespace"); !name.empty()) options.default_namespace = name;
    Result<wire::DecodedJob> decoded = wire::decode_job(incoming.document, options, &warnings);
    if (!decoded) return decoded.error();
    warnings = std::move(decoded->warnings);
    JobBody body;
    body.dry_run = incoming.dry_run;
    body.recreate = incoming.recreate || *recreate;
    body.revision = *revision;
    JobRecord& job = body.job;
    job.spec = std::move(decoded->spec);
    job.source = std::move(incoming.source);
    body.document = std::move(incoming.document);
    job.submitted_at = Instant{aio::Loop::wall_ms()};
    job.uid = aio::time_ordered_uuid(job.submitted_at.ms());
    return body;
}

}  // namespace

Result<JobBody> read_job(Services& services, const Call& call, std::vector<Detail>& warnings) {
    Result<Incoming> incoming = read_body(call);
    if (!incoming) return incoming.error();
    return decode(services, call, *incoming, warnings);
}

Error with_place(Error error, const JobBody& body, const ClusterState& state) {
    if (!error.details.empty()) return error;
    const JobSpec& spec = body.job.spec;
    const auto at = [&](const char* pointer, std::string message, const std::string& nearest) {
        if (!nearest.empty()) message += "; did you mean " + nearest + "?";
        error.details.push_back({body.document.place_of(pointer), std::move(message)});
    };
    const PoolId pool = state.tree.find_pool(spec.pool.empty() ? kDefaultPool : spec.pool);
    std::vector<std::string> names;
    switch (error.code) {
        case ErrorCode::PoolNotFound:
            for (const auto& [name, id] : state.tree.pools_by_name()) {
                if (state.tree.pool_exists(id)) names.push_back(name);
            }
            at("/resources/pool", "resources.pool " + spec.pool + " does not exist",
               wire::nearest_name(spec.pool, names));
            break;
        case ErrorCode::PoolEmpty:
            at("/resources/pool", "resources.pool has no nodes", "");
            break;
        case ErrorCode::QueueNotFound:
            for (const QueueId id : state.pool(pool).queues) {
                if (state.queue(id).children.empty()) names.push_back(state.queue(id).name);
            }
            at("/job/queue", "job.queue " + spec.queue + " takes no jobs",
               wire::nearest_name(spec.queue, names));
            break;
        case ErrorCode::JobExists:
            at("/job/name", "job.name " + spec.key.name + " is taken", "");
            break;
        case ErrorCode::NeverFits:
        case ErrorCode::QuotaExceeded:
            at("/resources", "resources can never be met as they are", "");
            break;
        default:
            break;
    }
    return error;
}

Result<std::uint64_t> read_revision(std::string_view text) {
    std::uint64_t revision = 0;
    if (text.empty()) return revision;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), revision);
    if (problem == std::errc{} && end == text.data() + text.size() && revision > 0) return revision;
    return make_error(ErrorCode::BadRequest,
                      "read resourceVersion: it must be the number that the job's detail shows");
}

Json warnings_json(const std::vector<Detail>& warnings) {
    Json list = Json::array();
    for (const Detail& warning : warnings) {
        list.push_back({{"pointer", warning.place.pointer},
                        {"line", warning.place.line},
                        {"column", warning.place.column},
                        {"message", warning.message}});
    }
    return list;
}

}  // namespace gpuctl::api
