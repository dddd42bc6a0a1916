#include "scheduler/listing/waiting_order.hpp"

#include <algorithm>
#include <bit>
#include <queue>

#include "scheduler/base/check.hpp"

namespace gpuctl {

// --- jobs by age ---

std::vector<AgedJobs::Run>::iterator AgedJobs::run_of(const WaitingJob& job) {
    return std::partition_point(runs_.begin(), runs_.end(),
                                [&](const Run& run) { return run.last < job; });
}

void AgedJobs::insert(const WaitingJob& job) {
    ++size_;
    auto run = run_of(job);
    if (run == runs_.end()) {
        if (runs_.empty() || runs_.back().jobs.size() >= kRunMax) runs_.emplace_back();
        run = std::prev(runs_.end());
    }
    std::vector<WaitingJob>& jobs = run->jobs;
    jobs.insert(std::lower_bound(jobs.begin(), jobs.end(), job), job);
    run->last = jobs.back();
    if (jobs.size() <= kRunMax) return;
    const auto middle = jobs.begin() + kRunMax / 2;
    Run half{jobs.back(), {middle, jobs.end()}};
    jobs.erase(middle, jobs.end());
    run->last = jobs.back();
    runs_.insert(std::next(run), std::move(half));
}

void AgedJobs::erase(const WaitingJob& job) {
    const auto run = run_of(job);
    GPUCTL_CHECK(run != runs_.end(), "a waiting job is among those of its group");
    std::vector<WaitingJob>& jobs = run->jobs;
    const auto found = std::lower_bound(jobs.begin(), jobs.end(), job);
    GPUCTL_CHECK(found != jobs.end() && *found == job, "a waiting job is where its age puts it");
    jobs.erase(found);
    --size_;
    if (jobs.empty()) {
        runs_.erase(run);
    } else {
        run->last = jobs.back();
    }
}

std::size_t AgedJobs::rank_of(const WaitingJob& job) const {
    return count_before([&](const WaitingJob& other) { return other < job; });
}

// --- groups ---

namespace {

constexpr std::int64_t kComparisonNs = 150;

// True if the priority of jobs grows while they wait. Otherwise jobs of one class are consecutive
// by age.
bool ages(const ClusterState& state, QueueId queue) {
    return state.policy().ageing_step > 0 && state.queue(queue).order != QueueOrder::fifo;
}

bool resumes(const JobClass& of) { return (of.key.ask.front() & 2U) != 0; }

}  // namespace

Contender WaitingOrder::contender(const ClusterState& state, const WaitingJob& job) {
    const ClassId id = state.job(job.job).waiting.in_class;
    return {id, &state.waiting.book().at(id), job};
}

WaitingOrder::Queue& WaitingOrder::queue_at(QueueId id) {
    if (queues_.size() <= id.value()) queues_.resize(id.value() + 1);
    return queues_[id.value()];
}

void WaitingOrder::update(const ClusterState& state, JobId id) {
    if (jobs_.size() <= id.value()) jobs_.resize(id.value() + 1);
    Known now;
    const JobRow& row = state.job(id);
    if (row.live && row.waiting.in_class.exists()) {
        const JobClass& of = state.waiting.book().at(row.waiting.in_class);
        now.waits = true;
        now.queue = of.key.queue;
        now.job = {row.submitted_at, row.arrival, id};
        now.group = {of.key.priority, of.key.tenant, resumes(of), 0};
        if (state.queue(now.queue).order == QueueOrder::shortest) now.group.serial = of.serial;
    }
    Known& known = jobs_[id.value()];
    const bool is_same = known.waits == now.waits &&
                         (!now.waits || (known.queue == now.queue && known.group == now.group &&
                                         known.job == now.job));
    if (is_same) return;
    if (known.waits) {
        Queue& queue = queue_at(known.queue);
        const auto group = queue.groups.find(known.group);
        group->second.jobs.erase(known.job);
        --queue.size;
        queue.are_summed = false;
        if (group->second.jobs.empty()) {
            queue.groups.erase(group);
            queue.revision = 0;
        }
    }
    known = now;
    if (!now.waits) return;
    Queue& queue = queue_at(now.queue);
    const auto [group, is_new] = queue.groups.try_emplace(now.group);
    group->second.jobs.insert(now.job);
    ++queue.size;
    queue.are_summed = false;
    if (is_new) queue.revision = 0;
}

void WaitingOrder::clear() {
    jobs_.clear();
    queues_.clear();
}

std::size_t WaitingOrder::waiting_in(QueueId queue) const {
    return queue.value() < queues_.size() ? queues_[queue.value()].size : 0;
}

// Compares two groups by the terms of their queue's order without age: each group is taken as the
// older one.
void WaitingOrder::sort_groups(const ClusterState& state, QueueId id, std::uint64_t revision) {
    Queue& queue = queue_at(id);
    const std::int64_t second = state.now().ms() / 1'000;
    line_.terminating_pods.read(state, state.queue(id).pool);
    if (queue.revision != 0) {
        if (queue.revision == revision && queue.second == second) return;
        const auto groups = static_cast<std::int64_t>(queue.groups.size());
        const auto depth = static_cast<std::int64_t>(std::bit_width(queue.groups.size()));
        if (!allowance_.spend(groups * depth * kComparisonNs, state.now())) return;
    }
    queue.revision = revision;
    queue.second = second;
    queue.are_summed = false;
    queue.tiers.clear();
    line_.terminating_pods = {};  // valid for one Plan: otherwise it would keep pods that are gone
    line_.terminating_pods.read(state, state.queue(id).pool);
    if (ages(state, id)) return;
    const auto goes_first = [&](const Group* a, const Group* b, bool a_is_older) {
        Contender x = contender(state, a->jobs.front());
        Contender y = contender(state, b->jobs.front());
        x.job.submitted_at = Instant{a_is_older ? 0 : 1};
        y.job.submitted_at = Instant{a_is_older ? 1 : 0};
        return job_comes_first(state, id, line_, x, y);
    };
    const auto comes_before = [&](const Group* a, const Group* b) {
        return goes_first(a, b, true) && goes_first(a, b, false);
    };
    std::vector<Group*> groups;
    for (auto& [key, group] : queue.groups) groups.push_back(&group);
    std::stable_sort(groups.begin(), groups.end(), comes_before);
    for (Group* group : groups) {
        const bool is_equal =
            !queue.tiers.empty() && !comes_before(queue.tiers.back().back(), group);
        if (!is_equal) queue.tiers.emplace_back();
        queue.tiers.back().push_back(group);
        group->tier = queue.tiers.size() - 1;
    }
}

void WaitingOrder::sum_up(Queue& queue) {
    if (queue.are_summed) return;
    queue.are_summed = true;
    queue.before.clear();
    std::size_t before = 0;
    for (const std::vector<Group*>& tier : queue.tiers) {
        queue.before.push_back(before);
        for (const Group* group : tier) before += group->jobs.size();
    }
}

std::int64_t WaitingOrder::position_of(const ClusterState& state, JobId id,
                                       std::uint64_t revision) {
    if (id.value() >= jobs_.size() || !jobs_[id.value()].waits) return 0;
    const Known& known = jobs_[id.value()];
    // Jobs of queues that the policy does not have, and system-critical jobs, have no position.
    const QueueRow& row = state.queue(known.queue);
    if (!row.in_policy) return 0;
    sort_groups(state, known.queue, revision);
    Queue& queue = queue_at(known.queue);
    std::size_t before = 0;
    if (ages(state, known.queue)) {
        const Contender own = contender(state, known.job);
        for (const auto& [key, group] : queue.groups) {
            before += group.jobs.count_before([&](const WaitingJob& other) {
                return job_comes_first(state, known.queue, line_, contender(state, other), own);
            });
        }
    } else {
        sum_up(queue);
        const std::size_t tier = queue.groups.at(known.group).tier;
        before = queue.before[tier];
        for (const Group* group : queue.tiers[tier]) before += group->jobs.rank_of(known.job);
    }
    return static_cast<std::int64_t>(before) + 1;
}

void WaitingOrder::read(const ClusterState& state, QueueId id, std::uint64_t revision,
                        std::size_t most, std::vector<WaitingJob>& out) {
    out.clear();
    if (waiting_in(id) == 0) return;
    sort_groups(state, id, revision);
    Queue& queue = queue_at(id);
    using Cursor = AgedJobs::Cursor;
    const auto merge = [&](const std::vector<const Group*>& groups, auto comes_later) {
        std::priority_queue<Cursor, std::vector<Cursor>, decltype(comes_later)> next{comes_later};
        for (const Group* group : groups) next.push(group->jobs.begin());
        while (!next.empty() && out.size() < most) {
            Cursor first = next.top();
            next.pop();
            out.push_back(first.job());
            if (first.advance()) next.push(first);
        }
    };
    if (ages(state, id)) {
        std::vector<const Group*> groups;
        for (const auto& [key, group] : queue.groups) groups.push_back(&group);
        merge(groups, [&](const Cursor& a, const Cursor& b) {
            return job_comes_first(state, id, line_, contender(state, b.job()),
                                   contender(state, a.job()));
        });
        return;
    }
    for (const std::vector<Group*>& tier : queue.tiers) {
        if (out.size() >= most) return;
        merge({tier.begin(), tier.end()},
              [](const Cursor& a, const Cursor& b) { return b.job() < a.job(); });
    }
}

}  // namespace gpuctl
