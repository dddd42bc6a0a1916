#pragma once
// A virtual cluster without a scheduler: the tests create and bind pods themselves.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "scheduler/base/archive.hpp"
#include "sim/cluster.hpp"

namespace gpuctl::sim {

inline NodeFacts make_node(const std::string& name, std::int64_t gpus) {
    NodeFacts node;
    node.name = name;
    node.pool = "default";
    node.allocatable.cpu = CpuMilli{64'000};
    node.allocatable.memory = Bytes{std::int64_t{512} << 30};
    node.allocatable.pods = 110;
    node.allocatable.gpus = {{"nvidia.com/gpu", whole_gpus(gpus)}};
    return node;
}

inline JobRecord make_job(const std::string& name, JobKind kind, std::int32_t replicas,
                          std::int64_t gpus) {
    JobRecord job;
    job.uid = "uid-of-" + name;
    job.spec.kind = kind;
    job.spec.key = {"team-a", name};
    job.spec.image = "repo/image:1";
    job.spec.replicas_min = job.spec.replicas_max = replicas;
    job.spec.cpu = CpuMilli{1'000};
    job.spec.memory = Bytes{1 << 30};
    job.spec.gpu.resource = "nvidia.com/gpu";
    job.spec.gpu.amount = whole_gpus(gpus);
    return job;
}

inline void set_environment(JobRecord& job, const std::string& name, const std::string& value) {
    job.spec.environment.push_back({name, value, ""});
}

class SimWorld {
public:
    explicit SimWorld(Settings settings = {}, std::int64_t nodes = 2) : cluster(settings) {
        for (std::int64_t i = 0; i < nodes; ++i) {
            cluster.apply(NodeJoins{make_node("node-" + std::to_string(i), 8)}, now, events);
        }
    }

    void run_for(Duration span) {
        now = now + span;
        cluster.advance(now, events);
        remember();
    }
    void create(const JobRecord& job) {
        cluster.carry_out(CreateWorkload{next_effect(), Epoch{1}, job}, now, events);
        run_for(Duration{10});
    }
    void remove(const JobRecord& job, bool force = false) {
        cluster.carry_out(
            DeleteWorkload{next_effect(), Epoch{1}, job.spec.key, job.spec.kind, force}, now,
            events);
        run_for(Duration{10});
    }
    BindResult bind(const PodFacts& pod, const std::string& node) {
        const EffectId id = next_effect();
        cluster.carry_out(BindPod{id, Epoch{1}, {pod.key, pod.uid}, node, 0, {}}, now, events);
        run_for(Duration{10});
        for (const Event& event : events) {
            const auto* outcome = std::get_if<BindOutcome>(&event);
            if (outcome != nullptr && outcome->effect == id) return outcome->result;
        }
        ADD_FAILURE() << "no outcome of the bind";
        return BindResult::failed;
    }
    // Those seen by the last events, ordered by name; removed ones are gone.
    std::vector<PodFacts> pods() {
        remember();
        std::vector<PodFacts> list;
        for (const auto& [key, pod] : seen_) list.push_back(pod);
        return list;
    }
    PodFacts only_pod() {
        const std::vector<PodFacts> all = pods();
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? PodFacts{} : all.front();
    }
    void disturb(const SimInput& input) {
        cluster.apply(input, now, events);
        remember();
    }

    Cluster cluster;
    Instant now{1'700'000'000'000};
    std::vector<Event> events;

private:
    EffectId next_effect() { return EffectId{++effects_}; }
    void remember() {
        for (; read_ < events.size(); ++read_) {
            if (const auto* pod = std::get_if<PodObserved>(&events[read_])) {
                by_uid_[pod->pod.uid] = pod->pod.key;
                seen_[pod->pod.key] = pod->pod;
            } else if (const auto* removed = std::get_if<PodRemoved>(&events[read_])) {
                const auto found = seen_.find(by_uid_[removed->uid]);
                if (found != seen_.end() && found->second.uid == removed->uid) seen_.erase(found);
            }
        }
    }

    std::uint64_t effects_ = 0;
    std::size_t read_ = 0;
    std::map<ObjectKey, PodFacts> seen_;
    std::map<std::string, ObjectKey> by_uid_;
};

}  // namespace gpuctl::sim
