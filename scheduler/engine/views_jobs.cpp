// Views of jobs.

#include <algorithm>
#include <map>
#include <tuple>

#include "scheduler/engine/view_parts.hpp"
#include "scheduler/listing/missing_pods.hpp"
#include "scheduler/plan/explain/explain.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/state/run_times/present_run.hpp"

namespace gpuctl {
namespace {

// Explains waiting jobs once per class, so that the cost of a list is linear in nodes, and not in
// nodes times jobs. Lifetime: one call.
class Explainer {
public:
    explicit Explainer(const ClusterState& state) : state_(state) {}

    std::optional<Explanation> first(JobId id) {
        if (!state_.job(id).waiting.in_class.exists()) return view_parts::first_blocker(state_, id);
        const JobId speaks = ClassReasons::spokesman(state_, id);
        const auto [known, is_new] = by_speaker_.try_emplace(speaks);
        if (is_new) known->second = view_parts::first_blocker(state_, speaks);
        return known->second;
    }

private:
    const ClusterState& state_;
    std::map<JobId, std::optional<Explanation>> by_speaker_;
};

// Data computed once for all jobs of a view.
struct Lines {
    explicit Lines(const ClusterState& state)
        : positions(view_parts::positions(state)), starts(view_parts::starts(state, positions)) {}
    view_parts::Positions positions;
    view_parts::Starts starts;
};

// Adds the size that makes the gang complete, and its present ranks, in total and for each role.
void add_gang(const ClusterState& state, const JobRow& job, JobView& view) {
    const std::optional<GangSize> gang = state.gangs.gang_of(job);
    if (!gang) return;
    view.gang = true;
    view.ranks_min = gang->ranks;
    if (gang->roles.empty()) return;
    std::map<std::string, std::int64_t> ranks;
    for (const FinishedRole& one : job.gang.finished.roles) {
        ranks[one.role] += static_cast<std::int64_t>(one.ranks.size());
    }
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const bool holds = pod.node.exists() && pod.bind.state != BindState::nominated;
        if (holds || pod.facts.phase == PodPhase::succeeded) ++ranks[pod.facts.role];
    }
    for (const RoleMinimum& role : gang->roles) view.roles.push_back({role, ranks[role.role]});
}

void add_place(JobId id, const Lines& lines, JobView& view) {
    if (const auto found = lines.positions.find(id); found != lines.positions.end()) {
        view.position = found->second;
    }
    if (const auto found = lines.starts.find(id); found != lines.starts.end()) {
        view.start = found->second;
    }
}

void add_pause(const ClusterState& state, const JobRow& job, JobView& view) {
    view.revision = job.change.revision + 1;
    view.paused = Seats::is_paused(job);
    view.releases = view.paused && job.pause.releases;
    view.seats = static_cast<std::int64_t>(job.seats.size());
    view.seats_lost = job.pause.seats_lost;
    for (const PodId id : job.seats) {
        const PodRow& seat = state.pod(id);
        view.gpus_kept += state.shape_of(seat).gpus;
        view.seat_nodes.push_back(state.node(seat.node).facts.name);
    }
    std::sort(view.seat_nodes.begin(), view.seat_nodes.end());
    const auto same = std::unique(view.seat_nodes.begin(), view.seat_nodes.end());
    view.seat_nodes.erase(same, view.seat_nodes.end());
}

bool passes(const JobView& view, const JobFilter& filter) {
    return (!filter.namespace_name || *filter.namespace_name == view.key.namespace_name) &&
           (!filter.pool || *filter.pool == view.pool) &&
           (!filter.kind || (view.kind && *filter.kind == *view.kind)) &&
           (!filter.made_elsewhere || !view.kind) &&
           (!filter.status || same_without_case(*filter.status, view.status));
}

}  // namespace

namespace view_parts {

std::optional<Explanation> first_blocker(const ClusterState& state, JobId id) {
    std::vector<Explanation> all = explain(state, id);
    if (all.empty()) return std::nullopt;
    return std::move(all.front());
}

JobView view_of(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    JobView view;
    view.key = job.key;
    view.never_made = job.workload.state == WorkloadState::failed && job.pods.empty();
    if (job.record) {
        view.kind = job.record->spec.kind;
        view.record = &*job.record;
        view.gpus_per_pod = gpus_total(pod_request(job.record->spec));
    }
    view.queue = shown_queue(state, job);
    view.pool = job.pool_wanted;
    view.priority = job.priority;
    view.submitted_at = job.submitted_at;
    view.started_at = run_began(state, job);
    view.finished_at = job.run.finished_at;
    const PastEnds past = past_ends(job);
    PodTally tally;
    tally.succeeded = job.gang.finished.count() + past.succeeded;
    tally.failed = past.failed;
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state.pod(pod_id);
        view.pods.push_back(pod_view(state, pod_id));
        if (!job.record) view.gpus_per_pod = state.shape_of(pod).gpus;
        view.finished_at = std::max(view.finished_at, pod.facts.finished_at);
        tally.add(pod.facts);
    }
    std::sort(view.pods.begin(), view.pods.end(), [](const PodView& a, const PodView& b) {
        return std::tie(a.facts.rank, a.facts.key.name) < std::tie(b.facts.rank, b.facts.key.name);
    });
    add_gang(state, job, view);
    if (ElasticJobs::is_elastic(job)) {
        view.ranks_max = job.record->spec.replicas_max;
        view.size = explain_size(state, id);
    }
    add_pause(state, job, view);
    view.pods_wanted = pods_wanted(job);
    view.pods_running = tally.running;
    view.status = to_string(status_of(job, tally, view.pods_wanted));
    if (view.status != "Succeeded" && view.status != "Failed") view.finished_at = Instant{};
    return view;
}

void add_waiting(const ClusterState& state, JobId id, std::optional<Explanation> blocker,
                 JobView& view) {
    view.waiting = std::move(blocker);
    const JobRow& job = state.job(id);
    if (!view.waiting) view.waiting = explain_missing_pods(state, job);
    // no pod waits, the workload itself is not created
    if (!view.waiting && !job.workload.message.empty()) {
        view.waiting.emplace();
        view.waiting->facts = {fact::ClusterMessage{job.workload.message}};
    }
}

// The positions in which the waiting jobs of each queue would be tried if all of them fitted.
Positions positions(const ClusterState& state) {
    Positions out;
    Line line;
    for (const auto& [pool_name, pool] : state.tree.pools_by_name()) {
        line.terminating_pods.read(state, pool);
        for (const QueueId queue : state.pool(pool).queues) {
            std::vector<Contender> waiting;
            for (const ClassId id : state.waiting.book().of_queue(queue)) {
                for (const WaitingJob& job : state.waiting.book().at(id).jobs) {
                    waiting.push_back({id, &state.waiting.book().at(id), job});
                }
            }
            std::sort(waiting.begin(), waiting.end(), [&](const Contender& a, const Contender& b) {
                return job_comes_first(state, queue, line, a, b);
            });
            for (std::size_t i = 0; i < waiting.size(); ++i) {
                out[waiting[i].job.job] = static_cast<std::int64_t>(i) + 1;
            }
        }
    }
    return out;
}

Starts starts(const ClusterState& state, const Positions& positions) {
    std::map<PoolId, std::vector<JobId>> lines;
    for (const auto& [id, position] : positions) lines[state.job(id).pool].push_back(id);
    Starts out;
    for (auto& [pool, line] : lines) {
        const auto turn = [&](JobId id) {
            const JobRow& job = state.job(id);
            const bool is_system = job.queue == state.tree.system_queue(job.pool);
            return std::tuple(!is_system, -std::int64_t{state.queue(job.queue).priority},
                              positions.at(id), job.arrival);
        };
        std::sort(line.begin(), line.end(), [&](JobId a, JobId b) { return turn(a) < turn(b); });
        out.merge(estimate_starts(state, pool, line));
    }
    return out;
}

PodView pod_view(const ClusterState& state, PodId id) {
    const PodRow& pod = state.pod(id);
    PodView view{pod.facts, pod.bind.state, std::string{shown_node(state, pod)}, kNoDevice};
    const bool is_there = pod.node.exists() && pod.bind.state != BindState::nominated;
    if (is_there) view.gpu_device = pod.gpu_device;
    return view;
}

}  // namespace view_parts

std::vector<JobView> list_jobs(const ClusterState& state, const JobFilter& filter) {
    const Lines lines{state};
    Explainer explainer{state};
    std::vector<JobView> out;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        if (filter.namespace_name && *filter.namespace_name != key.namespace_name) continue;
        JobView view = view_parts::view_of(state, id);
        add_place(id, lines, view);
        view_parts::add_waiting(state, id, explainer.first(id), view);
        if (passes(view, filter)) out.push_back(std::move(view));
    }
    for (const auto& [key, job] : state.jobs.finished_jobs().by_key()) {
        JobView view = view_parts::summary_view(job);
        if (passes(view, filter)) out.push_back(std::move(view));
    }
    // Jobs are ordered by their shown names: keys of lone pods have a prefix that is not shown.
    std::stable_sort(out.begin(), out.end(), [](const JobView& a, const JobView& b) {
        const int by_namespace = a.key.namespace_name.compare(b.key.namespace_name);
        return by_namespace != 0 ? by_namespace < 0 : shown_name(a.key) < shown_name(b.key);
    });
    return out;
}

}  // namespace gpuctl
