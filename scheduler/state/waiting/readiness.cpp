// What of a job could be placed now, or what about the job itself is in the way. Room, quotas
// and turns come later; this looks at the job alone.

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>
#include "scheduler/base/check.hpp"
#include "scheduler/state/run_times/lateness.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

std::optional<GangSize> Gangs::gang_of(const JobRow& job) const {
    bool is_gang = false;
    GangSize size;
    for (const PodId id : job.pods) {
        const PodFacts& facts = state_.pods.rows()[id.value()].facts;
        if (!facts.gang) continue;
        is_gang = true;
        size.ranks = std::max(size.ranks, facts.gang_min);
        for (const RoleMinimum& minimum : facts.gang_roles) size.add(minimum);
    }
    if (!is_gang) return std::nullopt;
    const auto observed = gang_sizes_.find(job.key);  // the object wins over the pods
    const auto note = state_.nodes.outside().gang_notes.find(job.key);
    const bool is_derived =
        note != state_.nodes.outside().gang_notes.end() && note->second.is_derived;
    const bool pods_say = size.ranks > 0 || !size.roles.empty();
    if (observed != gang_sizes_.end() && !(is_derived && pods_say)) {
        size.ranks = observed->second.ranks;
        if (!observed->second.roles.empty()) size.roles = observed->second.roles;
    }
    if (has_fault(SeededFault::ignore_roles)) size.roles.clear();
    size.raise_to_roles();
    return size;
}

namespace {

// Beyond the last rank that an elastic job has.
void set_further_ranks_aside(const ClusterState& state, std::int32_t rank_last, Readiness& out) {
    const auto first = std::find_if(out.pods.begin(), out.pods.end(),
                                    [&](PodId id) { return state.pod(id).facts.rank > rank_last; });
    out.further.assign(first, out.pods.end());
    out.pods.erase(first, out.pods.end());
}

// What makes the gang whole soonest: the first of each role that lacks ranks, then all others.
void put_missing_roles_first(const ClusterState& state, GangTally held, std::vector<PodId>& pods) {
    if (has_fault(SeededFault::any_rank_will_do)) return;
    std::vector<PodId> first;
    std::vector<PodId> others;
    for (const PodId id : pods) {
        const std::string& role = state.pod(id).facts.role;
        (held.missing_of(role) > 0 ? first : others).push_back(id);
        held.add(role);
    }
    first.insert(first.end(), others.begin(), others.end());
    pods = std::move(first);
}

}  // namespace

void WaitingJobs::read_readiness(JobId id, Readiness& out) const {
    const JobRow& job = state_.jobs.rows()[id.value()];
    out.pods.clear();
    out.further.clear();
    out.subject.clear();
    out.waits = out.all_or_nothing = out.resume = false;
    out.hold = Reason::none;
    out.ranks_needed = out.ranks_min = out.ranks_held = out.ranks_ready = out.ranks_gated = 0;
    out.roles_short.clear();
    bool is_being_deleted = job.workload.state == WorkloadState::deleting;
    bool in_flight = false;
    const PodRow* first = nullptr;
    const PodRow* astray = nullptr;  // a rank that names another pool or queue than the first
    const PodRow* barred = nullptr;
    std::string unsupported;      // what a rank asks for that is not built
    std::int32_t rank_last = -1;  // of those that hold
    bool is_ending = false;       // a rank succeeded
    // Of an elastic job: ranks after a missing rank wait for it, otherwise the job would end
    // up with a gap that no size has.
    std::int32_t rank_next = 0;
    const bool in_order = state_.elastic.is_elastic(job);
    const std::optional<GangSize> gang = state_.gangs.gang_of(job);
    const GangSize size = gang.value_or(GangSize{});
    GangTally held{size};
    held.add(job.gang.finished);
    if (!job.gang.finished.empty()) {
        is_ending = true;
        rank_last = job.gang.finished.last();
    }
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        rank_next = job.gang.finished.first_open(rank_next);
        if (pod.bind.delete_in_flight) is_being_deleted = true;  // a gang being rolled back
        const bool ended_well =
            pod.bind.state == BindState::done && pod.facts.phase == PodPhase::succeeded;
        is_ending = is_ending || ended_well;
        const bool holds =
            pod.bind.state == BindState::bound || pod.bind.state == BindState::assumed;
        const bool leaves =
            pod.facts.terminating && !has_fault(SeededFault::count_terminating_ranks);
        const bool evicted = pod.is_terminating() && !pod.facts.terminating;
        if (ended_well || (holds && !leaves && !evicted && !pod.bind.delete_in_flight)) {
            held.add(pod.facts.role);
            rank_last = std::max(rank_last, pod.facts.rank);
            rank_next = std::max(rank_next, pod.facts.rank + 1);
        }
        if (pod.bind.state == BindState::nominated) out.waits = true;
        in_flight = in_flight || pod.bind.state == BindState::assumed;
        if (pod.bind.state != BindState::waiting || pod.facts.terminating) continue;
        if (pod.is_surplus) continue;  // it goes before it came
        out.waits = true;
        if (first == nullptr) first = &pod;
        const bool elsewhere =
            pool_wanted_by(state_, pod.facts) != pool_wanted_by(state_, first->facts) ||
            pod.facts.queue != first->facts.queue;
        if (elsewhere) astray = &pod;
        if (pod.facts.gated) {
            ++out.ranks_gated;
        } else if (pod.bind.bar != PodBar::none) {
            barred = &pod;
        } else if (!pod.facts.unsupported.empty()) {
            unsupported = pod.facts.unsupported.front();
        } else if (std::string lacks = device_class_needed(state_, job, pod.facts);
                   !lacks.empty()) {
            unsupported = std::move(lacks);
        } else if (!in_order || pod.facts.rank <= rank_next) {
            out.pods.push_back(pod_id);
            rank_next = std::max(rank_next, pod.facts.rank + 1);
        }
    }
    out.ranks_held = held.ranks();
    out.ranks_ready = static_cast<std::int64_t>(out.pods.size());
    if (!out.waits) return out.pods.clear();
    if (job.workload.state == WorkloadState::deleting) {
        out.waits = false;
        return out.pods.clear();
    }
    const auto hold = [&](Reason reason, std::string_view subject) {
        out.hold = reason;
        out.subject = subject;
        out.pods.clear();
        out.further.clear();
    };
    out.ranks_min = size.ranks;
    if (job.nomination.exists()) return hold(Reason::room_nominated, job.key.name);
    if (!job.pool.exists()) return hold(Reason::pool_unknown, job.pool_wanted);
    if (!job.queue.exists()) return hold(Reason::queue_unknown, state_.jobs.queue_name_of(job));
    if (!state_.tree.queue_rows()[job.queue.value()].children.empty()) {
        return hold(Reason::queue_holds_queues, state_.jobs.queue_name_of(job));
    }
    if (gang) {
        if (size.ranks <= 0) return hold(Reason::gang_size_unknown, job.key.name);
        if (!unsupported.empty()) return hold(Reason::unsupported_feature, unsupported);
        if (astray) {
            const auto place = [this](const PodFacts& facts) {
                return std::string{pool_wanted_by(state_, facts)} + "/" +
                       (facts.queue.empty() ? kDefaultQueue : facts.queue);
            };
            return hold(Reason::unsupported_feature,
                        "ranks of one gang in different pools or queues (" + place(first->facts) +
                            ", " + place(astray->facts) + ")");
        }
        GangTally there = held;
        for (const PodId pod : out.pods) there.add(state_.pods.rows()[pod.value()].facts.role);
        if (!held.is_whole() && !there.is_whole()) {
            there.read_short(out.roles_short);
            if (barred) return hold(Reason::bind_backoff, barred->facts.key.name);
            return hold(out.ranks_gated > 0 ? Reason::gated : Reason::gang_incomplete,
                        job.key.name);
        }
    }
    const bool backs_off = job.binding.phase(state_.session.event_time()) == BindPhase::backing_off;
    const bool may_be_tried = !is_being_deleted && !backs_off;
    // Once a rank has succeeded, all that it was to have must: then none is left out any more but
    // those that never began.
    const std::int32_t deferred_from = job.elastic.deferred_from;
    if (is_ending) rank_last = std::max(rank_last, deferred_from - 1);
    if (gang && state_.elastic.is_elastic(job) && held.is_whole() &&
        (!is_ending || deferred_from > 0)) {
        set_further_ranks_aside(state_, rank_last, out);
        if (out.pods.empty() && !out.further.empty()) {
            if (!may_be_tried) out.further.clear();
            out.hold = Reason::turn;
            return;
        }
        out.further.clear();  // what is missing before them comes first
    }
    if (out.pods.empty()) {
        if (out.ranks_gated > 0) return hold(Reason::gated, job.key.name);
        if (!unsupported.empty()) return hold(Reason::unsupported_feature, unsupported);
        if (!barred) return hold(Reason::turn, job.key.name);  // a rank before them is to come
        return hold(Reason::bind_backoff, barred->facts.key.name);
    }
    if (is_being_deleted) return hold(Reason::bind_backoff, job.key.name);
    if (backs_off && !has_fault(SeededFault::ignore_backoff)) {
        return hold(Reason::bind_backoff, job.key.name);
    }
    if (gang && !held.is_whole()) {
        held.read_short(out.roles_short);
        if (!out.roles_short.empty()) put_missing_roles_first(state_, held, out.pods);
        out.all_or_nothing = true;
        out.ranks_needed = held.missing();
        if (has_fault(SeededFault::one_rank_fewer) && out.ranks_needed > 1) --out.ranks_needed;
        out.resume = out.ranks_held > 0 && !has_fault(SeededFault::resume_like_others);
    } else if (gang && in_flight && !has_started(job.gang.phase())) {
        return hold(Reason::turn, job.key.name);  // its ranks are being bound: extras come later
    }
    // Part of a round in flight and the gang not complete: the round settles first.
    if (out.all_or_nothing && in_flight) return hold(Reason::turn, job.key.name);
}

namespace {

// Jobs whose run times differ by less than a factor of the square root of two are alike to the
// planner: two steps for each doubling, so that no queue has more than some eighty of them.
std::uint32_t run_time_step(Duration span) {
    if (span <= Duration{}) return 0;
    const auto ms = static_cast<std::uint64_t>(span.ms());
    const auto width = static_cast<unsigned>(std::bit_width(ms));
    const bool upper_half = width > 1 && ((ms >> (width - 2)) & 1U) != 0;
    return 2 * width + (upper_half ? 1 : 0);
}

void add_long(std::int64_t value, Ask& ask) {
    ask.push_back(static_cast<std::uint32_t>(value));
    ask.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32U));
}

}  // namespace

Duration WaitingJobs::rounded_up(Duration time) {
    const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(time.ms(), 1));
    const int width = static_cast<int>(std::bit_width(ms));
    const std::uint64_t step = width > 4 ? std::uint64_t{1} << (width - 4) : 1;
    return Duration{static_cast<std::int64_t>((ms + step - 1) / step * step)};
}

// What makes two waiting jobs the same to the planner: mode, run times where they matter, ranks
// needed, shapes with counts, what they hold already.
Ask WaitingJobs::ask_of(const JobRow& job, const Readiness& ready) const {
    boost::container::small_vector<std::uint32_t, 16> shapes;
    for (const PodId pod : ready.pods)
        shapes.push_back(state_.pods.rows()[pod.value()].shape.value());
    std::sort(shapes.begin(), shapes.end());
    Ask ask;
    std::uint32_t mode = (ready.all_or_nothing ? 1U : 0U) | (ready.resume ? 2U : 0U);
    if (state_.run_times.heeds_run_times(state_.tree.queue_rows()[job.queue.value()])) {
        mode |= run_time_step(job.run.time_max) << 8U;
        mode |= run_time_step(job.run.time_expected) << 16U;
    }
    // A job that holds resources already counts for limits on jobs, and is nearer to the largest
    // number of GPUs of one job.
    if (job.holding.pods > 0) mode |= 4U;
    if (state_.nominations.is_being_moved(job)) mode |= 16U;
    if (job.run.nears_wait_target) mode |= 64U;
    const PoolRow& pool = state_.tree.pool_rows()[job.pool.value()];
    const bool reserves = pool.reserve_percent > 0 || pool.reserve_gpus > GpuMilli{};
    if (reserves && limits::would_grow(state_, job, job.holding.pods)) mode |= 32U;
    if (!ready.pods.empty() && !state_.pods.rows()[ready.pods.front().value()].facts.preempts)
        mode |= 8U;
    ask.push_back(mode);
    ask.push_back(static_cast<std::uint32_t>(ready.ranks_needed));
    for (std::size_t i = 0; i < shapes.size();) {
        std::size_t end = i;
        while (end < shapes.size() && shapes[end] == shapes[i]) ++end;
        ask.push_back(shapes[i]);
        // One by one it does not matter how many there are.
        if (ready.all_or_nothing) ask.push_back(static_cast<std::uint32_t>(end - i));
        i = end;
    }
    // Of unlike ranks it matters which of them are enough.
    if (ready.all_or_nothing && shapes.front() != shapes.back()) {
        const auto begin = static_cast<std::ptrdiff_t>(ask.size());
        for (std::int64_t i = 0; i < std::min(ready.ranks_needed, ready.ranks_ready); ++i) {
            const PodId pod = ready.pods[static_cast<std::size_t>(i)];
            ask.push_back(state_.pods.rows()[pod.value()].shape.value());
        }
        std::sort(ask.begin() + begin, ask.end());
    }
    if (job.holding.pods > 0) ask.push_back(static_cast<std::uint32_t>(job.holding.gpus.value()));
    add_anchors(job, ready, ask);
    if (!state_.accounts.budgets().empty())
        add_long(job.run.time_max.ms(), ask);  // it needs as much of them
    // A gang with ranks on a GPU model already is in a class of its own.
    const bool is_on_a_model =
        !ready.pods.empty() && !state_.gangs.models_of_gang(ready.pods.front()).empty();
    if (is_on_a_model) add_long(static_cast<std::int64_t>(job.arrival), ask);
    if (state_.maintenance.has_windows()) {  // alike is what needs as much time before one
        const Stay stay = state_.maintenance.stay_of(job, ready.pods);
        add_long(job.run.time_max.ms(), ask);
        add_long(job.run.time_expected.ms(), ask);
        add_long(stay.grace.ms(), ask);
        ask.push_back(static_cast<std::uint32_t>(stay.least));
        ask.push_back(job.record ? static_cast<std::uint32_t>(job.record->spec.kind) + 1 : 0);
    }
    if (state_.run_times.stops_long_for_short(
            state_.tree.queue_rows()[job.queue.value()])) {  // alike is what has as much left
        const RunTimeQuestion about = state_.run_times.question_about(job);
        const Duration done = state_.run_times.progress_of(job);
        ask.push_back(static_cast<std::uint32_t>(about.gpus.value()));
        ask.push_back(static_cast<std::uint32_t>(job.run.lateness.doublings));
        const PreemptionPolicy& policy = state_.tree.pool_rows()[job.pool.value()].preemption;
        if (is_paced(job) && job.holding.pods > 0) {  // it has less left all the time
            add_long(static_cast<std::int64_t>(job.arrival), ask);
        } else if (policy.mode == PreemptionMode::due && about.expected > Duration{}) {
            add_long(rounded_up(about.expected).ms(), ask);
        } else if (about.expected > done) {
            add_long(rounded_up(about.expected - done).ms(), ask);
        } else {
            add_long((done - about.expected).ms(), ask);
            add_long(about.limit.ms(), ask);
        }
    }
    return ask;
}

// The nodes of its other pods are part of the question for pods that are to be together or apart.
void WaitingJobs::add_anchors(const JobRow& job, const Readiness& ready, Ask& ask) const {
    if (job.holding.pods == 0 || ready.pods.empty()) return;
    const TopologyRules& rules =
        state_.pods.shapes().at(state_.pods.rows()[ready.pods.front().value()].shape).topology;
    if (!rules.any()) return;
    std::vector<NodeId> anchors;
    state_.gangs.read_anchors(job, anchors);
    for (const TopologyLevel level : {rules.required, rules.preferred, rules.spread}) {
        if (level == TopologyLevel::none) continue;
        const auto begin = static_cast<std::ptrdiff_t>(ask.size());
        for (const NodeId anchor : anchors) {
            ask.push_back(state_.nodes.capacity().domains().of(level, anchor.value()).value());
        }
        std::sort(ask.begin() + begin, ask.end());
        ask.erase(std::unique(ask.begin() + begin, ask.end()), ask.end());
        ask.push_back(0);  // a list ends
    }
}

void WaitingJobs::leave_queue(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    WaitingRow& waiting = state_.jobs.rows().waiting(id, {});
    if (!waiting.in_class.exists()) return;
    state_.jobs.note_change(id);
    const QueueId queue = book_.at(waiting.in_class).key.queue;  // the job's may be another by now
    book_.remove(waiting.in_class, {job.submitted_at, job.arrival, id});
    waiting.in_class = ClassId::none();
    state_.tree.queue_rows().waiting(queue, {}) -= std::exchange(waiting.gpus, GpuMilli{});
    // Its queue may want no more than its guarantee now.
    const PoolId pool = state_.tree.queue_rows()[queue.value()].pool;
    const bool always =
        state_.tree.pool_rows()[pool.value()].preemption.guarantees == GuaranteeRule::always;
    if (!always && !has_fault(SeededFault::forget_new_demand)) state_.session.note_news();
}

void WaitingJobs::enter_queue(JobId id, const Readiness& ready) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    WaitingRow& waiting = state_.jobs.rows().waiting(id, {});
    state_.jobs.note_change(id);
    waiting.in_class = book_.add({job.queue, job.priority, job.tenant, ask_of(job, ready)},
                                 {job.submitted_at, job.arrival, id});
    for (const PodId pod : ready.pods) {
        waiting.gpus += state_.pods.shapes().at(state_.pods.rows()[pod.value()].shape).gpus;
    }
    state_.tree.queue_rows().waiting(job.queue, {}) += waiting.gpus;
    state_.session.note_news();
}

void WaitingJobs::refresh(JobId id, Readiness& ready, EffectList& effects) {
    state_.jobs.note_change(id);
    leave_queue(id);
    state_.bindings.lift_refusals(id);
    state_.bindings.settle_round(id, effects);
    state_.elastic.settle_size(id, effects);
    state_.run_times.note_wait(id);
    read_readiness(id, ready);
    if (ready.can_be_tried()) enter_queue(id, ready);
    state_.gangs.note_stranded(id, ready);
    state_.session.set_timer(id);
}

}  // namespace gpuctl
