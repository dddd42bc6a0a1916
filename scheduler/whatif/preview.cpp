#include "scheduler/whatif/preview.hpp"

#include <algorithm>
#include <map>

#include "scheduler/whatif/rerun.hpp"

namespace gpuctl::whatif {
namespace {

constexpr std::size_t kShownMost = 10;

// Run times as observed. For pods without an observed end: the stated run time, or else the median
// of their namespace, or else the median of all pods. 0: the pod runs beyond the end of the window.
class RunTimes {
public:
    explicit RunTimes(const PastWindow& past) {
        for (const PastPod& pod : past.pods) {
            if (pod.ran == Duration{}) continue;
            all_.push_back(pod.ran);
            by_tenant_[pod.facts.key.namespace_name].push_back(pod.ran);
        }
        sort(all_);
        for (auto& [tenant, times] : by_tenant_) sort(times);
    }
    [[nodiscard]] Duration of(const PastPod& pod) const {
        if (pod.ran > Duration{} || !is_guessed(pod)) return pod.ran;
        if (pod.facts.run_time_expected > Duration{}) return pod.facts.run_time_expected;
        const auto known = by_tenant_.find(pod.facts.key.namespace_name);
        const std::vector<Duration>& like = known == by_tenant_.end() ? all_ : known->second;
        return like.empty() ? Duration{} : like[like.size() / 2];
    }
    static bool is_guessed(const PastPod& pod) {
        return pod.ran == Duration{} && !pod.started.happened();
    }

private:
    static void sort(std::vector<Duration>& times) { std::sort(times.begin(), times.end()); }
    std::vector<Duration> all_;
    std::map<std::string, std::vector<Duration>> by_tenant_;
};

// One job in both simulations: times of its first pod, work of all pods.
struct Both {
    PreviewJob job;
    Instant started_in_fact;
    Instant started_before;
    Instant started_after;
    std::int64_t gpu_ms_before = 0;
    std::int64_t gpu_ms_after = 0;
    bool is_guessed = false;
    bool is_news = false;  // some pod of the job waited in the window
    Instant given_up;      // from then on no pod of the job waits; never: some pod waits to the end
    std::string queue_gone;  // the queue of the job, if it no longer accepts jobs
    Reason why_gone = Reason::none;
};

void keep_earliest(Instant& earliest, Instant at) {
    if (at.happened() && (!earliest.happened() || at < earliest)) earliest = at;
}

// GPU-milliseconds do not overflow: 2^63 is 10^6 GPUs for 290 years. Thousandths of
// GPU-milliseconds of one pod do not overflow either.
std::int64_t gpu_ms(GpuMilli gpus, std::int64_t ran_ms) {
    return gpus.value() * ran_ms / kGpuMilliPerGpu;
}

void add_pod(Both& both, const PastPod& pod, const RerunPod& before, const RerunPod& after) {
    const GpuMilli gpus = gpus_total(pod.facts.request);
    both.gpu_ms_before += gpu_ms(gpus, before.ran_ms);
    both.gpu_ms_after += gpu_ms(gpus, after.ran_ms);
    if (before.nowhere == Reason::none && after.nowhere != Reason::none) {
        both.queue_gone = before.queue;
        both.why_gone = after.nowhere;
    }
    if (pod.was_running) return;
    PreviewJob& job = both.job;
    const bool goes_on = !pod.given_up.happened() || (both.is_news && !both.given_up.happened());
    both.given_up = goes_on ? Instant{} : std::max(both.given_up, pod.given_up);
    if (!both.is_news || pod.arrived < job.arrived) job.arrived = pod.arrived;
    both.is_news = true;
    job.gpus += gpus;
    if (job.queue.empty()) job.queue = before.queue;
    both.is_guessed = both.is_guessed || RunTimes::is_guessed(pod);
    keep_earliest(both.started_in_fact, pod.started);
    keep_earliest(both.started_before, before.started);
    keep_earliest(both.started_after, after.started);
}

Duration waited(Instant arrived, Instant started, Instant end) {
    return std::max((started.happened() ? std::min(started, end) : end) - arrived, Duration{});
}

class Tally {
public:
    void add(const Both& both) {
        ++jobs_;
        side(before_, both.job.wait_before, both.job.started_before, both.gpu_ms_before);
        side(after_, both.job.wait_after, both.job.started_after, both.gpu_ms_after);
    }
    void add_work(const Both& both) {
        before_.figures.gpu_ms += both.gpu_ms_before;
        after_.figures.gpu_ms += both.gpu_ms_after;
    }
    [[nodiscard]] PreviewGroup group(std::string name) {
        return {std::move(name), jobs_, close(before_), close(after_)};
    }

private:
    struct Side {
        WaitFigures figures;
        std::vector<Duration> waits;
    };
    static void side(Side& of, Duration wait, bool started, std::int64_t gpu_ms) {
        of.waits.push_back(wait);
        of.figures.not_started += started ? 0 : 1;
        of.figures.gpu_ms += gpu_ms;
    }
    static WaitFigures close(Side& of) {
        if (of.waits.empty()) return of.figures;
        std::sort(of.waits.begin(), of.waits.end());
        std::int64_t sum = 0;
        for (const Duration wait : of.waits) sum += wait.ms();
        of.figures.mean = Duration{sum / static_cast<std::int64_t>(of.waits.size())};
        of.figures.p95 = of.waits[(of.waits.size() * 95 + 99) / 100 - 1];  // nearest-rank method
        return of.figures;
    }
    std::int64_t jobs_ = 0;
    Side before_;
    Side after_;
};

Duration saved(const PreviewJob& job) { return job.wait_before - job.wait_after; }

void name_most_changed(std::vector<PreviewJob> jobs, Preview& out) {
    std::stable_sort(jobs.begin(), jobs.end(), [](const PreviewJob& a, const PreviewJob& b) {
        return saved(a) != saved(b) ? saved(a) > saved(b) : a.key < b.key;
    });
    for (const PreviewJob& job : jobs) {
        out.jobs_gain += saved(job) > Duration{} ? 1 : 0;
        out.jobs_lose += saved(job) < Duration{} ? 1 : 0;
        if (saved(job) > Duration{} && out.gain.size() < kShownMost) out.gain.push_back(job);
    }
    for (auto job = jobs.rbegin(); job != jobs.rend() && out.lose.size() < kShownMost; ++job) {
        if (saved(*job) < Duration{}) out.lose.push_back(*job);
    }
}

std::vector<GoneQueue> gone_queues(const std::map<ObjectKey, Both>& by_job,
                                   const Policy& proposed) {
    std::map<std::string, GoneQueue> by_queue;
    for (const auto& [key, both] : by_job) {
        if (both.why_gone == Reason::none) continue;
        const std::string pool = both.queue_gone.substr(0, both.queue_gone.find('/'));
        GoneQueue& gone = by_queue[both.queue_gone];
        gone.queue = both.queue_gone;
        gone.reason = both.why_gone;
        gone.is_pool_declared =
            std::any_of(proposed.pools.begin(), proposed.pools.end(),
                        [&](const PoolPolicy& one) { return one.name == pool; });
        ++gone.jobs;
    }
    std::vector<GoneQueue> out;
    for (auto& [name, gone] : by_queue) out.push_back(std::move(gone));
    return out;
}

void sum_up(std::map<ObjectKey, Both>& by_job, Preview& out) {
    Tally all;
    std::map<std::string, Tally> by_queue;
    std::map<std::string, Tally> by_tenant;
    std::vector<PreviewJob> jobs;
    std::int64_t waited_in_fact_ms = 0;
    for (auto& [key, both] : by_job) {
        PreviewJob& job = both.job;
        job.key = key;
        if (!both.is_news) {  // the job ran before and during the whole window
            all.add_work(both);
            by_tenant[key.namespace_name].add_work(both);
            continue;
        }
        job.started_before = both.started_before.happened();
        job.started_after = both.started_after.happened();
        const Instant end = both.given_up.happened() ? both.given_up : out.end;
        job.wait_before = waited(job.arrived, both.started_before, end);
        job.wait_after = waited(job.arrived, both.started_after, end);
        waited_in_fact_ms += waited(job.arrived, both.started_in_fact, end).ms();
        out.not_started_in_fact += both.started_in_fact.happened() ? 0 : 1;
        out.jobs_run_time_guessed += both.is_guessed ? 1 : 0;
        all.add(both);
        by_queue[job.queue].add(both);
        by_tenant[key.namespace_name].add(both);
        jobs.push_back(job);
    }
    if (!jobs.empty()) {
        out.wait_mean_in_fact =
            Duration{waited_in_fact_ms / static_cast<std::int64_t>(jobs.size())};
    }
    out.all = all.group("");
    for (auto& [name, tally] : by_queue) out.queues.push_back(tally.group(name));
    for (auto& [name, tally] : by_tenant) out.tenants.push_back(tally.group(name));
    name_most_changed(std::move(jobs), out);
}

}  // namespace

Result<Preview> preview(const PastWindow& past, const Policy& proposed, const GoOn& go_on) {
    const RunTimes known{past};
    std::vector<Duration> run_times;
    for (const PastPod& pod : past.pods) run_times.push_back(known.of(pod));
    const Result<std::vector<RerunPod>> before = rerun({past, std::nullopt, run_times, go_on});
    if (!before) return before.error();
    const Result<std::vector<RerunPod>> after = rerun({past, proposed, run_times, go_on});
    if (!after) return after.error();
    std::map<ObjectKey, Both> by_job;
    for (std::size_t i = 0; i < past.pods.size(); ++i) {
        add_pod(by_job[job_of(past.pods[i].facts)], past.pods[i], (*before)[i], (*after)[i]);
    }
    Preview out;
    out.begin = past.begin;
    out.end = past.end;
    sum_up(by_job, out);
    out.gone = gone_queues(by_job, proposed);
    return out;
}

}  // namespace gpuctl::whatif
