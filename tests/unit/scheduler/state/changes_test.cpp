// Changes of submitted jobs by their users (docs/adr/0043): what the engine accepts, sends and
// undoes, and the seats that a paused job keeps.

#include <gtest/gtest.h>

#include "scheduler/engine/views.hpp"
#include "scheduler/state/workloads/check_change.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

class Changes : public testing::Test {
protected:
    explicit Changes(JobKind kind = JobKind::training) {
        world.add(node("a", 8));
        JobRecord record;
        record.uid = "job-uid";
        record.spec.key = key;
        record.spec.kind = kind;
        record.spec.replicas_min = record.spec.replicas_max = 2;
        record.spec.service.replicas = 2;
        world.send(JobSubmitted{record});
        answer(std::get<CreateWorkload>(world.last[0]).id);
    }
    void answer(EffectId id, bool done = true, bool is_retryable = false) {
        world.send(WorkloadOutcome{id, key, done, is_retryable, done ? "" : "it is not allowed",
                                   ErrorCode::Forbidden});
    }
    void make_pods(const std::string& round, const std::string& job = "j", int ranks = 2,
                   std::int64_t gpus = 4) {
        for (PodFacts& rank : gang(job, ranks, gpus)) {
            rank.uid += round;
            rank.key.name = rank.uid;
            world.add(rank);
        }
    }
    [[nodiscard]] JobUpdated update(JobChangeKind kind, std::uint64_t revision = 0) const {
        JobUpdated event{key, "job-uid", revision, {}};
        event.change.kind = kind;
        return event;
    }
    // Sends the change and answers its effect.
    void change(const JobUpdated& event, bool done = true) {
        world.send(event);
        const auto* sent = sent_now();
        ASSERT_NE(sent, nullptr) << "the object is not changed";
        answer(UpdateWorkload{*sent}.id, done);
    }
    [[nodiscard]] const UpdateWorkload* sent_now() const {
        for (const Effect& effect : world.last) {
            if (const auto* found = std::get_if<UpdateWorkload>(&effect)) return found;
        }
        return nullptr;
    }
    void pause(bool releases = false) {
        JobUpdated event = update(JobChangeKind::pause);
        event.change.releases = releases;
        change(event);
    }
    void start_and_pause(bool releases = false) {
        make_pods("");
        world.run();
        pause(releases);
        stop_pods("");
    }
    void stop_pods(const std::string& round) {
        world.remove_pod("j-0" + round);
        world.remove_pod("j-1" + round);
    }
    void restart() {
        Result<Engine> restored = Engine::import_state(world.engine.export_state());
        ASSERT_TRUE(restored);
        EXPECT_EQ(restored->state_hash(), world.engine.state_hash());
        world.engine = std::move(*restored);
    }
    [[nodiscard]] const JobRow& row() const {
        const ClusterState& state = world.engine.state();
        return state.job(state.jobs.find_job(key));
    }
    [[nodiscard]] JobView view() const {
        const auto found = find_job(world.engine.state(), key.namespace_name, key.name);
        return found ? *found : JobView{};
    }
    [[nodiscard]] std::string why() const {
        const auto all = explain_job(world.engine.state(), key);
        return all.empty() ? "" : wording::sentence(all.front());
    }
    [[nodiscard]] GpuMilli held_by_tenant() const {
        const ClusterState& state = world.engine.state();
        return state.tenant(row().tenant).gpus_held;
    }
    [[nodiscard]] GpuMilli free_on(const std::string& name) const {
        const auto found = find_node(world.engine.state(), name);
        return GpuMilli{found ? 8'000 - gpus_total(found->used).value() : 0};
    }
    const ObjectKey key{"team-a", "j"};
    EngineWorld world;
};

TEST_F(Changes, a_paused_job_is_said_to_keep_the_gpus_of_pods_that_still_stop) {
    make_pods("");
    world.run();
    pause();
    const fact::Paused stopping = world.engine.state().seats.paused(row());
    EXPECT_EQ(stopping.gpus, whole_gpus(8));
    EXPECT_FALSE(stopping.nodes.empty());
    stop_pods("");
    EXPECT_EQ(world.engine.state().seats.paused(row()).gpus, whole_gpus(8));
}

TEST_F(Changes, a_paused_job_keeps_the_gpus_of_its_pods_on_their_nodes_and_in_its_quota) {
    start_and_pause();
    EXPECT_EQ(row().seats.size(), 2u);
    EXPECT_EQ(free_on("a"), GpuMilli{});
    EXPECT_EQ(held_by_tenant(), whole_gpus(8));
    EXPECT_EQ(view().gpus_kept, whole_gpus(8));
    world.add(pod("p", "other", 1));
    world.run();
    EXPECT_EQ(world.node_of("p"), "");
}

TEST_F(Changes, a_paused_job_says_what_it_keeps_and_where) {
    start_and_pause();
    const auto facts = world.engine.state().seats.paused(row());
    EXPECT_EQ(facts.gpus, whole_gpus(8));
    EXPECT_EQ(wording::text({facts}),
              "it is paused and keeps 8 GPUs on a; gpuctl resume starts it again");
    EXPECT_EQ(view().waiting->reason, Reason::paused);
}

TEST_F(Changes, a_resumed_job_starts_again_in_its_own_seats_before_a_job_that_waits) {
    start_and_pause();
    world.add(pod("p", "other", 1));
    world.run();
    change(update(JobChangeKind::resume));
    make_pods("-again");
    world.run();
    EXPECT_EQ(world.node_of("j-0-again"), "a");
    EXPECT_EQ(world.node_of("j-1-again"), "a");
    EXPECT_EQ(world.node_of("p"), "");
    EXPECT_TRUE(row().seats.empty());
    EXPECT_EQ(row().pause.phase, PausePhase::active);
}

TEST_F(Changes, a_released_job_keeps_nothing) {
    start_and_pause(true);
    EXPECT_TRUE(row().seats.empty());
    EXPECT_EQ(free_on("a"), whole_gpus(8));
    EXPECT_EQ(held_by_tenant(), GpuMilli{});
    EXPECT_EQ(wording::text({world.engine.state().seats.paused(row())}),
              "it is paused and keeps no GPUs; gpuctl resume starts it again");
}

TEST_F(Changes, a_second_pause_with_release_frees_the_seats_of_the_first_and_writes_nothing) {
    start_and_pause();
    JobUpdated release = update(JobChangeKind::pause);
    release.change.releases = true;
    world.send(release);
    EXPECT_EQ(sent_now(), nullptr);
    EXPECT_TRUE(row().seats.empty());
    EXPECT_EQ(free_on("a"), whole_gpus(8));
}

TEST_F(Changes, pods_of_a_paused_job_are_not_placed) {
    pause();
    make_pods("");
    world.run();
    EXPECT_EQ(world.node_of("j-0"), "");
    EXPECT_EQ(why(),
              "it is paused and keeps no room: none of its pods had a node; gpuctl resume "
              "starts it again");
    change(update(JobChangeKind::resume));
    world.run();
    EXPECT_EQ(world.node_of("j-0"), "a");
}

TEST_F(Changes, deleting_a_paused_job_frees_its_seats) {
    start_and_pause();
    world.send(JobDeleteRequested{key, false});
    EXPECT_EQ(free_on("a"), whole_gpus(8));
}

TEST_F(Changes, seats_survive_a_restart) {
    start_and_pause();
    restart();
    EXPECT_EQ(row().seats.size(), 2u);
    EXPECT_EQ(held_by_tenant(), whole_gpus(8));
    change(update(JobChangeKind::resume));
    restart();
    make_pods("-again");
    world.run();
    EXPECT_EQ(world.node_of("j-1-again"), "a");
}

TEST_F(Changes, seats_on_a_node_that_vanishes_are_lost_and_reported) {
    start_and_pause();
    world.remove_node("a");
    EXPECT_TRUE(row().seats.empty());
    EXPECT_EQ(wording::text({world.engine.state().seats.paused(row())}),
              "it is paused and keeps no room: none of its pods had a node; the room of 2 pods is "
              "lost with a; gpuctl resume starts it again");
}

TEST_F(Changes, a_paused_job_is_no_victim_of_a_job_of_higher_priority) {
    start_and_pause();
    PodFacts urgent = pod("p", "urgent", 8);
    urgent.priority = 1'000;
    world.add(urgent);
    world.run();
    EXPECT_TRUE(world.evictions.empty());
    EXPECT_EQ(row().seats.size(), 2u);
}

TEST_F(Changes, a_pause_that_the_cluster_refuses_leaves_the_job_as_it_was) {
    make_pods("");
    world.run();
    change(update(JobChangeKind::pause), false);
    EXPECT_FALSE(Seats::is_paused(row()));
    stop_pods("");
    EXPECT_TRUE(row().seats.empty());
    EXPECT_EQ(row().change.revision, 1u);
}

TEST_F(Changes, a_failed_change_is_sent_again) {
    world.send(update(JobChangeKind::pause));
    answer(UpdateWorkload{*sent_now()}.id, false, true);
    world.now = world.now + Duration::seconds(3'600);
    world.send(WokeUp{});
    ASSERT_NE(sent_now(), nullptr);
    EXPECT_TRUE(sent_now()->paused);
}

TEST_F(Changes, a_change_without_an_answer_is_sent_again_in_a_new_term) {
    world.send(update(JobChangeKind::pause));
    ASSERT_NE(sent_now(), nullptr);
    world.send(LeadershipChanged{false, Epoch{1}});
    world.send(LeadershipChanged{true, Epoch{2}});
    ASSERT_NE(sent_now(), nullptr);
    EXPECT_EQ(sent_now()->epoch, Epoch{2});
}

TEST_F(Changes, a_change_of_what_was_changed_since_it_was_read_is_ignored) {
    pause();
    const JobUpdated stale = update(JobChangeKind::resume, 1);
    EXPECT_EQ(check_change(world.engine.state(), stale).bar, ChangeBar::stale);
    world.send(stale);
    EXPECT_TRUE(Seats::is_paused(row()));
    world.send(update(JobChangeKind::resume, 2));
    EXPECT_FALSE(Seats::is_paused(row()));
}

TEST_F(Changes, a_change_of_another_job_of_that_name_is_ignored) {
    JobUpdated event = update(JobChangeKind::pause);
    event.uid = "earlier-uid";
    world.send(event);
    EXPECT_FALSE(Seats::is_paused(row()));
}

TEST_F(Changes, another_client_resumes_a_paused_job) {
    start_and_pause();
    const auto watch = [&](WorkloadPhase phase) {
        world.send(WorkloadObserved{{key, "job-uid", phase, 2, ""}});
    };
    watch(WorkloadPhase::active);  // older than our own change
    EXPECT_TRUE(Seats::is_paused(row()));
    watch(WorkloadPhase::suspended);
    watch(WorkloadPhase::active);
    EXPECT_FALSE(Seats::is_paused(row()));
}

TEST_F(Changes, a_job_whose_pods_do_not_come_back_keeps_its_seats_only_for_a_while) {
    start_and_pause();
    change(update(JobChangeKind::resume));
    world.now = world.now + kSeatsKept + Duration::seconds(1);
    world.send(WokeUp{});
    world.run();
    EXPECT_TRUE(row().seats.empty());
}

TEST_F(Changes, training_jobs_have_no_replicas_to_scale) {
    JobUpdated event = update(JobChangeKind::scale);
    event.change.replicas = 3;
    EXPECT_EQ(check_change(world.engine.state(), event).bar, ChangeBar::no_replicas);
}

TEST_F(Changes, a_job_that_is_created_again_is_sent_with_both_uids) {
    JobUpdated event = update(JobChangeKind::apply);
    JobRecord again = *row().record;
    again.uid = "second-uid";
    again.spec.image = "v2";
    event.change.record = again;
    world.send(event);
    ASSERT_NE(sent_now(), nullptr);
    EXPECT_EQ(sent_now()->job_uid, "job-uid");
    EXPECT_EQ(sent_now()->job->uid, "second-uid");
    answer(UpdateWorkload{*sent_now()}.id);
    // The removal of the former object does not end the job.
    world.send(WorkloadRemoved{key, "job-uid"});
    EXPECT_EQ(row().record->uid, "second-uid");
}

class ServiceChanges : public Changes {
protected:
    ServiceChanges() : Changes(JobKind::inference) {}
};

TEST_F(ServiceChanges, a_scaled_service_keeps_all_else) {
    JobUpdated event = update(JobChangeKind::scale);
    event.change.replicas = 5;
    world.send(event);
    ASSERT_NE(sent_now(), nullptr);
    EXPECT_EQ(sent_now()->part, WorkloadPart::size);
    EXPECT_EQ(sent_now()->job->spec.service.replicas, 5);
    EXPECT_EQ(view().pods_wanted, 5);
    answer(UpdateWorkload{*sent_now()}.id, false);
    EXPECT_EQ(row().record->spec.service.replicas, 2) << "the cluster refused it";
}

TEST_F(ServiceChanges, each_replica_of_a_resumed_service_takes_a_seat_as_it_comes) {
    world.add(pod("s-0", "j", 4));
    world.add(pod("s-1", "j", 4));
    world.run();
    pause();
    world.remove_pod("s-0");
    world.remove_pod("s-1");
    EXPECT_EQ(row().seats.size(), 2u);
    change(update(JobChangeKind::resume));
    world.add(pod("s-2", "j", 4));
    world.run();
    EXPECT_EQ(world.node_of("s-2"), "a");
    EXPECT_EQ(row().seats.size(), 1u);
    world.add(pod("s-3", "j", 4));
    world.run();
    EXPECT_EQ(world.node_of("s-3"), "a");
    EXPECT_TRUE(row().seats.empty());
}

TEST_F(ServiceChanges, a_change_while_another_one_is_carried_out_is_refused) {
    JobUpdated event = update(JobChangeKind::scale);
    event.change.replicas = 5;
    world.send(event);
    event.change.replicas = 6;
    EXPECT_EQ(check_change(world.engine.state(), event).bar, ChangeBar::busy);
    world.send(event);
    EXPECT_EQ(row().record->spec.service.replicas, 5);
}

}  // namespace
}  // namespace gpuctl::test
