#include "scheduler/state/run_times/run_time_history.hpp"

#include <algorithm>
#include <utility>

namespace gpuctl {
namespace {

// A job that was killed at its limit would have run longer, but for this question the limit is the
// end.
Duration within(Duration lasted, Duration limit) {
    return limit > Duration{} ? std::min(lasted, limit) : lasted;
}

}  // namespace

void RunTimeHistory::add_run(TenantId owner, FinishedRun run) {
    if (run.lasted <= Duration{}) return;
    if (owners_.size() <= owner.value()) owners_.resize(owner.value() + 1);
    if (owners_[owner.value()].runs.empty()) {
        if (owners_known_ == kOwnersMax) forget_longest_ago();
        ++owners_known_;
        owners_[owner.value()].runs.reserve(kRunsPerOwner);
    }
    Kept& kept = owners_[owner.value()];
    if (kept.runs.size() == kRunsPerOwner) kept.runs.erase(kept.runs.begin());
    kept.runs.push_back(run);
    kept.noted = ++noted_;
    touch(owner);
}

void RunTimeHistory::touch(TenantId owner) {
    if (revisions_.size() <= owner.value()) revisions_.resize(owner.value() + 1);
    ++revisions_[owner.value()];
}

void RunTimeHistory::forget_longest_ago() {
    Kept* oldest = nullptr;
    for (Kept& kept : owners_) {
        if (kept.runs.empty()) continue;
        if (oldest == nullptr || kept.noted < oldest->noted) oldest = &kept;
    }
    *oldest = Kept{};
    touch(TenantId{static_cast<std::uint32_t>(oldest - owners_.data())});
    --owners_known_;
}

void RunTimeHistory::restore(TenantId owner, Kept kept) {
    if (owners_.size() <= owner.value()) owners_.resize(owner.value() + 1);
    if (kept.runs.empty() || !owners_[owner.value()].runs.empty()) return;
    noted_ = std::max(noted_, kept.noted);
    owners_[owner.value()] = std::move(kept);
    ++owners_known_;
}

RunTimeBasis RunTimeHistory::alike(const RunTimeQuestion& about, std::size_t most,
                                   std::vector<Duration>& out) const {
    return choose(about, {kRunsPredictedBy, most, 1}, out);
}

RunTimeBasis RunTimeHistory::sample(const RunTimeQuestion& about, std::size_t enough,
                                    std::vector<Duration>& out) const {
    return choose(about, {kRunsPerOwner, kRunsPerOwner, enough}, out);
}

RunTimeBasis RunTimeHistory::choose(const RunTimeQuestion& about, Choice by,
                                    std::vector<Duration>& out) const {
    out.clear();
    if (about.owner.value() >= owners_.size()) return RunTimeBasis::nothing;
    const std::vector<FinishedRun>& runs = owners_[about.owner.value()].runs;
    const auto end = runs.size() > by.among ? runs.rbegin() + static_cast<std::ptrdiff_t>(by.among)
                                            : runs.rend();
    using enum RunTimeBasis;
    for (const RunTimeBasis basis : {same_job, same_size, owner_runs}) {
        out.clear();
        for (auto run = runs.rbegin(); run != end && out.size() < by.most; ++run) {
            if (is_alike(basis, about, run->gpus, run->limit))
                out.push_back(within(run->lasted, about.limit));
        }
        if (out.size() >= (basis == owner_runs ? 1 : by.enough)) return basis;
    }
    return nothing;
}

RunTimePrediction RunTimeHistory::predict(const RunTimeQuestion& about) const {
    RunTimePrediction out;
    std::vector<Duration> runs;
    out.basis = alike(about, kRunsPredictedBy, runs);
    out.runs = static_cast<std::int64_t>(runs.size());
    out.high = about.limit;
    std::sort(runs.begin(), runs.end());
    // After n runs, the next run is longer than the k-th smallest with probability 1 - k / (n + 1),
    // if runs come in no particular order.
    const auto n = runs.size();
    const std::size_t rank_low = (n + 1) / 10;
    const std::size_t rank_high = (9 * (n + 1) + 9) / 10;
    if (rank_low >= 1) out.low = runs[rank_low - 1];
    if (rank_high >= 1 && rank_high <= n) out.high = runs[rank_high - 1];
    if (n > 0) out.likely = runs[(n - 1) / 2];
    if (n == 0 && about.limit > Duration{}) {
        out.basis = RunTimeBasis::limit;
        out.likely = about.limit;
    }
    if (about.expected > Duration{}) {
        out.basis = RunTimeBasis::user;
        out.likely = within(about.expected, about.limit);
        out.low = std::min(out.low, out.likely);
        if (out.high > Duration{}) out.high = std::max(out.high, out.likely);
    }
    return out;
}

}  // namespace gpuctl
