#pragma once
// An engine under test with a small reference cluster. It stores every fact in plain maps, answers
// binds on request, and checks the invariants after every step by brute force, without the engine's
// own tables.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/engine/verify_listing.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/invariants/invariants.hpp"

namespace gpuctl::test {

inline constexpr const char* kGpu = "nvidia.com/gpu";

inline Resources room(std::int64_t gpus, std::int64_t cores = 64, std::int64_t pods = 110,
                      std::int64_t gib = 512) {
    Resources out;
    out.cpu = CpuMilli{cores * 1000};
    out.memory = Bytes{gib << 30};
    out.pods = pods;
    if (gpus > 0) out.gpus.push_back({kGpu, whole_gpus(gpus)});
    return out;
}

inline NodeFacts node(std::string name, std::int64_t gpus, std::string pool = "default") {
    NodeFacts out;
    out.name = std::move(name);
    out.pool = std::move(pool);
    out.gpu_model = gpus > 0 ? "A100" : "";
    out.allocatable = room(gpus);
    return out;
}

inline PodFacts pod(std::string uid, std::string job, std::int64_t gpus) {
    PodFacts out;
    out.uid = uid;
    out.key = {"team-a", std::move(uid)};
    out.job = std::move(job);
    out.ours = true;
    out.has_controller = true;
    out.request = room(gpus, 1, 1, 1);
    return out;
}

inline std::vector<PodFacts> gang(const std::string& job, int ranks, std::int64_t gpus) {
    std::vector<PodFacts> out;
    for (int rank = 0; rank < ranks; ++rank) {
        PodFacts member = pod(job + "-" + std::to_string(rank), job, gpus);
        member.gang = true;
        member.gang_min = ranks;
        member.rank = rank;
        out.push_back(std::move(member));
    }
    return out;
}

class EngineWorld {
public:
    EngineWorld() {
        send(LeadershipChanged{true, Epoch{1}});
        send(CacheSynced{});
    }
    struct Bare {};
    explicit EngineWorld(Bare) {}  // neither leading nor synced

    // Sends one input. `last` has the effects of this step only, `effects` has all effects.
    void send(Event event) {
        last.clear();
        engine.step(Input{Sequence{++sequence}, now, sequence, std::move(event)}, last);
        forget_what_cannot_land();
        effects.insert(effects.end(), last.begin(), last.end());
        for (const Effect& effect : last) check_effect(effect);
        if (verify_steps) {
            for (const Violation& wrong : verify(engine.state())) {
                ADD_FAILURE() << wrong.id << ": " << wrong.what;
            }
            for (const std::string& wrong : verify_listing(engine.listing(), sequence)) {
                ADD_FAILURE() << "I25: " << wrong;
            }
        }
    }
    void add(const NodeFacts& facts) {
        nodes[facts.name] = facts;
        send(NodeObserved{facts});
    }
    void remove_node(const std::string& name) {
        nodes.erase(name);
        send(NodeRemoved{name});
    }
    void add(const PodFacts& facts) {
        pods[facts.uid] = facts;
        send(PodObserved{facts});
    }
    void add(const std::vector<PodFacts>& all) {
        for (const PodFacts& one : all) add(one);
    }
    void remove_pod(const std::string& uid) {
        pods.erase(uid);
        pending.erase(uid);
        evictions.erase(uid);
        send(PodRemoved{uid});
    }
    void set(Policy policy_now) {
        policy = policy_now;
        send(PolicyChanged{std::move(policy_now)});
    }
    int plan() {
        int rounds = 0;
        for (; engine.wants_plan(); ++rounds) {
            EXPECT_LT(rounds, 1000) << "the engine wants to plan without end";
            if (rounds >= 1000) break;
            send(Plan{});
        }
        return rounds;
    }
    // The watch reports the bound pod.
    void show(const std::string& uid) { send(PodObserved{pods.at(uid)}); }
    // Answers the bind in flight for this pod.
    void answer(const std::string& uid, BindResult result = BindResult::bound) {
        const BindPod bind = pending.at(uid);
        pending.erase(uid);
        if (result == BindResult::bound) {
            pods.at(uid).node = bind.node;
            pods.at(uid).gpu_device = bind.gpu_device;
        }
        send(BindOutcome{bind.id, uid, result, "because of the test"});
    }
    // Answers the eviction in flight for this pod; an accepted pod is gone at once.
    void answer_eviction(const std::string& uid, EvictResult result = EvictResult::evicted) {
        const EvictPod eviction = evictions.at(uid);
        evictions.erase(uid);
        send(PodEvictOutcome{eviction.id, uid, result, "because of the test"});
    }
    void answer_resize(const std::string& job, ResizeResult result = ResizeResult::resized,
                       std::int32_t size = 0) {
        const ResizeWorkload resize = resizes.at(job);
        resizes.erase(job);
        send(WorkloadResizeOutcome{resize.id, resize.key, result, size, "because of the test"});
    }
    void answer_all() {
        while (!pending.empty()) {
            const std::string uid = pending.begin()->first;
            answer(uid);
            if (pods.contains(uid)) show(uid);
        }
    }
    void run() {  // plans and answers until nothing changes
        do {
            plan();
            answer_all();
        } while (engine.wants_plan());
    }
    [[nodiscard]] std::string node_of(const std::string& uid) const {
        const PodId id = engine.state().pods.find_pod(uid);
        if (!id.exists() || !engine.state().pod(id).node.exists()) return "";
        return engine.state().node(engine.state().pod(id).node).facts.name;
    }
    [[nodiscard]] std::vector<Explanation> why(const std::string& job,
                                               const std::string& space = "team-a") const {
        return explain_job(engine.state(), {space, job});
    }
    // The GPU of its node of which the pod holds a fraction.
    [[nodiscard]] std::int32_t device_of(const std::string& uid) const {
        const PodId id = engine.state().pods.find_pod(uid);
        return id.exists() ? engine.state().pod(id).gpu_device : kNoDevice;
    }
    template <typename Kind>
    [[nodiscard]] std::vector<Kind> sent() const {
        std::vector<Kind> out;
        for (const Effect& effect : effects) {
            if (const auto* found = std::get_if<Kind>(&effect)) out.push_back(*found);
        }
        return out;
    }

    Engine engine;
    Instant now{1'000'000};
    std::uint64_t sequence = 0;
    EffectList last;
    std::vector<Effect> effects;
    std::map<std::string, NodeFacts> nodes;
    std::map<std::string, PodFacts> pods;
    std::map<std::string, BindPod> pending;         // in flight, by uid
    std::map<std::string, EvictPod> evictions;      // evictions in flight, by uid
    std::map<std::string, ResizeWorkload> resizes;  // by job name
    Policy policy;
    bool verify_steps = true;

private:
    // Our own decisions never exceed the capacity of the node, counted from the facts (I1, I2). A
    // bind that a new term did not send again cannot succeed after its deadline, and its room is
    // released then, not before.
    void forget_what_cannot_land() {
        std::erase_if(pending, [&](const auto& entry) {
            const PodId id = engine.state().pods.find_pod(entry.first);
            if (!id.exists() || engine.state().pod(id).bind.effect == entry.second.id) return false;
            return entry.second.deadline < now;
        });
    }
    // No two pods of a node listen at one port of one address, as in kube-scheduler's NodePorts
    // filter.
    void check_ports(const BindPod& bind, const PodFacts& bound) {
        for (const auto& [uid, facts] : pods) {
            const auto open = pending.find(uid);
            const std::string& on = open != pending.end() ? open->second.node : facts.node;
            if (on != bind.node || is_terminal(facts.phase) || uid == bound.uid) continue;
            for (const HostPort& theirs : facts.request.host_ports) {
                for (const HostPort& own : bound.request.host_ports) {
                    const bool is_same =
                        theirs.port == own.port && theirs.protocol == own.protocol &&
                        (theirs.address == own.address || theirs.address == kEveryAddress ||
                         own.address == kEveryAddress);
                    EXPECT_FALSE(is_same) << bound.uid << " and " << uid << " on " << bind.node
                                          << " both listen at port " << own.port;
                }
            }
        }
    }
    void check_effect(const Effect& effect) {
        if (const auto* eviction = std::get_if<EvictPod>(&effect)) return check_eviction(*eviction);
        if (const auto* resize = std::get_if<ResizeWorkload>(&effect)) {
            EXPECT_NE(resize->from, resize->to) << resize->key.name;
            resizes[resize->key.name] = *resize;
            return;
        }
        if (const auto* bind = std::get_if<BindPod>(&effect)) check_bind(*bind);
    }
    void check_eviction(const EvictPod& eviction) {
        ASSERT_TRUE(pods.contains(eviction.pod.uid)) << "eviction of an unknown pod";
        const PodFacts& evicted = pods.at(eviction.pod.uid);
        const bool is_drained = eviction.preemptor == ObjectKey{};
        const JobId job = engine.state().jobs.find_job(eviction.job);
        const bool is_stranded = job.exists() && yields(engine.state().job(job).gang.phase());
        const JobId by = engine.state().jobs.find_job(eviction.preemptor);
        const bool is_for_priority = evicted.preemptible_is_default && by.exists() &&
                                     engine.state().job(by).priority > evicted.priority;
        EXPECT_TRUE(evicted.preemptible || is_drained || is_stranded || is_for_priority)
            << evicted.uid;
        EXPECT_TRUE(evicted.has_controller) << evicted.uid;
        EXPECT_FALSE(evicted.node.empty() || evicted.terminating) << evicted.uid;
        evictions[eviction.pod.uid] = eviction;
    }
    void check_bind(const BindPod& bind) {
        ASSERT_TRUE(pods.contains(bind.pod.uid)) << "bind of an unknown pod";
        const PodFacts& bound = pods.at(bind.pod.uid);
        EXPECT_TRUE(bound.node.empty()) << bound.uid << " is bound again";
        EXPECT_FALSE(bound.gated || bound.terminating) << bound.uid;
        const auto before = pending.find(bind.pod.uid);
        if (before != pending.end()) {
            EXPECT_EQ(before->second.node, bind.node) << "an open bind moved to another node";
            EXPECT_EQ(before->second.gpu_device, bind.gpu_device);
            pending[bind.pod.uid] = bind;  // it is sent again, not decided again
            return;
        }
        pending[bind.pod.uid] = bind;
        ASSERT_TRUE(nodes.contains(bind.node)) << bind.node;
        check_ports(bind, bound);
        check_capacity(bind, bound);
    }
    void check_capacity(const BindPod& bind, const PodFacts& bound) {
        const Resources& offered = nodes.at(bind.node).allocatable;
        std::int64_t cpu = 0, memory = 0, slots = 0;
        // fraction that the pod itself holds
        std::optional<std::pair<std::string, std::int32_t>> part_of;
        std::map<std::string, std::int64_t> gpus;  // whole GPUs, and 1000 for each in partial use
        std::map<std::pair<std::string, std::int32_t>, std::int64_t> parts;
        for (const auto& [uid, facts] : pods) {
            const auto open = pending.find(uid);
            const std::string& on = open != pending.end() ? open->second.node : facts.node;
            if (on != bind.node || is_terminal(facts.phase)) continue;
            cpu += facts.request.cpu.value();
            memory += facts.request.memory.value();
            ++slots;
            const std::int32_t device =
                open != pending.end() ? open->second.gpu_device : facts.gpu_device;
            for (const GpuAmount& gpu : facts.request.gpus) {
                EXPECT_EQ(is_part_of_gpu(gpu.amount), device >= 0) << uid;
                std::int64_t& on_it = parts[{gpu.resource, device}];
                if (device < 0 || on_it == 0) {
                    gpus[gpu.resource] += std::max(gpu.amount.value(), kGpuMilliPerGpu);
                }
                if (device >= 0) on_it += gpu.amount.value();
                if (uid == bind.pod.uid && device >= 0) part_of = {gpu.resource, device};
            }
        }
        if (part_of) {
            EXPECT_LE(parts.at(*part_of), 1000) << "on one GPU of " << bind.node;
        }
        EXPECT_LE(cpu, offered.cpu.value());
        EXPECT_LE(memory, offered.memory.value());
        EXPECT_LE(slots, offered.pods - policy.pods_reserved_per_node);
        for (const auto& [resource, amount] : gpus) {
            // A node that shrank may hold too much of a resource that this pod does not request.
            if (bound.request.gpus.empty()) continue;
            std::int64_t has = 0;
            for (const GpuAmount& gpu : offered.gpus) {
                if (gpu.resource == resource) has = gpu.amount.value();
            }
            EXPECT_LE(amount, has) << resource << " of " << bind.node;
        }
    }
};

}  // namespace gpuctl::test
