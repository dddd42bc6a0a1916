#include <algorithm>
#include <set>

#include "unit/sim/sim_world.hpp"

namespace gpuctl::sim {
namespace {

TEST(SimCluster, a_training_job_becomes_a_gang_of_ranks_named_as_an_indexed_job_names_them) {
    SimWorld world;
    world.create(make_job("llm", JobKind::training, 3, 8));
    const std::vector<PodFacts> pods = world.pods();
    ASSERT_EQ(pods.size(), 3u);
    for (std::size_t rank = 0; rank < 3; ++rank) {
        EXPECT_TRUE(pods[rank].key.name.starts_with("llm-" + std::to_string(rank) + "-"));
        EXPECT_EQ(pods[rank].key.name.size(), std::string{"llm-0-xxxxx"}.size());
        EXPECT_EQ(pods[rank].rank, static_cast<std::int32_t>(rank));
        EXPECT_TRUE(pods[rank].gang);
        EXPECT_EQ(pods[rank].gang_min, 3);
        EXPECT_EQ(pods[rank].job, "llm");
        EXPECT_TRUE(pods[rank].ours && pods[rank].has_controller);
        EXPECT_EQ(pods[rank].request, pod_request(make_job("llm", JobKind::training, 3, 8).spec));
        EXPECT_EQ(pods[rank].status, "Pending");
    }
}

TEST(SimCluster, a_bound_pod_is_created_runs_and_succeeds_with_times_in_order) {
    SimWorld world;
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    job.spec.run_time_expected = Duration{20'000};
    world.create(job);
    EXPECT_EQ(world.bind(world.only_pod(), "node-0"), BindResult::bound);
    EXPECT_EQ(world.only_pod().status, "ContainerCreating");
    EXPECT_EQ(world.only_pod().node, "node-0");
    world.run_for(Duration{5'000});
    EXPECT_EQ(world.only_pod().phase, PodPhase::running);
    world.run_for(Duration{25'000});
    const PodFacts pod = world.only_pod();
    EXPECT_EQ(pod.phase, PodPhase::succeeded);
    EXPECT_EQ((pod.finished_at - pod.started_at).ms(), 20'000);
    EXPECT_LT(pod.created_at, pod.started_at);
}

TEST(SimCluster, a_pod_beyond_the_nodes_gpus_is_failed_by_the_kubelet) {
    SimWorld world;
    world.create(make_job("a", JobKind::compute, 1, 8));
    world.bind(world.only_pod(), "node-0");
    world.create(make_job("b", JobKind::training, 1, 1));
    const std::vector<PodFacts> pods = world.pods();
    EXPECT_EQ(world.bind(pods.back(), "node-0"), BindResult::bound);
    EXPECT_EQ(world.pods().back().phase, PodPhase::failed);
    EXPECT_EQ(world.pods().back().status, "OutOfnvidia.com/gpu");
    EXPECT_EQ(world.cluster.figures().kubelet_rejections, 1u);
}

TEST(SimCluster, a_second_bind_reports_where_the_pod_already_is) {
    SimWorld world;
    world.create(make_job("a", JobKind::notebook, 1, 1));
    const PodFacts pod = world.only_pod();
    EXPECT_EQ(world.bind(pod, "node-0"), BindResult::bound);
    EXPECT_EQ(world.bind(pod, "node-0"), BindResult::bound);
    EXPECT_EQ(world.bind(pod, "node-1"), BindResult::elsewhere);
    PodFacts other = pod;
    other.uid = "another incarnation";
    EXPECT_EQ(world.bind(other, "node-0"), BindResult::gone);
}

TEST(SimCluster, a_failed_rank_is_replaced_up_to_the_backoff_limit_then_the_job_ends) {
    Settings settings;
    settings.job_retry_delay = Duration{100};
    SimWorld world{settings};
    JobRecord job = make_job("bad", JobKind::training, 1, 1);
    set_environment(job, "GPUCTL_SIM_OUTCOME", "fail");
    set_environment(job, "GPUCTL_SIM_RUN_TIME", "1s");
    world.create(job);
    std::size_t failed = 0;
    for (int round = 0; round < 20; ++round) {
        const std::vector<PodFacts> pods = world.pods();
        failed = static_cast<std::size_t>(std::count_if(
            pods.begin(), pods.end(), [](const PodFacts& p) { return is_terminal(p.phase); }));
        for (const PodFacts& pod : pods) {
            if (pod.node.empty()) world.bind(pod, "node-0");
        }
        world.run_for(Duration{10'000});
    }
    EXPECT_EQ(failed, static_cast<std::size_t>(settings.backoff_limit) + 1);
    // While the rank is retried, no failure of the job is reported.
    std::vector<WorkloadPhase> observed;
    for (const Event& event : world.events) {
        const auto* seen = std::get_if<WorkloadObserved>(&event);
        if (seen != nullptr) observed.push_back(seen->workload.phase);
    }
    ASSERT_GE(observed.size(), 4u);
    EXPECT_EQ(std::count(observed.begin(), observed.end() - 1, WorkloadPhase::active),
              std::ssize(observed) - 1);
    EXPECT_EQ(observed.back(), WorkloadPhase::failed);
    EXPECT_EQ(world.cluster.figures().pods_created, failed);
}

TEST(SimCluster, a_deployment_keeps_its_replicas_alive) {
    SimWorld world;
    const JobRecord job = make_job("web", JobKind::inference, 2, 1);
    world.create(job);
    const std::vector<PodFacts> before = world.pods();
    ASSERT_EQ(before.size(), 2u);
    for (const PodFacts& pod : before) world.bind(pod, "node-0");
    world.run_for(Duration{5'000});
    world.cluster.carry_out(DeletePod{EffectId{99}, Epoch{1}, {before[0].key, before[0].uid}},
                            world.now, world.events);
    world.run_for(Duration{2'000});
    const std::vector<PodFacts> after = world.pods();
    ASSERT_EQ(after.size(), 2u);
    std::set<std::string> uids{after[0].uid, after[1].uid};
    EXPECT_TRUE(uids.contains(before[1].uid));
    EXPECT_FALSE(uids.contains(before[0].uid));
}

TEST(SimCluster, an_evicted_pod_gets_its_grace_and_a_successor) {
    Settings settings;
    settings.container_stop_max = Duration{20'000};
    SimWorld world{settings};
    world.create(make_job("web", JobKind::inference, 1, 1));
    const PodFacts before = world.only_pod();
    world.bind(before, "node-0");
    world.run_for(Duration{5'000});
    EvictPod eviction;
    eviction.id = EffectId{99};
    eviction.epoch = Epoch{1};
    eviction.pod = {before.key, before.uid};
    eviction.why = CauseBox{cause::HigherPriority{{"team-a", "big"}}};
    eviction.job = {"team-a", "web"};
    world.cluster.carry_out(eviction, world.now, world.events);
    world.run_for(Duration{settings.api_latency_max});
    const auto is_terminating = [&](const PodFacts& pod) { return pod.uid == before.uid; };
    std::vector<PodFacts> pods = world.pods();
    const auto old = std::find_if(pods.begin(), pods.end(), is_terminating);
    ASSERT_NE(old, pods.end()) << "it is terminating, not gone at once";
    EXPECT_TRUE(old->terminating);
    world.run_for(Duration{30'000});
    pods = world.pods();
    ASSERT_EQ(pods.size(), 1u);
    EXPECT_NE(pods.front().uid, before.uid);
    EXPECT_EQ(world.cluster.figures().evictions_accepted, 1u);
}

TEST(SimCluster, a_notebook_comes_back_under_its_old_name_as_another_incarnation) {
    SimWorld world;
    world.create(make_job("lab", JobKind::notebook, 1, 1));
    const PodFacts first = world.only_pod();
    EXPECT_EQ(first.key.name, "lab-0");
    world.bind(first, "node-0");
    world.run_for(Duration{5'000});
    world.cluster.carry_out(DeletePod{EffectId{99}, Epoch{1}, {first.key, first.uid}}, world.now,
                            world.events);
    world.run_for(Duration{3'000});
    EXPECT_EQ(world.only_pod().key.name, "lab-0");
    EXPECT_NE(world.only_pod().uid, first.uid);
}

TEST(SimCluster, a_crashing_service_backs_off_ever_longer) {
    SimWorld world;
    JobRecord job = make_job("web", JobKind::inference, 1, 1);
    set_environment(job, "GPUCTL_SIM_OUTCOME", "crashloop");
    world.create(job);
    world.bind(world.only_pod(), "node-0");
    world.run_for(Duration{4'500});
    EXPECT_EQ(world.only_pod().status, "CrashLoopBackOff");
    EXPECT_EQ(world.only_pod().phase, PodPhase::running);
    world.run_for(Duration{120'000});
    // 10 + 20 + 40 s of pauses pass within two minutes, the next pause of 80 s does not.
    EXPECT_EQ(world.only_pod().restarts, 3);
}

TEST(SimCluster, an_image_that_cannot_be_pulled_says_so_and_stays) {
    SimWorld world;
    JobRecord job = make_job("web", JobKind::compute, 1, 1);
    set_environment(job, "GPUCTL_SIM_OUTCOME", "image-pull");
    world.create(job);
    world.bind(world.only_pod(), "node-0");
    world.run_for(Duration{60'000});
    EXPECT_EQ(world.only_pod().status, "ImagePullBackOff");
    EXPECT_EQ(world.only_pod().phase, PodPhase::pending);
}

TEST(SimCluster, deleting_a_job_lets_its_pods_stop_and_makes_no_new_ones) {
    SimWorld world;
    const JobRecord job = make_job("web", JobKind::inference, 2, 1);
    world.create(job);
    for (const PodFacts& pod : world.pods()) world.bind(pod, "node-1");
    world.run_for(Duration{5'000});
    world.remove(job);
    for (const PodFacts& pod : world.pods()) EXPECT_EQ(pod.status, "Terminating");
    world.run_for(Duration{5'000});
    EXPECT_TRUE(world.pods().empty());
    EXPECT_EQ(world.cluster.pods_count(), 0u);
    world.create(job);  // the name is free again
    EXPECT_EQ(world.pods().size(), 2u);
}

TEST(SimCluster, creating_a_job_twice_is_one_job_and_another_of_its_name_is_refused) {
    SimWorld world;
    JobRecord job = make_job("web", JobKind::inference, 2, 1);
    world.create(job);
    world.create(job);
    EXPECT_EQ(world.pods().size(), 2u);
    job.uid = "another";
    world.create(job);
    EXPECT_EQ(world.pods().size(), 2u);
    const auto* outcome = std::get_if<WorkloadOutcome>(&world.events.back());
    ASSERT_NE(outcome, nullptr);
    EXPECT_FALSE(outcome->done);
    EXPECT_FALSE(outcome->retryable);
}

TEST(SimCluster, pods_of_a_lost_node_are_evicted_and_replaced_and_gone_when_it_returns) {
    SimWorld world;
    world.create(make_job("web", JobKind::inference, 1, 1));
    const PodFacts first = world.only_pod();
    world.bind(first, "node-0");
    world.run_for(Duration{5'000});
    world.disturb(NodeLost{"node-0"});
    EXPECT_FALSE(world.cluster.find_node("node-0")->ready);
    EXPECT_EQ(world.cluster.find_node("node-0")->taints.size(), 2u);
    world.run_for(Duration{299'000});
    EXPECT_FALSE(world.only_pod().terminating);
    world.run_for(Duration{2'000});
    EXPECT_EQ(world.pods().size(), 2u);  // the old one terminating, its replacement waiting
    world.disturb(NodeReturns{"node-0"});
    world.run_for(Duration{10});
    EXPECT_EQ(world.only_pod().node, "");
    EXPECT_TRUE(world.cluster.find_node("node-0")->taints.empty());
}

TEST(SimCluster, a_short_outage_restarts_services_and_fails_ranks) {
    SimWorld world;
    world.create(make_job("web", JobKind::inference, 1, 1));
    world.create(make_job("llm", JobKind::training, 1, 1));
    for (const PodFacts& pod : world.pods()) world.bind(pod, "node-0");
    world.run_for(Duration{5'000});
    world.disturb(NodeLost{"node-0"});
    world.run_for(Duration{1'000});
    world.disturb(NodeReturns{"node-0"});
    EXPECT_EQ(world.pods()[0].phase, PodPhase::failed);  // llm
    EXPECT_EQ(world.pods().back().status, "CrashLoopBackOff");
    world.run_for(Duration{20'000});
    EXPECT_EQ(world.pods().back().status, "Running");
    EXPECT_EQ(world.pods().back().restarts, 1);
}

TEST(SimCluster, pods_go_with_a_node_that_leaves) {
    SimWorld world;
    world.create(make_job("web", JobKind::inference, 1, 1));
    world.bind(world.only_pod(), "node-0");
    world.disturb(NodeLeaves{"node-0"});
    world.run_for(Duration{2'000});
    EXPECT_EQ(world.only_pod().node, "");
    EXPECT_EQ(world.bind(world.only_pod(), "node-0"), BindResult::bound);  // as the API server does
    world.run_for(Duration{2'000});
    EXPECT_EQ(world.only_pod().node, "");  // an orphan, collected and replaced
}

TEST(SimCluster, a_cordon_is_a_flag_and_a_taint_and_can_be_undone) {
    SimWorld world;
    world.disturb(NodeCordoned{"node-1", true});
    world.disturb(NodeCordoned{"node-1", true});
    EXPECT_TRUE(world.cluster.find_node("node-1")->unschedulable);
    EXPECT_EQ(world.cluster.find_node("node-1")->taints.size(), 1u);
    world.disturb(NodeCordoned{"node-1", false});
    EXPECT_TRUE(world.cluster.find_node("node-1")->taints.empty());
}

TEST(SimCluster, a_run_time_limit_ends_the_job_for_good) {
    SimWorld world;
    JobRecord job = make_job("llm", JobKind::training, 1, 1);
    job.spec.run_time_expected = Duration{60'000};
    job.spec.run_time_max = Duration{10'000};
    world.create(job);
    world.bind(world.only_pod(), "node-0");
    world.run_for(Duration{1'000'000});
    EXPECT_EQ(world.only_pod().status, "DeadlineExceeded");
}

TEST(SimCluster, a_wake_up_replaces_the_one_before_it) {
    SimWorld world;
    world.cluster.carry_out(WakeAt{world.now + Duration{100}}, world.now, world.events);
    world.cluster.carry_out(WakeAt{world.now + Duration{50}}, world.now, world.events);
    world.run_for(Duration{1'000});
    EXPECT_EQ(std::count_if(world.events.begin(), world.events.end(),
                            [](const Event& e) { return std::holds_alternative<WokeUp>(e); }),
              1);
}

TEST(SimCluster, user_events_are_counted_and_removed_with_the_job) {
    SimWorld world;
    const JobRecord job = make_job("web", JobKind::inference, 1, 1);
    world.create(job);
    Explanation why;
    why.facts = {fact::ClusterMessage{"1 GPU requested"}};
    for (int i = 0; i < 3; ++i) {
        world.cluster.carry_out(ReportPending{job.spec.key, {}, why}, world.now, world.events);
    }
    world.cluster.carry_out(ReportStarted{job.spec.key, {}, {"node-0"}, {}, {}}, world.now,
                            world.events);
    const std::vector<UserEvent> observed = world.cluster.events_of(job.spec.key);
    ASSERT_EQ(observed.size(), 2u);
    EXPECT_EQ(observed[0].reason, "FailedScheduling");
    EXPECT_EQ(observed[0].count, 3);
    EXPECT_EQ(observed[1].message, "Successfully assigned team-a/web to node-0");
    world.remove(job);
    EXPECT_TRUE(world.cluster.events_of(job.spec.key).empty());
}

TEST(SimCluster, every_fault_can_be_switched_on_and_comes_back_as_an_outcome) {
    Settings settings;
    settings.faults.bind_failed_per_mille = 1'000;
    SimWorld world{settings};
    world.create(make_job("web", JobKind::inference, 1, 1));
    EXPECT_EQ(world.bind(world.only_pod(), "node-0"), BindResult::failed);
    world.disturb(FaultsChanged{Faults{}});
    EXPECT_EQ(world.bind(world.only_pod(), "node-0"), BindResult::bound);
    Faults faults;
    faults.create_failed_per_mille = faults.delete_failed_per_mille = 1'000;
    world.disturb(FaultsChanged{faults});
    world.create(make_job("other", JobKind::inference, 1, 1));
    EXPECT_TRUE(std::get<WorkloadOutcome>(world.events.back()).retryable);
    const PodFacts pod = world.only_pod();
    world.cluster.carry_out(DeletePod{EffectId{77}, Epoch{1}, {pod.key, pod.uid}}, world.now,
                            world.events);
    world.run_for(Duration{10});
    EXPECT_FALSE(std::get<PodDeleteOutcome>(world.events.back()).deleted);
}

TEST(SimCluster, an_unanswered_bind_is_seen_at_once_and_answered_late) {
    Settings settings;
    settings.faults.bind_unanswered_per_mille = 1'000;
    SimWorld world{settings};
    world.create(make_job("web", JobKind::inference, 1, 1));
    const PodFacts pod = world.only_pod();
    world.cluster.carry_out(BindPod{EffectId{55}, Epoch{1}, {pod.key, pod.uid}, "node-0", 0, {}},
                            world.now, world.events);
    world.run_for(Duration{100});
    EXPECT_EQ(world.only_pod().node, "node-0");
    const auto answered = [&] {
        return std::any_of(world.events.begin(), world.events.end(),
                           [](const Event& e) { return std::holds_alternative<BindOutcome>(e); });
    };
    EXPECT_FALSE(answered());
    world.run_for(Duration{5'000});
    EXPECT_TRUE(answered());
}

std::string run_in_steps_of(Duration step) {
    SimWorld world;
    JobRecord job = make_job("llm", JobKind::training, 2, 4);
    world.create(job);
    for (const PodFacts& pod : world.pods()) world.bind(pod, "node-0");
    for (Duration run{0}; run < Duration{60'000}; run = run + step) world.run_for(step);
    std::string bytes;
    for (const Event& event : world.events) bytes += to_archive(event);
    return bytes;
}

TEST(SimCluster, events_do_not_depend_on_how_often_time_is_moved) {
    EXPECT_EQ(run_in_steps_of(Duration{1}), run_in_steps_of(Duration{60'000}));
}

TEST(SimCluster, a_training_job_is_retired_a_day_after_its_end_even_across_a_restart) {
    SimWorld world;
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    job.spec.run_time_expected = Duration{20'000};
    world.create(job);
    world.bind(world.only_pod(), "node-0");
    world.run_for(Duration{60'000});
    const PodFacts ended = world.only_pod();
    ASSERT_EQ(ended.phase, PodPhase::succeeded);
    const Instant due = ended.finished_at + kFinishedJobKept;
    const Instant before = ended.finished_at + (kFinishedJobKept - Duration{1});

    Cluster revived{Settings{}};
    revived.restore({{{job, false}}, {ended}, {}, {}}, {make_node("node-0", 8)},
                    world.now + Duration{3'600'000});
    std::vector<Event> observed;
    revived.advance(before, observed);
    world.run_for(before - world.now);
    EXPECT_EQ(world.pods().size(), 1u);
    EXPECT_EQ(revived.pods_count(), 1u);
    world.events.clear();
    observed.clear();
    world.cluster.advance(due, world.events);
    revived.advance(due, observed);
    ASSERT_EQ(observed.size(), 2u);
    EXPECT_EQ(to_archive(observed[0]), to_archive(Event{WorkloadRemoved{job.spec.key, job.uid}}));
    EXPECT_EQ(to_archive(observed[1]), to_archive(Event{PodRemoved{ended.uid}}));
    ASSERT_EQ(world.events.size(), 2u);
    EXPECT_EQ(to_archive(world.events[0]), to_archive(observed[0]));
}

TEST(SimCluster, a_finished_job_whose_details_are_dropped_leaves_nothing_behind) {
    Settings settings;
    settings.drops_details = true;
    SimWorld world{settings};
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    job.spec.run_time_expected = Duration{20'000};
    world.create(job);
    const PodFacts pod = world.only_pod();
    world.bind(pod, "node-0");
    const DropDetails drop{job.spec.key, job.uid, {pod.uid}};
    world.cluster.carry_out(drop, world.now, world.events);
    EXPECT_EQ(world.cluster.pods_count(), 1u) << "it runs";
    world.run_for(Duration{60'000});
    ASSERT_TRUE(world.cluster.next_due().has_value()) << "the end of its time to live";
    world.events.clear();
    world.cluster.carry_out(drop, world.now, world.events);
    ASSERT_EQ(world.events.size(), 1u);
    EXPECT_EQ(to_archive(world.events[0]), to_archive(Event{PodRemoved{pod.uid}}));
    EXPECT_EQ(world.cluster.pods_count(), 0u);
    EXPECT_FALSE(world.cluster.next_due().has_value());
    EXPECT_FALSE(world.cluster.log_of(pod.key).has_value());
}

TEST(SimCluster, a_shared_cluster_keeps_its_finished_jobs) {
    SimWorld world;
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    job.spec.run_time_expected = Duration{20'000};
    world.create(job);
    const PodFacts pod = world.only_pod();
    world.bind(pod, "node-0");
    world.run_for(Duration{60'000});
    world.events.clear();
    world.cluster.carry_out(DropDetails{job.spec.key, job.uid, {pod.uid}}, world.now, world.events);
    EXPECT_TRUE(world.events.empty());
    EXPECT_TRUE(world.cluster.log_of(pod.key).has_value());
}

TEST(SimCluster, a_restored_cluster_continues_where_it_was) {
    SimWorld world;
    const JobRecord training = make_job("llm", JobKind::training, 2, 4);
    const JobRecord service = make_job("web", JobKind::inference, 1, 1);
    world.create(training);
    world.create(service);
    for (const PodFacts& pod : world.pods()) world.bind(pod, "node-1");
    world.run_for(Duration{10'000});
    world.disturb(NodeCordoned{"node-0", true});
    World known;
    known.jobs = {{training, false}, {service, false}};
    known.pods = world.pods();
    known.nodes = {*world.cluster.find_node("node-0"), *world.cluster.find_node("node-1"),
                   make_node("node-9", 1)};
    PodFacts unknown = known.pods[0];
    unknown.uid = "of an unknown job";
    unknown.job = "forgotten";
    known.pods.push_back(unknown);

    Cluster revived{Settings{}};
    revived.restore(known, {make_node("node-0", 8), make_node("node-1", 8)}, world.now);
    std::vector<Event> observed;
    revived.announce(known, observed);
    EXPECT_EQ(to_archive(observed[0]), to_archive(Event{NodeRemoved{"node-9"}}));
    EXPECT_EQ(to_archive(observed[1]), to_archive(Event{PodRemoved{unknown.uid}}));
    EXPECT_TRUE(std::holds_alternative<CacheSynced>(observed.back()));
    EXPECT_TRUE(revived.find_node("node-0")->unschedulable);

    std::vector<Event> later;
    revived.advance(world.now + Duration{100'000}, later);
    world.run_for(Duration{100'000});
    for (const PodFacts& pod : world.pods()) {
        ASSERT_NE(revived.find_pod(pod.key), nullptr);
        EXPECT_EQ(to_archive(*revived.find_pod(pod.key)), to_archive(pod));
    }
    EXPECT_EQ(revived.pods_count(), world.pods().size());
}

}  // namespace
}  // namespace gpuctl::sim
