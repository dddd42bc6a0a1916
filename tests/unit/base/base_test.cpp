#include <gtest/gtest.h>

#include <map>

#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/base/rng.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl {
namespace {

TEST(Archive, an_input_reads_back_as_it_was_written) {
    PodFacts pod;
    pod.uid = "u";
    pod.priority = -5;
    pod.rules.required_affinity = {{SelectorTerm{{{"k", SelectorOperator::gt, {"1"}}}, {}, true}}};
    const Input input{Sequence{7}, Instant{-1}, ~0ULL, PodObserved{pod}};
    Input copy;
    ASSERT_TRUE(from_archive(to_archive(input), copy));
    EXPECT_EQ(to_archive(copy), to_archive(input));
    EXPECT_EQ(std::get<PodObserved>(copy.event).pod, pod);
}

TEST(Archive, every_cut_and_every_flipped_byte_is_read_without_harm) {
    NodeFacts node;
    node.name = "a";
    node.labels = {{"x", "1"}, {"y", "2"}};
    const std::string bytes = to_archive(Event{NodeObserved{node}});
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        Event event;
        EXPECT_FALSE(from_archive(std::string_view{bytes}.substr(0, cut), event)) << cut;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string wrong = bytes;
        wrong[i] = static_cast<char>(wrong[i] ^ 0xff);
        Event event;
        (void)from_archive(wrong, event);  // any result except a crash
    }
}

TEST(Archive, a_length_beyond_the_input_allocates_nothing_and_fails) {
    std::string bytes;
    ArchiveWriter{bytes}.raw_varint(std::uint64_t{1} << 62);
    std::vector<std::string> list;
    EXPECT_FALSE(from_archive(bytes, list));
    EXPECT_TRUE(list.empty());
}

TEST(Rng, the_sequence_of_a_seed_never_changes) {
    Rng one{42};
    Rng two{42};
    for (int i = 0; i < 100; ++i) EXPECT_EQ(one.next(), two.next());
    EXPECT_NE(Rng{1}.next(), Rng{2}.next());
    Rng bounded{3};
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t value = bounded.between(-2, 2);
        EXPECT_GE(value, -2);
        EXPECT_LE(value, 2);
    }
}

TEST(UnitsDeathTest, an_overflow_is_a_bug_and_stops_the_program) {
    EXPECT_DEATH((void)(GpuMilli{INT64_MAX} + GpuMilli{1}), "quantity overflow");
}

TEST(Units, whole_gpus_round_towards_zero) {
    EXPECT_EQ(whole_gpus_floor(GpuMilli{1999}), 1);
    EXPECT_EQ(whole_gpus_floor(whole_gpus(8)), 8);
}

}  // namespace
}  // namespace gpuctl
