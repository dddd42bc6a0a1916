#include "sim/swarm/random_world.hpp"

#include <algorithm>
#include <iterator>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::sim {
namespace {

// More Plan inputs than this at one point in time are a livelock that ended by chance. One Plan per
// pod may be needed while the policy allows one attempt per Plan.
constexpr std::uint64_t kPlansOfRest = 600;
// In one of this many worlds, an engine restored from an image runs in addition to the first
// engine.
constexpr std::uint64_t kRestoreEvery = 4;

void add(ClusterFigures& to, const ClusterFigures& from) {
    to.binds_accepted += from.binds_accepted;
    to.binds_turned_down += from.binds_turned_down;
    to.binds_unanswered += from.binds_unanswered;
    to.containers_failed += from.containers_failed;
    to.pods_evicted += from.pods_evicted;
    to.pods_deleted += from.pods_deleted;
    to.evictions_accepted += from.evictions_accepted;
    to.evictions_turned_down += from.evictions_turned_down;
    to.kubelet_rejections += from.kubelet_rejections;
    to.resizes_turned_down += from.resizes_turned_down;
}

}  // namespace

RandomWorld::RandomWorld(std::uint64_t seed, volatile std::uint64_t* progress,
                         Simulation::Observer also, WorldKind kind)
    : rng_(seed),
      options_(draw_options(rng_)),
      topology_rng_(seed),
      models_rng_(~seed),
      maintenance_rng_(seed),
      speeds_rng_(seed),
      budget_rng_(seed),
      reserve_rng_(seed),
      guarantee_rng_(seed),
      reserved_models_rng_(seed ^ 0x6b70746d),
      roles_rng_(seed),
      retention_rng_(seed ^ 0x72657465),
      ties_rng_(seed ^ 0x74696573),
      cpu_only_rng_(seed),
      unset_preemptible_rng_(seed),
      changes_(kind == WorldKind::with_changes
                   ? std::optional<Changes>{std::in_place, seed, options_.settings.policy, checker_}
                   : std::nullopt),
      progress_(progress),
      also_(std::move(also)),
      simulation_(settings(),
                  [this](const Engine& engine, const Input& input,
                         const std::vector<Effect>& effects) { observe(engine, input, effects); }) {
    for (const NodeFacts& node : options_.settings.nodes) {
        node_names_.push_back(node.name);
        nodes_[node.name] = node;
    }
    // Computed from the seed, without a draw, so that other worlds stay unchanged.
    if (seed % kRestoreEvery == 0)
        restore_at_ = static_cast<int>(seed / kRestoreEvery % kActionsPerRun);
    checker_.probes.windows_drawn = options_.settings.policy.windows.size();
    checker_.probes.budgets_drawn = ReferenceModel::budgets_in(options_.settings.policy).size();
}

SimulationSettings RandomWorld::settings() {
    SimulationSettings all = options_.settings;
    all.annotate = [this](PodFacts& pod) {
        const auto roles = roles_.find({pod.key.namespace_name, pod.job});
        if (roles != roles_.end()) roles->second.annotate(pod);
        const auto ties = ties_.find({pod.key.namespace_name, pod.job});
        if (ties != ties_.end()) ties->second.annotate(pod);
        if (preemptible_unset_.contains({pod.key.namespace_name, pod.job}))
            pod.preemptible_is_default = true;
    };
    return all;
}

void RandomWorld::observe(const Engine& engine, const Input& input,
                          const std::vector<Effect>& effects) {
    if (progress_ != nullptr) *progress_ = static_cast<std::uint64_t>(input.sequence);
    checker_.observe(engine, input, effects);
    if (changes_) changes_->observe(engine, input, effects);
    if (restored_.exists()) {
        const std::string difference = restored_.step_and_compare(input, effects);
        if (!difference.empty())
            checker_.fail("I12", "an engine restored from an image: " + difference);
        ++checker_.probes.steps_of_restored;
    }
    if (also_) also_(engine, input, effects);
    rollbacks_ = std::max(rollbacks_, engine.figures().gang_rollbacks);
}

void RandomWorld::run(int actions) {
    for (int i = 0; i < actions && violations().empty(); ++i) {
        if (i == restore_at_ && !restored_.restore(simulation_.engine())) {
            checker_.fail("I12", "the engine cannot read what it wrote");
        }
        act();
        if (changes_) changes_->act(simulation_);
        if (options_.maintenance && maintenance_rng_.chance(1, 8)) change_health();
        // The next action often happens while answers to the last action are still in flight.
        simulation_.run_for(Duration{rng_.between(1, rng_.chance(1, 3) ? 300 : 20'000)});
        check_now();
    }
}

void RandomWorld::submit() {
    JobSpec spec = draw_job(rng_, ++jobs_);
    if (options_.cpu_only_jobs) draw_cpu_only(cpu_only_rng_, spec);
    if (options_.preemptible_unset && unset_preemptible_rng_.chance(1, 2)) {
        preemptible_unset_.insert(spec.key);
        spec.preemptible = spec.priority == JobPriority::low;
    }
    if (changes_) changes_->route(spec);
    if (options_.topology) draw_topology(topology_rng_, spec);
    if (options_.speeds) draw_speeds(speeds_rng_, spec);
    if (options_.models) draw_models(models_rng_, spec);
    if (options_.roles) {
        if (auto roles = draw_roles(roles_rng_, spec)) roles_[spec.key] = std::move(*roles);
    }
    if (options_.ties) {
        std::vector<std::string> nodes;
        for (const auto& [name, facts] : nodes_) nodes.push_back(name);
        ties_[spec.key] = draw_ties(ties_rng_, nodes);
    }
    ++checker_.probes.jobs_submitted;
    acknowledged_[spec.key] = spec;
    simulation_.submit(std::move(spec));
}

// The API would refuse this job. If it is accepted nevertheless, it must not replace the finished
// job.
void RandomWorld::submit_again() {
    for (const auto& [key, job] : simulation_.engine().state().jobs.finished_jobs().by_key()) {
        const auto known = acknowledged_.find(key);
        if (job.uid.empty() || job.never_made || known == acknowledged_.end()) continue;
        ++checker_.probes.names_reused;
        return simulation_.submit(JobSpec{known->second});
    }
}

void RandomWorld::remove(const ObjectKey& key) {
    acknowledged_.erase(key);
    ++checker_.probes.jobs_deleted;
    simulation_.remove(key, rng_.chance(1, 4));
}

void RandomWorld::act() {
    if (options_.retention && retention_rng_.chance(1, 4)) submit_again();
    const std::uint64_t dice = rng_.below(24);
    if (dice < 9) {
        for (std::int64_t i = rng_.between(1, 4); i > 0; --i) submit();
    } else if (dice < 11) {
        remove_a_job();
    } else if (dice < 12) {
        simulation_.disturb(NodeCordoned{any_node(), rng_.chance(1, 2)});
    } else if (dice < 15) {
        if (options_.nodes_get_lost) disturb_node();
    } else if (dice < 18) {
        if (options_.restarts) restart();
    } else if (dice < 19) {
        kill_a_container();
    } else if (dice < 21) {
        if (options_.nodes_change) change_node();
    } else if (dice < 22) {
        if (!options_.policy_changes) return;
        Policy policy = draw_policy(rng_);
        policy.resize_pays_within = options_.settings.policy.resize_pays_within;
        policy.gang_repair_deadline = options_.settings.policy.gang_repair_deadline;
        if (options_.retention) draw_retention(retention_rng_, policy);
        if (options_.maintenance) {
            draw_maintenance(maintenance_rng_, simulation_.now(), options_.settings.nodes, policy);
            checker_.probes.windows_drawn += policy.windows.size();
        }
        if (options_.reserves) draw_reserves(reserve_rng_, policy);
        if (options_.guarantees) draw_guarantees(guarantee_rng_, policy);
        if (options_.preemptible_unset) draw_victims(unset_preemptible_rng_, policy);
        if (options_.models_reserved) draw_reserved_models(reserved_models_rng_, policy);
        if (options_.budgets) {
            draw_budgets(budget_rng_, options_.settings.start, policy);
            checker_.probes.budgets_drawn += ReferenceModel::budgets_in(policy).size();
        }
        change_policy(std::move(policy));
        ++checker_.probes.policies_changed;
    } else if (options_.leadership_changes) {
        change_leader();
    }
}

void RandomWorld::change_policy(Policy policy) {
    if (changes_) return changes_->change_base(std::move(policy), simulation_);
    simulation_.change_policy(std::move(policy));
}

// Faults matter most while work is in flight.
void RandomWorld::start_some_work() {
    if (!rng_.chance(1, 2)) return;
    submit();
    simulation_.run_for(Duration{rng_.between(1, 600)});
}

void RandomWorld::change_leader() {
    start_some_work();
    simulation_.lose_leadership();
    if (rng_.chance(1, 3)) submit();
    if (rng_.chance(1, 3)) simulation_.run_for(Duration{rng_.between(1, 3'000)});
    simulation_.regain_leadership();
    ++checker_.probes.leaderships_lost;
}

void RandomWorld::remove_a_job() {
    if (acknowledged_.empty()) return;
    auto victim = acknowledged_.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(rng_.below(acknowledged_.size())));
    remove(ObjectKey{victim->first});
}

void RandomWorld::disturb_node() {
    start_some_work();
    const std::string node = any_node();
    switch (rng_.below(4)) {
        case 0:
            simulation_.disturb(NodeLost{node});
            ++checker_.probes.nodes_lost;
            break;
        case 1:
            simulation_.disturb(NodeReturns{node});
            break;
        case 2:
            simulation_.disturb(NodeLeaves{node});
            nodes_away_[node] = nodes_.at(node);
            ++checker_.probes.nodes_left;
            break;
        default:
            for (const auto& [name, facts] : std::exchange(nodes_away_, {})) {
                simulation_.disturb(NodeJoins{facts});
            }
    }
}

void RandomWorld::change_node() {
    const std::string name = any_node();
    const NodeFacts* now = simulation_.cluster().find_node(name);
    if (now == nullptr || !simulation_.cluster().node_answers(name)) return;
    simulation_.disturb(NodeJoins{draw_change(rng_, *now)});
    ++checker_.probes.nodes_changed;
}

void RandomWorld::change_health() {
    const std::string& name = node_names_[maintenance_rng_.below(node_names_.size())];
    const NodeFacts* now = simulation_.cluster().find_node(name);
    if (now == nullptr || !simulation_.cluster().node_answers(name)) return;
    NodeFacts changed = *now;
    changed.unhealthy = changed.unhealthy.empty() ? "GpuUnhealthy" : "";
    if (!changed.unhealthy.empty()) ++checker_.probes.nodes_unhealthy;
    simulation_.disturb(NodeJoins{std::move(changed)});
}

void RandomWorld::restart() {
    start_some_work();
    check_recovery();
    if (rng_.chance(1, 3)) {
        add(figures_, simulation_.cluster().figures());
        simulation_.restart_all();
        nodes_away_.clear();  // it restarts with every node of the configuration
        ++checker_.probes.full_restarts;
        if (changes_) changes_->read_back(simulation_);
        return;
    }
    const bool lose_effects = rng_.chance(1, 2);
    simulation_.restart_scheduler(lose_effects);
    if (changes_) changes_->read_back(simulation_);
    ++checker_.probes.scheduler_restarts;
    if (lose_effects) ++checker_.probes.effects_lost;
}

void RandomWorld::kill_a_container() {
    const std::vector<JobView> jobs = list_jobs(simulation_.engine().state(), {});
    if (jobs.empty()) return;
    const JobView& job = jobs[rng_.below(jobs.size())];
    if (!job.pods.empty()) simulation_.disturb(ContainerKilled{job.pods[0].facts.key});
}

// I12: an image restores exactly the state that it was written from.
void RandomWorld::check_recovery() {
    const Engine& engine = simulation_.engine();
    const auto revived = Engine::import_state(engine.export_state());
    if (!revived) return checker_.fail("I12", "the engine cannot read what it wrote");
    if (revived->state_hash() != engine.state_hash()) {
        checker_.fail("I12", "the engine restored another state than it wrote");
    }
    for (const Violation& wrong : verify(revived->state())) {
        checker_.fail("I12", "after recovery: " + wrong.id + " " + wrong.what);
    }
}

void RandomWorld::check_restored_engine() {
    if (restored_.exists() && !restored_.equals(simulation_.engine())) {
        checker_.fail(
            "I12", "an engine restored from an image and given the same inputs has another state");
    }
}

void RandomWorld::check_now() {
    check_restored_engine();
    if (changes_) changes_->compare(simulation_);
    const ClusterState& state = simulation_.engine().state();
    for (const auto& [key, spec] : acknowledged_) {
        const bool is_kept =
            state.jobs.find_job(key).exists() || state.jobs.finished_jobs().find(key) != nullptr;
        if (!is_kept && !checker_.was_removed(key)) {
            checker_.fail("I3", "acknowledged job " + to_string(key) + " is lost");
        }
    }
    if (checker_.reference().binds_landed_late > 0) {
        checker_.fail("I1", "a bind landed after its capacity had been released");
    }
    // Where nodes shrink, a bind in flight may find its capacity gone.
    if (!options_.nodes_change && simulation_.cluster().figures().kubelet_rejections > 0) {
        checker_.fail("I1", "a kubelet rejected a pod of ours: it did not fit");
    }
    if (simulation_.plans_in_a_row_max() > kPlansOfRest) {
        checker_.fail("I14", "planning did not end at one point in time");
    }
    checker_.check_fixed_point(simulation_.engine());
}

Probes RandomWorld::probes() const {
    Probes all = checker_.probes;
    ClusterFigures figures = figures_;
    add(figures, simulation_.cluster().figures());
    all.binds_accepted = figures.binds_accepted;
    all.binds_turned_down = figures.binds_turned_down;
    all.binds_unanswered = figures.binds_unanswered;
    all.containers_failed = figures.containers_failed;
    all.pods_evicted = figures.pods_evicted;
    all.pods_deleted = figures.pods_deleted;
    all.evictions_accepted = figures.evictions_accepted;
    all.evictions_turned_down = figures.evictions_turned_down;
    all.resizes_turned_down = figures.resizes_turned_down;
    all.gang_rollbacks = rollbacks_;
    all.answers_stale = checker_.reference().answers_stale;
    all.kubelet_rejections = figures.kubelet_rejections;
    return all;
}

SimulatedRun simulate_seed(std::uint64_t seed, int actions, volatile std::uint64_t* progress,
                           Simulation::Observer also, WorldKind kind) {
    RandomWorld world{seed, progress, std::move(also), kind};
    world.run(actions);
    world.recover();
    return {world.probes(),
            world.change_probes(),
            world.violations(),
            world.violation_step(),
            world.simulation().history_hash(),
            world.simulation().decision_hash()};
}

}  // namespace gpuctl::sim
