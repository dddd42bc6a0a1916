// Changes by other users and administrators: end a job, add nodes. It is unknown how pods end or
// nodes join, so a change must help if this happens one after the other and if it happens at once.

#include <algorithm>
#include <tuple>

#include "scheduler/policy/filter.hpp"
#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

constexpr std::size_t kJobsTriedMax = 32;
constexpr std::int64_t kNodesMax = 1'024;
constexpr std::size_t kKindsTriedMax = 3;

struct Holder {
    GpuMilli gpus;
    ObjectKey key;
    std::vector<std::string> uids;      // of pods that hold capacity
    std::vector<std::string> uids_all;  // including waiting pods
    bool is_submitted = false;          // submitted to gpuctl
    friend bool operator<(const Holder& a, const Holder& b) {
        return std::tie(a.gpus, a.key) < std::tie(b.gpus, b.key);
    }
};

// Jobs of ours that hold capacity in the same pool, or that count against the quota of the job's
// namespace in another pool. The smallest is first.
std::vector<Holder> holders(const Question& question) {
    const ClusterState& state = *question.state();
    const TenantId tenant = question.job().tenant;
    const bool counts_all = state.tenant(tenant).has_limits();
    std::vector<Holder> out;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const bool counts = job.pool == question.job().pool || (counts_all && job.tenant == tenant);
        if (!counts || key == question.job().key) continue;
        Holder holder{GpuMilli{}, key, {}, {}, static_cast<bool>(job.record)};
        for (const PodId pod_id : job.pods) {
            const PodRow& pod = state.pod(pod_id);
            holder.uids_all.push_back(pod.facts.uid);
            if (!pod.node.exists()) continue;
            holder.gpus += state.shape_of(pod).gpus;
            holder.uids.push_back(pod.facts.uid);
        }
        if (!holder.uids.empty()) out.push_back(std::move(holder));
    }
    std::sort(out.begin(), out.end());
    if (out.size() > kJobsTriedMax) out.resize(kJobsTriedMax);
    return out;
}

// One node of each kind that has room for one of the job's pods when it is empty. Nodes with most
// GPUs are first, because fewer of them are needed. A kind is a number of GPUs and a GPU model.
std::vector<const NodeFacts*> model_nodes(const Question& question) {
    const ClusterState& state = *question.state();
    const PodFacts* pod = question.first_waiting();
    if (pod == nullptr) return {};
    const Shape& shape = state.shape_of(state.pods.find_pod(pod->uid));
    const auto kind = [](const NodeFacts& node) {
        return std::tuple{gpus_total(node.allocatable), node.gpu_model};
    };
    const auto size = [&kind](const NodeFacts& node) {
        return std::tuple{kind(node), node.allocatable.cpu, node.allocatable.memory};
    };
    std::vector<const NodeFacts*> best;
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeRow& row = state.node(id);
        if (!row.known || row.pool != question.job().pool) continue;
        if (first_refusal(pod->rules, row.facts) != NodeRefusal::none) continue;
        if (state.nodes.capacity().fitting_empty(id.value(), shape.needs, 1) == 0) continue;
        const auto known = std::find_if(best.begin(), best.end(), [&](const NodeFacts* one) {
            return kind(*one) == kind(row.facts);
        });
        if (known == best.end()) {
            best.push_back(&row.facts);
        } else if (size(**known) < size(row.facts)) {
            *known = &row.facts;
        }
    }
    std::stable_sort(best.begin(), best.end(), [&size](const NodeFacts* a, const NodeFacts* b) {
        return size(*b) < size(*a);
    });
    if (best.size() > kKindsTriedMax) best.resize(kKindsTriedMax);
    return best;
}

void remove_one_by_one(Trial& trial, const std::vector<std::string>& uids) {
    for (const std::string& uid : uids) {
        trial.happen(PodRemoved{uid});
        trial.settle();  // another job may use the released room now
    }
}

void begin_to_terminate(Trial& trial, const std::string& uid) {
    const PodId id = trial.state().pods.find_pod(uid);
    if (!id.exists()) return;
    PodFacts terminating_pod = trial.state().pod(id).facts;
    terminating_pod.terminating = true;
    trial.happen(PodObserved{std::move(terminating_pod)});
}

// Ways in which a job ends: by itself, by deletion with the grace period of its pods, or by
// deletion without it.
Ways ends(const Holder& holder) {
    return {[&](Trial& trial) { remove_one_by_one(trial, holder.uids); },
            [&](Trial& trial) {
                if (holder.is_submitted) trial.happen(JobDeleteRequested{holder.key, false});
                for (const std::string& uid : holder.uids_all) begin_to_terminate(trial, uid);
                trial.settle();  // room that will be free soon may be assigned already
                remove_one_by_one(trial, holder.uids_all);
            },
            [&](Trial& trial) {
                if (holder.is_submitted) trial.happen(JobDeleteRequested{holder.key, false});
                for (const std::string& uid : holder.uids_all) trial.happen(PodRemoved{uid});
            }};
}

// Further nodes like `node`: in the same rack, but each is a host of its own.
std::vector<NodeFacts> more_like(const NodeFacts& node, std::int64_t count) {
    std::vector<NodeFacts> out;
    for (std::int64_t i = 1; i <= count; ++i) {
        NodeFacts more = node;
        more.name += "/what-if-" + std::to_string(i);
        more.topology.host = more.name;
        out.push_back(std::move(more));
    }
    return out;
}

Ways joins(const NodeFacts& node, std::int64_t count) {
    return {[=](Trial& trial) {
                for (NodeFacts& more : more_like(node, count)) {
                    trial.happen(NodeObserved{std::move(more)});
                    trial.settle();
                }
            },
            [=](Trial& trial) {
                for (NodeFacts& more : more_like(node, count)) {
                    trial.happen(NodeObserved{std::move(more)});
                }
            }};
}

// Each way after the other change, and each way before it.
Ways with_other_change(const OtherChange& other_change, Ways ways) {
    if (!other_change.change) return ways;
    Ways out;
    for (const Change& way : ways) {
        out.push_back([&other_change, way](Trial& trial) {
            other_change.change(trial);
            trial.settle();
            way(trial);
        });
        out.push_back([&other_change, way](Trial& trial) {
            way(trial);
            trial.settle();
            other_change.change(trial);
        });
    }
    return out;
}

}  // namespace

std::optional<Remedy> try_job_ends(Question& question) { return try_job_ends(question, {}); }

std::optional<Change> end_of(const Question& question, const std::string& name) {
    for (const Holder& holder : holders(question)) {
        if (to_string(holder.key) != name) continue;
        return [holder](Trial& trial) { ends(holder).back()(trial); };
    }
    return std::nullopt;
}

std::optional<Remedy> try_job_ends(Question& question, const OtherChange& other_change,
                                   const std::string& only) {
    for (const Holder& holder : holders(question)) {
        if (!only.empty() && to_string(holder.key) != only) continue;
        if (!question.helps(with_other_change(other_change, ends(holder)))) continue;
        const std::string name = to_string(holder.key);
        return with_stops(
            question,
            {ChangeKind::job_ends, name, holder.gpus.value() / kGpuMilliPerGpu,
             question.effect_of(change::JobEnds{other_change.limits, holder.key, holder.gpus})});
    }
    return std::nullopt;
}

namespace {

// A larger number may help less: with many new nodes a wider job before this job takes all of them.
// So small numbers are tried first.
std::optional<std::int64_t> fewest(std::int64_t high,
                                   const std::function<bool(std::int64_t)>& helps_with) {
    std::int64_t too_few = 0;
    for (std::int64_t count = 1;; count = std::min(2 * count, high)) {
        if (helps_with(count)) return smallest(too_few + 1, count, helps_with);
        if (count >= high) return std::nullopt;
        too_few = count;
    }
}

std::int64_t pods_waiting(const ClusterState& state) {
    std::int64_t sum = 0;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.waiting.in_class.exists()) sum += static_cast<std::int64_t>(job.pods.size());
    }
    return sum;
}

// The innermost topology level above a host that a waiting job has a rule for. The level decides
// which job may use new nodes: this job or a job before it.
TopologyLevel level_that_counts(const Question& question) {
    const ClusterState& state = *question.state();
    TopologyLevel least = TopologyLevel::none;
    const auto count = [&](TopologyLevel level) {
        if (level <= TopologyLevel::host) return;
        if (least == TopologyLevel::none || level < least) least = level;
    };
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.waiting.in_class.exists() || job.pool != question.job().pool || job.pods.empty())
            continue;
        const TopologyRules& rules = state.pod(job.pods.front()).facts.rules.topology;
        count(rules.required);
        count(rules.spread);
    }
    return least;
}

// The new nodes are next to the node that they are like, as far as the domains of this level
// matter.
TopologyLevel level_of(const Question& question, const NodeFacts& like) {
    const TopologyLevel level = level_that_counts(question);
    const bool is_known = level != TopologyLevel::none && !like.topology.of(level).empty();
    return is_known ? level : TopologyLevel::none;
}

}  // namespace

std::optional<Remedy> try_more_nodes(Question& question) { return try_more_nodes(question, {}); }

std::optional<Remedy> try_more_nodes(Question& question, const OtherChange& other_change) {
    // Other waiting jobs use a part of new capacity.
    const std::int64_t waiting = std::max<std::int64_t>(pods_waiting(*question.state()), 1);
    for (const NodeFacts* like : model_nodes(question)) {
        const auto count = fewest(std::min(waiting, kNodesMax), [&](std::int64_t nodes) {
            return question.helps(with_other_change(other_change, joins(*like, nodes)));
        });
        if (!count) continue;
        return with_stops(
            question, {ChangeKind::more_nodes, like->name, *count,
                       question.effect_of(change::MoreNodes{other_change.limits, *count, like->name,
                                                            level_of(question, *like)})});
    }
    return std::nullopt;
}

}  // namespace gpuctl::whatif
