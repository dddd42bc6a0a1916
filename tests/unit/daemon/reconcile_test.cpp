#include "daemon/core/reconcile.hpp"

#include <gtest/gtest.h>

#include "scheduler/engine/engine.hpp"

namespace gpuctl::core {
namespace {

PodObserved pod(const std::string& name, const std::string& uid, const std::string& node) {
    PodObserved observed;
    observed.pod.uid = uid;
    observed.pod.key = {"default", name};
    observed.pod.node = node;
    observed.pod.request.pods = 1;
    observed.pod.job = name;
    return observed;
}

NodeObserved node(const std::string& name) {
    NodeObserved observed;
    observed.node.name = name;
    observed.node.pool = kDefaultPool;
    observed.node.allocatable.pods = 10;
    return observed;
}

class ReconcilerTest : public testing::Test {
protected:
    void feed(Event event) {
        EffectList effects;
        engine_.step(Input{Sequence{++sequence_}, Instant{1'000}, 1, std::move(event)}, effects);
    }
    Engine engine_;
    std::uint64_t sequence_ = 0;
};

TEST_F(ReconcilerTest, objects_deleted_while_the_daemon_was_down_are_removed) {
    feed(node("a"));
    feed(node("b"));
    feed(pod("stays", "u1", "a"));
    feed(pod("gone", "u2", "a"));
    feed(pod("foreign-elsewhere", "u3", "unknown-node"));
    feed(GangObserved{{"default", "g"}, {2, {}}});

    Reconciler reconciler;
    reconciler.record(node("a"));
    reconciler.record(pod("stays", "u1", "a"));
    const std::vector<Event> events = reconciler.vanished(engine_.state());

    std::vector<std::string> gone;
    for (const Event& event : events) {
        if (const auto* removed = std::get_if<PodRemoved>(&event)) gone.push_back(removed->uid);
        if (const auto* removed = std::get_if<NodeRemoved>(&event)) gone.push_back(removed->name);
        if (const auto* removed = std::get_if<GangRemoved>(&event)) {
            gone.push_back(removed->key.name);
        }
    }
    EXPECT_EQ(gone, (std::vector<std::string>{"u3", "u2", "g", "b"}));
}

TEST_F(ReconcilerTest, a_job_whose_object_was_deleted_is_removed) {
    std::vector<Event> events;
    feed(LeadershipChanged{true, Epoch{1}});
    for (const char* name : {"stays", "went"}) {
        JobRecord record;
        record.uid = std::string{"uid-"} + name;
        record.spec.key = {"default", name};
        feed(JobSubmitted{record});
        const JobId id = engine_.state().jobs.find_job(record.spec.key);
        feed(WorkloadOutcome{engine_.state().job(id).workload.effect, record.spec.key, true, false,
                             ""});
    }
    Reconciler reconciler;
    reconciler.record(
        WorkloadObserved{{{"default", "stays"}, "uid-stays", WorkloadPhase::active, -1, ""}});
    events = reconciler.vanished(engine_.state());
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(std::get<WorkloadRemoved>(events[0]).job_uid, "uid-went");
}

TEST_F(ReconcilerTest, vanished_objects_of_summarized_jobs_are_removed_too) {
    const std::string went = "01234567-89ab-cdef-0123-456789abcdef";
    const std::string stays = "11234567-89ab-cdef-0123-456789abcdef";
    Policy policy;
    policy.finished_jobs_detailed = 0;
    feed(PolicyChanged{policy});
    feed(LeadershipChanged{true, Epoch{1}});
    feed(CacheSynced{});
    for (const char* name : {"made-stays", "made-went"}) {
        JobRecord record;
        record.uid = std::string{"uid-"} + name;
        record.spec.key = {"default", name};
        feed(JobSubmitted{record});
        const JobId id = engine_.state().jobs.find_job(record.spec.key);
        feed(WorkloadOutcome{engine_.state().job(id).workload.effect, record.spec.key, true, false,
                             ""});
        feed(WorkloadObserved{{record.spec.key, record.uid, WorkloadPhase::complete, 1, ""}});
    }
    for (const std::string& uid : {went, stays}) {
        PodObserved ended = pod("pod-" + uid.substr(0, 1), uid, "a");
        ended.pod.ours = true;
        ended.pod.phase = PodPhase::succeeded;
        feed(ended);
    }
    ASSERT_EQ(engine_.state().jobs.finished_jobs().by_key().size(), 4U);
    Reconciler reconciler;
    reconciler.record(pod("pod-1", stays, "a"));
    reconciler.record(WorkloadObserved{
        {{"default", "made-stays"}, "uid-made-stays", WorkloadPhase::complete, 1, ""}});
    for (const Event& event : reconciler.vanished(engine_.state())) feed(event);
    std::vector<std::string> left;
    for (const auto& [key, job] : engine_.state().jobs.finished_jobs().by_key()) {
        left.push_back(key.name);
    }
    EXPECT_EQ(left, (std::vector<std::string>{"made-stays", "pod-1"}));
}

TEST_F(ReconcilerTest, a_pod_that_came_back_under_its_name_is_another_one) {
    feed(node("a"));
    feed(pod("twin", "old", "a"));
    Reconciler reconciler;
    reconciler.record(node("a"));
    reconciler.record(pod("twin", "new", ""));
    const std::vector<Event> events = reconciler.vanished(engine_.state());
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(std::get<PodRemoved>(events[0]).uid, "old");
}

}  // namespace
}  // namespace gpuctl::core
