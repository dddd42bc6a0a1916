#include "scheduler/listing/job_sums.hpp"

#include <algorithm>

namespace gpuctl {
namespace {

template <typename Value, typename Id>
Value& at(std::vector<Value>& sums, Id id) {
    if (sums.size() <= id.value()) sums.resize(id.value() + 1);
    return sums[id.value()];
}

template <typename Value, typename Id>
Value value_at(const std::vector<Value>& sums, Id id) {
    return id.exists() && id.value() < sums.size() ? sums[id.value()] : Value{};
}

// Compares two vectors. If one of them is longer, its further elements must be empty.
template <typename Value>
bool are_equal(const std::vector<Value>& a, const std::vector<Value>& b) {
    const std::vector<Value>& longer = a.size() < b.size() ? b : a;
    const std::vector<Value>& shorter = a.size() < b.size() ? a : b;
    const auto rest = longer.begin() + static_cast<std::ptrdiff_t>(shorter.size());
    return std::equal(shorter.begin(), shorter.end(), longer.begin()) &&
           std::all_of(rest, longer.end(), [](const Value& one) { return one == Value{}; });
}

}  // namespace

void QueueWork::add(const JobLoad& load, std::int64_t sign) {
    if (load.waits) jobs_waiting += sign;
    if (load.runs) jobs_running += sign;
    gpus_waiting += load.gpus_waiting * sign;
    gpus_nominated += load.gpus_nominated * sign;
    gpus_held += load.gpus_held * sign;
}

void QueueWork::add(const QueueWork& other) {
    jobs_waiting += other.jobs_waiting;
    jobs_running += other.jobs_running;
    gpus_waiting += other.gpus_waiting;
    gpus_nominated += other.gpus_nominated;
    gpus_held += other.gpus_held;
}

void JobSums::count(const JobEntry& entry, std::int64_t sign) {
    by_status_[static_cast<std::size_t>(entry.status)] += sign;
    if (entry.waits != WaitKind::none) waiting_ += sign;
    switch (entry.waits) {
        case WaitKind::in_queue:
            break;
        case WaitKind::held:
            held_by_reason_[static_cast<std::size_t>(entry.held)] += sign;
            break;
        case WaitKind::untried:
            held_by_reason_[static_cast<std::size_t>(Reason::turn)] += sign;
            break;
        case WaitKind::none:
            lacking_by_reason_[static_cast<std::size_t>(entry.held)] += sign;
            break;
    }
    if (entry.queue_id.exists()) {
        at(by_queue_, entry.queue_id).add(entry.load, sign);
    } else if (entry.pool_id.exists() && entry.has_pods) {
        const auto work = undeclared_.try_emplace({entry.pool_id, entry.queue}).first;
        work->second.add(entry.load, sign);
        if (work->second == QueueWork{}) undeclared_.erase(work);
    }
    if (entry.load.on_nodes != Load{}) {
        at(on_nodes_, entry.namespace_name).add(entry.load.on_nodes, sign);
    }
    at(jobs_by_pool_, entry.pool) += sign;
    for (const PodsAlike& alike : entry.pods) {
        at(pods_by_status_, alike.status) += sign * std::int64_t{alike.count};
    }
}

QueueWork JobSums::of_queue(QueueId queue) const { return value_at(by_queue_, queue); }

std::int64_t JobSums::jobs_of_pool(NameId pool) const { return value_at(jobs_by_pool_, pool); }

std::int64_t JobSums::pods_that_say(WordId status) const {
    return value_at(pods_by_status_, status);
}

bool JobSums::is_equal(const JobSums& other) const {
    return by_status_ == other.by_status_ && held_by_reason_ == other.held_by_reason_ &&
           lacking_by_reason_ == other.lacking_by_reason_ && waiting_ == other.waiting_ &&
           undeclared_ == other.undeclared_ && are_equal(by_queue_, other.by_queue_) &&
           are_equal(on_nodes_, other.on_nodes_) && are_equal(jobs_by_pool_, other.jobs_by_pool_) &&
           are_equal(pods_by_status_, other.pods_by_status_);
}

}  // namespace gpuctl
