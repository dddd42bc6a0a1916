#pragma once
// A fair queue of pods to write about: each not before its own time, then one pod of each job in
// turn, and within a job the one due longest. So a job of thousands of pods does not delay other
// jobs, and the first pods of all jobs come before the second ones.
//
// Pure: the time is an argument.

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "aio/deadline.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

class PodLine {
public:
    using Time = aio::Clock::time_point;

    // A pod that is due already stays in its place.
    void add(const ObjectKey& job, const std::string& uid, Time due);
    void remove(const std::string& uid);
    // The uid of the next pod that is due.
    std::optional<std::string> pop(Time now);
    // When pop() has a pod: Time::min() when it has one already, Time::max() when never.
    [[nodiscard]] Time next_at() const;
    [[nodiscard]] bool contains(const std::string& uid) const { return places_.contains(uid); }
    [[nodiscard]] std::size_t size() const { return places_.size(); }

private:
    struct Job {
        std::map<std::uint64_t, std::string> ready;  // by ticket
        std::list<ObjectKey>::iterator turn;
    };
    struct Place {
        ObjectKey job;
        Time due{};
        std::uint64_t ticket = 0;
        bool is_ready = false;
    };
    void let_in(Time now);
    void drop_if_empty(std::map<ObjectKey, Job>::iterator job);

    std::map<std::pair<Time, std::uint64_t>, std::string> later_;
    std::map<ObjectKey, Job> jobs_;  // jobs with pods that are due
    std::list<ObjectKey> turns_;
    std::unordered_map<std::string, Place> places_;
    std::uint64_t tickets_ = 0;
};

// The pause of a pod after a write about it, for a job with `pods` waiting pods: a job that changes
// all the time costs the same writes whatever its size.
struct PodPause {
    std::chrono::milliseconds each;  // multiplied by the waiting pods of the job
    std::chrono::milliseconds least;
    std::chrono::milliseconds most;
    [[nodiscard]] std::chrono::milliseconds of(std::size_t pods) const;
};

}  // namespace gpuctl::k8s
