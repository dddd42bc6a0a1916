#include "sim/simulation.hpp"

#include <algorithm>

#include "scheduler/base/archive.hpp"
#include "scheduler/base/check.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/base/rng.hpp"

namespace gpuctl::sim {

namespace {

std::optional<EffectId> effect_of(const Event& event) {
    if (const auto* bind = std::get_if<BindOutcome>(&event)) return bind->effect;
    if (const auto* deletion = std::get_if<PodDeleteOutcome>(&event)) return deletion->effect;
    if (const auto* eviction = std::get_if<PodEvictOutcome>(&event)) return eviction->effect;
    if (const auto* workload = std::get_if<WorkloadOutcome>(&event)) return workload->effect;
    if (const auto* node = std::get_if<NodeChangeOutcome>(&event)) return node->effect;
    if (const auto* resize = std::get_if<WorkloadResizeOutcome>(&event)) return resize->effect;
    return std::nullopt;
}

std::optional<EffectId> id_of(const Effect& effect) {
    return std::visit(
        [](const auto& one) -> std::optional<EffectId> {
            if constexpr (requires { one.id; }) {
                return one.id;
            } else {
                return std::nullopt;
            }
        },
        effect);
}

}  // namespace

Simulation::Simulation(SimulationSettings settings, Observer observer)
    : settings_(std::move(settings)), observer_(std::move(observer)), now_(settings_.start) {
    cluster_.emplace(settings_.cluster);
    cluster_->restore(World{}, settings_.nodes, now_);
    std::vector<Event> first{PolicyChanged{settings_.policy}};
    cluster_->announce(World{}, first);
    begin(std::move(first));
}

void Simulation::begin(std::vector<Event> first) {
    pending_ = std::move(first);
    pending_.push_back(LeadershipChanged{true, Epoch{++epoch_}});
    settle();
}

void Simulation::step(Event event) {
    auto* observed = std::get_if<PodObserved>(&event);
    if (observed != nullptr && settings_.annotate) settings_.annotate(observed->pod);
    const Input input{Sequence{++sequence_}, now_, mix64(settings_.cluster.seed + sequence_),
                      std::move(event)};
    const std::size_t before = effects_.size();
    engine_.step(input, effects_);
    const std::vector<Effect> made(effects_.begin() + before, effects_.end());
    history_hash_ = hash64(to_archive(input) + to_archive(made), history_hash_);
    decisions_.add(input, made);
    if (observer_) observer_(engine_, input, made);
}

void Simulation::settle() {
    std::uint64_t plans = 0;
    while (!pending_.empty() || (engine_.wants_plan() && comes_to_rest())) {
        const std::vector<Event> batch = std::exchange(pending_, {});
        for (const Event& event : batch) {
            const std::optional<EffectId> answered = effect_of(event);
            if (answered) in_flight_.erase(*answered);
            if (answered && answers_lost_.erase(*answered) > 0) continue;
            step(event);
        }
        if (engine_.wants_plan() && comes_to_rest()) {
            step(Plan{});
            plans_in_a_row_max_ = std::max(plans_in_a_row_max_, ++plans);
        }
        for (const Effect& effect : std::exchange(effects_, {})) {
            if (const auto id = id_of(effect)) in_flight_.insert(*id);
            cluster_->carry_out(effect, now_, pending_);
        }
    }
}

void Simulation::submit(JobSpec spec) {
    JobRecord job;
    job.uid = "job-" + std::to_string(++jobs_);
    job.spec = std::move(spec);
    job.submitted_at = now_;
    pending_.push_back(JobSubmitted{std::move(job)});
    settle();
}

void Simulation::remove(const ObjectKey& job, bool force) {
    pending_.push_back(JobDeleteRequested{job, force});
    settle();
}

void Simulation::change(JobUpdated change) {
    pending_.push_back(std::move(change));
    settle();
}

void Simulation::change_node(NodeChangeRequested change) {
    pending_.push_back(std::move(change));
    settle();
}

void Simulation::disturb(const SimInput& input) {
    cluster_->apply(input, now_, pending_);
    settle();
}

void Simulation::change_policy(Policy policy) {
    pending_.push_back(PolicyChanged{std::move(policy)});
    settle();
}

void Simulation::change_objects(Policy policy, PolicyObjectsChanged objects) {
    pending_.push_back(PolicyChanged{std::move(policy)});
    pending_.push_back(std::move(objects));
    settle();
}

void Simulation::lose_leadership() {
    pending_.push_back(LeadershipChanged{false, Epoch{epoch_}});
    settle();
}

void Simulation::regain_leadership() {
    pending_.push_back(LeadershipChanged{true, Epoch{++epoch_}});
    settle();
}

bool Simulation::run_to_next(Instant limit) {
    const std::optional<Instant> due = cluster_->next_due();
    if (!due || *due > limit) return false;
    now_ = std::max(now_, *due);
    cluster_->advance(now_, pending_);
    settle();
    return true;
}

void Simulation::run_for(Duration span) {
    const Instant until = now_ + span;
    while (run_to_next(until)) {
    }
    now_ = until;
}

void Simulation::restart_scheduler(bool lose_effects) {
    if (lose_effects) {
        // The scheduler ends after writing the journal and before sending: the last input counts,
        // its effects are lost.
        cluster_->advance(now_, pending_);
        step(Plan{});
        effects_.clear();
    }
    restart_scheduler_from(engine_.export_state());
}

void Simulation::restart_scheduler_from(const std::string& state) {
    auto revived = Engine::import_state(state);
    GPUCTL_CHECK(revived.has_value(), "the engine cannot read what it wrote");
    engine_ = std::move(*revived);
    pending_.clear();
    answers_lost_.insert(in_flight_.begin(), in_flight_.end());
    std::vector<Event> first;
    cluster_->announce(World{}, first);
    begin(std::move(first));
}

void Simulation::restart_all() {
    auto revived = Engine::import_state(engine_.export_state());
    GPUCTL_CHECK(revived.has_value(), "the engine cannot read what it wrote");
    engine_ = std::move(*revived);
    const World world = read_world(engine_);
    cluster_.emplace(settings_.cluster);
    cluster_->restore(world, settings_.nodes, now_);
    in_flight_.clear();
    answers_lost_.clear();
    std::vector<Event> first;
    cluster_->announce(world, first);
    begin(std::move(first));
}

}  // namespace gpuctl::sim
