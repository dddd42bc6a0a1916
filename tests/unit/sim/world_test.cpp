// What a cluster is restored from.

#include "sim/world.hpp"

#include "support/engine_world.hpp"

namespace gpuctl::sim {
namespace {

// It was restored as deleted and lost with all its pods (seed 14805).
TEST(World, a_job_whose_last_pods_are_evicted_is_not_deleted) {
    test::EngineWorld world;
    world.add(test::node("a", 4));
    JobRecord record;
    record.uid = "job-uid";
    record.spec.key = {"team-a", "e"};
    record.spec.replicas_min = record.spec.replicas_max = 2;
    world.send(JobSubmitted{record});
    const CreateWorkload creation = world.sent<CreateWorkload>().front();
    world.send(WorkloadOutcome{creation.id, record.spec.key, true, false, "", {}});
    world.add(test::gang("e", 2, 1));
    world.run();
    for (const char* rank : {"e-0", "e-1"}) {
        PodFacts pod = world.pods.at(rank);
        pod.phase = PodPhase::running;
        pod.terminating = true;
        world.add(pod);
    }
    ASSERT_EQ(find_job(world.engine.state(), "team-a", "e")->status, "Terminating");
    ASSERT_EQ(read_world(world.engine).jobs.size(), 1U);
    EXPECT_FALSE(read_world(world.engine).jobs.front().deleting);
    world.send(JobDeleteRequested{record.spec.key, false});
    EXPECT_TRUE(read_world(world.engine).jobs.front().deleting);
}

}  // namespace
}  // namespace gpuctl::sim
