#include "daemon/app/health_log.hpp"

#include <gtest/gtest.h>

namespace gpuctl::app {
namespace {

std::vector<std::string> told(HealthChanges& changes, std::vector<ports::HealthLine> lines) {
    std::vector<std::string> text;
    for (const ports::HealthLine& line : changes.since_last(lines)) {
        text.push_back((line.ok ? "+" : "-") + line.name + " " + line.detail);
    }
    return text;
}

using Told = std::vector<std::string>;

TEST(HealthChanges, a_line_is_told_when_it_turns_and_not_while_it_stays) {
    HealthChanges changes;
    EXPECT_EQ(told(changes, {{"api-server", true, ""}}), Told{});
    EXPECT_EQ(told(changes, {{"api-server", false, "no answer for 15 s"}}),
              Told{"-api-server no answer for 15 s"});
    EXPECT_EQ(told(changes, {{"api-server", false, "no answer for 17 s"}}), Told{});
    EXPECT_EQ(told(changes, {{"api-server", true, ""}}), Told{"+api-server "});
}

TEST(HealthChanges, what_fails_from_the_start_is_told) {
    HealthChanges changes;
    EXPECT_EQ(told(changes, {{"lease", false, "nobody leads: forbidden"}}),
              Told{"-lease nobody leads: forbidden"});
}

TEST(HealthChanges, another_leader_is_told_although_both_are_fine) {
    HealthChanges changes;
    EXPECT_EQ(told(changes, {{"lease", true, "following a"}}), Told{"+lease following a"});
    EXPECT_EQ(told(changes, {{"lease", true, "following b"}}), Told{"+lease following b"});
    EXPECT_EQ(told(changes, {{"lease", true, "following b"}}), Told{});
}

}  // namespace
}  // namespace gpuctl::app
