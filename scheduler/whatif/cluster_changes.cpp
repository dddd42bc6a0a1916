// What others would have to do: end a job, bring nodes.

#include <algorithm>
#include <tuple>

#include "scheduler/model/quantity.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

constexpr std::size_t kJobsTriedMax = 32;
constexpr std::int64_t kNodesMax = 1'024;

struct Holder {
    GpuMilli gpus;
    ObjectKey key;
    std::vector<std::string> uids;
    friend bool operator<(const Holder& a, const Holder& b) {
        return std::tie(a.gpus, a.key) < std::tie(b.gpus, b.key);
    }
};

// Jobs of ours that hold something in the same pool, the smallest first.
std::vector<Holder> holders(const Question& question) {
    const ClusterState& state = *question.state();
    std::vector<Holder> out;
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.pool != question.job().pool || key == question.job().key) continue;
        Holder holder{GpuMilli{}, key, {}};
        for (const PodId pod_id : job.pods) {
            const PodRow& pod = state.pod(pod_id);
            if (!pod.node.exists()) continue;
            holder.gpus += state.shapes().at(pod.shape).gpus;
            holder.uids.push_back(pod.facts.uid);
        }
        if (!holder.uids.empty()) out.push_back(std::move(holder));
    }
    std::sort(out.begin(), out.end());
    if (out.size() > kJobsTriedMax) out.resize(kJobsTriedMax);
    return out;
}

// The largest node that the job may use: more of that kind help soonest.
const NodeFacts* model_node(const Question& question) {
    const ClusterState& state = *question.state();
    const PodFacts* pod = nullptr;
    for (const PodId id : question.job().pods) {
        if (state.pod(id).standing == PodStanding::waiting) pod = &state.pod(id).facts;
    }
    const NodeFacts* best = nullptr;
    const auto size = [](const NodeFacts& node) {
        return std::tuple{gpus_total(node.allocatable), node.allocatable.cpu,
                          node.allocatable.memory};
    };
    for (const auto& [name, id] : state.nodes_by_name()) {
        const NodeRow& row = state.node(id);
        if (pod == nullptr || !row.known || row.pool != question.job().pool) continue;
        if (first_refusal(pod->rules, row.facts) != NodeRefusal::none) continue;
        if (best == nullptr || size(*best) < size(row.facts)) best = &row.facts;
    }
    return best;
}

}  // namespace

std::optional<Remedy> try_job_ends(Question& question) {
    for (const Holder& holder : holders(question)) {
        const Change change = [&](Trial& trial) {
            for (const std::string& uid : holder.uids) {
                trial.happen(PodRemoved{uid});
                trial.settle();  // its pods end one after the other: somebody may take what is free
            }
        };
        if (!question.helps(change)) continue;
        const std::string name = to_string(holder.key);
        return Remedy{ChangeKind::job_ends, name, holder.gpus.value() / kGpuMilliPerGpu,
                      "it would start if " + name + " ended, which holds " +
                          format_gpus(holder.gpus) +
                          (holder.gpus == whole_gpus(1) ? " GPU" : " GPUs")};
    }
    return std::nullopt;
}

namespace {

// More may help less: with many new nodes a wider job that waits before it takes them all. So the
// small numbers are tried first.
std::optional<std::int64_t> fewest(Question& question, std::int64_t high,
                                   const std::function<Change(std::int64_t)>& of) {
    std::int64_t too_few = 0;
    for (std::int64_t count = 1;; count = std::min(2 * count, high)) {
        if (question.helps(of(count))) return question.smallest(too_few + 1, count, of);
        if (count >= high) return std::nullopt;
        too_few = count;
    }
}

std::int64_t pods_waiting(const ClusterState& state) {
    std::int64_t sum = 0;
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (job.waits_in.exists()) sum += static_cast<std::int64_t>(job.pods.size());
    }
    return sum;
}

}  // namespace

std::optional<Remedy> try_more_nodes(Question& question) {
    const NodeFacts* like = model_node(question);
    if (like == nullptr) return std::nullopt;
    const std::string name = like->name;
    const auto so_many = [&](std::int64_t count) -> Change {
        return [count, node = *like](Trial& trial) {
            for (std::int64_t i = 1; i <= count; ++i) {
                NodeFacts more = node;
                more.name = node.name + "/what-if-" + std::to_string(i);
                more.topology.host = more.name;  // in the same rack, but a machine of its own
                trial.happen(NodeObserved{std::move(more)});
                trial.settle();  // they join one after the other
            }
        };
    };
    // Others who wait take their part of what is new.
    const std::int64_t waiting = std::max<std::int64_t>(pods_waiting(*question.state()), 1);
    const auto count = fewest(question, std::min(waiting, kNodesMax), so_many);
    if (!count) return std::nullopt;
    return Remedy{ChangeKind::more_nodes, name, *count,
                  "it would start with " + std::to_string(*count) +
                      (*count == 1 ? " more node" : " more nodes") + " like " + name};
}

}  // namespace gpuctl::whatif
