#include "scheduler/plan/estimate/start_forecast.hpp"

#include <algorithm>
#include <memory>

#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/plan/estimate/start_refusal.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kRunMax = 4'096;  // number of releases sorted together
constexpr std::size_t kOutlooks = 65'536;

}  // namespace

// Reads sorted runs as one sequence (k-way merge).
class StartForecast::Merged {
public:
    explicit Merged(const Runs& runs) : runs_(runs) {
        for (std::size_t run = 0; run < runs.size(); ++run) {
            if (!runs[run].empty()) next_.push({runs[run].front().at, run, 0});
        }
    }
    [[nodiscard]] bool empty() const { return next_.empty(); }
    [[nodiscard]] const Release& top() const { return runs_[next_.top().run][next_.top().index]; }
    void pop() {
        Next next = next_.top();
        next_.pop();
        if (++next.index == runs_[next.run].size()) return;
        next.at = runs_[next.run][next.index].at;
        next_.push(next);
    }

private:
    struct Next {
        Instant at;
        std::size_t run = 0;
        std::size_t index = 0;
        friend bool operator>(const Next& a, const Next& b) { return a.at > b.at; }
    };
    const Runs& runs_;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
};

struct StartForecast::Service {
    Service(const Runs& runs, std::vector<std::int64_t> now_free, Instant begin)
        : ends(runs), free(std::move(now_free)), now(begin) {}
    [[nodiscard]] bool has_release() const { return !ends.empty() || !started.empty(); }
    Release pop() {
        const bool is_started = ends.empty() || (!started.empty() && ends.top() > started.top());
        Release first = is_started ? started.top() : ends.top();
        if (is_started) {
            started.pop();
        } else {
            ends.pop();
        }
        return first;
    }
    Merged ends;
    // Future releases of jobs that the simulated line has started.
    std::priority_queue<Release, std::vector<Release>, std::greater<>> started;
    std::vector<std::int64_t> free;
    Instant now;
};

StartForecast::StartForecast(const ClusterState& state, PoolId pool, std::vector<JobId> line)
    : pool_(pool),
      now_(state.now()),
      line_(std::move(line)),
      has_windows_(state.maintenance.has_windows()) {
    for (const JobId id : line_) arrivals_.push_back(state.job(id).arrival);
    for (const MaintenanceWindow& window : state.policy().windows) {
        const Instant first = next_occurrence(window, now_).end;
        if (!first.happened()) continue;
        openings_.push_back({first, 0, 0});
        const Instant second = next_occurrence(window, first).end;
        if (second.happened()) openings_.push_back({second, 0, 0});
    }
    std::sort(openings_.begin(), openings_.end(),
              [](const Release& a, const Release& b) { return b > a; });
    const HeadReservation& head = state.pool(pool).reservations.head;
    if (head.job.exists() && head.at.happened()) head_ = head;
}

std::int64_t StartForecast::work_of(const ClusterState& state, PoolId pool, std::size_t line) {
    std::int64_t pods = 0;
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(pool)) {
        pods += 1 + static_cast<std::int64_t>(state.node(NodeId{slot}).pods.size());
    }
    return 4 * pods + 20 * static_cast<std::int64_t>(std::min(line, kEstimatedMax));
}

bool StartForecast::advance(const ClusterState& state, std::int64_t work) {
    const std::int64_t given = std::max<std::int64_t>(work, 1);
    std::int64_t left = given;
    const auto go_on = [this](Phase next) {
        phase_ = next;
        next_ = 0;
        service_.reset();
    };
    while (left > 0 && phase_ != Phase::done) {
        switch (phase_) {
            case Phase::nodes:
                if (read_nodes(state, left)) go_on(Phase::line);
                break;
            case Phase::line:
                if (read_line(state, left)) go_on(Phase::late);
                break;
            case Phase::late:
                if (serve(state, Pace::late, left)) go_on(Phase::median);
                break;
            case Phase::median:
                if (serve(state, Pace::median, left)) go_on(Phase::early);
                break;
            case Phase::early:
                if (serve_alone(state, left)) go_on(Phase::passing);
                break;
            case Phase::passing:
                if (serve_passing(state, left)) go_on(Phase::answers);
                break;
            case Phase::answers:
                if (answer(state, left)) go_on(Phase::done);
                break;
            case Phase::done:
                break;
        }
    }
    work_done_ += given - left;
    return phase_ == Phase::done;
}

// --- nodes ---

// Nodes in the same windows form one group; without windows there is one group.
std::size_t StartForecast::group_of(WindowSet windows) {
    const auto found = std::find(groups_.begin(), groups_.end(), windows);
    if (found != groups_.end()) return static_cast<std::size_t>(found - groups_.begin());
    groups_.push_back(windows);
    free_.push_back(0);
    return groups_.size() - 1;
}

const StartForecast::Outlook& StartForecast::outlook_of(const ClusterState& state, JobId job) {
    if (outlook_of_.size() <= job.value()) outlook_of_.resize(job.value() + 1);
    std::uint32_t& known = outlook_of_[job.value()];
    if (known == 0) {
        if (outlooks_.size() > kOutlooks) {  // the rest differs too much to be worth keeping
            alike_.clear();
        }
        const RunTimeQuestion about = state.run_times.question_about(state.job(job));
        const auto [alike, is_new] =
            alike_.try_emplace({about.owner, about.gpus, about.limit, about.expected},
                               static_cast<std::uint32_t>(outlooks_.size()) + 1);
        if (is_new) outlooks_.push_back({about, state.run_times.history().predict(about)});
        known = alike->second;
    }
    return outlooks_[known - 1];
}

bool StartForecast::read_nodes(const ClusterState& state, std::int64_t& work) {
    const NodeSet& nodes = state.nodes.capacity().nodes_of(pool_);
    std::uint32_t slot = nodes.next(static_cast<std::uint32_t>(next_));
    for (; slot != NodeSet::kEnd && work > 0; slot = nodes.next(slot + 1)) {
        read_node(state, slot);
        work -= 1 + 4 * static_cast<std::int64_t>(state.node(NodeId{slot}).pods.size());
        next_ = slot + 1;
    }
    if (slot != NodeSet::kEnd) return false;
    close_runs();
    for (Runs& runs : runs_) runs.push_back(openings_);
    return true;
}

void StartForecast::read_node(const ClusterState& state, std::uint32_t slot) {
    const Capacity& capacity = state.nodes.capacity();
    const NodeRow& node = state.node(NodeId{slot});
    const std::size_t group = group_of(node.windows);
    for (std::size_t i = 0; i < capacity.columns(); ++i) {
        const auto column = static_cast<Column>(i);
        if (capacity.kind(column) != ColumnKind::gpu) continue;
        const GpuMilli free{std::max<std::int64_t>(capacity.free(column, slot), 0)};
        const std::string& resource = capacity.resource(column);
        const GpuShare share = share_offered(node.facts.allocatable, resource);
        free_[group] += in_whole_gpus({resource, free, share}).value();
    }
    // If the node is overcommitted, the excess usage releases nothing for other jobs.
    GpuMilli excess = offered_load(node.facts).gpus * -1;
    std::vector<RunningPod>& running = limits_.running();
    const std::size_t first = running.size();
    for (const PodId id : node.pods) {
        const PodRow& pod = state.pod(id);
        const GpuMilli gpus = state.shape_of(pod).gpus;
        // a nominated pod holds nothing yet: its victims release the room
        if (pod.bind.state != BindState::nominated) excess += gpus;
        if (!pod.job.exists() || Seats::is_seat(pod)) continue;  // a pause has no end
        const JobRow& job = state.job(pod.job);
        const Outlook& outlook = outlook_of(state, pod.job);
        RunningPod one;
        one.job = pod.job;
        one.queue = job.queue;
        one.tenant = job.tenant;
        one.gpus = gpus;
        for (const Pace pace : {Pace::early, Pace::median, Pace::late}) {
            one.ends[at(pace)] = end_of(state, pod, pace, outlook.about, outlook.prediction);
        }
        one.is_nominated = pod.bind.state == BindState::nominated;
        const bool is_limited = one.is_nominated && job.run.time_max > Duration{};
        one.budget_end = is_limited ? now_ + job.run.time_max : pod.ends_at;
        one.node = slot;
        one.group = group;
        one.is_of_pool = job.pool == pool_;
        one.grows_with_demand = pod.grows_with_demand;
        running.push_back(one);
    }
    for (const Pace pace : {Pace::early, Pace::median, Pace::late}) {
        std::vector<std::pair<Instant, RunningPod*>> ends;
        for (std::size_t i = first; i < running.size(); ++i) {
            const Instant end = running[i].ends[at(pace)];
            if (end.happened() && running[i].gpus > GpuMilli{}) ends.emplace_back(end, &running[i]);
        }
        add_releases(ends, excess.value(), pace);
    }
}

// Adds the releases of one node. The first ends only reduce usage beyond the node's capacity.
void StartForecast::add_releases(std::vector<std::pair<Instant, RunningPod*>>& ends,
                                 std::int64_t excess, Pace pace) {
    if (excess > 0) {
        std::stable_sort(ends.begin(), ends.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    Runs& runs = runs_[at(pace)];
    if (runs.empty()) runs.emplace_back();
    for (const auto& [end, pod] : ends) {
        const std::int64_t lost = std::clamp<std::int64_t>(excess, 0, pod->gpus.value());
        excess -= lost;
        runs.back().push_back({end, pod->gpus.value() - lost, pod->group});
    }
    if (runs.back().size() < kRunMax) return;
    std::sort(runs.back().begin(), runs.back().end(),
              [](const Release& a, const Release& b) { return b > a; });
    runs.emplace_back();
}

void StartForecast::close_runs() {
    for (Runs& runs : runs_) {
        if (runs.empty()) continue;
        std::sort(runs.back().begin(), runs.back().end(),
                  [](const Release& a, const Release& b) { return b > a; });
    }
}

// --- simulation of the line ---

std::int64_t StartForecast::usable(const ClusterState& state, const std::vector<std::int64_t>& free,
                                   const Stay& stay, Instant start) const {
    if (!has_windows_) return free.front();
    const WindowSet barred = state.maintenance.barred(stay, start);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < free.size(); ++i) {
        if ((groups_[i] & barred) == 0) sum += free[i];
    }
    return sum;
}

// Starts the jobs one after the other. If a job finds no room and its start time is unknown, the
// start times of the jobs behind it are unknown, too.
bool StartForecast::serve(const ClusterState& state, Pace pace, std::int64_t& work) {
    if (!service_) service_ = std::make_shared<Service>(runs_[at(pace)], free_, now_);
    Service& line = *service_;
    for (; next_ < waiting_.size() && work > 0; ++next_) {
        Waiting& waiting = waiting_[next_];
        const bool is_passing = phase_ == Phase::passing;
        if (is_passing && (waiting.id == head_->job || waiting.limit == Duration{})) continue;
        work -= 4;
        const bool was_refused = lacks_room(waiting.refusal);
        const auto has_room = [&] {
            const bool is_new = line.now > now_ || !was_refused;
            return is_new && usable(state, line.free, waiting.stay, line.now) >= waiting.gpus;
        };
        for (; !has_room() && line.has_release(); --work) {
            const Release first = line.pop();
            line.now = std::max(line.now, first.at);
            line.free[first.group] += first.gpus;
        }
        if (!has_room()) return true;
        (is_passing ? waiting.passes : waiting.at[at(pace)]) = line.now;
        const Duration run = pace == Pace::median ? waiting.median : waiting.limit;
        std::int64_t left = waiting.gpus;
        const WindowSet barred =
            has_windows_ ? state.maintenance.barred(waiting.stay, line.now) : 0;
        for (std::size_t i = 0; i < line.free.size(); ++i) {
            if ((groups_[i] & barred) != 0) continue;
            const std::int64_t here = std::min(left, line.free[i]);
            if (here <= 0) continue;
            line.free[i] -= here;
            left -= here;
            if (run > Duration{}) line.started.push({line.now + run, here, i});
        }
    }
    return next_ >= waiting_.size();
}

// Serves the jobs that may pass the head of the line because they end before its reserved time.
// They keep their order among themselves.
bool StartForecast::serve_passing(const ClusterState& state, std::int64_t& work) {
    return !head_ || serve(state, Pace::median, work);
}

// Serves each job as if it were next. Jobs with equal requests are computed once.
bool StartForecast::serve_alone(const ClusterState& state, std::int64_t& work) {
    if (!service_) service_ = std::make_shared<Service>(runs_[at(Pace::early)], free_, now_);
    if (!has_windows_) {
        for (; !service_->ends.empty() && work > 0; --work) {
            const Release first = service_->pop();
            service_->now = std::max(service_->now, first.at);
            service_->free.front() += first.gpus;
            freed_.emplace_back(service_->now, service_->free.front());
        }
        if (!service_->ends.empty()) return false;
    }
    for (; next_ < waiting_.size() && work > 0; ++next_, --work) {
        Waiting& waiting = waiting_[next_];
        Instant& found = waiting.at[at(Pace::early)];
        if (!has_windows_) {
            const auto enough =
                std::partition_point(freed_.begin(), freed_.end(),
                                     [&](const auto& one) { return one.second < waiting.gpus; });
            if (free_.front() >= waiting.gpus) {
                found = now_;
            } else if (enough != freed_.end()) {
                found = enough->first;
            }
            continue;
        }
        const Stay& stay = waiting.stay;
        const auto [known, is_new] =
            alone_.try_emplace({waiting.gpus, stay.time, stay.grace, stay.least, stay.own});
        if (is_new) {
            Service alone{runs_[at(Pace::early)], free_, now_};
            for (; usable(state, alone.free, stay, alone.now) < waiting.gpus && alone.has_release();
                 --work) {
                const Release first = alone.pop();
                alone.now = std::max(alone.now, first.at);
                alone.free[first.group] += first.gpus;
            }
            if (usable(state, alone.free, stay, alone.now) >= waiting.gpus) {
                known->second = alone.now;
            }
        }
        found = known->second;
    }
    return next_ >= waiting_.size();
}

}  // namespace gpuctl
