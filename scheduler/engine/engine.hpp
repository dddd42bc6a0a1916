#pragma once
// The engine: a deterministic state machine without clock, thread, file or socket.
//
//     Input (event, now, seed) --> step() --> effects --> [adapters] --> outcome events --> step()
// ...
//
// Lifecycle: it is made empty, or from export_state(), and gets inputs in journal order. The same
// inputs give the same state and effects bit for bit on any compiler. One owner, one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/engine/views.hpp"
#include "scheduler/listing/listing.hpp"
#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/plan/cycle/figures.hpp"
#include "scheduler/scale/scale.hpp"

namespace gpuctl {

class Engine {
public:
    Engine();
    ~Engine();
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;

    // Applies one input and appends the resulting effects to `effects` (which is not cleared).
    void step(const Input& input, EffectList& effects);

    [[nodiscard]] const ClusterState& state() const;
    [[nodiscard]] const EngineFigures& figures() const;
    // The proposals of scale/ for the last MetricsObserved. No decision uses them yet.
    [[nodiscard]] const std::vector<scale::ScaleProposal>& last_scale_proposals() const;
    // The decisions of the last planning cycle. They are no part of the state: empty after
    // import_state().
    [[nodiscard]] const CyclePlan& last_plan() const;

    // The read model, brought up to date; it is created at the first call.
    [[nodiscard]] Listing& listing() const;
    // Updates the read model if more jobs than `behind_max` have changed, so that the next reader
    // does not pay for all changes.
    void tend_listing(std::size_t behind_max) const;

    // True if a planning cycle could change something; the loop then issues a Plan input.
    [[nodiscard]] bool wants_plan() const;

    // A hash of everything that affects later steps; equal states have equal hashes on every
    // machine.
    [[nodiscard]] std::uint64_t state_hash() const;
    [[nodiscard]] std::string export_state() const;
    static Result<Engine> import_state(std::string_view bytes);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace gpuctl
