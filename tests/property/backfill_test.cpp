// EASY backfill against an oracle without indexes, classes or transactions: on random small worlds
// no backfilled job delays the start of the head of line, computed by run time limits, and no job
// waits that fits and would end by then.

#include <gtest/gtest.h>

#include <optional>

#include "scheduler/base/rng.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

struct OracleJob {
    std::string name;
    std::int64_t ranks = 1;
    std::int64_t gpus = 0;           // of each rank
    Duration limit;                  // 0: none
    int age = 0;                     // order of submission
    std::vector<std::string> nodes;  // while it runs
    Instant placed_at;
};

using Free = std::map<std::string, std::int64_t>;  // GPUs by node

std::int64_t ranks_fitting(const Free& free, std::int64_t gpus) {
    std::int64_t ranks = 0;
    for (const auto& [node, amount] : free) ranks += std::max<std::int64_t>(amount, 0) / gpus;
    return ranks;
}

bool fits(const Free& free, const OracleJob& job) {
    return ranks_fitting(free, job.gpus) >= job.ranks;
}

class Oracle {
public:
    std::map<std::string, std::int64_t> size;  // GPUs by node
    std::map<std::string, OracleJob> running;
    std::map<std::string, OracleJob> waiting;

    [[nodiscard]] Free free_with(const std::vector<OracleJob>& jobs) const {
        Free free = size;
        for (const OracleJob& job : jobs) {
            for (const std::string& node : job.nodes) free[node] -= job.gpus;
        }
        return free;
    }
    // When `job` could start if all of `jobs` run to their limits; nothing: never.
    [[nodiscard]] std::optional<Instant> start_of(const OracleJob& job,
                                                  std::vector<OracleJob> jobs) const {
        for (;;) {
            Instant next;
            for (const OracleJob& one : jobs) {
                if (one.limit == Duration{}) continue;
                const Instant end = one.placed_at + one.limit;
                if (!next.happened() || end < next) next = end;
            }
            if (!next.happened()) return std::nullopt;
            std::erase_if(jobs, [&](const OracleJob& one) {
                return one.limit > Duration{} && one.placed_at + one.limit == next;
            });
            if (fits(free_with(jobs), job)) return next;
        }
    }
};

class BackfillRun {
public:
    explicit BackfillRun(std::uint64_t seed) : rng_(seed) {
        world_.verify_steps = false;
        const std::int64_t nodes = rng_.between(1, 3);
        for (std::int64_t i = 0; i < nodes; ++i) {
            const std::string name(1, static_cast<char>('a' + i));
            oracle_.size[name] = rng_.between(2, 4);
            world_.add(node(name, oracle_.size[name]));
        }
    }
    void run(int steps) {
        for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
            world_.now = world_.now + Duration::seconds(rng_.between(1, 20));
            end_what_is_due();
            if (rng_.chance(1, 3)) end_one_early();
            const std::int64_t fresh = rng_.chance(1, 2) ? rng_.between(1, 2) : 0;
            for (std::int64_t j = 0; j < fresh; ++j) submit();
            plan();
        }
    }
    int backfilled = 0;
    int reservations = 0;

private:
    void submit() {
        OracleJob job;
        job.age = next_++;
        job.name = "j" + std::to_string(job.age);
        job.ranks = rng_.chance(1, 3) ? rng_.between(2, 3) : 1;
        job.gpus = rng_.between(1, 3);
        if (!rng_.chance(1, 8)) job.limit = Duration::seconds(rng_.between(5, 120));
        std::vector<PodFacts> pods = job.ranks > 1
                                         ? gang(job.name, static_cast<int>(job.ranks), job.gpus)
                                         : std::vector{pod(job.name + "-0", job.name, job.gpus)};
        for (PodFacts& one : pods) {
            one.run_time_max = job.limit;
            one.created_at = world_.now + Duration{job.age};
            world_.add(one);
        }
        oracle_.waiting[job.name] = job;
    }
    void end(const std::string& name) {
        const OracleJob job = oracle_.running.at(name);
        oracle_.running.erase(name);
        for (std::int64_t rank = 0; rank < job.ranks; ++rank) {
            world_.remove_pod(job.name + "-" + std::to_string(rank));
        }
    }
    void end_what_is_due() {
        std::vector<std::string> due;
        for (const auto& [name, job] : oracle_.running) {
            if (job.limit > Duration{} && job.placed_at + job.limit <= world_.now) {
                due.push_back(name);
            }
        }
        for (const std::string& name : due) end(name);
    }
    void end_one_early() {
        if (oracle_.running.empty()) return;
        auto chosen = oracle_.running.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(rng_.below(oracle_.running.size())));
        end(chosen->first);
    }
    // Plans until nothing changes; each Plan is checked by itself.
    void plan() {
        while (world_.engine.wants_plan()) {
            std::vector<OracleJob> before;
            for (const auto& [name, job] : oracle_.running) before.push_back(job);
            world_.send(Plan{});
            std::vector<OracleJob> started = take_started();
            check(before, started);
            world_.answer_all();
        }
        check_waiting();
    }
    std::vector<OracleJob> take_started() {
        std::vector<OracleJob> started;
        for (const auto& [uid, bind] : world_.pending) {
            const std::string name = uid.substr(0, uid.find('-'));
            if (oracle_.waiting.contains(name)) {
                OracleJob job = oracle_.waiting.at(name);
                oracle_.waiting.erase(name);
                job.placed_at = world_.now;
                oracle_.running[name] = job;
            }
            oracle_.running.at(name).nodes.push_back(bind.node);
        }
        for (const auto& [name, job] : oracle_.running) {
            if (job.placed_at == world_.now && world_.pending.contains(name + "-0")) {
                started.push_back(job);
                EXPECT_EQ(static_cast<std::int64_t>(job.nodes.size()), job.ranks) << name;
            }
        }
        return started;
    }
    // The head of line is the oldest waiting job with a known start time.
    void check(const std::vector<OracleJob>& before, const std::vector<OracleJob>& started) {
        std::vector<const OracleJob*> line;
        for (const auto& [name, job] : oracle_.waiting) line.push_back(&job);
        std::sort(line.begin(), line.end(),
                  [](const OracleJob* a, const OracleJob* b) { return a->age < b->age; });
        int passed = 0;
        for (const OracleJob* head : line) {
            std::vector<OracleJob> without = before;
            std::vector<OracleJob> with = before;
            for (const OracleJob& job : started) {
                if (job.age < head->age) without.push_back(job);
                with.push_back(job);
            }
            const std::optional<Instant> reservation = oracle_.start_of(*head, without);
            if (!reservation) {
                if (++passed == 4) return;
                continue;
            }
            ++reservations;
            backfilled += static_cast<int>(with.size() - without.size());
            const std::optional<Instant> now = oracle_.start_of(*head, with);
            ASSERT_TRUE(now.has_value()) << head->name << " was delayed forever";
            EXPECT_LE(now->ms(), reservation->ms())
                << head->name << " was delayed at " << world_.now.ms() << "; it runs "
                << describe(with) << "and waits " << describe(*head) << passed << " passed";
            return;
        }
    }
    // Jobs that ask for the same, with limits less than a factor of the square root of two apart,
    // are one class to the engine: what its first is refused, the others are not tried for.
    [[nodiscard]] bool has_older_equivalent(const OracleJob& job) const {
        return std::any_of(oracle_.waiting.begin(), oracle_.waiting.end(), [&](const auto& entry) {
            const OracleJob& other = entry.second;
            return other.age < job.age && other.ranks == job.ranks && other.gpus == job.gpus &&
                   other.limit.ms() * 2 > job.limit.ms() && job.limit.ms() * 2 > other.limit.ms();
        });
    }
    static std::string describe(const OracleJob& job) {
        std::string text = job.name + " " + std::to_string(job.ranks) + "x" +
                           std::to_string(job.gpus) + " limit " + std::to_string(job.limit.ms());
        for (const std::string& node : job.nodes) text += " " + node;
        if (job.placed_at.happened()) text += " since " + std::to_string(job.placed_at.ms());
        return text + "; ";
    }
    static std::string describe(const std::vector<OracleJob>& jobs) {
        std::string text;
        for (const OracleJob& job : jobs) text += describe(job);
        return text;
    }
    void check_waiting() {
        std::vector<OracleJob> jobs;
        for (const auto& [name, job] : oracle_.running) jobs.push_back(job);
        const Free free = oracle_.free_with(jobs);
        const HeadReservation& reservation =
            world_.engine.state()
                .pool(world_.engine.state().tree.find_pool(kDefaultPool))
                .reservations.head;
        for (const auto& [name, job] : oracle_.waiting) {
            if (!fits(free, job)) continue;
            ASSERT_TRUE(reservation.job.exists()) << name << " fits and no reservation blocks it";
            const bool is_over = job.limit > Duration{} && world_.now + job.limit <= reservation.at;
            if (!has_older_equivalent(job)) {
                EXPECT_FALSE(is_over) << name << " fits and would be over in time";
            }
            EXPECT_EQ(to_string(world_.why(name).front().reason), "reserved") << name;
        }
    }

    Rng rng_;
    EngineWorld world_;
    Oracle oracle_;
    int next_ = 0;
};

TEST(Backfill, never_delays_the_head_of_line) {
    int backfilled = 0;
    int reservations = 0;
    for (std::uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        BackfillRun run{seed};
        run.run(40);
        backfilled += run.backfilled;
        reservations += run.reservations;
    }
    // The worlds exercise the rule.
    EXPECT_GT(reservations, 1000);
    EXPECT_GT(backfilled, 300);
}

}  // namespace
}  // namespace gpuctl::test
