// Which job a pod belongs to (ADR 0025), and what it says of its gang (ADR 0026).

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "k8s/convert/convert_pod_parts.hpp"

namespace gpuctl::k8s {
namespace {

std::string gang_min_problem(const MetadataParts& metadata, const LabelKeys& labels) {
    const std::string key = labels.text(OwnKey::gang_min);
    if (metadata.gang_min.text.empty()) return "the annotation " + key + " on its pods is missing";
    return "the annotation " + key + " on its pods is " + in_quotes(metadata.gang_min.text) +
           ", not a whole number of at least 1";
}

struct Controller {
    std::string_view kind;
    std::string_view name;
};

// The owner of a Deployment's ReplicaSet is the Deployment; the template hash in its name is read
// from the pod's label.
Controller controller_of(const MetadataParts& metadata) {
    Controller controller{metadata.controller_kind, metadata.controller_name};
    const std::string end = "-" + std::string{metadata.template_hash};
    if (controller.kind == "ReplicaSet" && !metadata.template_hash.empty() &&
        controller.name.ends_with(end)) {
        controller.kind = "Deployment";
        controller.name.remove_suffix(end.size());
    }
    return controller;
}

// The submitted job that the pod was made for; empty for all other pods. Users may copy labels, so
// the pod's controller must be the object that we named after the job (ADR 0025).
std::string_view own_job_of(const MetadataParts& metadata) {
    if (!metadata.has_controller || !metadata.is_made_by_us) return {};
    const std::string_view owner =
        metadata.own_name.text.empty() ? metadata.app : std::string_view{metadata.own_name.text};
    return controller_of(metadata).name == owner ? owner : std::string_view{};
}

// ADR 0025. Pods of a submitted job carry the job's name. A pod in a gang of another maker belongs
// to that gang whatever its other labels say; any other pod belongs to its controller, one job per
// revision, such as "Deployment.6d8f:web": a rollout may name another queue, pool or size, while
// pods of the previous revision still use the old ones. The label `app` is not used: two
// Deployments may share its value and have different limits.
std::string job_of(const MetadataParts& metadata, std::string_view gang,
                   const std::string& made_gang) {
    if (const auto own = own_job_of(metadata); !own.empty() && (gang.empty() || gang == own)) {
        return std::string{own};
    }
    if (!made_gang.empty()) return made_gang;
    if (!gang.empty()) return std::string{kForeignGangPrefix} + std::string{gang};
    if (!metadata.has_controller) return std::string{kLonePodPrefix} + std::string{metadata.name};
    const Controller controller = controller_of(metadata);
    std::string key{controller.kind};
    if (!metadata.template_hash.empty()) key += "." + std::string{metadata.template_hash};
    return key + ":" + std::string{controller.name};
}

std::string_view without_spaces(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

// "leader=1,worker=4"; nullopt for any other form.
std::optional<std::vector<RoleMinimum>> role_minima(std::string_view text) {
    constexpr std::size_t kRolesMost = 64;
    GangSize size;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), one.size() + 1));
        const std::size_t equals = one.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const std::string_view role = without_spaces(one.substr(0, equals));
        const auto ranks = number_at_least(without_spaces(one.substr(equals + 1)), 1);
        if (role.empty() || !is_label_value(role) || !ranks) return std::nullopt;
        const std::size_t before = size.roles.size();
        size.add({std::string{role}, *ranks});
        if (size.roles.size() == before || before == kRolesMost) return std::nullopt;
    }
    return size.roles;
}

// The leader of a LeaderWorkerSet group has index 0.
std::string_view foreign_role(const MetadataParts& metadata) {
    const std::string_view worker = metadata.made_group.lws_worker;
    if (!metadata.foreign_role.empty() || worker.empty()) return metadata.foreign_role;
    return worker == "0" ? "leader" : "worker";
}

// Controllers that may wait for a pod to be ready before they make the next one. Pods do not say
// whether their controller does, so the message names both cases.
std::string made_in_turn(const MetadataParts& metadata) {
    const MadeGroupParts& group = metadata.made_group;
    if (!group.leader_worker_set.empty()) {
        const bool is_alone = group.lws_worker == "0" && group.lws_size != "1";
        return is_alone ? "LeaderWorkerSet " + std::string{group.leader_worker_set} +
                              ", which creates a leader first and, if its startupPolicy is "
                              "LeaderReady, its workers when the leader is ready"
                        : "";
    }
    if (metadata.controller_kind != "StatefulSet") return "";
    return "StatefulSet " + std::string{metadata.controller_name} +
           ", which creates one pod after another unless its podManagementPolicy is Parallel";
}

// ADR 0026. Pods of submitted jobs have none.
void name_role(const MetadataParts& metadata, const LabelKeys& labels, PodFacts& facts) {
    if (!is_foreign_gang(facts.job)) return;
    facts.role = metadata.gang_role.text.empty() ? foreign_role(metadata) : metadata.gang_role.text;
    auto minima = role_minima(metadata.gang_roles.text);
    if (minima) {
        facts.gang_roles = std::move(*minima);
        return;
    }
    const std::string said = "the annotation " + labels.text(OwnKey::gang_roles) + " ";
    const std::string wrong = in_quotes(metadata.gang_roles.text) +
                              ", not a list of roles with their numbers (\"leader=1,worker=4\")";
    facts.unsupported.push_back(said + wrong);
    facts.gang_min_problem = said + "on its pods is " + wrong;
}

}  // namespace

void name_job(const MetadataParts& metadata, std::string_view scheduling_group,
              const LabelKeys& labels, PodFacts& facts) {
    const std::string_view group =
        scheduling_group.empty() ? metadata.foreign_gang : scheduling_group;  // a PodGroup
    // One label in a template for many groups says that each group is a gang; a PodGroup names it
    // more exactly.
    std::string made_gang;
    if (!metadata.gang.text.empty()) {
        made_gang = made_gang_of(metadata.made_group, metadata.gang.text);
    }
    const bool is_in_group = !made_gang.empty() && !group.empty();
    if (is_in_group) made_gang.clear();
    const std::string_view gang =
        metadata.gang.text.empty() || is_in_group ? group : metadata.gang.text;
    facts.gang = !gang.empty();
    facts.job = job_of(metadata, gang, made_gang);
    if (facts.gang) {
        std::string_view size = metadata.gang_min.text;
        if (size.empty() && !made_gang.empty()) size = metadata.made_group.lws_size;
        facts.gang_min = number_at_least(size, 1).value_or(0);
        if (is_foreign_gang(facts.job)) facts.made_in_turn = made_in_turn(metadata);
        if (!made_gang.empty()) facts.gang_named = metadata.gang.text;
        name_role(metadata, labels, facts);
        const bool is_said = facts.gang_min > 0 || !facts.gang_roles.empty();
        if (is_said) {
            facts.gang_min_problem.clear();
        } else if (facts.gang_min_problem.empty()) {
            facts.gang_min_problem = gang_min_problem(metadata, labels);
        }
    }
    const std::string_view rank = metadata.made_group.lws_worker.empty()
                                      ? metadata.completion_index
                                      : metadata.made_group.lws_worker;
    facts.rank = number_at_least(rank, 0).value_or(-1);
}

}  // namespace gpuctl::k8s
