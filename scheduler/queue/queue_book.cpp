#include "scheduler/queue/queue_book.hpp"

#include <algorithm>

#include "scheduler/base/check.hpp"

namespace gpuctl {

ClassId QueueBook::add(const ClassKey& key, const WaitingJob& job) {
    auto [found, is_new] = by_key_.try_emplace(key);
    if (is_new) {
        if (vacant_.empty()) {
            found->second = ClassId{static_cast<std::uint32_t>(classes_.size())};
            classes_.emplace_back(memory_.get());
        } else {
            found->second = vacant_.back();
            vacant_.pop_back();
        }
        JobClass& made = classes_[found->second.value()];
        made.key = key;
        made.serial = next_serial_++;
        made.block = {};
        if (by_queue_.size() <= key.queue.value()) by_queue_.resize(key.queue.value() + 1);
        by_queue_[key.queue.value()].push_back(found->second);
    }
    const bool inserted = classes_[found->second.value()].jobs.insert(job).second;
    GPUCTL_CHECK(inserted, "a job waits in one class once");
    ++jobs_waiting_;
    ++count_of(classes_[found->second.value()]);
    return found->second;
}

void QueueBook::remove(ClassId id, const WaitingJob& job) {
    JobClass& held = classes_[id.value()];
    GPUCTL_CHECK(held.jobs.erase(job) == 1, "a job leaves the class it is in");
    --jobs_waiting_;
    --count_of(held);
    if (!held.jobs.empty()) return;
    block(id, {});
    std::vector<ClassId>& siblings = by_queue_[held.key.queue.value()];
    const auto position = std::find(siblings.begin(), siblings.end(), id);
    *position = siblings.back();
    siblings.pop_back();
    by_key_.erase(held.key);
    vacant_.push_back(id);
}

void QueueBook::block(ClassId id, const ClassBlock& block) {
    JobClass& of = classes_[id.value()];
    if (of.block.limits != 0) --classes_limited_;
    count_of(of) -= of.jobs.size();
    of.block = block;
    count_of(of) += of.jobs.size();
    if (of.block.limits != 0) ++classes_limited_;
}

const std::vector<ClassId>& QueueBook::of_queue(QueueId queue) const {
    static const std::vector<ClassId> none;
    return queue.value() < by_queue_.size() ? by_queue_[queue.value()] : none;
}

}  // namespace gpuctl
