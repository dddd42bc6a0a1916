// Changes by other users: move running jobs. The search runs on the columns. A result is reported
// only if a simulation confirms it, from the stop of the jobs to their restart.

#include <algorithm>

#include "scheduler/plan/preempt/move_search.hpp"
#include "scheduler/whatif/question.hpp"

namespace gpuctl::whatif {
namespace {

constexpr int kRunsMost = 24;

std::string node_of(const ClusterState& state, const std::string& uid) {
    const PodId id = state.pods.find_pod(uid);
    if (!id.exists() || !state.pod(id).node.exists()) return "";
    return state.node(state.pod(id).node).facts.name;
}

std::string uid_after_move(const std::string& uid) { return uid + "/moved"; }

// The owner of the job stops it.
void stop(Trial& trial, const ClusterState& before, JobId id) {
    const JobRow& job = before.job(id);
    if (job.record) trial.happen(JobDeleteRequested{job.key, false});
    for (const PodId pod : job.pods) trial.happen(PodRemoved{before.pod(pod).facts.uid});
}

// Submits the same job from its beginning. Ended pods are not created again.
void start(Trial& trial, const ClusterState& before, JobId id) {
    const JobRow& job = before.job(id);
    const Instant now = trial.state().now();
    if (job.record) {
        JobRecord again = *job.record;
        again.uid = uid_after_move(again.uid);
        again.submitted_at = now;
        trial.happen(JobSubmitted{std::move(again)});
    }
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = before.pod(pod_id);
        if (!pod.node.exists()) continue;
        PodFacts facts = pod.facts;
        facts.uid = uid_after_move(facts.uid);
        facts.phase = PodPhase::pending;
        facts.created_at = now;
        facts.started_at = facts.finished_at = Instant{};
        facts.node.clear();
        facts.gpu_device = kNoDevice;
        trial.happen(PodObserved{std::move(facts)});
    }
}

// True if every other job that held room still holds it on the same nodes.
bool are_left_alone(const ClusterState& before, const ClusterState& after, const Units& moved) {
    for (const auto& [key, id] : before.jobs.jobs_by_key()) {
        const bool is_moved = std::any_of(moved.begin(), moved.end(), [&](const EvictionUnit* one) {
            return before.job(one->job).key == key;
        });
        if (is_moved) continue;
        for (const PodId pod_id : before.job(id).pods) {
            const PodRow& pod = before.pod(pod_id);
            if (!pod.node.exists() || pod.is_terminating()) continue;
            if (node_of(after, pod.facts.uid) != before.node(pod.node).facts.name) return false;
        }
    }
    return true;
}

// The old and new nodes of the job's pods; none: a pod found no node, or all returned to their old
// nodes.
std::optional<MovedJob> read_moved_job(const EvictionUnit& unit, const ClusterState& before,
                                       const ClusterState& after) {
    const JobRow& job = before.job(unit.job);
    MovedJob out{job.key, static_cast<bool>(job.record), unit.gpus, unit.cost_gpu_ms, {}};
    bool has_moved = false;
    for (const PodId id : unit.pods) {
        const PodFacts& facts = before.pod(id).facts;
        MovedPod pod{facts.key.name, node_of(before, facts.uid),
                     node_of(after, uid_after_move(facts.uid))};
        if (pod.to.empty()) return std::nullopt;
        has_moved = has_moved || pod.to != pod.from;
        out.pods.push_back(std::move(pod));
    }
    std::sort(out.pods.begin(), out.pods.end());
    return has_moved ? std::optional{std::move(out)} : std::nullopt;
}

// How the jobs are stopped: together, or slowly, so that other jobs may use the room of the first
// before the last has stopped.
enum class Stopping : std::uint8_t { together, one_by_one };

// Simulates a move. The jobs stop; the waiting job starts; the jobs start again, one after another,
// and all find nodes. No job may be evicted for that, whether it ran before or has just started.
std::optional<std::vector<MovedJob>> simulate_moves(Question& question, const MovePlan& plan,
                                                    Stopping how) {
    const ClusterState& before = *question.state();
    std::optional<Trial> trial = question.begin_trial();
    if (!trial) return std::nullopt;
    for (const EvictionUnit* unit : plan.moved) {
        stop(*trial, before, unit->job);
        if (how == Stopping::one_by_one) trial->settle();
    }
    trial->settle();
    if (!question.moves_on(*trial)) return std::nullopt;
    for (const EvictionUnit* unit : plan.moved) {
        start(*trial, before, unit->job);
        trial->settle();
    }
    const ClusterState& after = trial->state();
    if (!question.moves_on(*trial) || !trial->evicted().empty() ||
        !are_left_alone(before, after, plan.moved)) {
        return std::nullopt;
    }
    std::vector<MovedJob> out;
    for (const EvictionUnit* unit : plan.moved) {
        std::optional<MovedJob> job = read_moved_job(*unit, before, after);
        if (!job) return std::nullopt;
        out.push_back(std::move(*job));
    }
    return out;
}

// Simulates both ways of stopping. The result is that of one_by_one.
std::optional<std::vector<MovedJob>> simulate_moves(Question& question, const MovePlan& plan) {
    if (plan.moved.size() > 1 && !simulate_moves(question, plan, Stopping::together))
        return std::nullopt;
    return simulate_moves(question, plan, Stopping::one_by_one);
}

// Each once, by name.
std::vector<std::string> nodes_of(const MovedJob& job, std::string MovedPod::* which) {
    std::vector<std::string> names;
    for (const MovedPod& pod : job.pods) names.push_back(pod.*which);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

Remedy remedy_of(std::vector<MovedJob> moves) {
    change::JobsMove change;
    for (const MovedJob& job : moves) {
        change.moves.push_back(
            {job.key, job.gpus, nodes_of(job, &MovedPod::from), nodes_of(job, &MovedPod::to)});
        change.lost_gpu_ms += job.lost_gpu_ms;
    }
    Remedy out{ChangeKind::jobs_move, "", static_cast<std::int64_t>(moves.size()), {}};
    out.facts.change = std::move(change);
    out.moves = std::move(moves);
    return out;
}

}  // namespace

std::optional<Remedy> try_jobs_move(Question& question) {
    const ClusterState& state = *question.state();
    Readiness ready;
    state.waiting.read_readiness(question.id(), ready);
    if (!ready.waits || !ready.can_be_tried()) return std::nullopt;
    const auto needed = static_cast<std::size_t>(ready.ranks_at_once());
    ready.pods.resize(std::min(ready.pods.size(), needed));
    question.note_look();
    std::optional<std::vector<MovedJob>> found;
    int runs = 0;
    MoveSearch search{state, question.id(), ready.pods};
    search.find([&](const MovePlan& plan) {
        found = simulate_moves(question, plan);
        return found || ++runs == kRunsMost;
    });
    if (!found) return std::nullopt;
    return remedy_of(std::move(*found));
}

}  // namespace gpuctl::whatif
