#include "aio/entropy.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace gpuctl::aio {
namespace {

TEST(Entropy, a_uuid_has_the_form_of_version_4_and_is_never_repeated) {
    const std::regex form{"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"};
    std::set<std::string> seen;
    for (int i = 0; i < 1'000; ++i) {
        const std::string uuid = random_uuid();
        EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
        EXPECT_TRUE(seen.insert(uuid).second) << uuid;
    }
}

TEST(Entropy, a_uuid_of_a_later_time_sorts_after_that_of_an_earlier_one) {
    const std::regex form{"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"};
    std::string last;
    for (std::int64_t ms = 1'798'761'599'000; ms < 1'798'761'599'100; ++ms) {
        const std::string uuid = time_ordered_uuid(ms);
        EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
        EXPECT_LT(last, uuid);
        last = uuid;
    }
    EXPECT_EQ(time_ordered_uuid(0x0123456789ab).substr(0, 13), "01234567-89ab");
}

TEST(Entropy, seeds_use_all_of_their_64_bits) {
    std::uint64_t ones = 0;
    std::uint64_t zeros = 0;
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t seed = random_seed();
        ones |= seed;
        zeros |= ~seed;
    }
    EXPECT_EQ(ones, ~std::uint64_t{0});
    EXPECT_EQ(zeros, ~std::uint64_t{0});
}

}  // namespace
}  // namespace gpuctl::aio
