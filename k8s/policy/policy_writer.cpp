#include "k8s/policy/policy_writer.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "aio/loop.hpp"
#include "k8s/json/json_text.hpp"
#include "policy_document/objects/layers.hpp"

namespace gpuctl::k8s {
namespace {

using nlohmann::json;
using Written = Result<ports::PolicyObjectWritten>;

constexpr int kPolicyTriesMax = 5;
constexpr std::chrono::milliseconds kLookAgainForPolicy{10};
constexpr std::chrono::seconds kPolicyIsShown{3};

// Namespaces before the quotas in them, pools before their queues; deletions the other way round.
constexpr std::array<PolicyKind, 4> kOrder{PolicyKind::pool, PolicyKind::name_space,
                                           PolicyKind::quota, PolicyKind::queue};

std::size_t place_of(PolicyKind kind) {
    return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), kind) - kOrder.begin());
}

std::string body_text(const json& body) {
    return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string query_of(bool dry_run) {
    return std::string{"?fieldManager=gpuctl"} + (dry_run ? "&dryRun=All" : "");
}

std::string collection_of(PolicyKind kind, const std::string& namespace_name) {
    const PolicyResource& of = policy_resource(kind);
    std::string path{of.root};
    if (of.is_namespaced) path += "/namespaces/" + namespace_name;
    return path + "/" + std::string{of.resource};
}

std::string object_path(PolicyKind kind, const ObjectIdentity& identity) {
    return collection_of(kind, identity.namespace_name) + "/" + identity.name;
}

Error refused(const PolicyKey& key, const char* doing, const ApiError& error) {
    if (error.http_status == 404 && policy_resource(key.kind).is_own &&
        std::string_view{doing} == "create") {
        return kinds_are_missing(key.kind);
    }
    ErrorCode code = error.code;
    if (error.http_status == 404) code = ErrorCode::NotFound;
    if (error.http_status == 404 && key.kind == PolicyKind::quota) {
        code = ErrorCode::NamespaceNotFound;
    }
    return make_error(code, std::string{doing} + " " + config::in_words(key) +
                                " in the cluster: " + error.message);
}

Error changed_meanwhile(const PolicyKey& key) {
    return make_error(ErrorCode::Conflict,
                      "change " + config::in_words(key) +
                          ": another client changed it in the cluster meanwhile; read it and try "
                          "again");
}

Written written_as(const PolicyKey& key, const std::string& body) {
    const auto identity = identity_of(body);
    if (!identity || identity->uid.empty()) {
        return make_error(ErrorCode::InvalidJson,
                          "the API server's answer about " + config::in_words(key) +
                              " has no uid; whether it was written is not known");
    }
    return ports::PolicyObjectWritten{key, identity->uid,
                                      version_number(identity->resource_version)};
}

}  // namespace

Error kinds_are_missing(PolicyKind kind) {
    return make_error(ErrorCode::NotSupportedHere,
                      "this cluster does not have the kind " +
                          std::string{policy_resource(kind).api_kind} +
                          ", which stores what you want to change: an administrator must apply "
                          "config/crds.yaml of this version (kubectl apply -f config/crds.yaml); "
                          "gpuctld finds it by itself within a minute");
}

const WatchedPolicyObject* PolicyWriter::find(const PolicyKey& key) const {
    const PolicyFeed* feed = feed_of_(key.kind);
    return feed == nullptr ? nullptr : feed->find(key);
}

std::vector<PolicyWriter::Step> PolicyWriter::steps_of(const PolicyObjectsChanged& wanted) {
    std::vector<Step> puts;
    std::vector<Step> steps;
    for (const PolicyObjectGone& gone : wanted.gone) steps.push_back({gone.key, ""});
    for (const PolicyObject& put : wanted.put) puts.push_back({put.key, put.document});
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
        return place_of(a.key.kind) > place_of(b.key.kind);
    });
    std::stable_sort(puts.begin(), puts.end(), [](const Step& a, const Step& b) {
        return place_of(a.key.kind) < place_of(b.key.kind);
    });
    steps.insert(steps.end(), puts.begin(), puts.end());
    return steps;
}

aio::Task<Result<std::vector<ports::PolicyObjectWritten>>> PolicyWriter::write(
    PolicyObjectsChanged wanted, aio::Deadline deadline) {
    ++writing_;
    std::vector<Step> steps = steps_of(wanted);
    Result<std::vector<ports::PolicyObjectWritten>> done =
        co_await write_all(std::move(steps), deadline);
    --writing_;
    co_return done;
}

aio::Task<Result<std::vector<ports::PolicyObjectWritten>>> PolicyWriter::write_all(
    std::vector<Step> steps, aio::Deadline deadline) {
    if (steps.size() > 1) {
        for (const Step& step : steps) {
            // A quota cannot be tried before its namespace exists.
            const auto makes_namespace = [&step](const Step& other) {
                return other.key == PolicyKey{PolicyKind::name_space, step.key.name};
            };
            const bool waits = step.key.kind == PolicyKind::quota &&
                               std::any_of(steps.begin(), steps.end(), makes_namespace);
            if (waits) continue;
            Step tried = step;
            Written possible = co_await one(std::move(tried), true, deadline);
            if (!possible) co_return possible.error();
        }
    }
    std::vector<ports::PolicyObjectWritten> all;
    std::vector<ports::PolicyObjectWritten> made;
    for (const Step& step : steps) {
        const bool is_new = !step.document.empty() && find(step.key) == nullptr;
        Step next = step;
        Written written = co_await one(std::move(next), false, deadline);
        if (!written) {
            Error why = written.error();
            if (all.size() > made.size()) {
                why.message += "; earlier changes of this request stay: " +
                               std::to_string(all.size() - made.size());
            }
            co_await undo(std::move(made), deadline);
            co_return why;
        }
        all.push_back(*written);
        if (is_new) made.push_back(*written);
    }
    co_return all;
}

// Best effort: what is left is listed, and can be deleted.
aio::Task<void> PolicyWriter::undo(std::vector<ports::PolicyObjectWritten> made,
                                   aio::Deadline deadline) {
    for (auto next = made.rbegin(); next != made.rend(); ++next) {
        Step step{next->key, ""};
        Step any{next->key, "any"};
        const bool shown = co_await is_shown(std::move(any), deadline);
        if (shown) (void)co_await remove(std::move(step), false, deadline);
    }
}

aio::Task<Written> PolicyWriter::one(Step step, bool dry_run, aio::Deadline deadline) {
    const bool is_known = find(step.key) != nullptr;
    if (step.document.empty()) {
        Written removed = co_await remove(std::move(step), dry_run, deadline);
        co_return removed;
    }
    if (is_known) {
        Written changed = co_await change(std::move(step), dry_run, deadline);
        co_return changed;
    }
    Written created = co_await create(std::move(step), dry_run, deadline);
    co_return created;
}

aio::Task<ApiResult<ApiResponse>> PolicyWriter::send(ApiCall call, aio::Deadline deadline) {
    const std::optional<Epoch> epoch = term_();
    if (!epoch) {
        co_return make_api_error(ErrorCode::NotLeader, "this gpuctld does not lead any more");
    }
    call.fenced_by = *epoch;
    call.retry = RetryClass::keyed;
    ApiResult<ApiResponse> answer = co_await client_.call(std::move(call), deadline);
    co_return answer;
}

// Whether the watch shows the wanted state; "any" document: that there is one.
aio::Task<bool> PolicyWriter::is_shown(Step step, aio::Deadline deadline) {
    const aio::Deadline until = aio::Deadline::earlier(deadline, aio::Deadline::in(kPolicyIsShown));
    for (;;) {
        const WatchedPolicyObject* object = find(step.key);
        if (step.document.empty()) {
            if (object == nullptr) co_return true;
        } else if (object != nullptr && (step.document == "any" ||
                                         json::parse(object->reading.document, nullptr, false) ==
                                             json::parse(step.document, nullptr, false))) {
            co_return true;
        }
        if (until.passed()) co_return false;
        const aio::Deadline again = aio::Deadline::in(kLookAgainForPolicy);
        const bool running = co_await aio::sleep_until(again);
        if (!running) co_return false;
    }
}

aio::Task<Written> PolicyWriter::create(Step step, bool dry_run, aio::Deadline deadline) {
    const json manifest = policy_manifest(step.key, step.document, labels_);
    const json& metadata = manifest["metadata"];
    const std::string name = metadata.value("name", "");
    ApiCall call;
    call.method = "POST";
    call.path = collection_of(step.key.kind, metadata.value("namespace", "")) + query_of(dry_run);
    call.body = body_text(manifest);
    auto answer = co_await send(std::move(call), deadline);
    if (answer) co_return written_as(step.key, answer->body);
    if (answer.error().code == ErrorCode::UnknownOutcome && !dry_run) {
        Step asked = step;
        const bool shown = co_await is_shown(std::move(asked), deadline);
        const WatchedPolicyObject* object = find(step.key);
        if (shown && object != nullptr) {
            co_return ports::PolicyObjectWritten{step.key, object->identity.uid,
                                                 version_number(object->identity.resource_version)};
        }
    }
    if (answer.error().http_status != 409) co_return refused(step.key, "create", answer.error());
    if (step.key.kind == PolicyKind::name_space) {
        Written adopted = co_await adopt(std::move(step), dry_run, deadline);
        co_return adopted;
    }
    const PolicyResource& of = policy_resource(step.key.kind);
    co_return make_error(
        ErrorCode::Conflict,
        "create " + config::in_words(step.key) + ": the cluster has a " + std::string{of.api_kind} +
            " " + name + " that gpuctl does not use as such; see kubectl describe " +
            std::string{of.resource} + (of.is_namespaced ? " -n " + step.key.name : std::string{}) +
            " " + name + ", and delete it or choose another name");
}

// A namespace that another client made gets our label. It is not deleted with it.
aio::Task<Written> PolicyWriter::adopt(Step step, bool dry_run, aio::Deadline deadline) {
    if (step.key.name.starts_with("kube-")) {
        co_return make_error(ErrorCode::NamespaceNotManaged,
                             "create namespace " + step.key.name +
                                 ": it belongs to Kubernetes itself; choose another name");
    }
    const json manifest = policy_manifest(step.key, step.document, labels_);
    json patch;
    patch["metadata"]["labels"][labels_.prefix() + "/namespace"] = "true";
    patch["metadata"]["annotations"] = manifest["metadata"]["annotations"];
    ApiCall call;
    call.method = "PATCH";
    call.path = collection_of(step.key.kind, "") + "/" + step.key.name + query_of(dry_run);
    call.body = body_text(patch);
    call.content_type = kMergePatch;
    auto answer = co_await send(std::move(call), deadline);
    if (!answer) co_return refused(step.key, "label", answer.error());
    co_return written_as(step.key, answer->body);
}

aio::Task<Written> PolicyWriter::change(Step step, bool dry_run, aio::Deadline deadline) {
    const std::string base = find(step.key)->reading.document;
    for (int tries = 0; tries < kPolicyTriesMax; ++tries) {
        const WatchedPolicyObject* object = find(step.key);
        if (object == nullptr || object->reading.document != base) break;
        const json before = policy_manifest(step.key, base, labels_);
        const json after = policy_manifest(step.key, step.document, labels_);
        json patch = merge_patch_between(before, after);
        const std::string past = object->identity.resource_version;
        patch["metadata"]["uid"] = object->identity.uid;
        patch["metadata"]["resourceVersion"] = past;
        ApiCall call;
        call.method = "PATCH";
        call.path = object_path(step.key.kind, object->identity) + query_of(dry_run);
        call.body = body_text(patch);
        call.content_type = kMergePatch;
        auto answer = co_await send(std::move(call), deadline);
        if (answer) co_return written_as(step.key, answer->body);
        if (answer.error().code == ErrorCode::UnknownOutcome && !dry_run) {
            Step asked = step;
            const bool shown = co_await is_shown(std::move(asked), deadline);
            const WatchedPolicyObject* now = find(step.key);
            if (shown && now != nullptr) {
                co_return ports::PolicyObjectWritten{
                    step.key, now->identity.uid, version_number(now->identity.resource_version)};
            }
        }
        if (answer.error().http_status != 409) {
            co_return refused(step.key, "change", answer.error());
        }
        // A status may have been written: look again when the watch shows the newer version.
        const aio::Deadline shown =
            aio::Deadline::earlier(deadline, aio::Deadline::in(kPolicyIsShown));
        while (!shown.passed()) {
            const WatchedPolicyObject* now = find(step.key);
            if (now == nullptr || now->identity.resource_version != past) break;
            const aio::Deadline again = aio::Deadline::in(kLookAgainForPolicy);
            const bool running = co_await aio::sleep_until(again);
            if (!running) break;
        }
    }
    co_return changed_meanwhile(step.key);
}

aio::Task<Written> PolicyWriter::remove(Step step, bool dry_run, aio::Deadline deadline) {
    const WatchedPolicyObject* object = find(step.key);
    if (object == nullptr) co_return ports::PolicyObjectWritten{step.key, "", 0};
    ApiCall call;
    call.path = object_path(step.key.kind, object->identity) + query_of(dry_run);
    json body;
    if (step.key.kind == PolicyKind::name_space && !object->reading.was_made_here) {
        body["metadata"]["uid"] = object->identity.uid;
        body["metadata"]["labels"][labels_.prefix() + "/namespace"] = nullptr;
        body["metadata"]["annotations"][labels_.prefix() + "/policy-source"] = nullptr;
        call.method = "PATCH";
        call.content_type = kMergePatch;
    } else {
        body = {{"apiVersion", "v1"},
                {"kind", "DeleteOptions"},
                {"propagationPolicy", "Background"},
                {"preconditions", {{"uid", object->identity.uid}}}};
        call.method = "DELETE";
    }
    call.body = body_text(body);
    auto answer = co_await send(std::move(call), deadline);
    const bool is_gone = answer || answer.error().http_status == 404;
    bool shown = false;
    if (!is_gone && !dry_run && answer.error().code == ErrorCode::UnknownOutcome) {
        Step asked = step;
        shown = co_await is_shown(std::move(asked), deadline);
    }
    if (!is_gone && !shown) {
        if (answer.error().http_status == 409) co_return changed_meanwhile(step.key);
        co_return refused(step.key, "delete", answer.error());
    }
    co_return ports::PolicyObjectWritten{step.key, "", 0};
}

}  // namespace gpuctl::k8s
