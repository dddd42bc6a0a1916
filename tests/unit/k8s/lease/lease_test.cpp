#include "k8s/lease/lease.hpp"
#include "text/time.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = LeaseMachine::Time;

// The API server's side: one object, compare-and-swap by version.
class LeaseServer {
public:
    std::optional<LeaseRecord> stored;

    std::optional<LeaseRecord> write(LeaseMachine::Send how, LeaseRecord record) {
        if (how == LeaseMachine::Send::create && stored) return std::nullopt;
        if (how == LeaseMachine::Send::update &&
            (!stored || stored->resource_version != record.resource_version)) {
            return std::nullopt;
        }
        record.resource_version = std::to_string(++version_);
        stored = record;
        return record;
    }
    void touch() { stored->resource_version = std::to_string(++version_); }

private:
    int version_ = 100;
};

LeaseSettings settings_of(std::string identity) {
    LeaseSettings settings;
    settings.namespace_name = "kube-system";
    settings.identity = std::move(identity);
    return settings;
}

struct Candidate {
    explicit Candidate(const std::string& name) : machine(settings_of(name)) {}
    LeaseMachine machine;
    std::int64_t wall_us = 1'000'000'000'000'000;
    std::string dead;  // the holder that is provably dead
    int asked = 0;

    // One whole round against a server that answers at once.
    void round(LeaseServer& server, Time now) {
        auto step = machine.begin(now, wall_us);
        for (int limit = 0; step.send != LeaseMachine::Send::nothing; ++limit) {
            ASSERT_LT(limit, 5) << "a round sends at most update, read, ask, write";
            if (step.send == LeaseMachine::Send::ask) {
                ++asked;
                step = machine.on_asked(step.record.holder == dead, now, wall_us);
            } else if (step.send == LeaseMachine::Send::read) {
                step = machine.on_read(server.stored, now, wall_us);
            } else if (auto stored = server.write(step.send, step.record)) {
                machine.on_written(*stored, now, now);
                step = {};
            } else {
                step = machine.on_write_failed(true, now);
            }
        }
    }
};

Time at(milliseconds since) { return Time{} + seconds{1'000} + since; }

TEST(Lease, the_first_candidate_creates_it_and_renews_by_one_write) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    ASSERT_TRUE(a.machine.leading());
    EXPECT_EQ(server.stored->holder, "a");
    EXPECT_EQ(server.stored->duration_seconds, 15);
    const auto step = a.machine.begin(at(seconds{2}), a.wall_us + 2'000'000);
    EXPECT_EQ(step.send, LeaseMachine::Send::update);
    EXPECT_EQ(step.record.transitions, server.stored->transitions);
    EXPECT_EQ(step.record.acquire_time, server.stored->acquire_time);
    EXPECT_NE(step.record.renew_time, server.stored->renew_time);
}

TEST(Lease, a_second_candidate_waits_a_whole_silent_duration_by_its_own_clock) {
    LeaseServer server;
    Candidate a{"a"};
    Candidate b{"b"};
    a.round(server, at(seconds{0}));
    b.round(server, at(seconds{1}));
    a.round(server, at(seconds{10}));  // the last renewal
    b.round(server, at(seconds{14}));  // b reads it here
    b.round(server, at(milliseconds{28'999}));
    EXPECT_FALSE(b.machine.leading());
    b.round(server, at(seconds{29}));
    EXPECT_TRUE(b.machine.leading());
    EXPECT_GT(b.machine.epoch(), a.machine.epoch());
    EXPECT_EQ(server.stored->holder, "b");
}

TEST(Lease, the_loser_of_a_race_learns_it_by_conflict_and_follows) {
    LeaseServer server;
    Candidate a{"a"};
    Candidate b{"b"};
    auto from_a = a.machine.begin(at(seconds{0}), 1);
    auto from_b = b.machine.begin(at(seconds{0}), 1);
    from_a = a.machine.on_read(std::nullopt, at(seconds{0}), 1);
    from_b = b.machine.on_read(std::nullopt, at(seconds{0}), 1);
    ASSERT_EQ(from_b.send, LeaseMachine::Send::create);
    auto stored = server.write(from_a.send, from_a.record);
    ASSERT_TRUE(stored);
    a.machine.on_written(*stored, at(seconds{0}), at(seconds{0}));
    EXPECT_FALSE(server.write(from_b.send, from_b.record));
    EXPECT_EQ(b.machine.on_write_failed(true, at(seconds{0})).send, LeaseMachine::Send::nothing);
    EXPECT_TRUE(a.machine.leading());
    EXPECT_FALSE(b.machine.leading());
}

TEST(Lease, a_remote_clock_that_is_wrong_by_years_changes_nothing) {
    for (const std::int64_t wall : {std::int64_t{1}, std::int64_t{9'000'000'000'000'000}}) {
        LeaseServer server;
        Candidate a{"a"};
        a.wall_us = wall;
        Candidate b{"b"};
        a.round(server, at(seconds{0}));
        b.round(server, at(seconds{1}));
        EXPECT_FALSE(b.machine.leading()) << "a renewTime long ago is no reason to take over";
        b.round(server, at(seconds{17}));
        EXPECT_TRUE(b.machine.leading()) << "a renewTime far ahead is no reason to wait";
    }
}

TEST(Lease, writes_stop_before_another_process_can_lead) {
    LeaseServer server;
    Candidate a{"a"};
    Candidate b{"b"};
    a.round(server, at(seconds{0}));
    b.round(server, at(seconds{0}));
    a.machine.write_at_once();
    EXPECT_TRUE(a.machine.may_write(at(milliseconds{7'999})));
    EXPECT_FALSE(a.machine.may_write(at(seconds{8})));
    // 8 s and a write's own 5 s are over before b can take the lease at 15 s, b waits 5 s more.
    b.round(server, at(milliseconds{14'999}));
    EXPECT_FALSE(b.machine.leading());
}

TEST(Lease, the_fence_counts_from_when_the_renewal_was_sent) {
    LeaseServer server;
    Candidate a{"a"};
    const auto read = a.machine.begin(at(seconds{0}), 1);
    ASSERT_EQ(read.send, LeaseMachine::Send::read);
    const auto create = a.machine.on_read(std::nullopt, at(seconds{0}), 1);
    const auto stored = server.write(create.send, create.record);
    a.machine.on_written(*stored, at(seconds{1}), at(seconds{5}));  // four seconds on the way
    a.machine.write_at_once();
    EXPECT_TRUE(a.machine.may_write(at(milliseconds{8'999})));
    EXPECT_FALSE(a.machine.may_write(at(seconds{9})));
}

TEST(Lease, stalled_renewals_end_the_term_after_the_renew_deadline) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    const Epoch first = a.machine.epoch();
    for (int second = 2; second < 10; second += 2) {
        (void)a.machine.begin(at(seconds{second}), 1);
        (void)a.machine.on_write_failed(false, at(seconds{second}));
        EXPECT_TRUE(a.machine.leading());
    }
    a.machine.expire(at(seconds{10}));
    EXPECT_FALSE(a.machine.leading());
    // No other process took over: it may acquire its lease again at once, as a new term.
    a.round(server, at(seconds{12}));
    EXPECT_TRUE(a.machine.leading());
    EXPECT_GT(a.machine.epoch(), first);
}

TEST(Lease, a_response_after_the_renew_deadline_does_not_make_a_leader) {
    LeaseServer server;
    Candidate a{"a"};
    (void)a.machine.begin(at(seconds{0}), 1);
    const auto create = a.machine.on_read(std::nullopt, at(seconds{0}), 1);
    const auto stored = server.write(create.send, create.record);
    a.machine.on_written(*stored, at(seconds{0}), at(seconds{11}));
    EXPECT_FALSE(a.machine.leading());
}

TEST(Lease, a_clock_that_jumps_ahead_ends_the_term_and_never_extends_it) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    EXPECT_FALSE(a.machine.may_write(at(seconds{3'600})));  // the machine slept
    const auto step = a.machine.begin(at(seconds{3'600}), 1);
    EXPECT_FALSE(a.machine.leading());
    EXPECT_EQ(step.send, LeaseMachine::Send::read) << "look before writing";
}

TEST(Lease, an_edit_by_hand_costs_a_read_not_the_term) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    a.machine.write_at_once();
    const Epoch epoch = a.machine.epoch();
    server.touch();
    a.round(server, at(seconds{2}));
    EXPECT_TRUE(a.machine.leading());
    EXPECT_EQ(a.machine.epoch(), epoch);
    EXPECT_TRUE(a.machine.may_write(at(seconds{9})));
}

TEST(Lease, a_leader_that_reads_another_holder_steps_down_at_once) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    server.stored->holder = "b";
    server.stored->transitions += 1;
    server.touch();
    a.round(server, at(seconds{2}));
    EXPECT_FALSE(a.machine.leading());
    EXPECT_EQ(server.stored->holder, "b");
}

TEST(Lease, a_released_lease_is_taken_without_waiting) {
    LeaseServer server;
    Candidate a{"a"};
    Candidate b{"b"};
    a.round(server, at(seconds{0}));
    b.round(server, at(seconds{1}));
    const auto record = a.machine.release(at(seconds{2}), 1);
    ASSERT_TRUE(record);
    EXPECT_FALSE(a.machine.leading());
    EXPECT_FALSE(a.machine.may_write(at(seconds{2})));
    ASSERT_TRUE(server.write(LeaseMachine::Send::update, *record));
    EXPECT_EQ(server.stored->holder, "");
    EXPECT_EQ(server.stored->duration_seconds, 1);
    b.round(server, at(seconds{3}));
    EXPECT_TRUE(b.machine.leading());
    EXPECT_GT(b.machine.epoch(), a.machine.epoch());
    EXPECT_FALSE(a.machine.release(at(seconds{3}), 1)) << "nothing left to release";
}

TEST(Lease, a_holder_that_is_provably_dead_is_followed_at_once_with_the_next_epoch) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    Candidate b{"b"};
    b.dead = "a";
    b.round(server, at(milliseconds{100}));
    ASSERT_TRUE(b.machine.leading());
    EXPECT_GT(b.machine.epoch(), a.machine.epoch());
    EXPECT_EQ(b.machine.before(), LeaseMachine::Before::died);
    EXPECT_TRUE(b.machine.may_write(at(milliseconds{100})));
    a.round(server, at(seconds{1}));  // it was alive: its next renewal shows it
    EXPECT_FALSE(a.machine.leading());
}

TEST(Lease, a_holder_that_cannot_be_proved_dead_keeps_it_for_the_whole_duration) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    Candidate b{"b"};
    for (int second = 0; second < 15; ++second) {
        b.round(server, at(seconds{second}));
        ASSERT_FALSE(b.machine.leading()) << second;
    }
    EXPECT_EQ(b.asked, 15) << "each time: its pod may be gone by now";
    b.round(server, at(seconds{15}));
    ASSERT_TRUE(b.machine.leading());
    EXPECT_EQ(b.machine.before(), LeaseMachine::Before::unknown);
}

TEST(Lease, a_leader_that_renews_is_not_checked) {
    LeaseServer server;
    Candidate a{"a"};
    Candidate b{"b"};
    for (int second = 0; second < 60; second += 2) {
        a.round(server, at(seconds{second}));
        a.wall_us += 2'000'000;
        b.round(server, at(seconds{second} + milliseconds{500}));
    }
    EXPECT_EQ(b.asked, 1) << "at the first look";
    b.round(server, at(seconds{62}));
    EXPECT_EQ(b.asked, 2) << "it has not renewed since the last look";
}

TEST(Lease, a_holder_that_renews_while_it_is_checked_keeps_the_lease) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    Candidate b{"b"};
    auto step = b.machine.begin(at(seconds{1}), 1);
    step = b.machine.on_read(server.stored, at(seconds{1}), 1);
    ASSERT_EQ(step.send, LeaseMachine::Send::ask);
    a.round(server, at(seconds{1}));
    step = b.machine.on_asked(true, at(seconds{1}), 1);
    ASSERT_EQ(step.send, LeaseMachine::Send::update);
    EXPECT_FALSE(server.write(step.send, step.record)) << "compare and swap";
    EXPECT_EQ(b.machine.on_write_failed(true, at(seconds{1})).send, LeaseMachine::Send::nothing);
    EXPECT_FALSE(b.machine.leading());
}

TEST(Lease, only_a_release_proves_that_no_write_is_in_flight) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    Candidate b{"b"};
    server.stored->holder.clear();  // by hand: the holder may be writing
    server.touch();
    b.round(server, at(seconds{1}));
    ASSERT_TRUE(b.machine.leading());
    EXPECT_EQ(b.machine.before(), LeaseMachine::Before::unknown);
    const auto record = b.machine.release(at(seconds{2}), 1);
    ASSERT_TRUE(record && server.write(LeaseMachine::Send::update, *record));
    Candidate c{"c"};
    c.round(server, at(seconds{2}));
    ASSERT_TRUE(c.machine.leading());
    EXPECT_EQ(c.machine.before(), LeaseMachine::Before::released);
}

TEST(Lease, a_deleted_lease_ends_the_term_and_is_created_again) {
    LeaseServer server;
    Candidate a{"a"};
    a.round(server, at(seconds{0}));
    const Epoch before = a.machine.epoch();
    server.stored.reset();
    a.round(server, at(seconds{2}));
    EXPECT_TRUE(a.machine.leading());
    ASSERT_TRUE(server.stored);
    EXPECT_GT(a.machine.epoch(), before) << "the object forgot it, the process does not";
}

TEST(Lease, the_creator_of_a_lease_writes_only_when_a_leader_of_the_deleted_lease_has_stopped) {
    LeaseServer server;
    Candidate a{"a"};
    Candidate b{"b"};
    a.round(server, at(seconds{0}));
    a.machine.write_at_once();
    a.round(server, at(seconds{10}));
    server.stored.reset();
    b.round(server, at(seconds{10}));  // it never saw a holder
    ASSERT_TRUE(b.machine.leading());
    EXPECT_TRUE(a.machine.may_write(at(milliseconds{17'999})));
    EXPECT_FALSE(b.machine.may_write(at(milliseconds{17'999})));
    b.round(server, at(seconds{16}));
    EXPECT_TRUE(b.machine.may_write(at(seconds{18})));
    EXPECT_FALSE(a.machine.may_write(at(seconds{18})));
}

TEST(Lease, every_schedule_of_two_candidates_keeps_their_write_windows_apart) {
    // Rounds of either may come at any second and be lost; the two never may write at the same
    // time.
    std::uint64_t random = 1;
    const auto draw = [&](std::uint64_t bound) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        return (random >> 33) % bound;
    };
    int changes = 0;
    for (int run = 0; run < 300; ++run) {
        LeaseServer server;
        Candidate a{"a"};
        Candidate b{"b"};
        bool a_led = false;
        for (int second = 0; second < 300; ++second) {
            const Time now = at(seconds{second});
            const bool a_stalls = (second / 40) % 2 == 1 && draw(4) != 0;
            const bool b_stalls = (second / 40) % 2 == 0 && draw(4) != 0;
            if (!a_stalls && draw(2) == 0) a.round(server, now);
            if (draw(40) == 0) server.stored.reset();  // a user deletes it
            if (!b_stalls && draw(2) == 0) b.round(server, now);
            ASSERT_FALSE(a.machine.may_write(now) && b.machine.may_write(now)) << second;
            if (a.machine.may_write(now) != a_led) ++changes;
            a_led = a.machine.may_write(now);
        }
    }
    EXPECT_GT(changes, 300) << "the schedules must make leadership move";
}

TEST(Lease, records_travel_through_json_and_times_have_six_decimals) {
    LeaseRecord record{"a_1", 15, text::format_rfc3339_us(1), text::format_rfc3339_us(2), 7, "42"};
    const auto parsed = parse_lease(lease_body(settings_of("a_1"), record));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, record);
    EXPECT_FALSE(parse_lease("<html>"));
    EXPECT_FALSE(parse_lease("{}"));
    EXPECT_TRUE(parse_lease(R"({"metadata":{"resourceVersion":"1"}})")) << "a Lease without spec";
}

TEST(Lease, impossible_periods_are_refused_with_their_numbers) {
    LeaseSettings settings = settings_of("a");
    EXPECT_TRUE(validate(settings));
    settings.renew_deadline = seconds{15};
    EXPECT_FALSE(validate(settings));
    settings.renew_deadline = milliseconds{2'400};
    const auto refused = validate(settings);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("2400 ms"), std::string::npos);
    settings = settings_of("");
    EXPECT_FALSE(validate(settings));
}

}  // namespace
}  // namespace gpuctl::k8s
