#include "k8s/write/pod_line.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = PodLine::Time;

const Time kLineStart = Time{} + std::chrono::hours{1};

ObjectKey job(const std::string& name) { return {"team", name}; }

TEST(PodLine, no_pod_is_returned_before_its_time) {
    PodLine line;
    line.add(job("a"), "one", kLineStart + seconds{1});
    EXPECT_FALSE(line.pop(kLineStart));
    EXPECT_EQ(line.next_at(), kLineStart + seconds{1});
    EXPECT_EQ(line.pop(kLineStart + seconds{1}), "one");
    EXPECT_FALSE(line.contains("one"));
    EXPECT_EQ(line.next_at(), Time::max());
}

TEST(PodLine, of_a_job_the_pod_that_has_been_due_longest_is_returned_first) {
    PodLine line;
    line.add(job("a"), "late", kLineStart + seconds{2});
    line.add(job("a"), "early", kLineStart + seconds{1});
    EXPECT_EQ(line.pop(kLineStart + seconds{5}), "early");
    line.add(job("a"), "early", kLineStart + seconds{3});
    EXPECT_EQ(line.pop(kLineStart + seconds{5}), "late");
    EXPECT_EQ(line.pop(kLineStart + seconds{5}), "early");
}

TEST(PodLine, a_pod_has_one_time) {
    PodLine line;
    line.add(job("a"), "one", kLineStart);
    line.add(job("b"), "one", kLineStart + seconds{9});
    EXPECT_EQ(line.size(), 1u);
    EXPECT_FALSE(line.pop(kLineStart));
    EXPECT_EQ(line.pop(kLineStart + seconds{9}), "one");
}

TEST(PodLine, removed_pods_are_not_returned_even_if_they_are_due) {
    PodLine line;
    for (const char* uid : {"a1", "a2", "b1"}) line.add(job(std::string{uid, 1}), uid, kLineStart);
    EXPECT_EQ(line.pop(kLineStart), "a1");
    line.remove("b1");
    line.remove("b1");
    EXPECT_EQ(line.next_at(), Time::min()) << "a2 is due";
    EXPECT_EQ(line.pop(kLineStart), "a2");
    EXPECT_EQ(line.next_at(), Time::max());
}

// Against a plain reference: a list of pods that are due, by job.
TEST(PodLine, every_pod_is_returned_once_and_no_job_waits_for_two_pods_of_another) {
    std::uint64_t random = 7;
    const auto draw = [&](std::uint64_t bound) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        return (random >> 33) % bound;
    };
    for (int round = 0; round < 50; ++round) {
        PodLine line;
        std::map<std::string, std::string> jobs;  // of each uid in the queue
        for (int at = 0; at < 200; ++at) {
            const std::string uid = std::to_string(at);
            const std::string name = std::to_string(draw(8));
            line.add(job(name), uid, kLineStart + milliseconds{draw(50)});
            jobs[uid] = name;
            if (draw(5) == 0) {
                const std::string gone = std::to_string(draw(200));
                line.remove(gone);
                jobs.erase(gone);
            }
        }
        ASSERT_EQ(line.size(), jobs.size());
        std::map<std::string, int> others;
        while (const auto uid = line.pop(kLineStart + seconds{1})) {
            const auto found = jobs.find(*uid);
            ASSERT_NE(found, jobs.end()) << *uid;
            others[found->second] = 0;
            for (auto& [name, count] : others) count += name == found->second ? 0 : 1;
            jobs.erase(found);
            for (const auto& [left, name] : jobs) ASSERT_LE(others[name], 8) << name;
        }
        EXPECT_TRUE(jobs.empty());
    }
}

TEST(PodPause, grows_with_the_pods_of_the_job_between_two_bounds) {
    const PodPause pause{milliseconds{500}, seconds{30}, std::chrono::minutes{5}};
    EXPECT_EQ(pause.of(0), seconds{30});
    EXPECT_EQ(pause.of(60), seconds{30});
    EXPECT_EQ(pause.of(300), seconds{150});
    EXPECT_EQ(pause.of(5'000'000'000), std::chrono::minutes{5});
}

}  // namespace
}  // namespace gpuctl::k8s
