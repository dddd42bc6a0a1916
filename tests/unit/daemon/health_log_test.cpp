#include "daemon/app/health_log.hpp"

#include <gtest/gtest.h>

namespace gpuctl::app {
namespace {

std::vector<std::string> changes_of(HealthChanges& changes, std::vector<ports::HealthLine> lines) {
    std::vector<std::string> text;
    for (const ports::HealthLine& line : changes.since_last(lines)) {
        text.push_back((line.ok ? "+" : "-") + line.name + " " + line.detail);
    }
    return text;
}

using Lines = std::vector<std::string>;

TEST(HealthChanges, a_status_is_logged_when_it_changes_and_not_again) {
    HealthChanges changes;
    EXPECT_EQ(changes_of(changes, {{"api-server", true, ""}}), Lines{});
    EXPECT_EQ(changes_of(changes, {{"api-server", false, "no answer for 15 s"}}),
              Lines{"-api-server no answer for 15 s"});
    EXPECT_EQ(changes_of(changes, {{"api-server", false, "no answer for 17 s"}}), Lines{});
    EXPECT_EQ(changes_of(changes, {{"api-server", true, ""}}), Lines{"+api-server "});
}

TEST(HealthChanges, a_failure_from_the_start_is_logged) {
    HealthChanges changes;
    EXPECT_EQ(changes_of(changes, {{"lease", false, "no leader: forbidden"}}),
              Lines{"-lease no leader: forbidden"});
}

TEST(HealthChanges, a_change_of_leader_is_logged_although_both_are_ok) {
    HealthChanges changes;
    EXPECT_EQ(changes_of(changes, {{"lease", true, "following a"}}), Lines{"+lease following a"});
    EXPECT_EQ(changes_of(changes, {{"lease", true, "following b"}}), Lines{"+lease following b"});
    EXPECT_EQ(changes_of(changes, {{"lease", true, "following b"}}), Lines{});
}

}  // namespace
}  // namespace gpuctl::app
