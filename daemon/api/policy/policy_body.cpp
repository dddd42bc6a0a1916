#include "daemon/api/policy/policy_body.hpp"

#include <nlohmann/json.hpp>

#include "daemon/api/http/reply.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::api {
namespace {

using config::ObjectReading;

struct PolicyText {
    std::vector<wire::Document> documents;
    bool is_plain_json = false;
    bool dry_run = false;
};

Result<PolicyText> yaml_of(std::string_view text) {
    Result<std::vector<wire::Document>> documents = wire::parse_yaml(text);
    if (!documents) return documents.error();
    if (documents->empty()) {
        return make_error(ErrorCode::InvalidYaml, "the body contains no document");
    }
    return PolicyText{std::move(*documents), false, false};
}

Result<PolicyText> json_of(std::string_view text) {
    Result<wire::Document> document = wire::parse_json(text);
    if (!document) return document.error();
    const nlohmann::json& root = document->root;
    if (!root.is_object()) {
        return make_error(ErrorCode::BadRequest, "the body must be a JSON object");
    }
    const auto yaml = root.find("yamlContent");
    const bool dry_run = root.contains("dryRun") && root["dryRun"] == true;
    if (yaml != root.end() && yaml->is_string()) {
        Result<PolicyText> read = yaml_of(yaml->get<std::string>());
        if (read) read->dry_run = dry_run;
        return read;
    }
    PolicyText out;
    out.is_plain_json = true;
    out.documents.push_back(std::move(*document));
    return out;
}

Result<PolicyText> text_of_policy(const Call& call) {
    std::string_view type = call.request.fields.get("Content-Type");
    type = type.substr(0, type.find(';'));
    while (type.ends_with(' ')) type.remove_suffix(1);
    for (const std::string_view yaml : {"application/yaml", "application/x-yaml", "text/yaml"}) {
        if (equal_without_case(type, yaml)) return yaml_of(call.request.body);
    }
    if (equal_without_case(type, "application/json")) return json_of(call.request.body);
    return make_error(ErrorCode::UnsupportedMediaType,
                      "the body's Content-Type is \"" + std::string{type} +
                          "\"; send application/yaml or application/json");
}

Error unsupported_kind(const wire::Document& document, std::string_view wanted) {
    const auto kind = document.root.is_object() ? document.root.find("kind") : document.root.end();
    const bool has_kind =
        document.root.is_object() && kind != document.root.end() && kind->is_string();
    return make_error(ErrorCode::UnsupportedKind,
                      (has_kind ? "kind \"" + kind->get<std::string>().substr(0, 60) + "\""
                                : std::string{"a document without a kind"}) +
                          " is not supported here; this address accepts " + std::string{wanted});
}

Result<void> read_options(const Call& call, PolicyBody& body, bool& strict) {
    const Result<bool> is_strict = flag_of(call, "strict");
    if (!is_strict) return is_strict.error();
    const Result<bool> dry_run = flag_of(call, "dryRun");
    if (!dry_run) return dry_run.error();
    strict = *is_strict;
    body.dry_run = body.dry_run || *dry_run;
    return {};
}

Result<void> add_document(const wire::Document& document, PolicyKind kind, bool strict,
                          PolicyBody& body) {
    Result<ObjectReading> read = config::read_objects(document, kind, strict);
    if (!read) return read.error();
    for (config::ObjectDraft& draft : read->drafts) body.drafts.push_back(std::move(draft));
    for (Detail& warning : read->warnings) body.warnings.push_back(std::move(warning));
    return {};
}

constexpr std::string_view kAnyKind = "kinds pool, quota, queue and namespace";

}  // namespace

Result<PolicyBody> read_policy_body(const Call& call, PolicyKind kind) {
    const Result<PolicyText> text = text_of_policy(call);
    if (!text) return text.error();
    PolicyBody body;
    body.dry_run = text->dry_run;
    bool strict = false;
    if (Result<void> read = read_options(call, body, strict); !read) return read.error();
    for (const wire::Document& document : text->documents) {
        const bool has_kind = document.root.is_object() && document.root.contains("kind");
        const auto written = config::policy_kind_of(document);
        if (has_kind && written != kind) {
            return unsupported_kind(document, "kind " + std::string{config::to_string(kind)});
        }
        if (Result<void> read = add_document(document, kind, strict, body); !read) {
            return read.error();
        }
    }
    return body;
}

Result<PolicyBody> read_policy_body(const Call& call) {
    const Result<PolicyText> text = text_of_policy(call);
    if (!text) return text.error();
    PolicyBody body;
    body.dry_run = text->dry_run;
    bool strict = false;
    if (Result<void> read = read_options(call, body, strict); !read) return read.error();
    for (const wire::Document& document : text->documents) {
        const auto kind = config::policy_kind_of(document);
        if (!kind) return unsupported_kind(document, kAnyKind);
        if (Result<void> read = add_document(document, *kind, strict, body); !read) {
            return read.error();
        }
    }
    return body;
}

Result<PolicyBody> read_policy_keys(const Call& call) {
    const Result<PolicyText> text = text_of_policy(call);
    if (!text) return text.error();
    PolicyBody body;
    for (const wire::Document& document : text->documents) {
        const auto kind = config::policy_kind_of(document);
        if (!kind) return unsupported_kind(document, kAnyKind);
        const Result<std::vector<PolicyKey>> keys = config::keys_in(document, *kind);
        if (!keys) return keys.error();
        body.keys.insert(body.keys.end(), keys->begin(), keys->end());
    }
    return body;
}

Result<PolicyBody> read_policy_change(const Call& call, const PolicyObject& known) {
    Result<PolicyText> text = text_of_policy(call);
    if (!text) return text.error();
    if (text->documents.size() != 1) {
        return make_error(ErrorCode::BadRequest, "this address accepts exactly one document");
    }
    PolicyBody body;
    body.dry_run = text->dry_run;
    bool strict = false;
    if (Result<void> read = read_options(call, body, strict); !read) return read.error();
    wire::Document& document = text->documents.front();
    if (!document.root.is_object()) {
        return make_error(ErrorCode::BadRequest, "the body must be a map of keys and values");
    }
    if (document.root.contains("kind") && config::policy_kind_of(document) != known.key.kind) {
        return unsupported_kind(document, "kind " + std::string{config::to_string(known.key.kind)});
    }
    if (text->is_plain_json && !document.root.contains("kind")) {
        nlohmann::json merged = nlohmann::json::parse(known.document, nullptr, false);
        merged.update(document.root);
        document = wire::Document{};
        document.root = std::move(merged);
    }
    if (Result<void> read = add_document(document, known.key.kind, strict, body); !read) {
        return read.error();
    }
    if (body.drafts.size() == 1 && body.drafts.front().key == known.key) return body;
    return make_error(ErrorCode::BadRequest, "the body is about another object than " +
                                                 config::in_words(known.key) +
                                                 ", which the address names");
}

}  // namespace gpuctl::api
