// What about the job itself stands in the way, before any node is looked at.

#include <algorithm>
#include <set>

#include "scheduler/plan/explain_parts.hpp"

namespace gpuctl {

using explain_parts::count;

namespace {

template <typename Names>
std::string listed(const Names& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

std::vector<std::string> existing_pools(const ClusterState& state) {
    std::vector<std::string> names;
    for (const auto& [name, id] : state.pools_by_name()) {
        if (state.pool_exists(id)) names.push_back(name);
    }
    return names;
}

// That a job may be in.
std::vector<std::string> existing_queues(const ClusterState& state, PoolId pool) {
    std::vector<std::string> names;
    for (const QueueId id : state.pool(pool).queues) {
        if (state.queue(id).children.empty()) names.push_back(state.queue(id).name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::string> leaves_below(const ClusterState& state, QueueId queue) {
    std::vector<std::string> names;
    for (const QueueId child : state.queue(queue).children) {
        const auto more = leaves_below(state, child);
        names.insert(names.end(), more.begin(), more.end());
    }
    if (names.empty()) names.push_back(state.queue(queue).name);
    std::sort(names.begin(), names.end());
    return names;
}

// Who of the job uses that: "it", or one by name where another does not.
std::string user_of(const ClusterState& state, const JobRow& job, const std::string& feature) {
    const PodRow* user = nullptr;
    bool is_each = true;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const std::vector<std::string>& features = pod.facts.unsupported;
        if (std::find(features.begin(), features.end(), feature) != features.end()) {
            user = &pod;
        } else {
            is_each = false;
        }
    }
    return user == nullptr || is_each ? "it" : "its pod " + user->facts.key.name;
}

std::string bar_text(const ClusterState& state, const JobRow& job, std::vector<Figure>& figures) {
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.standing != PodStanding::waiting || pod.bar == PodBar::none) continue;
        switch (pod.bar) {
            case PodBar::elsewhere:
                return "pod " + pod.facts.key.name + " was bound by another scheduler";
            case PodBar::gone:
                return "pod " + pod.facts.key.name + " is gone in this incarnation";
            case PodBar::refused: {
                const Duration left = std::max(pod.barred_until - state.now(), Duration{0});
                figures = {{"retry_in_ms", left.ms()}};
                return "binding pod " + pod.facts.key.name + " was refused (" + pod.message +
                       "); it is tried again in " + std::to_string((left.ms() + 999) / 1000) +
                       " s, or when the pod changes";
            }
            case PodBar::none:
                break;
        }
    }
    return "";
}

std::string gang_text(const ClusterState& state, const JobRow& job) {
    if (state.gang_sizes().contains(job.key)) return "its PodGroup names no size of at least 1";
    for (const PodId id : job.pods) {
        const PodFacts& facts = state.pod(id).facts;
        if (!facts.gang_min_problem.empty()) {
            // Its name is that of what its controller makes: a PodGroup of that name says nothing.
            if (job.key.name.starts_with(kMadeGangPrefix)) return facts.gang_min_problem;
            return "no PodGroup " + shown_name(job.key) + " says it (a size of at least 1), and " +
                   facts.gang_min_problem;
        }
    }
    return "no PodGroup " + shown_name(job.key) +
           " says it (a size of at least 1), and its pods do not";
}

// Pods of one gang are to say the same; where they do not, the largest number counts.
std::string contradiction_text(const ClusterState& state, const JobRow& job) {
    if (state.gang_sizes().contains(job.key)) return "";
    std::set<std::int32_t> said;
    for (const PodId id : job.pods) {
        const PodFacts& facts = state.pod(id).facts;
        if (facts.gang && facts.gang_min > 0) said.insert(facts.gang_min);
    }
    if (said.size() < 2) return "";
    std::vector<std::string> numbers;
    for (const std::int32_t number : said) numbers.push_back(std::to_string(number));
    return "; its pods contradict each other about that (" + listed(numbers) +
           "), the largest number counts";
}

// What makes one pod after another waits for the first to be ready, and the gang for the last.
std::string made_in_turn_text(const ClusterState& state, const JobRow& job) {
    std::string maker;
    const auto& notes = state.outside().gang_notes;
    if (const auto note = notes.find(job.key); note != notes.end()) {
        maker = note->second.made_in_turn;
        if (maker.empty() && note->second.is_derived) return "";  // it is known not to
    }
    const bool is_said_by_object = !maker.empty();
    std::int64_t waiting = 0;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const bool waits = pod.standing == PodStanding::waiting && !pod.facts.terminating;
        waiting += waits ? 1 : 0;
        if (maker.empty() && waits) maker = pod.facts.made_in_turn;
    }
    // Two that are not ready show that it does not wait for one before it makes the next.
    if (maker.empty() || (waiting > 1 && !is_said_by_object)) return "";
    return "; its pods are made by " + maker +
           ": the next one is made when those before it are ready, and none of them starts before "
           "all exist";
}

// "8 GPUs on node-3 are claimed for it; it waits for 2 pods to stop (team-b/x-0, team-b/x-1)"
void say_claimed(const ClusterState& state, const JobRow& job, Explanation& out) {
    std::vector<Placement> round;
    state.read_claim(job, round);
    std::vector<std::string> nodes;
    GpuMilli gpus;
    for (const Placement& placement : round) {
        gpus += state.shapes().at(state.pod(placement.pod).shape).gpus;
        const std::string& name = state.node(placement.node).facts.name;
        if (std::find(nodes.begin(), nodes.end(), name) == nodes.end()) nodes.push_back(name);
    }
    std::vector<std::string> pods;
    for (const std::string& uid : job.victims) {
        const PodId id = state.find_pod(uid);
        if (id.exists() && state.pod(id).node.exists()) {
            pods.push_back(to_string(state.pod(id).facts.key));
        }
    }
    const Duration left = std::max(job.claim_until - state.now(), Duration{0});
    const auto number = static_cast<std::int64_t>(pods.size());
    constexpr std::size_t kNamed = 4;
    if (pods.size() > kNamed) {
        pods.resize(kNamed);
        pods.push_back("...");
    }
    if (nodes.size() > kNamed) {
        nodes.resize(kNamed);
        nodes.push_back("...");
    }
    out.figures = {
        {"victims_left", number}, {"gpus_claimed", gpus.value()}, {"claim_ends_in_ms", left.ms()}};
    out.sentence = (gpus > GpuMilli{} ? explain_parts::gpus_noun(gpus.value()) : "room") + " on " +
                   listed(nodes) + (gpus == whole_gpus(1) || gpus == GpuMilli{} ? " is" : " are") +
                   " claimed for it; " +
                   (pods.empty() ? "those who were to stop have, and other pods hold room there "
                                   "meanwhile: it waits for them"
                                 : "it waits for " + count(number, "pod", "pods") + " to stop (" +
                                       listed(pods) + ")") +
                   ", at the latest for " + std::to_string((left.ms() + 999) / 1000) + " s";
}

}  // namespace

namespace explain_parts {

void add_role_figures(const Readiness& ready, std::vector<Figure>& figures) {
    if (ready.roles_short.empty()) return;
    figures.push_back({"role_ranks_min", ready.roles_short.front().ranks_min});
    figures.push_back({"role_ranks_present", ready.roles_short.front().ranks});
}

Explanation explain_hold(const ClusterState& state, const JobRow& job, const Readiness& ready) {
    Explanation out;
    out.reason = ready.hold;
    out.subject = ready.subject == job.key.name ? shown_name(job.key) : ready.subject;
    if (job.pool.exists()) out.nodes_total = state.pool(job.pool).nodes;
    const std::string pool = job.pool_wanted;
    const auto gang_figures = [&] {
        out.figures = {{"ranks_min", ready.ranks_min},
                       {"ranks_present", ready.ranks_ready + ready.ranks_held},
                       {"ranks_gated", ready.ranks_gated}};
    };
    switch (ready.hold) {
        case Reason::pool_unknown:
            out.sentence =
                "pool " + pool + " does not exist; there are: " + listed(existing_pools(state));
            break;
        case Reason::queue_unknown:
            out.sentence = "queue " + ready.subject + " does not exist in pool " + pool +
                           "; there are: " + listed(existing_queues(state, job.pool));
            break;
        case Reason::queue_holds_queues:
            out.sentence =
                "queue " + state.queue_path(job.queue) + " of pool " + pool +
                " holds queues, not jobs; name one of: " + listed(leaves_below(state, job.queue));
            break;
        case Reason::gang_size_unknown:
            out.sentence = "nothing says how many ranks its gang has: " + gang_text(state, job);
            break;
        case Reason::gang_incomplete:
            gang_figures();
            out.sentence = "its gang needs " + count(ready.ranks_min, "rank", "ranks") + ", " +
                           std::to_string(ready.ranks_ready + ready.ranks_held) + " exist";
            for (const RoleShort& role : ready.roles_short) {
                out.sentence += "; of role " + role.role + " it needs " +
                                std::to_string(role.ranks_min) + ", " + std::to_string(role.ranks) +
                                " exist";
            }
            add_role_figures(ready, out.figures);
            out.sentence += contradiction_text(state, job) + made_in_turn_text(state, job);
            break;
        case Reason::gated:
            gang_figures();
            out.sentence = count(ready.ranks_gated, "pod has", "pods have") +
                           " scheduling gates that are closed";
            break;
        case Reason::unsupported_feature:
            out.sentence = user_of(state, job, ready.subject) + " uses " + ready.subject +
                           ", which is not supported";
            break;
        case Reason::room_claimed:
            say_claimed(state, job, out);
            break;
        case Reason::turn:
            out.sentence = "its other ranks are being bound";
            break;
        default: {
            out.sentence = bar_text(state, job, out.figures);
            if (!out.sentence.empty()) break;
            if (job.not_before > state.now()) {
                out.figures = {{"retry_in_ms", (job.not_before - state.now()).ms()},
                               {"failures", job.bind_failures}};
                std::string why;
                for (const PodId id : job.pods) {
                    if (why.empty()) why = state.pod(id).message;
                }
                out.sentence = "binding failed " + count(job.bind_failures, "time", "times") +
                               (why.empty() ? "" : " (" + why + ")") + "; tried again in " +
                               std::to_string((job.not_before - state.now()).ms()) + " ms";
            } else {
                out.sentence = "its gang is being rolled back";
            }
        }
    }
    return out;
}

}  // namespace explain_parts

}  // namespace gpuctl
