#include "daemon/config/checks.hpp"

#include <algorithm>
#include <set>

#include "policy_document/check_parts.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/gpu/mig.hpp"
#include "text/duration.hpp"
#include "text/url.hpp"
#include "wire/job/job_rules.hpp"

namespace gpuctl::config {
namespace {

std::string in_words(milliseconds span) { return text::format_duration(Duration{span.count()}); }

void check_pools_once(const std::vector<PodDefaults>& all, const wire::Field& field) {
    std::set<std::string> pools;
    for (const PodDefaults& one : all) {
        if (pools.insert(one.pool).second) continue;
        place_in(field, "podDefaults")
            .error(one.pool.empty() ? "two entries are for every pool; write one, or name a pool"
                                    : "pool " + one.pool + " is given twice");
    }
}

}  // namespace

void check_host_path_roots(const std::vector<std::string>& roots, const wire::Field& section) {
    for (const std::string& root : roots) {
        if (root == "/") continue;
        if (const auto problem = wire::problem_with_path(root); !problem.empty()) {
            place_in(section, "hostPathRoots").error("\"" + root + "\" " + problem);
        }
    }
}

void check(const PodToleration& toleration, const wire::Field& field) {
    if (toleration.key.empty() && !toleration.value.empty()) {
        field.error("a toleration with a value needs the key of the taint");
    }
    const std::string& effect = toleration.effect;
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" &&
        effect != "NoExecute") {
        place_in(field, "effect")
            .error("must be NoSchedule, PreferNoSchedule or NoExecute, not \"" + effect + "\"");
    }
}

void check(const PodDefaults& defaults, const wire::Field& field) {
    check_label(field, "pool", defaults.pool);
    if (!defaults.service_account.empty()) {
        if (const auto problem = wire::problem_with_subdomain(defaults.service_account);
            !problem.empty()) {
            place_in(field, "serviceAccountName")
                .error("\"" + defaults.service_account + "\" " + problem);
        }
    }
    const std::string& profile = defaults.seccomp_profile;
    if (!profile.empty() && profile != "RuntimeDefault" && profile != "Unconfined") {
        place_in(field, "seccompProfile")
            .error("must be RuntimeDefault or Unconfined, not \"" + profile + "\"");
    }
    if (defaults.run_as_non_root && defaults.run_as_user == 0) {
        place_in(field, "runAsUser").error("is 0, which is root, and runAsNonRoot is true");
    }
    for (const auto& [name, value] : defaults.environment) {
        if (const auto problem = wire::problem_with_variable_name(name); !problem.empty()) {
            place_in(field, "environment").error("the variable name \"" + name + "\" " + problem);
        }
    }
}

void check(const Server& server, const wire::Field& field) {
    if (!text::is_loopback(server.address)) {
        place_in(field, "address")
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
            place_in(field, "name").error("\"" + lease.name + "\" " + problem);
        }
    } else {
        place_in(field, "name").error("lease.name must not be empty");
    }
    if (lease.namespace_name.empty()) {
        place_in(field, "namespace").error("lease.namespace must not be empty");
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
            place_in(field, key)
                .error("pod." + std::string{key} + " is missing: the four keys of pod go together");
        } else if (any) {
            if (const auto problem = wire::problem_with_subdomain(value); !problem.empty()) {
                place_in(field, key).error("\"" + value + "\" " + problem);
            }
        }
    }
}

void check(const Kubernetes& kubernetes, const wire::Field& field) {
    const milliseconds spare = kubernetes.lease.duration - kubernetes.lease.renew_deadline;
    if (kubernetes.lease.enabled && spare.count() > 0 && kubernetes.bind_timeout > spare) {
        place_in(field, "bindTimeout")
            .error("bindTimeout " + in_words(kubernetes.bind_timeout) +
                   " must not be longer than lease.duration minus lease.renewDeadline (" +
                   in_words(spare) + "): a deposed leader's write must have ended by then");
    }
    if (const auto problem = wire::problem_with_subdomain(kubernetes.scheduler_name);
        !problem.empty()) {
        place_in(field, "schedulerName").error("\"" + kubernetes.scheduler_name + "\" " + problem);
    }
    check_host_path_roots(kubernetes.host_path_roots, field);
    check_pools_once(kubernetes.pod_defaults, field);
}

namespace {

// Whether a GPU of that model can have these slices. Each slice by itself first, then all on one.
std::string problem_with_slices(const EmbeddedNodes& nodes) {
    const auto families = mig_families_of(nodes.gpu_model);
    if (families.empty()) {
        return "gpuModel \"" + nodes.gpu_model +
               "\" has no known MIG profiles; use a model such as H100-80GB";
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
    return all + " do not fit on one GPU of model " + nodes.gpu_model +
           " together: each may start at only a few of its " +
           std::to_string(families.front()->memory_slices) + " memory slices only";
}

void check_pieces(const EmbeddedNodes& nodes, const wire::Field& field) {
    const bool is_cut = !nodes.mig_slices.empty();
    if (is_cut && nodes.gpu_replicas > 1) {
        place_in(field, "gpuReplicas")
            .error("GPUs are either partitioned (migSlices) or shared, not both");
    }
    if ((is_cut || nodes.gpu_replicas > 1) && nodes.gpu_resource != gpu_vendors()[0].resource) {
        place_in(field, "gpuResource")
            .error("only GPUs called " + std::string{gpu_vendors()[0].resource} +
                   " can be partitioned or shared");
    }
    if (!is_cut) return;
    if (const std::string problem = problem_with_slices(nodes); !problem.empty()) {
        place_in(field, "migSlices").error(problem);
    }
}

}  // namespace

void check(const EmbeddedNodes& nodes, const wire::Field& field) {
    check_label(field, "name", nodes.name);
    check_label(field, "pool", nodes.pool);
    if (nodes.gpus > 0 && !is_gpu_resource(nodes.gpu_resource)) {
        place_in(field, "gpuResource")
            .error("\"" + nodes.gpu_resource +
                   "\" is not a resource of a known GPU vendor, for example nvidia.com/gpu");
    }
    check_pieces(nodes, field);
    if (!nodes.gpu_model.empty()) {
        if (const auto problem = wire::problem_with_label_value(nodes.gpu_model);
            !problem.empty()) {
            place_in(field, "gpuModel").error("\"" + nodes.gpu_model + "\" " + problem);
        }
    }
}

void check(const Embedded& embedded, const wire::Field& field) {
    check_host_path_roots(embedded.host_path_roots, field);
    if (embedded.nodes.empty()) {
        place_in(field, "nodes").error("embedded.nodes is empty; remove it for the default nodes");
    }
    check_unique(embedded.nodes, field, "nodes", "the node group");
}

void check(const Cluster& cluster, const wire::Field& field) {
    wire::Fields fields{field};
    const std::string_view chosen = to_string(cluster.mode);
    for (const std::string_view name : kClusterModeNames) {
        const wire::Field section = fields.find(name);
        if (name == chosen || !section) continue;
        section.error("cluster." + std::string{name} + " is given, but cluster.mode is " +
                      std::string{chosen} + "; set mode: " + std::string{name} + " or remove it");
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
    place_in(field, "labelPrefix")
        .error("\"" + names.label_prefix + "\" " +
               (problem.empty() ? "must be a domain such as runwhere.ai" : problem));
}

}  // namespace gpuctl::config
