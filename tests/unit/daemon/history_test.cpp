// What `describe` tells of a job's past.

#include "daemon/core/history.hpp"

#include <gtest/gtest.h>

namespace gpuctl::core {
namespace {

JobSubmitted submitted(const ObjectKey& key) {
    JobSubmitted event;
    event.job.spec.key = key;
    return event;
}

TEST(History, the_end_of_a_job_that_was_asked_to_be_deleted_is_no_warning) {
    const ObjectKey key{"team-a", "llm"};
    History history;
    history.on_event(submitted(key), Instant{1});
    history.on_event(JobDeleteRequested{key, false}, Instant{2});
    history.on_event(WorkloadRemoved{key, "uid"}, Instant{3});
    ASSERT_EQ(history.of(key).size(), 3U);
    EXPECT_FALSE(history.of(key).front().warning) << history.of(key).front().message;
}

TEST(History, a_workload_that_went_by_itself_is_a_warning) {
    const ObjectKey key{"team-a", "llm"};
    History history;
    history.on_event(submitted(key), Instant{1});
    history.on_event(WorkloadRemoved{key, "uid"}, Instant{2});
    EXPECT_TRUE(history.of(key).front().warning);
    EXPECT_EQ(history.of(key).front().reason, "WorkloadRemoved");
}

TEST(History, a_new_job_does_not_inherit_the_past_of_its_name) {
    const ObjectKey key{"team-a", "llm"};
    History history;
    history.on_event(submitted(key), Instant{1});
    history.on_event(JobDeleteRequested{key, false}, Instant{2});
    history.on_event(submitted(key), Instant{3});
    ASSERT_EQ(history.of(key).size(), 1U);
    EXPECT_EQ(history.of(key).front().reason, "Submitted");
    history.on_event(WorkloadRemoved{key, "uid"}, Instant{4});
    EXPECT_TRUE(history.of(key).front().warning) << "nobody asked for the end of this one";
}

}  // namespace
}  // namespace gpuctl::core
