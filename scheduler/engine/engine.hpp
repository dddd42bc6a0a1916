#pragma once
// The engine: a deterministic state machine without clock, thread, file or socket.
//
//     Input (event, now, seed) --> step() --> effects --> [adapters] --> outcome events --> step()
//     ...
//
// Lifecycle: built empty, or from export_state(); fed inputs in journal order; the same inputs give
// the same state and effects bit for bit on any compiler. One owner, one thread.

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
#include "scheduler/plan/figures.hpp"

namespace gpuctl {

class Engine {
public:
    Engine();
    ~Engine();
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;

    // Applies one input and appends what must be done to `effects` (which is not cleared).
    void step(const Input& input, EffectList& effects);

    [[nodiscard]] const ClusterState& state() const;
    [[nodiscard]] const EngineFigures& figures() const;

    // What readers are shown, up to date; made when it is asked for first.
    [[nodiscard]] Listing& listing() const;
    // Brings it up to date where more jobs than so many have changed since: so that the next reader
    // does not pay for all of it.
    void tend_listing(std::size_t behind_max) const;

    // True when planning could achieve something; the loop then issues a Plan input.
    [[nodiscard]] bool wants_plan() const;

    // Over everything that decides the future; equal states have equal hashes on every machine.
    [[nodiscard]] std::uint64_t state_hash() const;
    [[nodiscard]] std::string export_state() const;
    static Result<Engine> import_state(std::string_view bytes);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace gpuctl
