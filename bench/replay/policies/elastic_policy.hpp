#pragma once
// The real engine as a policy for jobs that run on any number of GPUs (EnginePolicy is for jobs
// with one size). Each job is an elastic job of ranks with one GPU and has a speedup curve; the
// engine's resizes become resizes in the world. The world counts GPUs itself here, too.
//
// Owner, thread: the replay's. `trace` must outlive it.

#include <map>
#include <optional>
#include <vector>

#include "bench/replay/policies/engine_policy.hpp"

namespace gpuctl::replay {

class ElasticPolicy final : public Policy {
public:
    ElasticPolicy(const Trace& trace, const WorldSettings& settings, gpuctl::Policy policy);

    std::optional<Instant> decide(World& world) override;

    [[nodiscard]] EngineEffort effort() const;

private:
    // A submitted, unfinished job: its ranks by number.
    struct Live {
        std::vector<PodFacts> pods;
        std::int64_t made = 0;  // number of pods created so far, for unused names
    };
    void step(Event event);
    void apply_log(const World& world);
    void submit(JobIndex index);
    void finish(JobIndex index);
    void carry_out(World& world);
    void create(const CreateWorkload& creation);
    void resize(World& world, const ResizeWorkload& resize);
    void add_ranks(JobIndex index, std::int32_t up_to);
    void bind(const BindPod& bind);
    // Gives the job as many GPUs in the world as the bound ranks of the job have.
    void follow(World& world, JobIndex index);

    const Trace* trace_;
    std::int32_t gpus_total_;
    Engine engine_;
    std::uint64_t sequence_ = 0;
    Instant now_ = World::kBegin;
    EffectList effects_;
    std::size_t log_read_ = 0;  // entries of World::log() that were read
    std::map<JobIndex, Live> live_;
    std::optional<Instant> wake_;
    EngineEffort effort_;
};

}  // namespace gpuctl::replay
