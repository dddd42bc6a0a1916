#include "k8s/cluster/label_migration.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "k8s/json/json_cursor.hpp"
#include "net/http/http_text.hpp"

namespace gpuctl::k8s {

namespace {

constexpr int kObjectsPerPage = 250;
constexpr std::size_t kChangesMax = 250;  // objects that one call changes

struct MigratedKind {
    std::string_view kind;
    std::string_view collection;  // of all namespaces
    std::string_view group;       // of one namespace: GROUP/namespaces/N/RESOURCE
    std::string_view resource;
    std::string_view part;  // of the address of a patch
};
// Labels of a pod are written through its status: gpuctld has no right to change pods otherwise.
constexpr MigratedKind kMigratedKinds[] = {
    {"Job", "/apis/batch/v1/jobs", "/apis/batch/v1", "jobs", ""},
    {"Deployment", "/apis/apps/v1/deployments", "/apis/apps/v1", "deployments", ""},
    {"StatefulSet", "/apis/apps/v1/statefulsets", "/apis/apps/v1", "statefulsets", ""},
    {"Pod", "/api/v1/pods", "/api/v1", "pods", "/status"}};

std::map<std::string, std::string> labels_of(std::string_view object) {
    std::map<std::string, std::string> labels;
    JsonCursor cursor{object};
    cursor.object([&](std::string_view part) {
        if (part != "metadata") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key != "labels") return cursor.skip();
            cursor.object([&](std::string_view label) {
                std::string name{label};
                labels[std::move(name)] = cursor.string();
            });
        });
    });
    return labels;
}

// Adds the objects of one page that have something to do or to say; returns the continue token.
std::string read_page(std::string_view list, const MigratedKind& kind, const LabelKeys& labels,
                      bool removes_old, std::vector<LabelledObject>& out) {
    std::string next;
    JsonCursor cursor{list};
    cursor.object([&](std::string_view key) {
        if (key == "metadata") {
            cursor.object([&](std::string_view part) {
                if (part != "continue") return cursor.skip();
                next = cursor.string();
            });
        } else if (key == "items") {
            cursor.array([&] {
                LabelledObject object =
                    plan_migration(cursor.raw(), kind.kind, labels, removes_old);
                if (!object.labels.empty()) out.push_back(std::move(object));
            });
        } else {
            cursor.skip();
        }
    });
    return next;
}

// `problem`: why the patch failed; empty: it did not.
void mark(std::vector<ports::MigratedLabel>& labels, const std::string& problem) {
    for (ports::MigratedLabel& label : labels) {
        const bool is_done = label.action != "add" && label.action != "remove";
        if (is_done) continue;
        if (!problem.empty()) {
            label.action = "failed";
            label.message = problem;
        } else {
            label.action += label.action == "add" ? "ed" : "d";
        }
    }
}

std::string address_of(const MigratedKind& kind, const ObjectIdentity& object) {
    return std::string{kind.group} + "/namespaces/" + net::percent_encode(object.namespace_name) +
           "/" + std::string{kind.resource} + "/" + net::percent_encode(object.name) +
           std::string{kind.part};
}

// One run over all kinds.
class Migration {
public:
    Migration(Client& client, LabelKeys labels, ports::LabelMigration order, aio::Deadline deadline)
        : client_(client), labels_(std::move(labels)), order_(order), deadline_(deadline) {}

    aio::Task<Result<ports::MigratedLabels>> run() {
        const std::span<const std::string_view> prefixes = old_label_prefixes();
        for (const MigratedKind& kind : kMigratedKinds) {
            for (const std::string_view old : prefixes) {
                std::string prefix{old};
                Result<void> done = co_await of_kind(kind, std::move(prefix));
                if (!done) co_return done.error();
            }
        }
        co_return std::move(result_);
    }

private:
    aio::Task<Result<void>> of_kind(const MigratedKind& kind, std::string prefix) {
        const std::string selector = prefix + "/" + std::string{suffix_of(OwnKey::job_type)};
        std::string next;
        do {
            std::string path = std::string{kind.collection} +
                               "?limit=" + std::to_string(kObjectsPerPage) +
                               "&labelSelector=" + net::percent_encode(selector);
            if (!next.empty()) path += "&continue=" + net::percent_encode(next);
            auto page = co_await client_.get(std::move(path), deadline_);
            if (!page) {
                co_return while_doing("list objects with labels of " + prefix, page.error());
            }
            std::vector<LabelledObject> objects;
            next = read_page(page->body, kind, labels_, order_.removes_old, objects);
            for (LabelledObject& object : objects) co_await one(kind, std::move(object));
        } while (!next.empty() && !result_.is_cut);
        co_return Result<void>{};
    }

    aio::Task<void> one(const MigratedKind& kind, LabelledObject object) {
        std::string patch = migration_patch(object);
        if (!patch.empty() && !order_.dry_run) {
            if (changes_ == kChangesMax) {
                result_.is_cut = true;
                co_return;
            }
            ++changes_;
            ApiCall call;
            call.method = "PATCH";
            call.path = address_of(kind, object.identity) + "?fieldManager=gpuctl";
            call.body = std::move(patch);
            call.content_type = kMergePatch;
            call.retry = RetryClass::safe;  // of the version that was read
            call.fenced_by = order_.epoch;
            auto answer = co_await client_.call(std::move(call), deadline_);
            mark(object.labels, answer ? std::string{} : answer.error().message);
        }
        for (ports::MigratedLabel& label : object.labels) result_.list.push_back(std::move(label));
    }

    Client& client_;
    LabelKeys labels_;
    ports::LabelMigration order_;
    aio::Deadline deadline_;
    ports::MigratedLabels result_;
    std::size_t changes_ = 0;
};

}  // namespace

LabelledObject plan_migration(std::string_view object, std::string_view kind,
                              const LabelKeys& labels, bool removes_old) {
    LabelledObject planned;
    const auto identity = identity_of(object);
    if (!identity) return planned;
    planned.identity = *identity;
    const std::map<std::string, std::string> before = labels_of(object);
    std::map<std::string, std::string> after = before;
    for (const auto& [key, value] : before) {
        const LabelKeys::Found found = labels.recognise(key);
        if (found.key == OwnKey::none || !found.old_prefix) continue;
        ports::MigratedLabel label;
        label.kind = kind;
        label.object = {identity->namespace_name, identity->name};
        label.from = key;
        label.to = labels.text(found.key);
        label.value = value;
        const auto [there, is_new] = after.try_emplace(label.to, value);
        const bool differs = there->second != value;
        label.action = is_new ? "add" : differs ? "differs" : "present";
        planned.labels.push_back(label);
        if (!removes_old || differs) continue;
        label.action = "remove";
        planned.labels.push_back(std::move(label));
    }
    return planned;
}

std::string migration_patch(const LabelledObject& object) {
    nlohmann::ordered_json labels = nlohmann::ordered_json::object();
    for (const ports::MigratedLabel& label : object.labels) {
        if (label.action == "add") labels[label.to] = label.value;
        if (label.action == "remove") labels[label.from] = nullptr;
    }
    if (labels.empty()) return "";
    nlohmann::ordered_json patch;
    patch["metadata"] = {{"uid", object.identity.uid},
                         {"resourceVersion", object.identity.resource_version},
                         {"labels", std::move(labels)}};
    return patch.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

aio::Task<Result<ports::MigratedLabels>> migrate_labels(Client& client, LabelKeys labels,
                                                        ports::LabelMigration order,
                                                        aio::Deadline deadline) {
    Migration migration{client, std::move(labels), order, deadline};
    Result<ports::MigratedLabels> result = co_await migration.run();
    co_return result;
}

}  // namespace gpuctl::k8s
