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

TEST_F(ReconcilerTest, what_was_deleted_while_the_daemon_was_down_is_removed) {
    feed(node("a"));
    feed(node("b"));
    feed(pod("stays", "u1", "a"));
    feed(pod("gone", "u2", "a"));
    feed(pod("foreign-elsewhere", "u3", "unknown-node"));
    feed(GangObserved{{"default", "g"}, {2, {}}});

    Reconciler reconciler;
    reconciler.note(node("a"));
    reconciler.note(pod("stays", "u1", "a"));
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

TEST_F(ReconcilerTest, a_job_whose_object_was_deleted_meanwhile_is_removed) {
    std::vector<Event> events;
    feed(LeadershipChanged{true, Epoch{1}});
    for (const char* name : {"stays", "went"}) {
        JobRecord record;
        record.uid = std::string{"uid-"} + name;
        record.spec.key = {"default", name};
        feed(JobSubmitted{record});
        const JobId id = engine_.state().find_job(record.spec.key);
        feed(WorkloadOutcome{engine_.state().job(id).workload_effect, record.spec.key, true, false,
                             ""});
    }
    Reconciler reconciler;
    reconciler.note(
        WorkloadObserved{{{"default", "stays"}, "uid-stays", WorkloadPhase::active, -1, ""}});
    events = reconciler.vanished(engine_.state());
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(std::get<WorkloadRemoved>(events[0]).job_uid, "uid-went");
}

TEST_F(ReconcilerTest, a_pod_that_came_back_under_its_name_is_another_one) {
    feed(node("a"));
    feed(pod("twin", "old", "a"));
    Reconciler reconciler;
    reconciler.note(node("a"));
    reconciler.note(pod("twin", "new", ""));
    const std::vector<Event> events = reconciler.vanished(engine_.state());
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(std::get<PodRemoved>(events[0]).uid, "old");
}

}  // namespace
}  // namespace gpuctl::core
