#include "sim/swarm/pause_world.hpp"

#include <iterator>
#include <utility>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::sim {
namespace {

constexpr std::size_t kViolationsOfPauses = 5;
constexpr Duration kUntilAllIsOver{3 * 3'600'000};

// Bound, and not about to go for another reason than a pause.
bool would_leave_a_seat(const ClusterState& state, const PodRow& pod) {
    return pod.job.exists() && pod.bind.state == BindState::bound && !pod.bind.delete_in_flight &&
           !pod.is_surplus && pod.eviction.state == EvictionState::none &&
           state.node(pod.node).known;
}

}  // namespace

PauseWorld::PauseWorld(std::uint64_t seed)
    : rng_(seed),
      simulation_(settings(seed),
                  [this](const Engine& engine, const Input& input,
                         const std::vector<Effect>& effects) { observe(engine, input, effects); }) {
}

SimulationSettings PauseWorld::settings(std::uint64_t seed) {
    SimulationSettings out;
    out.cluster.seed = seed;
    out.cluster.training_run_time = Duration{rng_.between(20'000, 200'000)};
    if (rng_.chance(1, 2)) out.cluster.faults.create_failed_per_mille = 600;
    if (rng_.chance(1, 3)) out.cluster.faults.eviction_refused_per_mille = 400;
    for (std::int64_t i = rng_.between(2, 3); i > 0; --i) {
        NodeFacts node;
        node.name = "node-" + std::to_string(i);
        node.pool = "default";
        node.allocatable.cpu = CpuMilli{64'000};
        node.allocatable.memory = Bytes{256LL << 30};
        node.allocatable.pods = 32;
        node.allocatable.gpus = {{"nvidia.com/gpu", whole_gpus(rng_.between(2, 8))}};
        nodes_[node.name] = node;
        out.nodes.push_back(std::move(node));
    }
    if (rng_.chance(1, 2)) {
        TenantPolicy tenant;
        tenant.name = "team-a";
        tenant.gpu_maximum = whole_gpus(rng_.between(4, 10));
        out.policy.tenants.push_back(std::move(tenant));
    }
    return out;
}

void PauseWorld::fail(std::string id, std::string what) {
    if (violations_.size() < kViolationsOfPauses)
        violations_.push_back({std::move(id), std::move(what)});
}

void PauseWorld::observe(const Engine& engine, const Input& input,
                         const std::vector<Effect>& effects) {
    const ClusterState& after = engine.state();
    ++probes_.steps;
    for (Violation& wrong : verify(after)) fail(std::move(wrong.id), std::move(wrong.what));
    check_seats(input, after);
    check_change(input, after);
    for (const Effect& effect : effects) check_bind(effect, after);
    remember(after);
}

// Binds that were sent before the pause are only repeated.
void PauseWorld::check_bind(const Effect& effect, const ClusterState& after) {
    const auto* bind = std::get_if<BindPod>(&effect);
    if (bind == nullptr || assumed_.contains(bind->pod.uid)) return;
    const PodId pod = after.pods.find_pod(bind->pod.uid);
    if (!pod.exists() || !after.pod(pod).job.exists()) return;
    const auto before = known_.find(after.job(after.pod(pod).job).key);
    if (before != known_.end() && before->second.is_paused)
        fail("I26", "pod " + bind->pod.uid + " of a paused job is bound");
}

// A pod of a paused job that goes leaves one seat, and no other input adds seats.
void PauseWorld::check_seats(const Input& input, const ClusterState& after) {
    std::string uid;
    bool has_finished = false;
    if (const auto* removed = std::get_if<PodRemoved>(&input.event)) uid = removed->uid;
    if (const auto* seen = std::get_if<PodObserved>(&input.event);
        seen != nullptr && is_terminal(seen->pod.phase)) {
        uid = seen->pod.uid;
        has_finished = seen->pod.phase == PodPhase::succeeded && !seen->pod.terminating;
    }
    const auto of = bound_.find(uid);
    for (const auto& [key, before] : known_) {
        const JobId id = after.jobs.find_job(key);
        if (!id.exists()) continue;
        const std::size_t seats = after.job(id).seats.size();
        const bool is_of_it = of != bound_.end() && of->second == key;
        if (before.keeps && is_of_it && !has_finished) {
            ++probes_.seats;
            if (seats != before.seats + 1)
                fail("I26", "paused job " + to_string(key) + " loses the room of a pod");
        } else if (seats > before.seats) {
            fail("I26", "job " + to_string(key) + " has a seat for no pod");
        }
        if (after.job(id).nomination.exists() && seats < before.seats) ++probes_.resumes_in_seats;
    }
}

void PauseWorld::check_change(const Input& input, const ClusterState& after) {
    const auto* change = std::get_if<JobUpdated>(&input.event);
    if (change == nullptr) return;
    const auto before = known_.find(change->key);
    const JobId id = after.jobs.find_job(change->key);
    if (before == known_.end() || !id.exists()) return;
    const bool is_stale = change->revision != 0 && change->revision != before->second.revision + 1;
    if (!is_stale) return;
    ++probes_.stale_changes;
    if (after.job(id).change.revision != before->second.revision)
        fail("I26", "a stale change of job " + to_string(change->key) + " is accepted");
}

void PauseWorld::remember(const ClusterState& state) {
    known_.clear();
    bound_.clear();
    assumed_.clear();
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const bool keeps = Seats::is_paused(job) && !job.pause.releases &&
                           job.workload.state == WorkloadState::created;
        known_[key] = {job.change.revision, Seats::is_paused(job), keeps, job.seats.size()};
        for (const PodId pod : job.pods) {
            if (state.pod(pod).bind.state == BindState::assumed)
                assumed_.insert(state.pod(pod).facts.uid);
            if (would_leave_a_seat(state, state.pod(pod))) bound_[state.pod(pod).facts.uid] = key;
        }
    }
}

void PauseWorld::submit() {
    JobSpec spec;
    spec.kind = rng_.chance(2, 3) ? JobKind::training : JobKind::inference;
    spec.key = {rng_.chance(1, 2) ? "team-a" : "team-b", "job-" + std::to_string(++jobs_)};
    spec.image = "repo/image:1";
    spec.replicas_min = spec.replicas_max = static_cast<std::int32_t>(rng_.between(1, 3));
    if (spec.kind == JobKind::training && rng_.chance(1, 4)) spec.replicas_max += 2;
    spec.service.replicas = spec.replicas_max;
    spec.cpu = CpuMilli{1'000};
    spec.memory = Bytes{1LL << 30};
    spec.gpu.resource = "nvidia.com/gpu";
    if (rng_.chance(1, 4)) {
        spec.gpu.mode = GpuMode::fraction;
        spec.gpu.amount = GpuMilli{rng_.chance(1, 2) ? 500 : 300};
    } else {
        spec.gpu.mode = GpuMode::exclusive;
        spec.gpu.count = rng_.between(1, 3);
        spec.gpu.amount = whole_gpus(spec.gpu.count);
    }
    spec.priority = static_cast<JobPriority>(rng_.below(3));
    spec.preemptible = spec.priority == JobPriority::low;
    simulation_.submit(std::move(spec));
}

const JobRow* PauseWorld::any_job() {
    const ClusterState& state = simulation_.engine().state();
    const auto& all = state.jobs.jobs_by_key();
    if (all.empty()) return nullptr;
    auto chosen = all.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(rng_.below(all.size())));
    const JobRow& job = state.job(chosen->second);
    return job.record ? &job : nullptr;
}

void PauseWorld::change(JobChangeKind kind) {
    const JobRow* const job = any_job();
    if (job == nullptr) return;
    JobUpdated event;
    event.key = job->key;
    event.uid = job->record->uid;
    event.change.kind = kind;
    event.change.replicas = static_cast<std::int32_t>(rng_.between(0, 4));
    event.change.releases = rng_.chance(1, 4);
    if (rng_.chance(1, 2)) event.revision = job->change.revision + (rng_.chance(1, 3) ? 2 : 1);
    if (kind == JobChangeKind::apply) {
        JobRecord record = *job->record;
        record.spec.image = "repo/image:2";
        if (rng_.chance(1, 3)) record.uid += "-again";
        event.change.record = std::move(record);
    }
    if (kind == JobChangeKind::pause) ++probes_.pauses;
    simulation_.change(std::move(event));
}

void PauseWorld::restart() {
    const std::string state = simulation_.engine().export_state();
    const Result<Engine> read = Engine::import_state(state);
    if (!read || read->state_hash() != simulation_.engine().state_hash())
        fail("I12", "what is read after a restart is not what was written");
    if (!violations_.empty()) return;
    if (rng_.chance(1, 2)) {
        simulation_.restart_all();
        nodes_away_.clear();  // it restarts with every node of the configuration
    } else {
        simulation_.restart_scheduler(rng_.chance(1, 2));
    }
}

void PauseWorld::act() {
    const std::uint64_t dice = rng_.below(20);
    if (dice < 6) return submit();
    if (dice < 10) return change(JobChangeKind::pause);
    if (dice < 13) return change(JobChangeKind::resume);
    if (dice < 14) return change(JobChangeKind::scale);
    if (dice < 15) return change(JobChangeKind::apply);
    if (dice < 16) {
        const JobRow* const job = any_job();
        if (job != nullptr) simulation_.remove(ObjectKey{job->key});
        return;
    }
    if (dice < 18) return restart();
    if (!nodes_away_.empty()) {
        for (const auto& [name, facts] : std::exchange(nodes_away_, {}))
            simulation_.disturb(NodeJoins{facts});
        return;
    }
    auto chosen = nodes_.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(rng_.below(nodes_.size())));
    nodes_away_.insert(*chosen);
    simulation_.disturb(NodeLeaves{chosen->first});
}

void PauseWorld::run(int actions) {
    for (int i = 0; i < actions && violations_.empty(); ++i) {
        act();
        simulation_.run_for(Duration{rng_.between(1, rng_.chance(1, 2) ? 300 : 20'000)});
    }
    if (!simulation_.comes_to_rest()) fail("I14", "planning does not end at one point in time");
    if (!violations_.empty()) return;
    for (const auto& [name, facts] : std::exchange(nodes_away_, {}))
        simulation_.disturb(NodeJoins{facts});
    simulation_.disturb(FaultsChanged{});
    simulation_.run_for(Duration::seconds(900));
    std::vector<JobUpdated> resumes;
    for (const auto& [key, id] : simulation_.engine().state().jobs.jobs_by_key()) {
        const JobRow& job = simulation_.engine().state().job(id);
        if (!job.record) continue;
        JobUpdated event{key, job.record->uid, 0, {}};
        event.change.kind = JobChangeKind::resume;
        resumes.push_back(std::move(event));
    }
    for (JobUpdated& event : resumes) simulation_.change(std::move(event));
    simulation_.run_for(kUntilAllIsOver);
    for (const auto& [key, id] : simulation_.engine().state().jobs.jobs_by_key()) {
        if (!simulation_.engine().state().job(id).seats.empty())
            fail("I14", "job " + to_string(key) + " keeps room that no pod uses");
    }
}

}  // namespace gpuctl::sim
