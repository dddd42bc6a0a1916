#include "sim/swarm/random_world.hpp"

#include <algorithm>
#include <iterator>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::sim {
namespace {

constexpr Duration kPeace{6 * 3'600'000};
// More Plan inputs than this at one moment are a livelock that merely ended by luck. One may be
// needed per pod while policy allows one try per Plan.
constexpr std::uint64_t kPlansInARowMax = 600;
// In every so manieth world an engine read from an image goes on beside the first.
constexpr std::uint64_t kTwinEvery = 4;

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

bool is_over(const JobView& job) {
    return std::all_of(job.pods.begin(), job.pods.end(),
                       [](const PodView& pod) { return is_terminal(pod.facts.phase); }) &&
           (job.status == "Succeeded" || job.status == "Failed");
}

}  // namespace

RandomWorld::RandomWorld(std::uint64_t seed, volatile std::uint64_t* progress,
                         Simulation::Observer also)
    : rng_(seed),
      options_(draw_options(rng_)),
      topology_rng_(seed),
      models_rng_(~seed),
      maintenance_rng_(seed),
      speeds_rng_(seed),
      budget_rng_(seed),
      reserve_rng_(seed),
      guarantee_rng_(seed),
      kept_models_rng_(seed ^ 0x6b70746d),
      roles_rng_(seed),
      retention_rng_(seed ^ 0x72657465),
      ties_rng_(seed ^ 0x74696573),
      beside_rng_(seed),
      unsaid_rng_(seed),
      progress_(progress),
      also_(std::move(also)),
      simulation_(settings(),
                  [this](const Engine& engine, const Input& input,
                         const std::vector<Effect>& effects) { observe(engine, input, effects); }) {
    for (const NodeFacts& node : options_.settings.nodes) {
        node_names_.push_back(node.name);
        nodes_[node.name] = node;
    }
    // The other worlds live as they would without: of the seed itself, no draw.
    if (seed % kTwinEvery == 0) twin_from_ = static_cast<int>(seed / kTwinEvery % kMomentsPerLife);
    judge_.probes.windows_drawn = options_.settings.policy.windows.size();
    judge_.probes.budgets_drawn = Books::budgets_in(options_.settings.policy).size();
}

SimulationSettings RandomWorld::settings() {
    SimulationSettings all = options_.settings;
    all.annotate = [this](PodFacts& pod) {
        const auto said = roles_.find({pod.key.namespace_name, pod.job});
        if (said != roles_.end()) said->second.annotate(pod);
        const auto ties = ties_.find({pod.key.namespace_name, pod.job});
        if (ties != ties_.end()) ties->second.annotate(pod);
        if (unsaid_.contains({pod.key.namespace_name, pod.job})) pod.preemptible_is_default = true;
    };
    return all;
}

void RandomWorld::observe(const Engine& engine, const Input& input,
                          const std::vector<Effect>& effects) {
    if (progress_ != nullptr) *progress_ = static_cast<std::uint64_t>(input.sequence);
    judge_.observe(engine, input, effects);
    if (twin_.exists()) {
        const std::string otherwise = twin_.follow(input, effects);
        if (!otherwise.empty()) judge_.fail("I12", "an engine read from an image: " + otherwise);
        ++judge_.probes.steps_of_twins;
    }
    if (also_) also_(engine, input, effects);
    rollbacks_ = std::max(rollbacks_, engine.figures().gang_rollbacks);
}

void RandomWorld::live(int moments) {
    for (int i = 0; i < moments && violations().empty(); ++i) {
        if (i == twin_from_ && !twin_.take(simulation_.engine())) {
            judge_.fail("I12", "the engine cannot read what it wrote");
        }
        act();
        if (options_.maintenance && maintenance_rng_.chance(1, 8)) change_health();
        // Often the next thing happens while the answers to the last are still on their way.
        simulation_.run_for(Duration{rng_.between(1, rng_.chance(1, 3) ? 300 : 20'000)});
        check_moment();
    }
}

void RandomWorld::submit() {
    JobSpec spec = draw_job(rng_, ++jobs_);
    if (options_.beside_gpus) draw_beside_gpus(beside_rng_, spec);
    if (options_.unsaid && unsaid_rng_.chance(1, 2)) {
        unsaid_.insert(spec.key);
        spec.preemptible = spec.priority == JobPriority::low;
    }
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
    ++judge_.probes.jobs_submitted;
    acknowledged_[spec.key] = spec;
    simulation_.submit(std::move(spec));
}

// As the API would refuse to; one that slips through must not take the place of another.
void RandomWorld::submit_again() {
    for (const auto& [key, job] : simulation_.engine().state().finished_jobs().by_key()) {
        const auto known = acknowledged_.find(key);
        if (job.uid.empty() || job.never_made || known == acknowledged_.end()) continue;
        ++judge_.probes.names_taken;
        return simulation_.submit(JobSpec{known->second});
    }
}

void RandomWorld::remove(const ObjectKey& key) {
    acknowledged_.erase(key);
    ++judge_.probes.jobs_deleted;
    simulation_.remove(key, rng_.chance(1, 4));
}

void RandomWorld::act() {
    if (options_.retention && retention_rng_.chance(1, 4)) submit_again();
    const std::uint64_t dice = rng_.below(24);
    if (dice < 9) {
        for (std::int64_t i = rng_.between(1, 4); i > 0; --i) submit();
    } else if (dice < 11) {
        remove_some_job();
    } else if (dice < 12) {
        simulation_.disturb(NodeCordoned{any_node(), rng_.chance(1, 2)});
    } else if (dice < 15) {
        if (options_.nodes_get_lost) disturb_node();
    } else if (dice < 18) {
        if (options_.restarts) restart();
    } else if (dice < 19) {
        kill_some_container();
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
            judge_.probes.windows_drawn += policy.windows.size();
        }
        if (options_.reserves) draw_reserves(reserve_rng_, policy);
        if (options_.guarantees) draw_guarantees(guarantee_rng_, policy);
        if (options_.unsaid) draw_victims(unsaid_rng_, policy);
        if (options_.models_kept) draw_kept_models(kept_models_rng_, policy);
        if (options_.budgets) {
            draw_budgets(budget_rng_, options_.settings.start, policy);
            judge_.probes.budgets_drawn += Books::budgets_in(policy).size();
        }
        simulation_.change_policy(std::move(policy));
        ++judge_.probes.policies_changed;
    } else if (options_.leadership_changes) {
        change_leader();
    }
}

// Trouble bites when it comes in the middle of something.
void RandomWorld::begin_something() {
    if (!rng_.chance(1, 2)) return;
    submit();
    simulation_.run_for(Duration{rng_.between(1, 600)});
}

void RandomWorld::change_leader() {
    begin_something();
    simulation_.lose_leadership();
    if (rng_.chance(1, 3)) submit();
    if (rng_.chance(1, 3)) simulation_.run_for(Duration{rng_.between(1, 3'000)});
    simulation_.lead_again();
    ++judge_.probes.leaderships_lost;
}

void RandomWorld::remove_some_job() {
    if (acknowledged_.empty()) return;
    auto victim = acknowledged_.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(rng_.below(acknowledged_.size())));
    remove(ObjectKey{victim->first});
}

void RandomWorld::disturb_node() {
    begin_something();
    const std::string node = any_node();
    switch (rng_.below(4)) {
        case 0:
            simulation_.disturb(NodeLost{node});
            ++judge_.probes.nodes_lost;
            break;
        case 1:
            simulation_.disturb(NodeReturns{node});
            break;
        case 2:
            simulation_.disturb(NodeLeaves{node});
            nodes_away_[node] = nodes_.at(node);
            ++judge_.probes.nodes_left;
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
    ++judge_.probes.nodes_changed;
}

void RandomWorld::change_health() {
    const std::string& name = node_names_[maintenance_rng_.below(node_names_.size())];
    const NodeFacts* now = simulation_.cluster().find_node(name);
    if (now == nullptr || !simulation_.cluster().node_answers(name)) return;
    NodeFacts changed = *now;
    changed.unhealthy = changed.unhealthy.empty() ? "GpuUnhealthy" : "";
    if (!changed.unhealthy.empty()) ++judge_.probes.nodes_unhealthy;
    simulation_.disturb(NodeJoins{std::move(changed)});
}

void RandomWorld::restart() {
    begin_something();
    check_recovery();
    if (rng_.chance(1, 3)) {
        add(figures_, simulation_.cluster().figures());
        simulation_.restart_all();
        nodes_away_.clear();  // it comes back as configured: with every node
        ++judge_.probes.full_restarts;
        return;
    }
    const bool lose_effects = rng_.chance(1, 2);
    simulation_.restart_scheduler(lose_effects);
    ++judge_.probes.scheduler_restarts;
    if (lose_effects) ++judge_.probes.effects_lost;
}

void RandomWorld::kill_some_container() {
    const std::vector<JobView> jobs = list_jobs(simulation_.engine().state(), {});
    if (jobs.empty()) return;
    const JobView& job = jobs[rng_.below(jobs.size())];
    if (!job.pods.empty()) simulation_.disturb(ContainerKilled{job.pods[0].facts.key});
}

// I12: what is read back is what was written, rules included.
void RandomWorld::check_recovery() {
    const Engine& engine = simulation_.engine();
    const auto revived = Engine::import_state(engine.export_state());
    if (!revived) return judge_.fail("I12", "the engine cannot read what it wrote");
    if (revived->state_hash() != engine.state_hash()) {
        judge_.fail("I12", "the engine read back something else than it wrote");
    }
    for (const Violation& wrong : verify(revived->state())) {
        judge_.fail("I12", "after recovery: " + wrong.id + " " + wrong.what);
    }
}

void RandomWorld::check_twin() {
    if (twin_.exists() && !twin_.is_like(simulation_.engine())) {
        judge_.fail("I12", "an engine read from an image and given the same since is another now");
    }
}

void RandomWorld::check_moment() {
    check_twin();
    const ClusterState& state = simulation_.engine().state();
    for (const auto& [key, spec] : acknowledged_) {
        const bool is_kept =
            state.find_job(key).exists() || state.finished_jobs().find(key) != nullptr;
        if (!is_kept && !judge_.was_removed(key)) {
            judge_.fail("I3", "acknowledged job " + to_string(key) + " is lost");
        }
    }
    if (judge_.books().binds_landed_late > 0) {
        judge_.fail("I1", "a bind landed whose room had been given back");
    }
    // Where nodes shrink, one under way may find its room gone: nobody could know then.
    if (!options_.nodes_change && simulation_.cluster().figures().kubelet_rejections > 0) {
        judge_.fail("I1", "a kubelet turned a pod of ours away: it did not fit");
    }
    if (simulation_.plans_in_a_row_max() > kPlansInARowMax) {
        judge_.fail("I14", "planning went on and on at one moment");
    }
    judge_.look_around(simulation_.engine());
}

// Could it start in the cluster and under the policy of peace, empty?
bool RandomWorld::is_possible(const JobSpec& spec) const {
    PodFacts pod;
    pod.key = {spec.key.namespace_name, spec.key.name};
    pod.pool = spec.pool;
    pod.queue = spec.queue;
    pod.request = pod_request(spec);
    if (const auto ties = ties_.find(spec.key); ties != ties_.end()) ties->second.annotate(pod);
    Books empty;
    empty.policy = options_.settings.policy;
    empty.policy.windows.clear();  // they pass
    for (const auto& [name, facts] : nodes_) empty.nodes[name] = facts;
    const bool is_default = spec.pool.empty() || spec.pool == kDefaultPool;
    if (is_default) {
        pod.rules.required_affinity.emplace();
    } else {
        pod.rules.node_selector.emplace_back("runwhere.ai/pool", spec.pool);
    }
    set_gpu_models(spec, pod.rules);
    pod.gang = spec.kind == JobKind::training;
    pod.rules.topology = spec.topology;
    const QueueName queue = empty.queue_of(pod);
    if (!empty.exists(queue) || empty.has_sub_queues(queue)) return false;
    Amounts ask;
    ask.add(amounts_of(pod.request), spec.replicas_min);
    return empty.limit_crossed(pod, ask).empty() &&
           empty.fitting_in_models(pod, spec.replicas_min, true) >= spec.replicas_min;
}

void RandomWorld::find_peace() {
    if (!violations().empty()) return;
    if (!simulation_.engine().state().leading()) simulation_.lead_again();
    simulation_.disturb(FaultsChanged{Faults{}});
    simulation_.change_policy(options_.settings.policy);
    for (const auto& [name, facts] : nodes_) {
        simulation_.disturb(NodeJoins{facts});
        simulation_.disturb(NodeReturns{name});
        simulation_.disturb(NodeCordoned{name, false});
    }
    nodes_away_.clear();
    // Services hold their GPUs for ever; what is left must drain.
    for (const auto& [key, spec] : std::map<ObjectKey, JobSpec>{acknowledged_}) {
        if (spec.kind != JobKind::training || !is_possible(spec)) remove(key);
    }
    // A deletion that was refused for good left its job in place: whoever wants it gone asks again.
    for (const JobView& job : list_jobs(simulation_.engine().state(), {})) {
        if (!acknowledged_.contains(job.key)) remove(job.key);
    }
    simulation_.run_for(kPeace);
    check_end();
}

// Every training job came to an end, and nothing is left behind.
void RandomWorld::check_end() {
    for (const JobView& job : list_jobs(simulation_.engine().state(), {})) {
        // The cluster may report one again that gpuctld removed.
        const bool is_known = acknowledged_.contains(job.key) || judge_.was_removed(job.key);
        if (!is_over(job) || !is_known) {
            judge_.fail("I14", "in peace, job " + to_string(job.key) + " is still " + job.status +
                                   (job.waiting ? ": " + job.waiting->sentence : ""));
        }
    }
    for (const NodeView& node : list_nodes(simulation_.engine().state())) {
        if (gpus_total(node.used) != GpuMilli{0}) {
            judge_.fail("I14", "in peace, GPUs are leaked on " + node.facts.name);
        }
    }
    check_moment();
}

Probes RandomWorld::probes() const {
    Probes all = judge_.probes;
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
    all.answers_stale = judge_.books().answers_stale;
    all.kubelet_rejections = figures.kubelet_rejections;
    return all;
}

Life live_one(std::uint64_t seed, int moments, volatile std::uint64_t* progress,
              Simulation::Observer also) {
    RandomWorld world{seed, progress, std::move(also)};
    world.live(moments);
    world.find_peace();
    return {world.probes(), world.violations(), world.violation_step(),
            world.simulation().history_hash()};
}

}  // namespace gpuctl::sim
