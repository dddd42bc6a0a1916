#include "k8s/convert/convert_pod.hpp"

#include <algorithm>

#include "k8s/convert/convert_pod_parts.hpp"
#include "k8s/json/object_time.hpp"
#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/model/job/job_spec.hpp"

namespace gpuctl::k8s {

namespace {

void store_own_value(MetadataParts& parts, LabelKeys::Found found, std::string_view value) {
    switch (found.key) {
        case OwnKey::name:
            return parts.own_name.offer(value, found.old_prefix);
        case OwnKey::pool:
            return parts.pool.offer(value, found.old_prefix);
        case OwnKey::queue:
            return parts.queue.offer(value, found.old_prefix);
        case OwnKey::gang:
            return parts.gang.offer(value, found.old_prefix);
        case OwnKey::gang_min:
            return parts.gang_min.offer(value, found.old_prefix);
        case OwnKey::gang_role:
            return parts.gang_role.offer(value, found.old_prefix);
        case OwnKey::gang_roles:
            return parts.gang_roles.offer(value, found.old_prefix);
        case OwnKey::preemptible:
            return parts.preemptible.offer(value, found.old_prefix);
        case OwnKey::checkpoint_interval_seconds:
            return parts.checkpoint_interval.offer(value, found.old_prefix);
        case OwnKey::restart_cost_seconds:
            return parts.restart_cost.offer(value, found.old_prefix);
        case OwnKey::gpu_type:
            return parts.gpu_type.offer(value, found.old_prefix);
        case OwnKey::job_type:
            parts.is_made_by_us = true;
            return;
        case OwnKey::none:
        case OwnKey::priority:
        case OwnKey::namespace_name:
        case OwnKey::gang_attempt:
        case OwnKey::epoch:
        case OwnKey::port:
        case OwnKey::description:
        case OwnKey::source:
        case OwnKey::job_uid:
        case OwnKey::gpu_fraction:
        case OwnKey::gpu_memory:
        case OwnKey::gpu_resource:
        case OwnKey::gpu_device:
        case OwnKey::gpu_sharing:
        case OwnKey::required_topology:
        case OwnKey::preferred_topology:
        case OwnKey::health:
        case OwnKey::drain:
        case OwnKey::topology_spread:
            return;
    }
}

// Nominated capacity waits for the longest grace period of its victims: cap it at a week.
constexpr std::int64_t kStopGraceMaxSeconds = 7 * 24 * 3600;

constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";

// The role of a pod in its workload, as its maker wrote it: KAI, Volcano, JobSet, the training
// operators.
bool is_foreign_role(std::string_view key) {
    return key == "kai.scheduler/subgroup-name" || key == "volcano.sh/task-spec" ||
           key == "jobset.sigs.k8s.io/replicatedjob-name" ||
           key == "training.kubeflow.org/replica-type";
}

// Volcano, KAI and KAI's predecessor.
bool is_foreign_queue(std::string_view key) {
    return key == "scheduling.volcano.sh/queue-name" || key == "kai.scheduler/queue" ||
           key == "runai/queue";
}

void read_labels(JsonCursor& cursor, const LabelKeys& labels, MetadataParts& parts) {
    cursor.object([&](std::string_view key) {
        const std::string_view value = cursor.string();
        if (key == "app") {
            parts.app = value;
        } else if (key == "pod-template-hash" || key == "controller-revision-hash") {
            parts.template_hash = value;
        } else if (key == kCompletionIndex || key == "apps.kubernetes.io/pod-index") {
            parts.completion_index = value;
        } else if (key == "scheduling.x-k8s.io/pod-group") {
            parts.foreign_gang = value;
        } else if (is_foreign_queue(key)) {
            parts.foreign_queue = value;
        } else if (read_made_group_label(key, value, parts.made_group)) {
            return;
        } else if (is_foreign_role(key)) {
            parts.foreign_role = value;
        } else {
            store_own_value(parts, labels.recognise(key), value);
        }
    });
}

constexpr bool is_annotation(OwnKey key) {
    return key == OwnKey::gang_min || key == OwnKey::gang_roles || key == OwnKey::preemptible ||
           key == OwnKey::checkpoint_interval_seconds || key == OwnKey::restart_cost_seconds;
}

OwnValue* own_annotation(MetadataParts& parts, OwnKey key) {
    if (key == OwnKey::gpu_type) return &parts.gpu_types;
    if (key == OwnKey::gpu_fraction) return &parts.gpu_fraction;
    if (key == OwnKey::gpu_memory) return &parts.gpu_memory;
    if (key == OwnKey::gpu_resource) return &parts.gpu_resource;
    if (key == OwnKey::gpu_device) return &parts.gpu_device;
    if (key == OwnKey::required_topology) return &parts.required_topology;
    if (key == OwnKey::preferred_topology) return &parts.preferred_topology;
    if (key == OwnKey::topology_spread) return &parts.topology_spread;
    return nullptr;
}

void read_annotations(JsonCursor& cursor, const LabelKeys& labels, MetadataParts& parts) {
    cursor.object([&](std::string_view key) {
        if (key == kCompletionIndex) {
            parts.completion_index = cursor.string();
        } else if (key == "scheduling.k8s.io/group-name" ||
                   key == "scheduling.volcano.sh/group-name" || key == "pod-group-name") {
            parts.foreign_gang = cursor.string();
        } else if (is_foreign_role(key)) {
            parts.foreign_role = cursor.string();
        } else if (is_foreign_queue(key)) {
            parts.foreign_queue = cursor.string();
        } else if (key == "kueue.x-k8s.io/podset-required-topology") {
            parts.required_topology.offer(cursor.string(), true);
        } else if (key == "kueue.x-k8s.io/podset-preferred-topology") {
            parts.preferred_topology.offer(cursor.string(), true);
        } else if (key.starts_with("leaderworkerset.")) {
            read_made_group_annotation(key, cursor.string(), parts.made_group);
        } else {
            const auto found = labels.recognise(key);
            if (is_annotation(found.key)) {
                store_own_value(parts, found, cursor.string());
            } else if (OwnValue* value = own_annotation(parts, found.key)) {
                value->offer(cursor.string(), found.old_prefix);
            } else {
                cursor.skip();
            }
        }
    });
}

// The one pool that a term of its affinity allows, else "".
std::string_view pool_of_term(const SelectorTerm& term, const LabelKeys& labels) {
    for (const SelectorRequirement& label : term.labels) {
        const bool names_one = label.op == SelectorOperator::in && label.values.size() == 1;
        if (names_one && labels.recognise(label.key).key == OwnKey::pool) {
            return label.values.front();
        }
    }
    return {};
}

// Every term that can match allows the same pool.
std::string_view pool_of_affinity(const PlacementRules& rules, const LabelKeys& labels) {
    std::string_view common;
    if (!rules.required_affinity) return common;
    for (const SelectorTerm& term : *rules.required_affinity) {
        if (term.broken || (term.labels.empty() && term.fields.empty())) continue;
        const std::string_view pool = pool_of_term(term, labels);
        if (pool.empty() || (!common.empty() && common != pool)) return {};
        common = pool;
    }
    return common;
}

// The pool that its nodeSelector or its required affinity requires.
std::string_view pinned_pool(const PlacementRules& rules, const LabelKeys& labels) {
    OwnValue pool;
    for (const auto& [key, value] : rules.node_selector) {
        const auto found = labels.recognise(key);
        if (found.key == OwnKey::pool) pool.offer(value, found.old_prefix);
    }
    return pool.text.empty() ? pool_of_affinity(rules, labels) : pool.text;
}

PodPhase phase_of(std::string_view phase) {
    if (phase == "Running") return PodPhase::running;
    if (phase == "Succeeded") return PodPhase::succeeded;
    if (phase == "Failed") return PodPhase::failed;
    return PodPhase::pending;  // "Unknown" has not been written since 1.15
}

void set_times(const MetadataParts& metadata, const StatusParts& status, PodFacts& facts) {
    facts.created_at = metadata.created_at;
    for (const ContainerStatusParts& container : status.containers) {
        facts.restarts = std::min(facts.restarts, 1'000'000) + container.restarts;
        const Instant since = container.running_since;
        if (since.happened() && (!facts.started_at.happened() || since < facts.started_at)) {
            facts.started_at = since;
        }
        facts.finished_at = std::max(facts.finished_at, container.finished_at);
    }
    if (facts.phase == PodPhase::pending) {
        facts.started_at = Instant{};
    } else if (!facts.started_at.happened()) {
        facts.started_at = status.start_time;
    }
    if (!is_terminal(facts.phase)) {
        facts.finished_at = Instant{};
    } else if (!facts.finished_at.happened()) {
        // Refused by the kubelet or evicted: no container ever started.
        facts.finished_at = std::max(status.start_time, metadata.created_at);
    }
}

PodFacts to_facts(const MetadataParts& metadata, const StatusParts& status, SpecParts& spec,
                  const PodReadSettings& settings) {
    PodFacts facts;
    facts.uid = metadata.uid;
    facts.key = {std::string(metadata.namespace_name), std::string(metadata.name)};
    facts.ours = spec.scheduler_name == settings.scheduler_name;
    facts.gated = spec.gated;
    facts.terminating = metadata.terminating;
    facts.has_controller = metadata.has_controller;
    facts.controller_uid = metadata.controller_uid;
    facts.phase = phase_of(status.phase);
    facts.address = std::string(status.pod_ip);
    facts.status = pod_status(status, metadata.terminating);
    facts.node = spec.node;
    facts.priority = spec.priority;
    facts.run_time_max = spec.run_time_max;
    // A pod that sets neither preemptibility label is preemptible when its priority is low.
    facts.preemptible = metadata.preemptible.text.empty()
                            ? spec.priority <= priority_value(JobPriority::low)
                            : metadata.preemptible.text == "true";
    facts.preempts = spec.preempts;
    facts.runs_to_end = spec.runs_to_end;
    facts.checkpoint_interval =
        Duration::seconds(number_at_least(metadata.checkpoint_interval.text, 0).value_or(0));
    facts.restart_cost =
        Duration::seconds(number_at_least(metadata.restart_cost.text, 0).value_or(0));
    facts.stop_grace =
        Duration::seconds(std::clamp<std::int64_t>(spec.stop_grace_s, 0, kStopGraceMaxSeconds));
    set_times(metadata, status, facts);
    facts.queue = metadata.queue.text;
    facts.queue_suggested = suggested_queue(metadata.foreign_queue);
    facts.pool =
        metadata.pool.text.empty() ? pinned_pool(spec.rules, settings.labels) : metadata.pool.text;
    facts.request = pod_request(spec, status);
    facts.rules = std::move(spec.rules);
    facts.rules.gpu_model = metadata.gpu_type.text;
    if (facts.ours) facts.pin = pin_of(facts.rules);
    facts.unsupported = std::move(spec.unsupported);
    name_job(metadata, spec.scheduling_group, settings.labels, facts);
    if (!facts.ours) return facts;
    // Submitted jobs have a default of their own; for all other pods the pool decides.
    const bool is_own_job = facts.job.find(':') == std::string::npos;
    facts.preemptible_is_default = metadata.preemptible.text.empty() && !is_own_job;
    if (!facts.gang) {
        const auto lacks_gang = [&](OwnKey key) {  // the pod would start alone
            facts.unsupported.push_back("the annotation " + settings.labels.text(key) +
                                        " without the label " + settings.labels.text(OwnKey::gang));
        };
        if (!metadata.gang_min.text.empty()) lacks_gang(OwnKey::gang_min);
        if (!metadata.gang_roles.text.empty()) lacks_gang(OwnKey::gang_roles);
    }
    refuse_uncounted(facts);
    add_gpu_part(metadata, settings.labels, facts);
    add_topology(metadata, settings.labels, facts);
    add_gpu_kind(metadata, spec, settings.labels, facts);
    return facts;
}

void read_owner(JsonCursor& cursor, MetadataParts& parts) {
    std::string_view kind;
    std::string_view name;
    std::string_view uid;
    bool is_controller = false;
    cursor.object([&](std::string_view key) {
        if (key == "controller") {
            is_controller = cursor.boolean();
        } else if (key == "kind") {
            kind = cursor.string();
        } else if (key == "name") {
            name = cursor.string();
        } else if (key == "uid") {
            uid = cursor.string();
        } else {
            cursor.skip();
        }
    });
    if (!is_controller) return;
    parts.has_controller = true;
    parts.controller_uid = uid;
    parts.controller_kind = kind;
    parts.controller_name = name;
}

}  // namespace

MetadataParts read_metadata(JsonCursor& cursor, const LabelKeys& labels) {
    MetadataParts parts;
    cursor.object([&](std::string_view key) {
        if (key == "name") {
            parts.name = cursor.string();
        } else if (key == "namespace") {
            parts.namespace_name = cursor.string();
        } else if (key == "uid") {
            parts.uid = cursor.string();
        } else if (key == "generation") {
            parts.generation = cursor.integer();
        } else if (key == "creationTimestamp") {
            parts.created_at = parse_object_time(cursor.string());
        } else if (key == "deletionTimestamp") {
            parts.terminating = !cursor.string().empty();
        } else if (key == "labels") {
            read_labels(cursor, labels, parts);
        } else if (key == "annotations") {
            read_annotations(cursor, labels, parts);
        } else if (key == "ownerReferences") {
            cursor.array([&] { read_owner(cursor, parts); });
        } else {
            cursor.skip();  // above all managedFields, which are large
        }
    });
    return parts;
}

Result<PodReading> read_pod(std::string_view json, const PodReadSettings& settings) {
    JsonCursor cursor{json};
    MetadataParts metadata;
    SpecParts spec;
    StatusParts status;
    cursor.object([&](std::string_view key) {
        if (key == "metadata") {
            metadata = read_metadata(cursor, settings.labels);
        } else if (key == "spec") {
            spec = read_spec(cursor);
        } else if (key == "status") {
            status = read_status(cursor);
        } else {
            cursor.skip();
        }
    });
    if (!cursor.ok() || metadata.uid.empty() || metadata.name.empty()) {
        return make_error(ErrorCode::InvalidJson,
                          "a pod from the API server cannot be read: it is cut, malformed, or has "
                          "no name or uid");
    }
    PodReading reading;
    reading.facts = to_facts(metadata, status, spec, settings);
    reading.claims = std::move(spec.claims);
    reading.generation = metadata.generation;
    reading.stored_unscheduled = status.stored_unscheduled;
    reading.stored_reason = status.stored_reason;
    reading.stored_message = status.stored_message;
    reading.stored_since = status.stored_since;
    return reading;
}

std::uint64_t fingerprint(const PodFacts& facts, std::string& scratch) {
    scratch.clear();
    ArchiveWriter{scratch}.write(facts);
    return hash64(scratch);
}

}  // namespace gpuctl::k8s
