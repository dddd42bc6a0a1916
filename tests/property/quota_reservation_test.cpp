// EASY backfill under limits, against an oracle of plain sums. In random small worlds with enough
// nodes, no job that overtakes the head of line of a limit delays its start, and no job waits that
// would end by that time.

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "scheduler/base/rng.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

struct LimitedJob {
    std::string name;
    std::string queue;   // "f" or "g", both in "top"
    std::string tenant;  // "red" or "blue"
    std::int64_t gpus = 0;
    Duration limit;  // 0: none
    int age = 0;     // order of submission
    Instant placed_at;
};

using LimitedJobs = std::vector<LimitedJob>;

// The names of the accounts that a job counts against.
std::set<std::string> accounts_of(const LimitedJob& job) { return {job.queue, "top", job.tenant}; }

class LimitOracle {
public:
    std::map<std::string, std::int64_t> most;  // GPUs by account
    std::map<std::string, LimitedJob> running;
    std::map<std::string, LimitedJob> waiting;

    [[nodiscard]] std::set<std::string> blocking_limits(const LimitedJob& job,
                                                        const LimitedJobs& jobs) const {
        std::set<std::string> out;
        for (const std::string& account : accounts_of(job)) {
            if (!most.contains(account)) continue;
            std::int64_t held = job.gpus;
            for (const LimitedJob& one : jobs) {
                if (accounts_of(one).contains(account)) held += one.gpus;
            }
            if (held > most.at(account)) out.insert(account);
        }
        return out;
    }
    // When the limits of `job` let it start if all of these jobs run to their limits; nothing:
    // never.
    [[nodiscard]] std::optional<Instant> start_of(const LimitedJob& job, LimitedJobs jobs) const {
        while (!blocking_limits(job, jobs).empty()) {
            Instant next;
            for (const LimitedJob& one : jobs) {
                if (one.limit == Duration{}) continue;
                const Instant end = one.placed_at + one.limit;
                if (!next.happened() || end < next) next = end;
            }
            if (!next.happened()) return std::nullopt;
            std::erase_if(jobs, [&](const LimitedJob& one) {
                return one.limit > Duration{} && one.placed_at + one.limit == next;
            });
            if (blocking_limits(job, jobs).empty()) return next;
        }
        return Instant{};
    }
};

class QuotaRun {
public:
    explicit QuotaRun(std::uint64_t seed) : rng_(seed) {
        world_.verify_steps = false;
        world_.add(node("a", 64));
        Policy policy;
        PoolPolicy pool{kDefaultPool, "", {}, {}};
        pool.order = QueueOrder::fifo;
        for (const char* name : {"top", "f", "g"}) {
            QueuePolicy queue;
            queue.name = name;
            queue.order = QueueOrder::fifo;
            if (queue.name != "top") queue.parent = "top";
            if (rng_.chance(2, 3)) queue.maximum = whole_gpus(limit(name, 3, 6));
            pool.queues.push_back(queue);
        }
        policy.pools = {pool};
        for (const char* name : {"red", "blue"}) {
            TenantPolicy tenant;
            tenant.name = name;
            if (rng_.chance(1, 2)) tenant.gpu_maximum = whole_gpus(limit(name, 3, 6));
            policy.tenants.push_back(tenant);
        }
        world_.set(policy);
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
    int passed = 0;
    int held_by_quota_reservation = 0;

private:
    std::int64_t limit(const std::string& account, std::int64_t least, std::int64_t most) {
        return oracle_.most[account] = rng_.between(least, most);
    }
    void submit() {
        LimitedJob job;
        job.age = next_++;
        job.name = "j" + std::to_string(job.age);
        job.gpus = rng_.between(1, 3);
        job.queue = rng_.chance(1, 2) ? "f" : "g";
        job.tenant = rng_.chance(1, 2) ? "red" : "blue";
        if (!rng_.chance(1, 8)) job.limit = Duration::seconds(rng_.between(5, 120));
        PodFacts one = pod(job.name + "-0", job.name, job.gpus);
        one.key.namespace_name = job.tenant;
        one.queue = job.queue;
        one.run_time_max = job.limit;
        one.created_at = world_.now + Duration{job.age};
        world_.add(one);
        oracle_.waiting[job.name] = job;
    }
    void end(const std::string& name) {
        oracle_.running.erase(name);
        world_.remove_pod(name + "-0");
    }
    void end_what_is_due() {
        std::vector<std::string> due;
        for (const auto& [name, job] : oracle_.running) {
            const bool is_due = job.limit > Duration{} && job.placed_at + job.limit <= world_.now;
            if (is_due) due.push_back(name);
        }
        for (const std::string& name : due) end(name);
    }
    void end_one_early() {
        if (oracle_.running.empty()) return;
        auto chosen = oracle_.running.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(rng_.below(oracle_.running.size())));
        end(std::string{chosen->first});
    }
    // Plans until nothing changes, and checks each Plan separately.
    void plan() {
        while (world_.engine.wants_plan()) {
            LimitedJobs before;
            for (const auto& [name, job] : oracle_.running) before.push_back(job);
            world_.send(Plan{});
            check(before, take_started());
            world_.answer_all();
        }
        check_waiting();
    }
    LimitedJobs take_started() {
        LimitedJobs started;
        for (const auto& [uid, bind] : world_.pending) {
            LimitedJob job = oracle_.waiting.at(uid.substr(0, uid.find('-')));
            oracle_.waiting.erase(job.name);
            job.placed_at = world_.now;
            oracle_.running[job.name] = job;
            started.push_back(job);
        }
        return started;
    }
    // The head of each limit is the oldest job that it blocks, unless another limit blocks that job
    // and an older one.
    void check(const LimitedJobs& before, const LimitedJobs& started) {
        std::vector<const LimitedJob*> line;
        for (const auto& [name, job] : oracle_.waiting) line.push_back(&job);
        std::sort(line.begin(), line.end(),
                  [](const LimitedJob* a, const LimitedJob* b) { return a->age < b->age; });
        std::set<std::string> accounted;
        for (const LimitedJob* head : line) {
            LimitedJobs without = before;
            for (const LimitedJob& job : started) {
                if (job.age < head->age) without.push_back(job);
            }
            const std::set<std::string> stops = oracle_.blocking_limits(*head, without);
            const bool is_first = std::none_of(stops.begin(), stops.end(), [&](const auto& one) {
                return accounted.contains(one);
            });
            const std::optional<Instant> reservation = oracle_.start_of(*head, without);
            if (!reservation) continue;  // this head is passed over
            accounted.insert(stops.begin(), stops.end());
            if (stops.empty() || !is_first) continue;
            LimitedJobs with = without;
            for (const LimitedJob& job : started) {
                const std::set<std::string> accounts = accounts_of(job);
                const bool counts = std::any_of(stops.begin(), stops.end(), [&](const auto& one) {
                    return accounts.contains(one);
                });
                if (job.age > head->age && counts) with.push_back(job);
            }
            passed += static_cast<int>(with.size() - without.size());
            const std::optional<Instant> now = oracle_.start_of(*head, with);
            ASSERT_TRUE(now.has_value()) << head->name << " was delayed forever";
            EXPECT_LE(now->ms(), reservation->ms())
                << head->name << " was delayed at " << world_.now.ms() << "; it runs "
                << describe(with) << "and waits " << describe(*head);
        }
    }
    [[nodiscard]] bool has_older_equivalent(const LimitedJob& job) const {
        return std::any_of(oracle_.waiting.begin(), oracle_.waiting.end(), [&](const auto& entry) {
            const LimitedJob& other = entry.second;
            return other.age < job.age && other.queue == job.queue && other.tenant == job.tenant &&
                   other.gpus == job.gpus && other.limit.ms() * 2 > job.limit.ms() &&
                   job.limit.ms() * 2 > other.limit.ms();
        });
    }
    static std::string describe(const LimitedJob& job) {
        std::string text = job.name + " " + job.queue + " " + job.tenant + " " +
                           std::to_string(job.gpus) + " limit " + std::to_string(job.limit.ms());
        if (job.placed_at.happened()) text += " since " + std::to_string(job.placed_at.ms());
        return text + "; ";
    }
    static std::string describe(const LimitedJobs& jobs) {
        std::string text;
        for (const LimitedJob& job : jobs) text += describe(job);
        return text;
    }
    void check_waiting() {
        LimitedJobs jobs;
        for (const auto& [name, job] : oracle_.running) jobs.push_back(job);
        const ClusterState& state = world_.engine.state();
        const std::vector<HeadReservation>& reservations =
            state.pool(state.tree.find_pool(kDefaultPool)).reservations.under_limits;
        for (const auto& [name, job] : oracle_.waiting) {
            if (!oracle_.blocking_limits(job, jobs).empty()) continue;
            ++held_by_quota_reservation;
            const std::vector<Explanation> why = world_.why(name, job.tenant);
            EXPECT_EQ(to_string(why.front().reason), "reserved") << name;
            if (has_older_equivalent(job)) continue;
            // Some head of line could not start if this job still ran then.
            const bool has_reservation =
                std::any_of(reservations.begin(), reservations.end(),
                            [&, &job = job](const HeadReservation& one) {
                                return delays_head(job, jobs, state.job(one.job).key.name, one.at);
                            });
            EXPECT_TRUE(has_reservation) << name << " waits for nothing";
        }
    }
    [[nodiscard]] bool delays_head(const LimitedJob& job, LimitedJobs jobs, const std::string& head,
                                   Instant at) const {
        if (job.limit > Duration{} && world_.now + job.limit <= at) return false;
        std::erase_if(jobs, [&](const LimitedJob& one) {
            return one.limit > Duration{} && one.placed_at + one.limit <= at;
        });
        jobs.push_back(job);
        return !oracle_.blocking_limits(oracle_.waiting.at(head), jobs).empty();
    }

    Rng rng_;
    EngineWorld world_;
    LimitOracle oracle_;
    int next_ = 0;
};

TEST(QuotaReservations, backfill_never_delays_the_head_of_line_of_a_limit) {
    int passed = 0;
    int held_by_quota_reservation = 0;
    for (std::uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        QuotaRun run{seed};
        run.run(40);
        passed += run.passed;
        held_by_quota_reservation += run.held_by_quota_reservation;
    }
    // The worlds must exercise the rule.
    EXPECT_GT(passed, 300);
    EXPECT_GT(held_by_quota_reservation, 300);
}

}  // namespace
}  // namespace gpuctl::test
