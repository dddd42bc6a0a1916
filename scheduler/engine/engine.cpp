#include "scheduler/engine/engine.hpp"

#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/engine/scale_proposals.hpp"
#include "scheduler/plan/cycle/planner.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/image.hpp"

namespace gpuctl {

namespace {

// A policy cannot configure rules of scaling yet.
constexpr std::span<const scale::ScaleRule> kScaleRules;

}  // namespace

struct Engine::Parts {
    explicit Parts(std::unique_ptr<ClusterState> with) : owned(std::move(with)), state(*owned) {
        figures.refusals.resize(kReasons.size());
    }
    void read_outcomes() {
        const OutcomeFigures& outcomes = state.evictions.outcomes();
        figures.gang_rollbacks = outcomes.gang_rollbacks;
        figures.pods_reclaimed = outcomes.evicted(EvictionCause::reclaimed);
        figures.pods_preempted = outcomes.evicted(EvictionCause::preempted);
        figures.pods_drained = outcomes.evicted(EvictionCause::drained);
        figures.pods_stranded = outcomes.evicted(EvictionCause::stranded);
        figures.ranks_shrunk = outcomes.evicted(EvictionCause::shrunk);
        figures.lost_gpu_seconds = static_cast<std::uint64_t>(outcomes.lost_gpu_ms / 1'000);
    }
    std::unique_ptr<ClusterState> owned;
    ClusterState& state;
    Planner planner;
    CyclePlan plan;  // of the last planning cycle
    EngineFigures figures;
    std::vector<scale::ScaleProposal> scale_proposals;
    std::uint64_t revision = 1;  // increases with every step
    std::unique_ptr<Listing> listing;
};

Engine::Engine() : parts_(std::make_unique<Parts>(std::make_unique<ClusterState>())) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

void Engine::step(const Input& input, EffectList& effects) {
    ClusterState& state = parts_->state;
    ++parts_->revision;
    if (parts_->listing && std::holds_alternative<PolicyChanged>(input.event)) {
        parts_->listing->note_policy();
    }
    state.apply(input.event, input.now, effects);
    parts_->read_outcomes();
    if (const auto* metrics = std::get_if<MetricsObserved>(&input.event)) {
        parts_->scale_proposals = scale_proposals(state, *metrics, kScaleRules);
    }
    if (!std::holds_alternative<Plan>(input.event)) return;
    if (!state.session.leading() || !state.session.synced()) return;
    Commit commit{state, effects, parts_->plan};
    parts_->figures.count(parts_->planner.run(commit));
    state.run_times.count_work();
    state.session.request_wake(effects);
}

const ClusterState& Engine::state() const { return parts_->state; }
const EngineFigures& Engine::figures() const { return parts_->figures; }
const std::vector<scale::ScaleProposal>& Engine::last_scale_proposals() const {
    return parts_->scale_proposals;
}
const CyclePlan& Engine::last_plan() const { return parts_->plan; }

Listing& Engine::listing() const {
    if (!parts_->listing) parts_->listing = std::make_unique<Listing>(parts_->state);
    parts_->listing->refresh(parts_->revision);
    return *parts_->listing;
}

void Engine::tend_listing(std::size_t behind_max) const {
    if (parts_->listing && parts_->listing->behind() > behind_max) (void)listing();
}

bool Engine::wants_plan() const { return parts_->state.session.wants_plan(); }

std::uint64_t Engine::state_hash() const { return hash64(export_state()); }
std::string Engine::export_state() const { return to_archive(parts_->state.image()); }

Result<Engine> Engine::import_state(std::string_view bytes) {
    StateImage image;
    if (!from_archive(bytes, image)) {
        return make_error(ErrorCode::JournalDamaged,
                          "read engine state: the bytes are not a state of this version");
    }
    Result<std::unique_ptr<ClusterState>> state = ClusterState::from_image(std::move(image));
    if (!state) return while_doing("read engine state", state.error());
    Engine engine;
    engine.parts_ = std::make_unique<Parts>(std::move(*state));
    return engine;
}

}  // namespace gpuctl
