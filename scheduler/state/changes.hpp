#pragma once
// The jobs and nodes that have changed since an index over the state was last updated. Each is
// listed once, however often it changes. Nothing is collected before the first reader asks for it,
// so that a state without a reader pays only for a test of a flag.
//
// A job is listed when its row, one of its pods or its place in a queue changes, when it is created
// and when it is removed. The reader reads the row, and recognizes a vacant or reused one by its
// arrival. No part of the image. Owner, thread: ClusterState's.

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

template <typename Id>
class ChangedIds {
public:
    void add(Id id) {
        if (id.value() >= is_noted_.size()) is_noted_.resize(id.value() + 1);
        if (std::exchange(is_noted_[id.value()], std::uint8_t{1}) == 0) ids_.push_back(id);
    }
    [[nodiscard]] bool empty() const { return ids_.empty(); }
    [[nodiscard]] std::size_t size() const { return ids_.size(); }
    // Moves the ids out, in the order of their first change. Later ids use the memory of `out`.
    void move_into(std::vector<Id>& out) {
        out.clear();
        out.swap(ids_);
        for (const Id id : out) is_noted_[id.value()] = 0;
    }

private:
    std::vector<std::uint8_t> is_noted_;
    std::vector<Id> ids_;
};

class StateChanges {
public:
    // Changes are collected from now on.
    void collect() { collects_ = true; }

    void add(JobId job) {
        if (collects_ && job.exists()) jobs_.add(job);
    }
    void add(NodeId node) {
        if (collects_ && node.exists()) nodes_.add(node);
    }
    // The summary of a finished job, which has no id: it was added, changed or removed.
    void note_summary(const ObjectKey& job) {
        if (collects_) summaries_.push_back(job);
    }

    [[nodiscard]] ChangedIds<JobId>& jobs() { return jobs_; }
    [[nodiscard]] const ChangedIds<JobId>& jobs() const { return jobs_; }
    [[nodiscard]] ChangedIds<NodeId>& nodes() { return nodes_; }
    [[nodiscard]] const ChangedIds<NodeId>& nodes() const { return nodes_; }
    [[nodiscard]] std::vector<ObjectKey>& summaries() { return summaries_; }
    [[nodiscard]] const std::vector<ObjectKey>& summaries() const { return summaries_; }

private:
    bool collects_ = false;
    ChangedIds<JobId> jobs_;
    ChangedIds<NodeId> nodes_;
    std::vector<ObjectKey> summaries_;
};

}  // namespace gpuctl
