#include "scheduler/plan/backfill/reservation.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/backfill/reservation_rules.hpp"

namespace gpuctl {
namespace {

// With maintenance windows: the largest number of times at which the whole gang is tried. Without
// windows the first time at which the gang seems to fit is nearly always correct.
constexpr int kStartTimesTriedMost = 32;

}  // namespace

// The number of ranks that fit, updated node by node: a call of the placer after every release
// would examine the whole pool each time.
class Fitting {
public:
    Fitting(const ClusterState& state, const Capacity& capacity, const NodeSet& eligible,
            PoolId pool, const Shape& shape, std::int64_t ranks)
        : capacity_(capacity), eligible_(eligible), shape_(shape), ranks_(ranks) {
        for (const std::uint32_t slot : state.nodes.capacity().nodes_of(pool).common(eligible)) {
            change(slot, on(slot));
            if (all()) break;  // more room on a node of the reservation changes nothing
        }
    }
    [[nodiscard]] bool all() const { return most_ >= ranks_; }
    [[nodiscard]] std::int64_t on(std::uint32_t slot) const {
        return eligible_.contains(slot) ? capacity_.fitting(slot, shape_.needs, ranks_) : 0;
    }
    void changed(std::uint32_t slot, std::int64_t before) { change(slot, on(slot) - before); }

private:
    // Updates the count of the domain that must hold all ranks, or of the pool if there is none.
    void change(std::uint32_t slot, std::int64_t more) {
        std::size_t domain = 0;
        if (shape_.topology.required != TopologyLevel::none) {
            const DomainId id = capacity_.domains().of(shape_.topology.required, slot);
            if (!id.exists()) return;
            domain = id.value();
        }
        if (totals_.size() <= domain) totals_.resize(domain + 1);
        totals_[domain] += more;
        most_ = std::max(most_, totals_[domain]);  // released capacity stays free
    }

    const Capacity& capacity_;
    const NodeSet& eligible_;
    const Shape& shape_;
    std::int64_t ranks_;
    std::vector<std::int64_t> totals_;
    std::int64_t most_ = 0;
};

bool Reservation::make(const Overlay& overlay, Placer& placer, JobId job,
                       const std::vector<PodId>& pods) {
    const ClusterState& state = overlay.state;
    clear();
    may_keep_ = has_waited_for_long(state, state.job(job));
    const bool may_end =
        !state.run_times.ends().empty() || !state.nominations.nominated_jobs().empty();
    if (!may_end && !state.maintenance.has_windows() && !may_keep_) return false;
    const PoolId pool = state.job(job).pool;
    const Answer* known = known_answer(state, placer, pool, pods);
    if (known == nullptr) {
        ++searches_;
        nodes_ = 0;
        const bool is_found = search(overlay, placer, pool, pods);
        answers_.push_back({shapes_, may_keep_, is_found, head_reservation_.at});
        known = &answers_.back();
    }
    placer.keep_outside(std::nullopt);
    head_reservation_ = known->is_found ? HeadReservation{job, known->at} : HeadReservation{};
    return exists();
}

// Looks for an answer that is valid for the pool in its present state. Placements that do not delay
// the reservation change the pool, too, so `left_` of a valid answer is as the search left it.
const Reservation::Answer* Reservation::known_answer(const ClusterState& state,
                                                     const Placer& placer, PoolId pool,
                                                     const std::vector<PodId>& pods) {
    const Basis basis{state.pool(pool).changes, state.nodes.eligibility_epoch(),
                      state.nodes.eligibility_log().size()};
    if (basis != basis_ && !has_fault(SeededFault::keep_old_searches)) {
        basis_ = basis;
        answers_.clear();
    }
    shapes_.clear();
    shapes_.push_back(pods.size());
    for (const PodId pod : pods) shapes_.push_back(state.shape_of(pod).serial);
    if (state.maintenance
            .has_windows()) {  // the time until the next window is part of the question
        stay_ = state.maintenance.stay_of(state.job(state.pod(pods.front()).job), pods);
        for (const std::int64_t part : {stay_.time.ms(), stay_.grace.ms()}) {
            shapes_.push_back(static_cast<std::uint64_t>(part));
        }
        shapes_.push_back(static_cast<std::uint64_t>(stay_.least));
        shapes_.push_back(stay_.own);
    }
    if (state.shape_of(pods.front()).topology.any()) {
        // The nodes of the job's other pods are part of the question.
        std::vector<NodeId> anchors;
        state.gangs.read_anchors(state.job(state.pod(pods.front()).job), anchors);
        shapes_.push_back(anchors.size());
        for (const NodeId anchor : anchors) shapes_.push_back(anchor.value());
    }
    // avoided models if the job may use another model
    for (const std::string_view model : placer.avoided()) {
        shapes_.push_back(model.size());
        shapes_.insert(shapes_.end(), model.begin(), model.end());
    }
    const auto found = std::find_if(answers_.begin(), answers_.end(), [this](const Answer& one) {
        return one.may_keep == may_keep_ && one.shapes == shapes_;
    });
    // An answer whose time has passed is computed from now, and a window may have come too near
    // since then.
    const bool is_stale = found != answers_.end() && state.maintenance.has_windows() &&
                          found->is_found && found->at <= state.now();
    if (found != answers_.end() && !is_stale) return &*found;
    // A new answer replaces `left_`: the old one would be used without it.
    std::erase_if(answers_, [](const Answer& one) { return one.is_found; });
    return nullptr;
}

bool Reservation::search(const Overlay& overlay, Placer& placer, PoolId pool,
                         const std::vector<PodId>& pods) {
    const ClusterState& state = overlay.state;
    Transaction attempt{overlay.capacity, log_};
    if (!release_until_it_fits(overlay, placer, pool, pods, attempt)) return false;
    for (const Placement& placement : round_) {
        const Shape& shape = state.shape_of(placement.pod);
        attempt.occupy(placement.node.value(), shape.needs, 1, placement.device);
    }
    note_left(state, overlay.capacity.read());
    return true;  // the attempt is rolled back here completely
}

bool Reservation::place_at(const Overlay& overlay, Placer& placer, PoolId pool,
                           const std::vector<PodId>& pods, Instant at) {
    const ClusterState& state = overlay.state;
    if (state.maintenance.has_windows())
        placer.keep_outside(state.maintenance.barred(stay_, std::max(at, state.now())));
    return placer.place_all(state, overlay.capacity, pool, pods, round_);
}

// Goes from one end of running work or of a window to the next, until there is room for all of
// `pods`.
bool Reservation::release_until_it_fits(const Overlay& overlay, Placer& placer, PoolId pool,
                                        const std::vector<PodId>& pods, Transaction& attempt) {
    const ClusterState& state = overlay.state;
    const Capacity& capacity = overlay.capacity.read();
    const ShapeId first = state.pod(pods.front()).shape;
    const bool uniform = std::all_of(pods.begin(), pods.end(),
                                     [&](PodId pod) { return state.pod(pod).shape == first; });
    const Shape& shape = state.shape_of(first);
    int tries_left = kStartTimesTriedMost;
    openings_.clear();
    if (state.maintenance.has_windows()) {
        placer.keep_outside(WindowSet{0});  // windows that are closed now will end
        for (const MaintenanceWindow& window : state.policy().windows) {
            const Instant end = next_occurrence(window, state.now()).end;
            if (end.happened()) openings_.push_back(end);
        }
        std::sort(openings_.begin(), openings_.end());
    }
    const NodeSet eligible = placer.eligible(state, shape);  // a copy, because queries follow
    Fitting fitting{state, capacity, eligible,
                    pool,  shape,    uniform ? static_cast<std::int64_t>(pods.size()) : 1};
    Ends ends{state};
    auto opening = openings_.begin();
    while (ends.has_more() || opening != openings_.end()) {
        const bool is_opening =
            !ends.has_more() || (opening != openings_.end() && *opening <= ends.at());
        const Instant at = is_opening ? *opening : ends.at();
        bool is_news = is_opening;
        for (; opening != openings_.end() && *opening == at; ++opening) {
        }
        while (ends.has_more() && ends.at() == at) {  // all pods that end at this time
            const PodRow& pod = state.pod(ends.pop());
            const std::uint32_t slot = pod.node.value();
            if (state.node(pod.node).pool != pool || pod.is_stuck(state.now())) continue;
            const std::int64_t before = fitting.on(slot);
            attempt.occupy(slot, state.shape_of(pod).needs, -1, pod.gpu_device);
            fitting.changed(slot, before);
            is_news = true;
        }
        if (!is_news || !fitting.all()) continue;
        if (state.maintenance.has_windows() && tries_left-- == 0) return false;
        if (!place_at(overlay, placer, pool, pods, at)) continue;
        head_reservation_.at = at;
        return true;
    }
    return may_keep_ && release_the_oldest(overlay, placer, pool, pods, attempt, fitting);
}

bool Reservation::release_the_oldest(const Overlay& overlay, Placer& placer, PoolId pool,
                                     const std::vector<PodId>& pods, Transaction& attempt,
                                     Fitting& fitting) {
    const ClusterState& state = overlay.state;
    endless_.clear();
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(pool)) {
        for (const PodId id : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(id);
            if (ends_some_day(pod)) endless_.emplace_back(began_at(pod), id);  // released above
        }
    }
    std::sort(endless_.begin(), endless_.end());
    for (std::size_t i = 0; i < endless_.size();) {
        for (const Instant began = endless_[i].first;
             i < endless_.size() && endless_[i].first == began; ++i) {
            const PodRow& pod = state.pod(endless_[i].second);
            const std::uint32_t slot = pod.node.value();
            const std::int64_t before = fitting.on(slot);
            attempt.occupy(slot, state.shape_of(pod).needs, -1, pod.gpu_device);
            fitting.changed(slot, before);
        }
        if (!fitting.all() || !place_at(overlay, placer, pool, pods, state.now())) continue;
        head_reservation_.at = Instant{};
        return true;
    }
    return false;
}

void Reservation::note_left(const ClusterState& state, const Capacity& capacity) {
    for (const Placement& placement : round_) {
        const std::uint32_t slot = placement.node.value();
        std::size_t at = 0;
        while (at < nodes_ && left_[at].slot != slot) ++at;
        if (at == left_.size()) left_.emplace_back();
        Left& left = left_[at];
        if (at == nodes_) {
            ++nodes_;
            left.slot = slot;
            left.amounts.clear();
        }
        for (const Need& need : state.shape_of(placement.pod).needs) {
            // An amount does not show which device reserves how much: see reserved_amounts().
            const bool is_part = capacity.kind(need.column) == ColumnKind::gpu_part;
            const Column column = is_part ? capacity.whole_column(need.column) : need.column;
            const bool is_known =
                std::any_of(left.amounts.begin(), left.amounts.end(),
                            [&](const Need& known) { return known.column == column; });
            if (is_known) continue;
            left.amounts.push_back({column, capacity.usable(column, slot)});
        }
    }
}

std::vector<std::string_view> Reservation::models(const ClusterState& state) const {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < nodes_; ++i) {
        const std::string& model = state.node(NodeId{left_[i].slot}).facts.gpu_model;
        if (!is_model_among(out, model)) out.push_back(model);
    }
    return out;
}

bool Reservation::is_on(NodeId node) const {
    const auto end = left_.begin() + static_cast<std::ptrdiff_t>(nodes_);
    return std::any_of(left_.begin(), end,
                       [node](const Left& left) { return left.slot == node.value(); });
}

bool Reservation::is_over_by_then(Instant now, Duration limit) const {
    return is_over_by(head_reservation_.at, now, limit);
}

void Reservation::note_placed(const ClusterState& state, const std::vector<Placement>& round,
                              bool is_over) {
    if (is_over) return;
    for (const Placement& placement : round) {
        for (std::size_t i = 0; i < nodes_; ++i) {
            if (left_[i].slot != placement.node.value()) continue;
            for (const Need& need : state.shape_of(placement.pod).needs) {
                for (Need& amount : left_[i].amounts) {
                    if (amount.column == need.column) amount.amount -= need.amount;
                }
            }
        }
    }
}

std::span<const Withholding::OnNode> Reservation::reserved_amounts(const Capacity& capacity) {
    if (withheld_.size() < nodes_) withheld_.resize(nodes_);
    for (std::size_t i = 0; i < nodes_; ++i) {
        const Left& left = left_[i];
        Withholding::OnNode& withheld = withheld_[i];
        withheld.slot = left.slot;
        withheld.amounts.clear();
        // A fraction on an open device may prevent the device from being idle, or from having room,
        // at the reserved time. So a node whose GPUs the reservation counts accepts no fraction.
        withheld.closes_to_parts = false;
        for (const Need& amount : left.amounts) {
            if (capacity.kind(amount.column) == ColumnKind::gpu) withheld.closes_to_parts = true;
            const std::int64_t more = capacity.usable(amount.column, left.slot) -
                                      std::max<std::int64_t>(amount.amount, 0);
            if (more > 0) withheld.amounts.push_back({amount.column, more});
        }
    }
    return {withheld_.data(), nodes_};
}

}  // namespace gpuctl
