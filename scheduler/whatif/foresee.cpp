#include "scheduler/whatif/foresee.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "scheduler/plan/backfill/first_under_limits.hpp"
#include "scheduler/plan/estimate/run_pace.hpp"
#include "scheduler/plan/explain/explain.hpp"
#include "scheduler/whatif/trial.hpp"

namespace gpuctl::whatif {
namespace {

// The search ends after this number of times at which something ends or is due. Each of them plans
// the whole pool.
constexpr int kTimesMax = 300;
// Ends within this fraction of the elapsed time are merged into the last of them. So near times are
// exact, and there are few far times.
constexpr std::int64_t kPartOfTime = 64;

enum class Fate : std::uint8_t { starts, never_known, too_far };
struct Foreseen {
    Fate fate = Fate::never_known;
    Instant at;
};

class SimulatedRun {
public:
    SimulatedRun(Trial trial, ObjectKey job, Pace pace)
        : trial_(std::move(trial)), job_(std::move(job)), pace_(pace), waited_(waiting()) {}

    // True if no room is reserved for the job: jobs with smaller requests may pass it again and
    // again.
    [[nodiscard]] bool may_be_passed() const {
        const ClusterState& state = trial_.state();
        const JobId id = state.jobs.find_job(job_);
        if (!id.exists()) return false;
        const JobRow& row = state.job(id);
        const bool is_kept = row.pool.exists() && (state.pool(row.pool).is_reserved_for(id) ||
                                                   is_first_under_its_limits(state, id));
        return !is_kept && row.waiting.gpus > whole_gpus(1);
    }

    Foreseen start(const GoOn& go_on) {
        if (waited_ == 0) return {};
        trial_.happen(WokeUp{});  // first: pods that have run longer than predicted get a later end
        for (const auto& [key, id] : trial_.state().jobs.jobs_by_key()) {
            for (const PodId pod : trial_.state().job(id).pods) note_end(pod);
        }
        for (int times = 0; times < kTimesMax; ++times) {
            if (go_on && !go_on()) break;
            settle();
            if (waiting() < waited_) return {Fate::starts, trial_.now()};
            const Instant next = next_time();
            if (!next.happened()) return {};
            trial_.advance(next);
            end_what_is_due();
            trial_.happen(WokeUp{});
        }
        return {Fate::too_far, {}};
    }

private:
    // The number of waiting pods; the ranks of a gang get their nodes together.
    [[nodiscard]] std::int64_t waiting() const {
        const ClusterState& state = trial_.state();
        const JobId id = state.jobs.find_job(job_);
        if (!id.exists()) return 0;
        const std::vector<PodId>& pods = state.job(id).pods;
        return std::count_if(pods.begin(), pods.end(), [&](PodId pod) {
            return state.pod(pod).bind.state == BindState::waiting;
        });
    }

    [[nodiscard]] Instant next_time() {
        const Instant wake = trial_.next_wake();
        if (ends_.empty()) return wake;
        const Instant first = ends_.begin()->first;
        const Duration together{std::max(first - begin_, Duration{}).ms() / kPartOfTime};
        const Instant end = std::prev(ends_.upper_bound(first + together))->first;
        const Instant next = std::max(end, trial_.now());
        return wake.happened() ? std::min(wake, next) : next;
    }

    void note_end(PodId id) {
        const ClusterState& state = trial_.state();
        const PodRow& pod = state.pod(id);
        if (!pod.node.exists() || pod.bind.state == BindState::nominated) return;
        Instant end = end_of(state, pod, pace_);
        if (pod.facts.terminating) {
            const Instant gone = state.now() + pod.facts.stop_grace;
            end = end.happened() ? std::min(end, gone) : gone;
        }
        if (end.happened()) ends_.emplace(end, pod.facts.uid);
    }

    void end_what_is_due() {
        while (!ends_.empty() && ends_.begin()->first <= trial_.now()) {
            const PodId id = trial_.state().pods.find_pod(ends_.begin()->second);
            ends_.erase(ends_.begin());
            if (!id.exists()) continue;
            PodFacts facts = trial_.state().pod(id).facts;
            if (facts.terminating) {
                trial_.happen(PodRemoved{facts.uid});
                continue;
            }
            facts.phase = PodPhase::succeeded;
            facts.finished_at = trial_.now();
            trial_.happen(PodObserved{std::move(facts)});
        }
    }

    // Plans until nothing more starts. Pods run as soon as they have a node.
    void settle() {
        trial_.settle();
        for (auto bound = trial_.take_bound(); !bound.empty(); bound = trial_.take_bound()) {
            for (const std::string& uid : bound) {
                const PodId id = trial_.state().pods.find_pod(uid);
                if (!id.exists() || !trial_.state().pod(id).node.exists()) continue;
                PodFacts facts = trial_.state().pod(id).facts;
                facts.node = trial_.state().node(trial_.state().pod(id).node).facts.name;
                facts.phase = PodPhase::running;
                facts.started_at = trial_.now();
                trial_.happen(PodObserved{std::move(facts)});
                if (const PodId runs = trial_.state().pods.find_pod(uid); runs.exists())
                    note_end(runs);
            }
            trial_.settle();
        }
    }

    Trial trial_;
    ObjectKey job_;
    Pace pace_;
    std::int64_t waited_;
    Instant begin_ = trial_.now();
    std::multimap<Instant, std::string> ends_;  // ends of pods, by uid
};

}  // namespace

std::optional<StartEstimate> foresee_start(std::string_view exported, const ObjectKey& job,
                                           Instant now, const std::optional<StartEstimate>& listed,
                                           const GoOn& go_on) {
    StartEstimate out = listed.value_or(StartEstimate{});
    const auto simulate = [&](Pace pace, Instant& at) {
        if (go_on && !go_on()) return;
        Result<Trial> trial = Trial::of(exported, now);
        if (!trial) return;
        SimulatedRun run{std::move(*trial), job, pace};
        // The estimate of the list knows neither jobs that are not submitted yet nor quota
        // reservations.
        if (!listed || out.may_be_passed) out.may_be_passed = run.may_be_passed();
        const Foreseen seen = run.start(go_on);
        if (seen.fate != Fate::too_far) at = seen.at;
    };
    simulate(Pace::median, out.likely);
    simulate(Pace::late, out.latest);
    if (out.likely.happened() && out.latest.happened())
        out.latest = std::max(out.latest, out.likely);
    const Instant first = out.likely.happened() ? out.likely : out.latest;
    if (first.happened() && out.earliest.happened()) out.earliest = std::min(out.earliest, first);
    const bool is_known = out.earliest.happened() || out.likely.happened() || out.latest.happened();
    return is_known ? std::optional{out} : std::nullopt;
}

void keep_to(const std::optional<StartEstimate>& listed, Explanation& blocker) {
    if (!listed || !listed->latest.happened()) return;
    for (Fact& fact : blocker.facts) {
        if (auto* reservation = std::get_if<fact::HasReservation>(&fact)) {
            reservation->starts_in.reset();
        }
    }
}

}  // namespace gpuctl::whatif
