#include "sim/swarm/restored_engine.hpp"

#include "scheduler/base/archive.hpp"

namespace gpuctl::sim {

bool RestoredEngine::restore(const Engine& engine) {
    Result<Engine> read = Engine::import_state(engine.export_state());
    if (!read) return false;
    engine_ = std::move(*read);
    return true;
}

std::string RestoredEngine::step_and_compare(const Input& input,
                                             const std::vector<Effect>& effects) {
    EffectList made;
    engine_->step(input, made);
    const std::vector<Effect> own{made.begin(), made.end()};
    if (own.empty() && effects.empty()) return "";
    if (own.size() != effects.size()) {
        return "it ordered " + std::to_string(own.size()) + " effects, the other engine " +
               std::to_string(effects.size());
    }
    return to_archive(own) == to_archive(effects) ? "" : "it ordered other effects";
}

bool RestoredEngine::equals(const Engine& engine) const {
    return engine_->state_hash() == engine.state_hash();
}

}  // namespace gpuctl::sim
