// Changes by the job's owner alone: size, queue or pool of the job.

#include <algorithm>

#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

constexpr std::size_t kPlacesTriedMax = 16;

bool is_gang(const Question& question) {
    return question.state()->gangs.gang_size(question.job()).value_or(0) > 0;
}

void ask_for_gpus(PodFacts& pod, std::int64_t gpus) {
    for (GpuAmount& amount : pod.request.gpus) amount.amount = whole_gpus(gpus);
}

}  // namespace

std::optional<Remedy> try_fewer_gpus(Question& question) {
    const PodFacts* pod = question.first_waiting();
    if (pod == nullptr || pod->request.gpus.size() != 1) return std::nullopt;
    if (is_gang(question) && !question.waits_whole()) return std::nullopt;  // ranks are alike
    const std::int64_t asked = pod->request.gpus.front().amount.value() / kGpuMilliPerGpu;
    // The search runs over the number of ranks fewer, because fewer ranks are easier to place.
    const auto less = smallest(1, asked - 1, [&](std::int64_t fewer) {
        const std::int64_t left = asked - fewer;
        return question.helps(
            recreate(question, {[=](PodFacts& one) { ask_for_gpus(one, left); },
                                [=](JobSpec& spec) { spec.gpu.amount = whole_gpus(left); }}));
    });
    if (!less) return std::nullopt;
    const std::int64_t left = asked - *less;
    return with_stops(
        question,
        {ChangeKind::fewer_gpus, "", left,
         question.effect_of(change::FewerGpus{pod->request.gpus.front().resource, whole_gpus(left),
                                              asked, is_gang(question)})});
}

// Only a gang without running ranks can be made smaller.
std::optional<Remedy> try_fewer_ranks(Question& question) {
    const auto gang = question.state()->gangs.gang_of(question.job());
    if (!gang || gang->ranks < 2) return std::nullopt;
    if (!gang->roles.empty()) return std::nullopt;  // it is unknown which roles it can omit
    const std::int32_t size = gang->ranks;
    const auto exist = static_cast<std::int64_t>(question.job().pods.size());
    if (!question.waits_whole() || exist < size) return std::nullopt;
    const ObjectKey key = question.job().key;
    const bool has_object = question.state()->gangs.gang_sizes().contains(key);
    const auto& notes = question.state()->nodes.outside().gang_notes;
    const GangNote note = notes.contains(key) ? notes.at(key) : GangNote{};
    const auto fewer_by = [&](std::int64_t fewer) -> Change {
        const auto left = static_cast<std::int32_t>(size - fewer);
        const Change smaller =
            recreate(question, {[=](PodFacts& rank) { rank.gang_min = left; },
                                [=](JobSpec& spec) {
                                    spec.replicas_min = std::min(spec.replicas_min, left);
                                    spec.replicas_max = std::min(spec.replicas_max, left);
                                },
                                static_cast<std::size_t>(left)});
        return [=](Trial& trial) {
            if (has_object) trial.happen(GangObserved{key, {left, {}}, note});
            smaller(trial);
        };
    };
    const auto less =
        smallest(1, size - 1, [&](std::int64_t fewer) { return question.helps(fewer_by(fewer)); });
    if (!less) return std::nullopt;
    const std::int64_t left = size - *less;
    return with_stops(question, {ChangeKind::fewer_ranks, "", left,
                                 question.effect_of(change::FewerRanks{left, size})});
}

std::optional<Remedy> try_other_queue(Question& question) {
    const JobRow& job = question.job();
    // Otherwise its controller would have to create all of its pods again.
    if (!question.waits_whole()) return std::nullopt;
    if (!job.pool.exists() || job.priority >= kSystemPriority) return std::nullopt;
    std::vector<QueueId> others = question.state()->pool(job.pool).queues;
    if (others.size() > kPlacesTriedMax) others.resize(kPlacesTriedMax);
    for (const QueueId other : others) {
        const std::string name = question.state()->queue(other).name;
        if (other == job.queue) continue;
        const Change change = recreate(question, {[&](PodFacts& pod) { pod.queue = name; },
                                                  [&](JobSpec& spec) { spec.queue = name; }});
        if (!question.helps(change)) continue;
        return with_stops(question, {ChangeKind::other_queue, name, 0,
                                     question.effect_of(change::OtherQueue{name})});
    }
    return std::nullopt;
}

namespace {

bool is_of_pool(std::string_view label) { return label.ends_with("/pool"); }

// Rewrites the pod for another pool: the selector and toleration of the pool's label, and for the
// default pool the rule that no pool label exists. All other rules of its user stay.
void move_to_pool(PodFacts& pod, const std::string& from, const std::string& to) {
    pod.pool = to;
    for (auto& [key, value] : pod.rules.node_selector) {
        if (is_of_pool(key) && value == from) value = to;
    }
    for (Toleration& toleration : pod.rules.tolerations) {
        if (is_of_pool(toleration.key) && toleration.value == from) toleration.value = to;
    }
    if (!pod.rules.required_affinity) return;
    for (SelectorTerm& term : *pod.rules.required_affinity) {
        const auto asked = std::erase_if(term.labels, [](const SelectorRequirement& one) {
            return one.op == SelectorOperator::does_not_exist && is_of_pool(one.key);
        });
        // A term without further requirements accepts any node, so that one term always holds.
        const bool is_met = asked > 0 && term.labels.empty() && term.fields.empty();
        if (is_met && !term.broken) return pod.rules.required_affinity.reset();
    }
}

}  // namespace

std::optional<Remedy> try_other_pool(Question& question) {
    const JobRow& job = question.job();
    const PodFacts* pod = question.first_waiting();
    if (pod == nullptr || !question.waits_whole()) return std::nullopt;
    // A pod that its own selectors bind to its pool would have to be rewritten by its user.
    std::size_t tried = 0;
    for (const auto& [name, id] : question.state()->tree.pools_by_name()) {
        if (id == job.pool || !question.state()->tree.pool_exists(id)) continue;
        if (question.state()->pool(id).nodes == 0 || ++tried > kPlacesTriedMax) continue;
        const Change change =
            recreate(question, {[&](PodFacts& one) { move_to_pool(one, job.pool_wanted, name); },
                                [&](JobSpec& spec) { spec.pool = name; }});
        if (!question.helps(change)) continue;
        return with_stops(question, {ChangeKind::other_pool, name, 0,
                                     question.effect_of(change::OtherPool{name})});
    }
    return std::nullopt;
}

}  // namespace gpuctl::whatif
