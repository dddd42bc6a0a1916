// The index over jobs and the positions of waiting jobs, compared with lists that are kept by hand.

#include "scheduler/listing/job_index.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "scheduler/base/rng.hpp"
#include "scheduler/listing/waiting_order.hpp"

namespace gpuctl {
namespace {

constexpr std::uint32_t kSummary = 1'000'000'000;  // of a finished job: it has no id

// An index and a reference map of the same jobs in the same order.
class Indexed {
public:
    void put(std::uint32_t id, const std::string& space, const std::string& name, int pods,
             JobStatus status) {
        JobEntry entry;
        entry.key = {space, name};
        if (id == kSummary) {
            entry.summary = &summary;
        } else {
            entry.job = JobId{id};
        }
        entry.arrival = id;
        entry.namespace_name = names.names.intern(space);
        entry.pool = names.names.intern(id % 3 == 0 ? "odd" : "default");
        entry.queue = names.names.intern("q" + std::to_string(id % 4));
        entry.status = status;
        entry.status_word = names.statuses.id_of(to_string(status));
        entry.rows = static_cast<std::uint32_t>(std::max(pods, 1));
        if (pods > 0) {
            entry.pods.push_back({names.statuses.id_of("OOMKilled"), names.statuses.id_of("Failed"),
                                  static_cast<std::uint32_t>(pods)});
        }
        by_key[{space, name}] = entry;
        index.put(std::move(entry));
    }
    void remove(const ObjectKey& key) {
        if (by_key.at(key).summary != nullptr) {
            index.remove_summary(key);
        } else {
            index.remove(by_key.at(key).job);
        }
        by_key.erase(key);
    }
    // Every selected row, by a full scan.
    [[nodiscard]] std::vector<std::string> rows(const JobSelection& selection) const {
        std::vector<std::string> out;
        for (const auto& [key, entry] : by_key) {
            if (selection.namespace_name && key.namespace_name != *selection.namespace_name) {
                continue;
            }
            if (selection.pool && names.names.name(entry.pool) != *selection.pool) continue;
            if (selection.queue && names.names.name(entry.queue) != *selection.queue) continue;
            const bool is_said =
                !selection.status || same_without_case(*selection.status, to_string(entry.status));
            std::uint32_t count = is_said ? (selection.by_pod ? entry.rows : 1) : 0;
            if (!is_said && selection.by_pod && *selection.status == "oomkilled") {
                for (const PodsAlike& alike : entry.pods) count += alike.count;
            }
            for (std::uint32_t i = 0; i < count; ++i) {
                out.push_back(key.namespace_name + "/" + key.name + "#" + std::to_string(i));
            }
        }
        return out;
    }
    [[nodiscard]] std::vector<std::string> page(const JobSelection& selection, std::uint64_t first,
                                                std::uint64_t count, std::uint64_t& total) {
        JobIndex::Page page;
        index.read_page(selection, names, first, count, page);
        total = page.total;
        std::vector<std::string> out;
        for (const JobIndex::Rows& rows : page.rows) {
            for (std::uint32_t i = rows.first; i < rows.first + rows.count; ++i) {
                out.push_back(rows.job->key.namespace_name + "/" + rows.job->key.name + "#" +
                              std::to_string(i));
            }
        }
        return out;
    }
    void check(const JobSelection& selection, Rng& rng) {
        const std::vector<std::string> all = rows(selection);
        for (const std::uint64_t first : {std::uint64_t{0}, rng.below(all.size() + 2)}) {
            std::uint64_t total = 0;
            const std::vector<std::string> found = page(selection, first, 20, total);
            ASSERT_EQ(total, all.size());
            const std::size_t begin = std::min<std::size_t>(first, all.size());
            const std::size_t end = std::min<std::size_t>(begin + 20, all.size());
            const std::vector<std::string> expected(
                all.begin() + static_cast<std::ptrdiff_t>(begin),
                all.begin() + static_cast<std::ptrdiff_t>(end));
            ASSERT_EQ(found, expected);
        }
    }

    FinishedJob summary;
    JobIndex index;
    ListingNames names;
    std::map<ObjectKey, JobEntry> by_key;
};

std::vector<JobSelection> selections() {
    std::vector<JobSelection> out(6);
    out[1].by_pod = true;
    out[2].pool = "odd";
    out[2].by_pod = true;
    out[3].namespace_name = "team-3";
    out[3].queue = "q1";
    out[4].status = "running";
    out[4].namespace_name = "team-0";
    out[5].status = "oomkilled";
    out[5].by_pod = true;
    return out;
}

TEST(JobIndex, any_page_of_any_selection_equals_a_search_of_all_jobs) {
    Rng rng{5};
    Indexed world;
    std::uint32_t next = 0;
    for (int step = 0; step < 4'000; ++step) {
        const bool removes = world.by_key.size() > 10 && rng.chance(step < 2'500 ? 1 : 3, 4);
        if (removes) {
            auto gone = world.by_key.begin();
            std::advance(gone, static_cast<std::ptrdiff_t>(rng.below(world.by_key.size())));
            const bool changes = rng.chance(1, 2);
            const ObjectKey key = gone->first;
            const bool is_summary = gone->second.summary != nullptr;
            const std::uint32_t id = is_summary ? kSummary : gone->second.job.value();
            if (is_summary && rng.chance(1, 3)) {  // it is a job again, before its summary goes
                world.put(next++, key.namespace_name, key.name, 1, JobStatus::failed);
                world.index.remove_summary(key);
                EXPECT_EQ(world.index.find_summary(key), nullptr);
            } else if (changes) {
                world.put(id, key.namespace_name, key.name, static_cast<int>(rng.below(4)),
                          JobStatus::failed);
            } else {
                world.remove(key);
            }
        } else {
            const std::string space = "team-" + std::to_string(rng.below(5));
            const std::string name = "job-" + std::to_string(rng.below(100'000));
            if (world.by_key.contains({space, name})) continue;
            if (rng.chance(1, 4)) {
                world.put(kSummary, space, name, 0, JobStatus::succeeded);
                EXPECT_NE(world.index.find_summary({space, name}), nullptr);
                continue;
            }
            world.put(next++, space, name, static_cast<int>(rng.below(4)),
                      rng.chance(1, 2) ? JobStatus::running : JobStatus::pending);
        }
        ASSERT_EQ(world.index.size(), world.by_key.size());
        if (step % 50 != 0) continue;
        ASSERT_EQ(world.index.check(), "");
        for (const JobSelection& selection : selections()) {
            ASSERT_NO_FATAL_FAILURE(world.check(selection, rng));
        }
    }
}

TEST(JobIndex, more_selections_than_are_cached_give_right_pages) {
    Rng rng{6};
    Indexed world;
    for (std::uint32_t id = 0; id < 500; ++id) {
        world.put(id, "team-" + std::to_string(id % 7), "job-" + std::to_string(id), 1,
                  JobStatus::running);
    }
    for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < JobIndex::kSelectionsMax + 8; ++i) {
            JobSelection selection;
            selection.queue = "q" + std::to_string(i % 4);
            selection.by_pod = i % 2 == 0;
            if (i % 3 == 0) selection.pool = "odd";
            world.names.statuses.id_of("status-" + std::to_string(i));
            selection.status = i % 5 == 0 ? "running" : "status-" + std::to_string(i);
            ASSERT_NO_FATAL_FAILURE(world.check(selection, rng));
        }
    }
}

TEST(JobIndex, adding_jobs_at_once_or_one_by_one_gives_the_same_index) {
    Rng rng{7};
    Indexed world;
    std::vector<JobEntry> entries;
    for (std::uint32_t id = 0; id < 1'000; ++id) {
        world.put(id, "team-" + std::to_string(rng.below(5)), "job-" + std::to_string(id), 2,
                  JobStatus::running);
    }
    for (const auto& [key, entry] : world.by_key) entries.push_back(entry);
    world.index.fill(std::move(entries));
    ASSERT_EQ(world.index.check(), "");
    for (const JobSelection& selection : selections()) {
        ASSERT_NO_FATAL_FAILURE(world.check(selection, rng));
    }
    world.put(5'000, "team-2", "job-again", 1, JobStatus::running);
    ASSERT_NO_FATAL_FAILURE(world.check({}, rng));
}

TEST(JobIndex, jobs_are_found_by_the_name_that_people_see_in_one_namespace_or_all) {
    Indexed world;
    world.put(1, "a", "x", 1, JobStatus::running);
    world.put(2, "a", "y", 1, JobStatus::running);
    world.put(3, "b", "x", 1, JobStatus::running);
    std::vector<const JobEntry*> found;
    world.index.read_named("", "x", found);
    EXPECT_EQ(found.size(), 2U);
    found.clear();
    world.index.read_named("b", "x", found);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front()->job, JobId{3});
    found.clear();
    world.index.read_named("a", "z", found);
    EXPECT_TRUE(found.empty());
}

TEST(AgedJobs, each_job_has_the_number_of_older_ones) {
    Rng rng{8};
    AgedJobs jobs;
    std::set<WaitingJob> by_hand;
    for (std::uint64_t step = 0; step < 5'000; ++step) {
        if (!by_hand.empty() && rng.chance(2, 5)) {
            auto gone = by_hand.begin();
            std::advance(gone, static_cast<std::ptrdiff_t>(rng.below(by_hand.size())));
            jobs.erase(*gone);
            by_hand.erase(gone);
        } else {
            const WaitingJob job{Instant{static_cast<std::int64_t>(rng.below(1'000))}, step,
                                 JobId{static_cast<std::uint32_t>(step)}};
            jobs.insert(job);
            by_hand.insert(job);
        }
        ASSERT_EQ(jobs.size(), by_hand.size());
        if (step % 100 != 0 || by_hand.empty()) continue;
        std::size_t rank = 0;
        AgedJobs::Cursor cursor = jobs.begin();
        for (const WaitingJob& job : by_hand) {
            ASSERT_EQ(cursor.job(), job);
            ASSERT_EQ(jobs.rank_of(job), rank++);
            ASSERT_EQ(cursor.advance(), rank < by_hand.size());
        }
    }
}

}  // namespace
}  // namespace gpuctl
