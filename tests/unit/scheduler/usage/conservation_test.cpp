// Usage intervals add up to the capacity, or the check reports where they do not.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "scheduler/usage/conservation.hpp"

namespace gpuctl::usage {
namespace {

Interval span_of(std::int64_t begin, std::int64_t end, std::int64_t gpus,
                 UseClass use = UseClass::charged, const std::string& node = "a") {
    Interval one;
    one.node = node;
    one.begin = Instant{begin};
    one.end = Instant{end};
    one.amount = whole_gpus(gpus);
    one.use = use;
    return one;
}

CapacityInterval offer(std::int64_t begin, std::int64_t end, std::int64_t gpus,
                       const std::string& node = "a") {
    return {node, Instant{begin}, Instant{end}, whole_gpus(gpus)};
}

TEST(Conservation, charged_and_uncharged_classes_make_up_capacity_times_time) {
    const Balance balance =
        check_conservation({span_of(0, 100, 6), span_of(0, 60, 2, UseClass::idle),
                            span_of(60, 100, 2, UseClass::out_of_service)},
                           {offer(0, 100, 8)});
    EXPECT_TRUE(balance.holds());
    EXPECT_TRUE(balance.sums.capacity == 800'000);
    EXPECT_TRUE(balance.sums.accounted() == balance.sums.capacity);
    EXPECT_TRUE(balance.sums.of(UseClass::charged) == 600'000);
    EXPECT_TRUE(balance.sums.of(UseClass::idle) == 120'000);
    EXPECT_TRUE(balance.sums.of(UseClass::out_of_service) == 80'000);
}

TEST(Conservation, a_gap_is_reported_with_its_span_and_amount) {
    const Balance balance =
        check_conservation({span_of(0, 40, 8), span_of(60, 100, 8)}, {offer(0, 100, 8)});
    ASSERT_EQ(balance.findings.size(), 1u);
    EXPECT_EQ(balance.findings[0],
              (Finding{Imbalance::gap, "a", Instant{40}, Instant{60}, whole_gpus(-8)}));
}

TEST(Conservation, an_overlap_is_reported_with_its_span_and_amount) {
    const Balance balance =
        check_conservation({span_of(0, 70, 8), span_of(60, 100, 8)}, {offer(0, 100, 8)});
    ASSERT_EQ(balance.findings.size(), 1u);
    EXPECT_EQ(balance.findings[0],
              (Finding{Imbalance::overlap, "a", Instant{60}, Instant{70}, whole_gpus(8)}));
}

// The sums alone would hold.
TEST(Conservation, a_gap_and_an_overlap_of_equal_size_do_not_cancel_out) {
    const Balance in_time = check_conservation(
        {span_of(0, 100, 4), span_of(0, 50, 4), span_of(0, 50, 4, UseClass::idle)},
        {offer(0, 100, 8)});
    EXPECT_TRUE(in_time.sums.accounted() == in_time.sums.capacity);
    ASSERT_EQ(in_time.findings.size(), 2u);
    EXPECT_EQ(in_time.findings[0].kind, Imbalance::overlap);
    EXPECT_EQ(in_time.findings[1].kind, Imbalance::gap);
    const Balance across =
        check_conservation({span_of(0, 100, 9), span_of(0, 100, 7, UseClass::idle, "b")},
                           {offer(0, 100, 8), offer(0, 100, 8, "b")});
    EXPECT_EQ(across.findings.size(), 2u);
}

TEST(Conservation, use_of_a_node_that_offers_nothing_is_an_overlap) {
    const Balance balance = check_conservation({span_of(0, 100, 1)}, {});
    ASSERT_EQ(balance.findings.size(), 1u);
    EXPECT_EQ(balance.findings[0].kind, Imbalance::overlap);
}

TEST(Conservation, malformed_intervals_are_reported_and_not_counted) {
    const Balance balance = check_conservation(
        {span_of(0, 100, 8), span_of(50, 50, 1), span_of(60, 40, 1), span_of(0, 100, -1)},
        {offer(0, 100, 8), offer(20, 10, 8)});
    EXPECT_EQ(balance.findings.size(), 4u);
    for (const Finding& one : balance.findings) EXPECT_EQ(one.kind, Imbalance::malformed);
    EXPECT_TRUE(balance.sums.accounted() == balance.sums.capacity);
}

// Intervals that tile the capacity of some nodes.
struct Tiling {
    std::vector<Interval> used;
    std::vector<CapacityInterval> offered;
};

Tiling any_tiling() {
    Tiling out;
    for (const std::string& node : {std::string{"a"}, std::string{"b"}}) {
        const std::int64_t gpus = *rc::gen::inRange<std::int64_t>(1, 9);
        out.offered.push_back(offer(0, 1'000, gpus, node));
        std::int64_t at = 0;
        while (at < 1'000) {
            const std::int64_t end = std::min<std::int64_t>(1'000, at + *rc::gen::inRange(1, 500));
            const std::int64_t charged = *rc::gen::inRange<std::int64_t>(0, gpus + 1);
            out.used.push_back(span_of(at, end, charged, UseClass::charged, node));
            const auto rest = static_cast<UseClass>(*rc::gen::inRange(1, int{kUseClasses}));
            out.used.push_back(span_of(at, end, gpus - charged, rest, node));
            at = end;
        }
    }
    return out;
}

RC_GTEST_PROP(Conservation, splitting_and_reordering_intervals_keeps_every_sum, ()) {
    const Tiling tiling = any_tiling();
    const Balance whole = check_conservation(tiling.used, tiling.offered);
    RC_ASSERT(whole.holds());
    RC_ASSERT(whole.sums.accounted() == whole.sums.capacity);
    std::vector<Interval> parts;
    for (const Interval& one : tiling.used) {
        const std::int64_t length = (one.end - one.begin).ms();
        const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, length);
        Interval first = one;
        Interval second = one;
        first.end = second.begin = one.begin + Duration{cut};
        if (cut > 0) parts.push_back(first);
        // The second part in time, in two parts by amount.
        const std::int64_t share = *rc::gen::inRange<std::int64_t>(0, second.amount.value() + 1);
        Interval third = second;
        second.amount = GpuMilli{share};
        third.amount -= GpuMilli{share};
        parts.push_back(second);
        parts.push_back(third);
    }
    std::reverse(parts.begin(), parts.end());
    const Balance split = check_conservation(parts, tiling.offered);
    RC_ASSERT(split.holds());
    RC_ASSERT(split.sums == whole.sums);
}

RC_GTEST_PROP(Conservation, any_interval_that_is_lost_or_doubled_is_found, ()) {
    Tiling tiling = any_tiling();
    std::erase_if(tiling.used, [](const Interval& one) { return one.amount == GpuMilli{}; });
    const auto which = *rc::gen::inRange<std::size_t>(0, tiling.used.size());
    const Interval chosen = tiling.used[which];
    const bool is_lost = *rc::gen::arbitrary<bool>();
    if (is_lost) {
        tiling.used.erase(tiling.used.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
        tiling.used.push_back(chosen);
    }
    const Balance balance = check_conservation(tiling.used, tiling.offered);
    RC_ASSERT(balance.findings.size() == 1u);
    RC_ASSERT(balance.findings[0] ==
              (Finding{is_lost ? Imbalance::gap : Imbalance::overlap, chosen.node, chosen.begin,
                       chosen.end, is_lost ? GpuMilli{} - chosen.amount : chosen.amount}));
}

}  // namespace
}  // namespace gpuctl::usage
