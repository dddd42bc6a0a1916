// POST /api/v1/jobs: exactly one job per request.

#include <openssl/rand.h>

#include <array>
#include <nlohmann/json.hpp>

#include "daemon/api/handlers.hpp"
#include "daemon/api/reply.hpp"
#include "daemon/api/shapes.hpp"
#include "daemon/wire/document.hpp"
#include "daemon/wire/job_document.hpp"
#include "daemon/wire/problem.hpp"
#include "scheduler/base/check.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kIdempotencyKeyBytesMax = 128;

struct Incoming {
    wire::Document document;
    std::string source;  // the job's text, as stored and shown
    bool dry_run = false;
};

// RFC 9562: 48 bits of milliseconds, then random.
std::string make_uuid_v7(std::int64_t wall_ms) {
    std::array<unsigned char, 16> bytes{};
    GPUCTL_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1,
                 "the system gives random bytes");
    for (std::size_t i = 0; i < 6; ++i) {
        bytes[i] = static_cast<unsigned char>(wall_ms >> (40 - 8 * i));
    }
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x70);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

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
    if (documents->empty()) return make_error(ErrorCode::InvalidYaml, "the body holds no document");
    return make_error(ErrorCode::BadRequest,
                      "the body holds " + std::to_string(documents->size()) +
                          " documents; this address takes exactly one job, so that one answer says "
                          "what became of it (`gpuctl create -f` sends each document by itself)");
}

// The text as shown later. `gpuctl create` puts empty lines before a document, so that line numbers
// in messages are those of the user's file; they are no part of it.
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
                           (name == "dryRun" && value.is_boolean());
        if (!known) {
            return make_error(ErrorCode::BadRequest,
                              "read the body: it is {\"yamlContent\": text, \"dryRun\": true or "
                              "false}, and \"" +
                                  name + "\" does not fit that");
        }
    }
    incoming.dry_run = document->root.value("dryRun", false);
    incoming.source = document->root["yamlContent"].get<std::string>();
    Result<wire::Document> yaml = only_document(incoming.source);
    if (!yaml) return yaml.error();
    incoming.document = std::move(*yaml);
    return incoming;
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

Json created_json(const JobRecord& job, const std::string& message) {
    const JobSpec& spec = job.spec;
    Json body;
    body["jobId"] = spec.key.name;
    body["name"] = spec.key.name;
    body["namespace"] = spec.key.namespace_name;
    body["kind"] = to_string(spec.kind);
    body["uid"] = job.uid;
    body["status"] = "Pending";
    body["createdAt"] = format_time(job.submitted_at);
    body["message"] = message;
    body["resources"] = {{"gpu", gpus_json(spec.gpu.amount)},
                         {"gpuType", gpu_model_of(spec)},
                         {"pool", spec.pool.empty() ? kDefaultPool : spec.pool}};
    return body;
}

std::string waiting_message(const JobRecord& job) {
    return "stored; waits in pool " + (job.spec.pool.empty() ? kDefaultPool : job.spec.pool);
}

// What every create checks before it is stored (contract.md 4.9).
std::optional<Error> check_placeable(Services& services, const JobSpec& spec) {
    const ClusterState& state = services.engine.state();
    const Result<JobView> existing = find_job(state, spec.key.namespace_name, spec.key.name);
    if (existing && existing->key == spec.key && !existing->never_made) {
        return make_error(ErrorCode::JobExists, "create job " + to_string(spec.key) +
                                                    ": one of that name is " + existing->status +
                                                    "; delete it first, or choose another name");
    }
    return preflight(state, spec);
}

Result<JobRecord> decode(Services& services, const Call& call, Incoming& incoming,
                         std::vector<Detail>& warnings) {
    const Result<bool> strict = flag_of(call, "strict");
    if (!strict) return strict.error();
    const Result<bool> dry_run = flag_of(call, "dryRun");
    if (!dry_run) return dry_run.error();
    incoming.dry_run = incoming.dry_run || *dry_run;
    wire::JobDocumentOptions options;
    options.strict = *strict;
    options.host_path_roots = services.settings.host_path_roots;
    if (const auto name = call.query("namespace"); !name.empty()) options.default_namespace = name;
    Result<wire::DecodedJob> decoded = wire::decode_job(incoming.document, options, &warnings);
    if (!decoded) return decoded.error();
    warnings = std::move(decoded->warnings);
    JobRecord job;
    job.spec = std::move(decoded->spec);
    job.source = std::move(incoming.source);
    job.submitted_at = Instant{aio::Loop::wall_ms()};
    job.uid = make_uuid_v7(job.submitted_at.ms());
    return job;
}

aio::Task<net::HttpResponse> store(Services& services, Call call, std::string key) {
    Result<Incoming> incoming = read_body(call);
    if (!incoming) co_return problem_reply(incoming.error(), call);
    std::vector<Detail> warnings;
    Result<JobRecord> job = decode(services, call, *incoming, warnings);
    if (!job) co_return problem_reply(job.error(), call, warnings);
    if (std::optional<Error> refused = services.engine.refusal()) {
        co_return problem_reply(*refused, call);
    }
    if (std::optional<Error> unplaceable = check_placeable(services, job->spec)) {
        co_return problem_reply(*unplaceable, call);
    }
    Json body = created_json(*job, incoming->dry_run ? "would be accepted" : waiting_message(*job));
    body["warnings"] = warnings_json(warnings);
    if (incoming->dry_run) {
        body["dryRun"] = true;
        co_return json_reply(200, body);
    }
    const std::string kind{to_string(job->spec.kind)};
    if (!key.empty()) {
        job->idempotency_key = IdempotencyKeys::journal_form(key, call.request.body);
        services.idempotency.belongs_to(key, job->spec.key);
    }
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    Result<void> stored = co_await services.engine.submit(std::move(*job), deadline);
    services.recorder.counter(metrics::Metric::submitted, {kind, stored ? "accepted" : "refused"})
        .add();
    if (!stored) co_return problem_reply(stored.error(), call);
    co_return json_reply(201, body);
}

// The answer to a repeat whose first answer is known, or a refusal; nothing: go on.
std::optional<net::HttpResponse> answer_repeat(Services& services, const Call& call,
                                               const KeyState& state) {
    if (std::holds_alternative<KeyIsNew>(state)) return std::nullopt;
    if (const auto* answered = std::get_if<KeyAnswered>(&state)) {
        net::HttpResponse response = json_reply(201, Json::object());
        response.body = answered->body;
        response.fields.set("Idempotency-Replayed", "true");
        return response;
    }
    if (const auto* known = std::get_if<KeyOfJob>(&state)) {
        const Result<JobView> job =
            find_job(services.engine.state(), known->job.namespace_name, known->job.name);
        if (job && job->record != nullptr) {
            Json body = created_json(*job->record, waiting_message(*job->record));
            body["warnings"] = Json::array();
            net::HttpResponse response = json_reply(201, body);
            response.fields.set("Idempotency-Replayed", "true");
            return response;
        }
        return problem_reply(make_error(ErrorCode::Gone,
                                        "the job created with this idempotency "
                                        "key has been deleted since"),
                             call);
    }
    if (std::holds_alternative<KeyInWork>(state)) {
        return problem_reply(make_error(ErrorCode::Conflict,
                                        "the first request with this idempotency key is still "
                                        "being worked on; try again in a moment"),
                             call);
    }
    return problem_reply(make_error(ErrorCode::IdempotencyKeyReused,
                                    "this idempotency key was used with another body; a new "
                                    "request needs a new key"),
                         call);
}

bool is_plain_text(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

aio::Task<net::HttpResponse> create_job(Services& services, Call call) {
    const std::string_view given = call.request.fields.get("Idempotency-Key");
    if (given.empty()) {
        net::HttpResponse response = co_await store(services, std::move(call), "");
        co_return response;
    }
    if (given.size() > kIdempotencyKeyBytesMax || !is_plain_text(given)) {
        co_return problem_reply(make_error(ErrorCode::BadRequest,
                                           "Idempotency-Key has 1 to 128 visible ASCII characters"),
                                call);
    }
    // Keys of different people do not meet.
    const std::string key = call.who.name + "/" + std::string{given};
    const KeyState state = services.idempotency.claim(key, call.request.body);
    if (std::optional<net::HttpResponse> repeat = answer_repeat(services, call, state)) {
        co_return std::move(*repeat);
    }
    net::HttpResponse response = co_await store(services, std::move(call), key);
    if (response.status == 201) {
        services.idempotency.answered(key, response.body);
    } else if (response.status == wire::row_of(ErrorCode::UnknownOutcome).http_status) {
        services.idempotency.unconfirmed(key);
    } else {
        services.idempotency.released(key);  // nothing was created: the key is free again
    }
    co_return response;
}

}  // namespace gpuctl::api
