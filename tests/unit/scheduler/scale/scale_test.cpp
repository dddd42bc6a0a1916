// The guarantees of propose() for any rule.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "scheduler/scale/scale.hpp"

namespace gpuctl::scale {
namespace {

constexpr SignalKind kWaiting = SignalKind::requests_waiting;
constexpr SignalKind kBusy = SignalKind::gpu_busy;

// Test rules. The value is what the rule asks for, in thousandths of a replica.
std::optional<std::int64_t> as_signalled(const ScaleInput&, const SignalReading& reading) {
    return reading.milli.value_or(0) / 1'000;
}
std::optional<std::int64_t> very_many(const ScaleInput&, const SignalReading&) {
    return std::int64_t{1} << 40;
}
std::optional<std::int64_t> fewer_than_none(const ScaleInput&, const SignalReading&) { return -5; }
std::optional<std::int64_t> as_now(const ScaleInput&, const SignalReading&) { return std::nullopt; }

ScaleInput of_size(std::int32_t replicas) {
    ScaleInput input;
    input.job = {"team-a", "chat"};
    input.replicas = replicas;
    input.replicas_min = 2;
    input.replicas_max = 10;
    input.now = Instant{1'000'000};
    return input;
}

ObservedSignal observed(SignalKind kind, std::optional<std::int64_t> milli) {
    return {kind, {milli, Duration::seconds(60), Instant{999'000}}};
}

TEST(Scale, without_a_rule_nothing_is_proposed) {
    ScaleInput input = of_size(4);
    input.signals = {observed(kWaiting, 900'000), observed(kBusy, 8'000)};
    EXPECT_FALSE(propose(input, {}).has_value());
}

TEST(Scale, without_a_signal_nothing_is_proposed) {
    const ScaleRule rule{kWaiting, very_many};
    ScaleInput input = of_size(4);
    EXPECT_FALSE(propose(input, {&rule, 1}).has_value());
    input.signals = {observed(kBusy, 8'000)};
    EXPECT_FALSE(propose(input, {&rule, 1}).has_value()) << "the signal of another rule";
}

TEST(Scale, a_missing_signal_never_scales_in) {
    const ScaleRule rule{kWaiting, fewer_than_none};
    ScaleInput input = of_size(4);
    input.signals = {observed(kWaiting, 0)};
    ASSERT_EQ(propose(input, {&rule, 1})->replicas, 2) << "zero is a value";
    input.signals = {observed(kWaiting, std::nullopt)};
    EXPECT_FALSE(propose(input, {&rule, 1}).has_value());
}

TEST(Scale, one_missing_signal_of_several_forbids_to_scale_in_and_not_to_scale_out) {
    const ScaleRule rules[] = {{kWaiting, as_signalled}, {kBusy, as_signalled}};
    ScaleInput input = of_size(4);
    input.signals = {observed(kWaiting, 3'000)};  // the other was never observed
    EXPECT_FALSE(propose(input, rules).has_value());
    input.signals = {observed(kWaiting, 3'000), observed(kBusy, std::nullopt)};
    EXPECT_FALSE(propose(input, rules).has_value());
    input.signals = {observed(kWaiting, 6'000), observed(kBusy, std::nullopt)};
    EXPECT_EQ(propose(input, rules)->replicas, 6);
}

TEST(Scale, the_rule_that_asks_for_most_decides_and_is_named) {
    const ScaleRule rules[] = {{kWaiting, as_signalled}, {kBusy, as_signalled}};
    ScaleInput input = of_size(4);
    input.signals = {observed(kWaiting, 6'000), observed(kBusy, 8'000)};
    EXPECT_EQ(propose(input, rules), (ScaleProposal{input.job, 8, kBusy}));
}

TEST(Scale, a_proposal_is_within_minimum_and_maximum) {
    const ScaleRule more{kWaiting, very_many};
    const ScaleRule fewer{kWaiting, fewer_than_none};
    ScaleInput input = of_size(4);
    input.signals = {observed(kWaiting, 1'000)};
    EXPECT_EQ(propose(input, {&more, 1})->replicas, 10);
    EXPECT_EQ(propose(input, {&fewer, 1})->replicas, 2);
    input.replicas_min = input.replicas_max = 4;
    EXPECT_FALSE(propose(input, {&more, 1}).has_value()) << "its size is fixed";
}

TEST(Scale, the_present_size_is_no_proposal) {
    const ScaleRule rules[] = {{kWaiting, as_now}, {kBusy, as_signalled}};
    ScaleInput input = of_size(4);
    input.signals = {observed(kWaiting, 9'000), observed(kBusy, 4'000)};
    EXPECT_FALSE(propose(input, rules).has_value());
}

RC_GTEST_PROP(Scale, any_rules_and_signals_keep_the_contract, ()) {
    ScaleInput input = of_size(*rc::gen::inRange(0, 15));
    for (const SignalKind kind : {kWaiting, kBusy}) {
        if (!*rc::gen::arbitrary<bool>()) continue;
        const bool is_missing = *rc::gen::arbitrary<bool>();
        const std::int64_t milli = *rc::gen::inRange<std::int64_t>(0, 20'000);
        input.signals.push_back(observed(kind, is_missing ? std::nullopt : std::optional{milli}));
    }
    std::vector<ScaleRule> rules;
    for (const SignalKind kind : {kWaiting, kBusy}) {
        const int which = *rc::gen::inRange(0, 5);
        if (which == 4) continue;
        decltype(ScaleRule::wanted)
            const all[] = {as_signalled, very_many, fewer_than_none, as_now};
        rules.push_back({kind, all[which]});
    }
    const auto proposal = propose(input, rules);
    RC_ASSERT(propose(input, rules) == proposal);
    if (!proposal) return;
    RC_ASSERT(proposal->replicas != input.replicas);
    RC_ASSERT(proposal->replicas >= input.replicas_min);
    RC_ASSERT(proposal->replicas <= input.replicas_max);
    const auto has_value = [&](const ScaleRule& rule) {
        return std::any_of(input.signals.begin(), input.signals.end(),
                           [&](const ObservedSignal& one) {
                               return one.kind == rule.signal && one.reading.milli.has_value();
                           });
    };
    if (proposal->replicas < input.replicas) {
        RC_ASSERT(std::all_of(rules.begin(), rules.end(), has_value));
    }
}

}  // namespace
}  // namespace gpuctl::scale
