// What differs between two jobs, and what a kind can change in place.

#include <gtest/gtest.h>

#include "wire/job/job_changes.hpp"

namespace gpuctl::wire {
namespace {

JobSpec job(JobKind kind) {
    JobSpec spec;
    spec.kind = kind;
    spec.key = {"team-a", "j"};
    spec.image = "a:1";
    return spec;
}

TEST(JobChanges, the_same_job_has_none) {
    EXPECT_TRUE(changes_between(job(JobKind::training), job(JobKind::training)).empty());
}

TEST(JobChanges, each_field_is_named_with_both_values) {
    JobSpec after = job(JobKind::inference);
    after.image = "a:2";
    after.description = "new";
    after.service.replicas = 3;
    const std::vector<FieldChange> changes = changes_between(job(JobKind::inference), after);
    ASSERT_EQ(changes.size(), 3u);
    EXPECT_EQ(changes[0].field, "job.description");
    EXPECT_EQ(changes[0].from, "");
    EXPECT_EQ(changes[1].field, "environment.image");
    EXPECT_EQ(changes[1].from, "\"a:1\"");
    EXPECT_EQ(changes[1].to, "\"a:2\"");
    EXPECT_EQ(changes[2].field, "service.replicas");
    EXPECT_EQ(immutable_fields(changes), "");
}

TEST(JobChanges, a_field_that_is_left_out_is_a_change) {
    JobSpec before = job(JobKind::compute);
    before.args = {"x"};
    const std::vector<FieldChange> changes = changes_between(before, job(JobKind::compute));
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_EQ(changes[0].field, "environment.args");
    EXPECT_EQ(changes[0].to, "");
}

TEST(JobChanges, each_kind_changes_in_place_what_its_object_can) {
    struct Case {
        const char* field;
        bool training, notebook, service;
    };
    for (const Case& one :
         {Case{"job.description", true, true, true}, Case{"environment.image", false, true, true},
          Case{"resources.gpu", false, true, true}, Case{"service.replicas", false, true, true},
          Case{"storage.workdirs", false, true, true},
          Case{"storage.data.size", false, false, false}, Case{"kind", false, false, false},
          Case{"job.namespace", false, false, false}}) {
        EXPECT_EQ(is_in_place(JobKind::training, one.field), one.training) << one.field;
        EXPECT_EQ(is_in_place(JobKind::notebook, one.field), one.notebook) << one.field;
        EXPECT_EQ(is_in_place(JobKind::inference, one.field), one.service) << one.field;
        EXPECT_EQ(is_in_place(JobKind::compute, one.field), one.service) << one.field;
    }
}

}  // namespace
}  // namespace gpuctl::wire
