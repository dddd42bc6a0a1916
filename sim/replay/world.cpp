#include "sim/replay/world.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/base/check.hpp"

namespace gpuctl::replay {
namespace {

// The policy is stuck after this many wake-ups in a row without any change, if nothing else can
// happen.
constexpr int kIdleWakesMax = 10'000;

}  // namespace

World::World(const Trace& trace, WorldSettings settings)
    : trace_(&trace),
      settings_(settings),
      places_(settings.nodes, settings.gpus_per_node, settings.placing) {
    states_.reserve(trace.jobs.size());
    for (const TraceJob& job : trace.jobs) {
        const bool by_curve = settings.elastic && job.curve.exists();
        states_.emplace_back(Progress{job, by_curve ? &trace.curves[job.curve.value()] : nullptr});
    }
}

std::optional<Error> World::run(Policy& policy) {
    if (auto impossible = find_impossible()) return impossible;
    std::optional<Instant> wake;
    int idle_wakes = 0;
    while (done_ < states_.size()) {
        const std::optional<Instant> event = next_event();
        if (!event && (!wake || idle_wakes >= kIdleWakesMax)) return stuck();
        idle_wakes = event ? 0 : idle_wakes + 1;
        advance(event && wake ? std::min(*event, *wake) : event ? *event : *wake);
        arrive();
        ++decisions_;
        wake = policy.decide(*this);
        GPUCTL_CHECK(!wake || *wake > now_, "a policy must request a later time");
    }
    return std::nullopt;
}

std::optional<Error> World::find_impossible() const {
    Places empty(settings_.nodes, settings_.gpus_per_node, settings_.placing);
    for (const TraceJob& job : trace_->jobs) {
        // By its curve the job may run on other sizes than the size that its user chose.
        const bool by_curve = settings_.elastic && job.curve.exists();
        const auto least = by_curve ? trace_->curves[job.curve.value()].size_min() : job.gpus;
        const std::optional<Spread> spread = least ? empty.allocate(*least) : std::nullopt;
        if (spread) {
            empty.give_back(*spread);
            continue;
        }
        return make_error(ErrorCode::NeverFits,
                          "job " + job.id + (by_curve ? " needs at least " : " asks for ") +
                              std::to_string(least.value_or(0)) + " GPUs of " +
                              std::to_string(empty.total()) + "; give the replay a larger cluster");
    }
    return std::nullopt;
}

Error World::stuck() const {
    const auto waiting = [](const JobState& state) { return state.phase == JobPhase::waiting; };
    const auto first = std::find_if(states_.begin(), states_.end(), waiting);
    GPUCTL_CHECK(first != states_.end(), "with no event left, all jobs are done or one waits");
    const auto index = static_cast<std::size_t>(first - states_.begin());
    return make_error(ErrorCode::Internal,
                      "the policy leaves " +
                          std::to_string(std::count_if(first, states_.end(), waiting)) +
                          " jobs waiting for ever, the first of them " + trace_->jobs[index].id);
}

Instant World::submit_at(std::uint32_t index) const { return kBegin + trace_->jobs[index].submit; }

std::optional<Instant> World::next_event() const {
    std::optional<Instant> next;
    if (arrived_ < states_.size()) next = submit_at(arrived_);
    for (const JobIndex index : running_) {
        const Instant end = now_ + state(index).progress.until_finished();
        if (!next || end < *next) next = end;
    }
    return next;
}

void World::advance(Instant to) {
    const Duration elapsed = to - now_;
    const Instant before = now_;
    now_ = to;
    std::vector<JobIndex> ended;
    for (const JobIndex index : running_) {
        JobState& job = at(index);
        job.served_gpu_ms += elapsed.ms() * job.gpus;
        if (before + job.progress.until_finished() == to) {
            ended.push_back(index);
        } else {
            job.progress.advance(elapsed, settings_.overhead);
        }
    }
    for (const JobIndex index : ended) {
        places_.give_back(at(index).spread);
        at(index).phase = JobPhase::done;
        at(index).finished_at = now_;
        std::erase(running_, index);
        log_.push_back({now_, index, Happening::finished});
        ++done_;
    }
}

void World::arrive() {
    while (arrived_ < states_.size() && submit_at(arrived_) <= now_) {
        states_[arrived_].phase = JobPhase::waiting;
        log_.push_back({now_, JobIndex{arrived_}, Happening::submitted});
        ++arrived_;
    }
}

Duration World::remaining_work(JobIndex index, std::int32_t gpus) const {
    GPUCTL_CHECK(settings_.clairvoyant, "only a clairvoyant policy may read true run times");
    return state(index).progress.remaining_work_on(gpus);
}

Duration World::limit(JobIndex index) const {
    return settings_.clairvoyant ? job(index).run : job(index).limit;
}

bool World::start(JobIndex index, std::int32_t gpus) {
    GPUCTL_CHECK(state(index).phase == JobPhase::waiting, "only a waiting job can be started");
    std::optional<Spread> spread = places_.allocate(gpus);
    if (!spread) return false;
    begin(index, std::move(*spread), gpus);
    running_.push_back(index);
    return true;
}

bool World::start_on(JobIndex index, Spread spread) {
    GPUCTL_CHECK(state(index).phase == JobPhase::waiting, "only a waiting job can be started");
    if (!places_.take_ceded(spread)) return false;
    const std::int64_t gpus = spread.gpus + static_cast<std::int64_t>(spread.whole_nodes.size()) *
                                                settings_.gpus_per_node;
    begin(index, std::move(spread), static_cast<std::int32_t>(gpus));
    running_.push_back(index);
    return true;
}

void World::stop(JobIndex index) {
    GPUCTL_CHECK(state(index).phase == JobPhase::running, "only a running job can be stopped");
    places_.give_back(at(index).spread);
    halt(index);
    std::erase(running_, index);
}

bool World::resize(JobIndex index, std::int32_t gpus) {
    JobState& job = at(index);
    GPUCTL_CHECK(job.phase == JobPhase::running, "only a running job can change its size");
    if (gpus == job.gpus) return true;
    const Places before = places_;
    places_.give_back(job.spread);
    std::optional<Spread> spread = places_.allocate(gpus);
    if (!spread) {
        places_ = before;
        return false;
    }
    job.spread = std::move(*spread);
    job.gpus = gpus;
    job.progress.start_on(gpus, settings_.overhead);
    log_.push_back({now_, index, Happening::resized});
    return true;
}

void World::arrange(const std::vector<JobIndex>& order) {
    ++arrangement_;
    places_.clear();
    std::vector<JobIndex> placed;
    std::vector<JobIndex> fresh;
    for (const JobIndex index : order) {
        if (places_.free() == 0) break;
        std::optional<Spread> spread = places_.allocate(job(index).gpus);
        if (!spread) continue;
        at(index).arrangement = arrangement_;
        at(index).spread = std::move(*spread);
        placed.push_back(index);
        if (state(index).phase == JobPhase::waiting) fresh.push_back(index);
    }
    for (const JobIndex index : running_) {
        if (state(index).arrangement != arrangement_) halt(index);
    }
    for (const JobIndex index : fresh) begin(index, at(index).spread, job(index).gpus);
    running_ = std::move(placed);
}

void World::begin(JobIndex index, Spread spread, std::int32_t gpus) {
    JobState& job = at(index);
    job.phase = JobPhase::running;
    job.spread = std::move(spread);
    job.gpus = gpus;
    job.started_at = now_;
    if (job.starts++ == 0) job.first_start_at = now_;
    job.progress.start_on(gpus, settings_.overhead);
    log_.push_back({now_, index, Happening::started});
}

void World::halt(JobIndex index) {
    JobState& job = at(index);
    job.phase = JobPhase::waiting;
    job.gpus = 0;
    ++job.preemptions;
    log_.push_back({now_, index, Happening::stopped});
}

}  // namespace gpuctl::replay
