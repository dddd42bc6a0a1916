#include "k8s/cluster/namespace_check.hpp"

#include "k8s/json/json_cursor.hpp"
#include "net/http/http_text.hpp"

namespace gpuctl::k8s {

namespace {

constexpr std::string_view kWorkloadLists[] = {"/apis/batch/v1/namespaces/*/jobs",
                                               "/apis/apps/v1/namespaces/*/deployments",
                                               "/apis/apps/v1/namespaces/*/statefulsets"};

std::string list_of_workloads(std::string_view pattern, const std::string& namespace_name,
                              const LabelKeys& labels) {
    std::string path{pattern};
    path.replace(path.find('*'), 1, net::percent_encode(namespace_name));
    return path + "?limit=1&labelSelector=" + net::percent_encode(labels.text(OwnKey::job_type));
}

bool has_items(std::string_view list) {
    bool found = false;
    JsonCursor cursor{list};
    cursor.object([&](std::string_view key) {
        if (key != "items") return cursor.skip();
        cursor.array([&] {
            cursor.skip();
            found = true;
        });
    });
    return found;
}

Error unmanaged(const std::string& name, const std::string& label) {
    return make_error(ErrorCode::NamespaceNotManaged,
                      "namespace " + name +
                          " is not managed by gpuctl, so no jobs are created in it; an "
                          "administrator allows them with `kubectl label namespace " +
                          name + " " + label + "=true`, or with a quota of the namespace");
}

}  // namespace

NamespaceMark read_namespace(std::string_view json, const LabelKeys& labels) {
    NamespaceMark mark;
    JsonCursor cursor{json};
    const auto read_label = [&](std::string_view label) {
        const std::string_view value = cursor.string();
        const bool is_ours = labels.recognise(label).key == OwnKey::namespace_name;
        if (is_ours && value == "true") mark.is_managed = true;
    };
    const auto read_metadata = [&](std::string_view key) {
        if (key == "labels") {
            cursor.object(read_label);
        } else if (key == "deletionTimestamp") {
            mark.is_terminating = !cursor.string().empty() || mark.is_terminating;
        } else {
            cursor.skip();
        }
    };
    cursor.object([&](std::string_view part) {
        if (part == "metadata") {
            cursor.object(read_metadata);
        } else if (part == "status") {
            cursor.object([&](std::string_view key) {
                if (key != "phase") return cursor.skip();
                mark.is_terminating = cursor.string() == "Terminating" || mark.is_terminating;
            });
        } else {
            cursor.skip();
        }
    });
    return mark;
}

aio::Task<Result<void>> check_namespace(Client& client, LabelKeys labels,
                                        ports::NamespaceQuestion question, aio::Deadline deadline) {
    const std::string name = question.name;
    std::string path = "/api/v1/namespaces/" + net::percent_encode(name);
    auto answer = co_await client.get(std::move(path), deadline);
    const std::string label = labels.text(OwnKey::namespace_name);
    if (!answer && answer.error().http_status == 404) {
        co_return make_error(ErrorCode::NamespaceNotFound,
                             "there is no namespace " + name +
                                 "; an administrator creates it first: `kubectl create namespace " +
                                 name + "`, then `kubectl label namespace " + name + " " + label +
                                 "=true`");
    }
    if (!answer) co_return while_doing("read namespace " + name, answer.error());
    const NamespaceMark mark = read_namespace(answer->body, labels);
    if (mark.is_terminating) {
        co_return make_error(ErrorCode::Conflict,
                             "namespace " + name +
                                 " is being deleted; choose another namespace, or try again when "
                                 "it is gone and created again");
    }
    if (mark.is_managed || question.is_known) co_return Result<void>{};
    for (const std::string_view pattern : kWorkloadLists) {
        std::string list = list_of_workloads(pattern, name, labels);
        auto found = co_await client.get(std::move(list), deadline);
        if (!found) co_return while_doing("list the jobs of namespace " + name, found.error());
        if (has_items(found->body)) co_return Result<void>{};
    }
    co_return unmanaged(name, label);
}

}  // namespace gpuctl::k8s
