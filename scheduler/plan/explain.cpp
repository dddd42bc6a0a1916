#include "scheduler/plan/explain.hpp"

#include <algorithm>

#include "scheduler/model/quantity.hpp"
#include "scheduler/plan/explain_parts.hpp"

namespace gpuctl {

using explain_parts::count;
using explain_parts::gpus;
using explain_parts::gpus_noun;
using explain_parts::Group;

namespace {

// What must find room for the job to move: a gang's missing ranks, or any one pod of the others.
std::vector<Group> groups_of(const ClusterState& state, const Readiness& ready) {
    std::vector<Group> groups;
    std::size_t pods = ready.pods.size();
    if (ready.all_or_nothing) {
        pods = std::min(pods, static_cast<std::size_t>(ready.ranks_needed));
    }
    for (std::size_t i = 0; i < pods; ++i) {
        const ShapeId shape = state.pod(ready.pods[i]).shape;
        const auto known = std::find_if(groups.begin(), groups.end(),
                                        [&](const Group& group) { return group.shape == shape; });
        if (known == groups.end()) {
            groups.push_back({shape, 1});
        } else if (ready.all_or_nothing) {
            ++known->ranks;
        }
    }
    return groups;
}

struct Asked {
    GpuMilli gpus;
    CpuMilli cpu;
    Bytes memory;
};

Asked asked(const ClusterState& state, const std::vector<Group>& groups, bool all) {
    Asked sum;
    for (const Group& group : groups) {
        const Shape& shape = state.shapes().at(group.shape);
        sum.gpus += shape.gpus * group.ranks;
        sum.cpu += shape.cpu * group.ranks;
        sum.memory += shape.memory * group.ranks;
        if (!all) break;
    }
    return sum;
}

Explanation over_limit(std::string subject, std::string holder, Reason reason,
                       const std::string& unit, std::int64_t limit, std::int64_t held,
                       std::int64_t needed, const std::string& limit_text,
                       const std::string& held_text, const std::string& needed_text) {
    Explanation out;
    out.reason = reason;
    out.subject = std::move(subject);
    out.figures = {{unit + "_limit", limit}, {unit + "_held", held}, {unit + "_needed", needed}};
    out.sentence = holder + " may hold " + limit_text + " and holds " + held_text + "; it needs " +
                   needed_text + (needed > limit ? ", more than it may ever hold" : "");
    return out;
}

void explain_limits(const ClusterState& state, const JobRow& job, const Asked& ask,
                    std::vector<Explanation>& out) {
    if (job.priority >= kSystemPriority) return;
    const QueueRow& queue = state.queue(job.queue);
    if (queue.maximum && ask.gpus > GpuMilli{0} && queue.held + ask.gpus > *queue.maximum) {
        out.push_back(over_limit(
            queue.name, "queue " + queue.name + " of pool " + state.pool(queue.pool).name,
            Reason::queue_limit, "gpus", queue.maximum->value(), queue.held.value(),
            ask.gpus.value(), gpus_noun(queue.maximum->value()), gpus(queue.held.value()),
            gpus(ask.gpus.value())));
    }
    const TenantRow& tenant = state.tenant(job.tenant);
    const std::string who = "namespace " + tenant.name;
    if (tenant.gpu_maximum && ask.gpus > GpuMilli{0} &&
        tenant.gpus_held + ask.gpus > *tenant.gpu_maximum) {
        out.push_back(over_limit(tenant.name, who, Reason::tenant_quota, "gpus",
                                 tenant.gpu_maximum->value(), tenant.gpus_held.value(),
                                 ask.gpus.value(), gpus_noun(tenant.gpu_maximum->value()),
                                 gpus(tenant.gpus_held.value()), gpus(ask.gpus.value())));
    }
    if (tenant.cpu_maximum && ask.cpu > CpuMilli{0} &&
        tenant.cpu_held + ask.cpu > *tenant.cpu_maximum) {
        out.push_back(over_limit(tenant.name, who, Reason::tenant_quota, "cpu",
                                 tenant.cpu_maximum->value(), tenant.cpu_held.value(),
                                 ask.cpu.value(), format_cpu(*tenant.cpu_maximum) + " CPU",
                                 format_cpu(tenant.cpu_held), format_cpu(ask.cpu)));
    }
    if (tenant.memory_maximum && ask.memory > Bytes{0} &&
        tenant.memory_held + ask.memory > *tenant.memory_maximum) {
        out.push_back(over_limit(tenant.name, who, Reason::tenant_quota, "memory",
                                 tenant.memory_maximum->value(), tenant.memory_held.value(),
                                 ask.memory.value(),
                                 format_bytes(*tenant.memory_maximum) + " memory",
                                 format_bytes(tenant.memory_held), format_bytes(ask.memory)));
    }
}

Explanation plain(Reason reason, std::string subject, std::string sentence) {
    Explanation out;
    out.reason = reason;
    out.subject = std::move(subject);
    out.sentence = std::move(sentence);
    return out;
}

}  // namespace

std::vector<Explanation> explain(const ClusterState& state, JobId id, const Readiness& ready) {
    std::vector<Explanation> out;
    if (!ready.waits) return out;
    const JobRow& job = state.job(id);
    if (!state.synced()) {
        out.push_back(plain(Reason::not_synced, "", "the cluster has not been read completely"));
    } else if (!state.leading()) {
        out.push_back(plain(Reason::not_leader, "", "another gpuctld is in charge"));
    }
    if (ready.hold != Reason::none) {
        out.push_back(explain_parts::explain_hold(state, job, ready));
        return out;
    }
    const std::vector<Group> groups = groups_of(state, ready);
    explain_limits(state, job, asked(state, groups, ready.all_or_nothing), out);
    bool has_room = true;
    for (const Group& group : groups) {
        std::optional<Explanation> found = explain_parts::explain_group(state, job, group);
        if (!found) {
            if (!ready.all_or_nothing) break;  // any pod that fits moves the job on
            continue;
        }
        has_room = false;
        out.push_back(std::move(*found));
        if (ready.all_or_nothing) break;
    }
    if (has_room && ready.all_or_nothing && groups.size() > 1) {
        if (std::optional<Explanation> found = explain_parts::explain_mix(state, job, ready)) {
            out.push_back(std::move(*found));
        }
    }
    if (ready.resume && !out.empty()) {
        Explanation half = out.front();
        half.reason = Reason::gang_half_bound;
        half.subject = job.key.name;
        half.sentence = std::to_string(ready.ranks_held) + " of " +
                        count(ready.ranks_min, "rank", "ranks") +
                        " are bound, the rest cannot be: " + half.sentence;
        half.figures.push_back({"ranks_min", ready.ranks_min});
        half.figures.push_back({"ranks_present", ready.ranks_held});
        out.insert(out.begin(), std::move(half));
    }
    explain_parts::explain_short_work(state, id, out);
    explain_parts::explain_promise(state, id, out);
    if (out.empty()) {
        out.push_back(plain(Reason::turn, job.queue.exists() ? state.queue(job.queue).name : "",
                            "nothing stands in its way; it is tried at the next turn of its "
                            "queue"));
    }
    return out;
}

std::vector<Explanation> explain(const ClusterState& state, JobId id) {
    Readiness ready;
    state.read_readiness(id, ready);
    return explain(state, id, ready);
}

}  // namespace gpuctl
