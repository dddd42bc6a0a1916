#include "sim/replay/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace gpuctl::replay {
namespace {

double seconds(Duration span) { return static_cast<double>(span.ms()) / 1000.0; }

Instant submitted_at(const TraceJob& job) { return World::kBegin + job.submit; }

template <typename Figure>
std::vector<double> by_job(const World& world, Figure figure) {
    std::vector<double> values;
    values.reserve(world.states().size());
    for (std::size_t i = 0; i < world.states().size(); ++i) {
        values.push_back(figure(world.trace().jobs[i], world.states()[i]));
    }
    return values;
}

// Counts violations of the guarantee of one owner; reads the log in order.
class Guarantee {
public:
    Guarantee(std::int64_t quota_gpus, Duration grace) : quota_(quota_gpus), grace_(grace) {}

    void wants(std::int64_t gpus, Instant at) {
        const bool fitted = demand_ <= quota_;
        demand_ += gpus;
        const bool fits = demand_ <= quota_;
        if (fits && !fitted) fits_since_ = at;
        if (!fits && fitted) {
            for (const auto& [job, since] : waiting_) count_if_violated(since, at);
        }
    }
    void waits(JobIndex job, Instant at) { waiting_[job] = at; }
    void served(JobIndex job, Instant at) {
        const auto found = waiting_.find(job);
        if (found == waiting_.end()) return;
        if (demand_ <= quota_) count_if_violated(found->second, at);
        waiting_.erase(found);
    }
    [[nodiscard]] std::int64_t violations() const { return violations_; }

private:
    void count_if_violated(Instant since, Instant until) {
        if (until - std::max(since, fits_since_) > grace_) ++violations_;
    }

    std::int64_t quota_;
    Duration grace_;
    std::int64_t demand_ = 0;
    Instant fits_since_ = World::kBegin;
    std::map<JobIndex, Instant> waiting_;
    std::int64_t violations_ = 0;
};

}  // namespace

double mean(const std::vector<double>& values) {
    if (values.empty()) return 0;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double maximum(const std::vector<double>& values) {
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

std::vector<double> completion_times_s(const World& world) {
    return by_job(world, [](const TraceJob& job, const JobState& state) {
        return seconds(state.finished_at - submitted_at(job));
    });
}

std::vector<double> waits_s(const World& world) {
    return by_job(world, [](const TraceJob& job, const JobState& state) {
        return seconds(state.first_start_at - submitted_at(job));
    });
}

std::vector<double> queue_delays_s(const World& world) {
    return by_job(world, [](const TraceJob& job, const JobState& state) {
        return seconds(state.finished_at - submitted_at(job) - job.run);
    });
}

double makespan_s(const World& world) {
    Instant last = World::kBegin;
    for (const JobState& state : world.states()) last = std::max(last, state.finished_at);
    return seconds(last - World::kBegin);
}

std::int64_t preemptions(const World& world) {
    std::int64_t count = 0;
    for (const JobState& state : world.states()) count += state.preemptions;
    return count;
}

std::vector<double> bounded_slowdowns(const World& world) {
    return by_job(world, [](const TraceJob& job, const JobState& state) {
        const double run_s = seconds(job.run);
        const double flow_s = seconds(state.finished_at - submitted_at(job));
        return std::max(1.0, flow_s / std::max(run_s, 10.0));
    });
}

std::vector<double> finish_time_fairness(const World& world) {
    const double sharers = static_cast<double>(world.states().size());
    const double contention = std::max(1.0, sharers / static_cast<double>(world.gpus_total()));
    return by_job(world, [contention](const TraceJob& job, const JobState& state) {
        return seconds(state.finished_at - submitted_at(job)) / (seconds(job.run) * contention);
    });
}

std::int64_t guarantee_violations(const World& world, Duration grace) {
    std::vector<Guarantee> owners;
    for (const Owner& owner : world.trace().owners) owners.emplace_back(owner.quota_gpus, grace);
    for (const LogEntry& entry : world.log()) {
        const TraceJob& job = world.job(entry.job);
        if (!job.owner.exists()) continue;
        Guarantee& owner = owners[job.owner.value()];
        switch (entry.what) {
            case Happening::submitted:
                owner.wants(job.gpus, entry.at);
                owner.waits(entry.job, entry.at);
                break;
            case Happening::started:
                owner.served(entry.job, entry.at);
                break;
            case Happening::stopped:
                owner.waits(entry.job, entry.at);
                break;
            case Happening::resized:
                break;
            case Happening::finished:
                owner.wants(-job.gpus, entry.at);
                break;
        }
    }
    std::int64_t violations = 0;
    for (const Guarantee& owner : owners) violations += owner.violations();
    return violations;
}

}  // namespace gpuctl::replay
