#include "scheduler/listing/start_board.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace gpuctl {
namespace {

constexpr std::int64_t kPiecesPerMs = 10'000;
// the computation takes at most one part in this many of the time
constexpr std::int64_t kPart = 100;
// The cost of one job when a line is read.
constexpr std::int64_t kLineWork = 2;

std::int64_t work_in(const ClusterState& state, const WaitingOrder& order) {
    std::int64_t work = 0;
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        std::size_t waiting = 0;
        for (const QueueId queue : state.pool(pool).queues) waiting += order.waiting_in(queue);
        if (waiting == 0) continue;
        work += StartForecast::work_of(state, pool, waiting) +
                kLineWork * static_cast<std::int64_t>(waiting);
    }
    return work;
}

}  // namespace

void StartBoard::forget() {
    is_at_work_ = false;
    forecast_.reset();
    computed_second_ = -1;
}

void StartBoard::begin(const ClusterState& state, std::uint64_t revision) {
    is_at_work_ = true;
    revision_ = revision;
    second_ = state.now().ms() / 1'000;
    work_done_ = 0;
    pool_ = 0;
    forecast_.reset();
    if (pools_.size() < state.tree.pools()) pools_.resize(state.tree.pools());
}

void StartBoard::refresh(const ClusterState& state, WaitingOrder& order, std::uint64_t revision) {
    if (is_at_work_) return;
    const bool is_known =
        computed_revision_ == revision && computed_second_ == state.now().ms() / 1'000;
    if (is_known || state.now() < next_at_) return;
    begin(state, revision);
    if (work_in(state, order) <= kAtOnce) {
        while (is_at_work_) work(state, order, kAtOnce);
    }
}

void StartBoard::work(const ClusterState& state, WaitingOrder& order, std::int64_t amount) {
    while (is_at_work_ && amount > 0) {
        if (pool_ >= pools_.size()) {
            is_at_work_ = false;
            computed_revision_ = revision_;
            computed_second_ = second_;
            computed_at_ = state.now();
            next_at_ = state.now() + Duration{work_done_ * kPart / kPiecesPerMs};
            return;
        }
        const PoolId pool{pool_};
        std::int64_t done = 0;
        if (!forecast_) {
            std::vector<JobId> line;
            read_line(state, order, pool, line);
            done = 1 + kLineWork * static_cast<std::int64_t>(line.size());
            if (line.empty()) {
                pools_[pool_].clear();
                ++pool_;
            } else {
                forecast_ = std::make_unique<StartForecast>(state, pool, std::move(line));
            }
        } else {
            const std::int64_t before = forecast_->work_done();
            const bool is_done = forecast_->advance(state, amount);
            done = forecast_->work_done() - before;
            if (is_done) end_pool(pool);
        }
        amount -= done;
        work_done_ += done;
    }
}

void StartBoard::end_pool(PoolId pool) {
    OfPool& of = pools_[pool.value()];
    of.clear();
    for (const StartForecast::Answer& one : forecast_->answers()) {
        if (places_.size() <= one.job.value()) places_.resize(one.job.value() + 1);
        places_[one.job.value()] = static_cast<std::uint32_t>(of.size());
        of.push_back({one.job, one.arrival, one.start});
    }
    forecast_.reset();
    ++pool_;
}

// Reads the queues by their priority. Queues of one priority alternate by position, the older job
// first.
void StartBoard::read_line(const ClusterState& state, WaitingOrder& order, PoolId pool,
                           std::vector<JobId>& line) {
    std::map<std::int64_t, std::vector<std::vector<WaitingJob>>> by_priority;
    for (const QueueId queue : state.pool(pool).queues) {
        if (order.waiting_in(queue) == 0) continue;
        auto& side_by_side = by_priority[-std::int64_t{state.queue(queue).priority}];
        order.read(state, queue, revision_, kLineMax, side_by_side.emplace_back());
    }
    std::vector<std::pair<std::uint64_t, JobId>> turn;
    for (const auto& [priority, queues] : by_priority) {
        for (std::size_t place = 0; line.size() < kLineMax; ++place) {
            turn.clear();
            for (const std::vector<WaitingJob>& queue : queues) {
                if (place < queue.size()) turn.emplace_back(queue[place].arrival, queue[place].job);
            }
            if (turn.empty()) break;
            std::sort(turn.begin(), turn.end());
            for (const auto& [arrival, job] : turn) line.push_back(job);
        }
    }
}

std::optional<StartEstimate> StartBoard::of(const ClusterState& state, JobId job) const {
    const JobRow& row = state.job(job);
    if (!row.pool.exists() || row.pool.value() >= pools_.size()) return std::nullopt;
    const OfPool& of = pools_[row.pool.value()];
    if (job.value() >= places_.size() || places_[job.value()] >= of.size()) return std::nullopt;
    const Known& known = of[places_[job.value()]];
    if (known.job != job || known.arrival != row.arrival) return std::nullopt;
    StartEstimate start = known.start;
    const Instant now = state.now();
    for (Instant* one : {&start.earliest, &start.likely, &start.latest}) {
        if (one->happened()) *one = std::max(*one, now);
    }
    return start;
}

}  // namespace gpuctl
