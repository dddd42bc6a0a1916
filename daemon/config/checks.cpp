#include "daemon/config/checks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "daemon/config/known_names.hpp"
#include "daemon/config/maintenance_keys.hpp"
#include "daemon/text/url.hpp"
#include "daemon/wire/duration.hpp"
#include "daemon/wire/job_rules.hpp"
#include "scheduler/base/ascii.hpp"
#include "scheduler/model/gpu_vendor.hpp"
#include "scheduler/model/mig.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/quantity.hpp"

namespace gpuctl::config {
namespace {

// The member `key` of what `field` was read from, for a place more exact than the whole struct's.
wire::Field member(const wire::Field& field, std::string_view key) {
    wire::Fields fields{field};
    const wire::Field found = fields.find(key);
    return found ? found : field;
}

std::string in_words(milliseconds span) { return wire::format_duration(Duration{span.count()}); }

void check_label(const wire::Field& field, std::string_view key, const std::string& value) {
    if (value.empty()) return;
    if (const std::string problem = wire::problem_with_label(value); !problem.empty()) {
        member(field, key).error("\"" + value + "\" " + problem);
    }
}

// `list` holds items with unique names; reports the second of two equal ones at its place.
template <typename Item>
void check_unique(const std::vector<Item>& items, const wire::Field& field, std::string_view key,
                  const char* what) {
    std::set<std::string> names;
    const wire::Field list = member(field, key);
    const auto elements = list.json().is_array() ? list.elements() : std::vector<wire::Field>{};
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].name.empty() || names.insert(items[i].name).second) continue;
        const wire::Field& at = i < elements.size() ? elements[i] : field;
        at.error(std::string{what} + " " + items[i].name + " is given twice");
    }
}

}  // namespace

void check(const Server& server, const wire::Field& field) {
    if (!text::is_loopback(server.address)) {
        member(field, "address")
            .error("\"" + server.address +
                   "\" is not an IP address; use 127.0.0.1, ::1, 0.0.0.0 or the address to listen "
                   "on");
    }
}

void check(const TlsFiles& files, const wire::Field& field) {
    if (files.certificate_file.empty()) field.error("server.tls needs certificateFile");
    if (files.key_file.empty()) field.error("server.tls needs keyFile");
}

void check(const Lease& lease, const wire::Field& field) {
    if (lease.duration <= lease.renew_deadline) {
        field.error("lease.duration " + in_words(lease.duration) +
                    " must be longer than lease.renewDeadline " + in_words(lease.renew_deadline) +
                    ", or two leaders could act at once");
    }
    if (lease.renew_deadline <= lease.retry_period) {
        field.error("lease.renewDeadline " + in_words(lease.renew_deadline) +
                    " must be longer than lease.retryPeriod " + in_words(lease.retry_period) +
                    ", or one failed renewal loses the lease");
    }
    if (!lease.name.empty()) {
        if (const auto problem = wire::problem_with_subdomain(lease.name); !problem.empty()) {
            member(field, "name").error("\"" + lease.name + "\" " + problem);
        }
    } else {
        member(field, "name").error("lease.name must not be empty");
    }
    if (lease.namespace_name.empty()) {
        member(field, "namespace").error("lease.namespace must not be empty");
    }
    check_label(field, "namespace", lease.namespace_name);
}

void check(const OwnPod& pod, const wire::Field& field) {
    const std::pair<const char*, const std::string&> parts[] = {{"namespace", pod.namespace_name},
                                                                {"name", pod.name},
                                                                {"uid", pod.uid},
                                                                {"container", pod.container}};
    const bool any = std::any_of(std::begin(parts), std::end(parts),
                                 [](const auto& part) { return !part.second.empty(); });
    for (const auto& [key, value] : parts) {
        if (any && value.empty()) {
            member(field, key)
                .error("pod." + std::string{key} + " is missing: the four keys of pod go together");
        } else if (any) {
            if (const auto problem = wire::problem_with_subdomain(value); !problem.empty()) {
                member(field, key).error("\"" + value + "\" " + problem);
            }
        }
    }
}

void check(const Kubernetes& kubernetes, const wire::Field& field) {
    const milliseconds spare = kubernetes.lease.duration - kubernetes.lease.renew_deadline;
    if (kubernetes.lease.enabled && spare.count() > 0 && kubernetes.bind_timeout > spare) {
        member(field, "bindTimeout")
            .error("bindTimeout " + in_words(kubernetes.bind_timeout) +
                   " must not be longer than lease.duration minus lease.renewDeadline (" +
                   in_words(spare) + "): a deposed leader's write must be over by then");
    }
    if (const auto problem = wire::problem_with_subdomain(kubernetes.scheduler_name);
        !problem.empty()) {
        member(field, "schedulerName").error("\"" + kubernetes.scheduler_name + "\" " + problem);
    }
    for (const std::string& root : kubernetes.host_path_roots) {
        if (root == "/") continue;
        if (const auto problem = wire::problem_with_path(root); !problem.empty()) {
            member(field, "hostPathRoots").error("\"" + root + "\" " + problem);
        }
    }
}

namespace {

// Can a GPU of that model be cut so? Each slice by itself first, then all on one.
std::string problem_with_slices(const EmbeddedNodes& nodes) {
    const auto families = mig_families_of(nodes.gpu_model);
    if (families.empty()) {
        return "gpuModel \"" + nodes.gpu_model +
               "\" is none of which it is known how it can be cut, for example H100-80GB";
    }
    std::string all;
    for (const std::string& profile : nodes.mig_slices) {
        const std::string problem = problem_with_mig(profile, nodes.gpu_model);
        if (!problem.empty()) return problem;
        all += (all.empty() ? "" : ", ") + profile;
    }
    for (const MigFamily* family : families) {
        std::vector<const MigProfile*> slices;
        for (const std::string& profile : nodes.mig_slices) slices.push_back(family->find(profile));
        const bool are_known = std::find(slices.begin(), slices.end(), nullptr) == slices.end();
        if (are_known && lay_out(*family, slices)) return "";
    }
    return all + " do not lie on one GPU of model " + nodes.gpu_model +
           " together: each may begin at few of its " +
           std::to_string(families.front()->memory_slices) + " memory slices only";
}

void check_pieces(const EmbeddedNodes& nodes, const wire::Field& field) {
    const bool is_cut = !nodes.mig_slices.empty();
    if (is_cut && nodes.gpu_replicas > 1) {
        member(field, "gpuReplicas").error("GPUs are either cut (migSlices) or shared, not both");
    }
    if ((is_cut || nodes.gpu_replicas > 1) && nodes.gpu_resource != gpu_vendors()[0].resource) {
        member(field, "gpuResource")
            .error("only GPUs called " + std::string{gpu_vendors()[0].resource} +
                   " are cut or shared");
    }
    if (!is_cut) return;
    if (const std::string problem = problem_with_slices(nodes); !problem.empty()) {
        member(field, "migSlices").error(problem);
    }
}

}  // namespace

void check(const EmbeddedNodes& nodes, const wire::Field& field) {
    check_label(field, "name", nodes.name);
    check_label(field, "pool", nodes.pool);
    if (nodes.gpus > 0 && !is_gpu_resource(nodes.gpu_resource)) {
        member(field, "gpuResource")
            .error("\"" + nodes.gpu_resource +
                   "\" is not a resource of a known GPU vendor, for example nvidia.com/gpu");
    }
    check_pieces(nodes, field);
    if (!nodes.gpu_model.empty()) {
        if (const auto problem = wire::problem_with_label_value(nodes.gpu_model);
            !problem.empty()) {
            member(field, "gpuModel").error("\"" + nodes.gpu_model + "\" " + problem);
        }
    }
}

void check(const Embedded& embedded, const wire::Field& field) {
    if (embedded.nodes.empty()) {
        member(field, "nodes").error("embedded.nodes is empty; leave it out for the default nodes");
    }
    check_unique(embedded.nodes, field, "nodes", "the node group");
}

void check(const Cluster& cluster, const wire::Field& field) {
    wire::Fields fields{field};
    const wire::Field kubernetes = fields.find("kubernetes");
    const wire::Field embedded = fields.find("embedded");
    if (cluster.mode == ClusterMode::embedded && kubernetes) {
        kubernetes.error(
            "cluster.kubernetes is given, but cluster.mode is embedded; set mode: kubernetes or "
            "remove it");
    }
    if (cluster.mode == ClusterMode::kubernetes && embedded) {
        embedded.error(
            "cluster.embedded is given, but cluster.mode is kubernetes; set mode: embedded or "
            "remove it");
    }
}

void check(const ModelLimit& limit, const wire::Field& field) {
    if (const auto problem = wire::problem_with_label_value(limit.model); !problem.empty()) {
        member(field, "model").error("\"" + limit.model + "\" " + problem);
    }
    if (limit.maximum && limit.guaranteed > *limit.maximum) {
        field.error(format_gpus(limit.guaranteed) + " GPUs of model " + limit.model +
                    " are guaranteed, more than the maximum " + format_gpus(*limit.maximum));
    }
}

void check(const QueuePolicy& queue, const wire::Field& field) {
    check_label(field, "name", queue.name);
    for (std::size_t i = 0; i < queue.models.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (!same_gpu_model(queue.models[i].model, queue.models[j].model)) continue;
            member(field, "models")
                .error("the GPU model " + queue.models[i].model + " is given twice");
        }
    }
    for (const ModelLimit& of : queue.models) {
        if (!queue.maximum || !of.maximum || *of.maximum <= *queue.maximum) continue;
        member(field, "models")
            .error("queue " + queue.name + " may hold " + format_gpus(*of.maximum) +
                   " GPUs of model " + of.model + " at most, more than the " +
                   format_gpus(*queue.maximum) + " that it may hold of all");
    }
    if (queue.maximum && queue.guaranteed > *queue.maximum) {
        member(field, "guaranteed")
            .error("queue " + queue.name + " is guaranteed " + format_gpus(queue.guaranteed) +
                   " GPUs, more than its maximum " + format_gpus(*queue.maximum));
    }
}

// What depends on its sub-queues is checked where they are read (queue_keys.cpp).
void check(const PoolPolicy& pool, const wire::Field& field) {
    check_label(field, "name", pool.name);
}

void check(const PoolQuota& quota, const wire::Field& field) {
    check_label(field, "pool", quota.pool);
    if (!quota.gpu_maximum && !quota.budget) {
        field.error("says nothing about pool " + quota.pool + "; give gpuMaximum or budget");
    }
}

void check(const TenantPolicy& tenant, const wire::Field& field) {
    check_label(field, "name", tenant.name);
    check_label(field, "queue", tenant.queue);
    std::set<std::string> pools;
    for (const PoolQuota& quota : tenant.pools) {
        if (!pools.insert(quota.pool).second) {
            member(field, "pools").error("the pool " + quota.pool + " is given twice");
        }
        if (!tenant.gpu_maximum || !quota.gpu_maximum) continue;
        if (*quota.gpu_maximum <= *tenant.gpu_maximum) continue;
        member(field, "pools")
            .error("tenant " + tenant.name + " may hold " + format_gpus(*quota.gpu_maximum) +
                   " GPUs of pool " + quota.pool + ", more than the " +
                   format_gpus(*tenant.gpu_maximum) + " that it may hold of all pools");
    }
}

void check(const Policy& policy, const wire::Field& field) {
    check_unique(policy.pools, field, "pools", "the pool");
    check_unique(policy.tenants, field, "tenants", "the tenant");
    check_windows(policy, field);
    if (policy.backoff_initial > policy.backoff_maximum) {
        field.error("policy.backoffInitial is longer than policy.backoffMaximum");
    }
    std::vector<std::string> queues{kDefaultQueue};
    std::set<std::string> inner;
    for (const PoolPolicy& pool : policy.pools) {
        for (const QueuePolicy& queue : pool.queues) {
            queues.push_back(queue.name);
            inner.insert(queue.parent);
        }
    }
    const wire::Field list = member(field, "tenants");
    const auto elements = list.json().is_array() ? list.elements() : std::vector<wire::Field>{};
    for (std::size_t i = 0; i < policy.tenants.size(); ++i) {
        const std::string& queue = policy.tenants[i].queue;
        if (!queue.empty() && inner.contains(queue)) {
            (i < elements.size() ? elements[i] : field)
                .error("queue " + queue + " of tenant " + policy.tenants[i].name +
                       " holds queues, not jobs");
        }
        if (queue.empty() || std::find(queues.begin(), queues.end(), queue) != queues.end()) {
            continue;
        }
        const std::string nearest = wire::nearest_name(queue, queues);
        const wire::Field& at = i < elements.size() ? elements[i] : field;
        at.error("no pool has the queue " + queue + " of tenant " + policy.tenants[i].name +
                 (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
    }
}

void check(const Names& names, const wire::Field& field) {
    const bool dotted = names.label_prefix.find('.') != std::string::npos;
    std::string problem = wire::problem_with_subdomain(names.label_prefix);
    for (const std::string_view reserved : {"kubernetes.io", "k8s.io"}) {
        const std::string& prefix = names.label_prefix;
        const bool below =
            prefix.ends_with(reserved) && (prefix.size() == reserved.size() ||
                                           prefix[prefix.size() - reserved.size() - 1] == '.');
        if (below) problem = "belongs to Kubernetes: " + std::string{reserved} + " is reserved";
    }
    if (problem.empty() && dotted) return;
    member(field, "labelPrefix")
        .error("\"" + names.label_prefix + "\" " +
               (problem.empty() ? "must be a domain such as runwhere.ai" : problem));
}

}  // namespace gpuctl::config
