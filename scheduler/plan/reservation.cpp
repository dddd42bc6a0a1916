#include "scheduler/plan/reservation.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/promise_rules.hpp"

namespace gpuctl {
namespace {

// Moments at which the whole gang is tried where there are maintenance windows: without them the
// first at which it seems to fit is nearly always the one.
constexpr int kMomentsTriedMost = 32;

}  // namespace

// How many of the ranks would fit, kept up to date node by node: asking the placer after every
// release would look at the whole pool each time.
class Fitting {
public:
    Fitting(const ClusterState& state, const Capacity& capacity, const NodeSet& eligible,
            PoolId pool, const Shape& shape, std::int64_t ranks)
        : capacity_(capacity), eligible_(eligible), shape_(shape), ranks_(ranks) {
        const NodeSet& nodes = state.capacity().nodes_of(pool);
        for (std::uint32_t slot = nodes.next_common(eligible, 0); slot != NodeSet::kEnd;
             slot = nodes.next_common(eligible, slot + 1)) {
            change(slot, on(slot));
            if (all()) break;  // on a node it holds already, more changes nothing
        }
    }
    [[nodiscard]] bool all() const { return most_ >= ranks_; }
    [[nodiscard]] std::int64_t on(std::uint32_t slot) const {
        return eligible_.contains(slot) ? capacity_.fitting(slot, shape_.needs, ranks_) : 0;
    }
    void changed(std::uint32_t slot, std::int64_t before) { change(slot, on(slot) - before); }

private:
    // Of the domain that all of them must be in, else of the pool.
    void change(std::uint32_t slot, std::int64_t more) {
        std::size_t domain = 0;
        if (shape_.topology.required != TopologyLevel::none) {
            const DomainId id = capacity_.domains().of(shape_.topology.required, slot);
            if (!id.exists()) return;
            domain = id.value();
        }
        if (totals_.size() <= domain) totals_.resize(domain + 1);
        totals_[domain] += more;
        most_ = std::max(most_, totals_[domain]);  // what is released does not go again
    }

    const Capacity& capacity_;
    const NodeSet& eligible_;
    const Shape& shape_;
    std::int64_t ranks_;
    std::vector<std::int64_t> totals_;
    std::int64_t most_ = 0;
};

bool Reservation::make(ClusterState& state, Placer& placer, JobId job,
                       const std::vector<PodId>& pods) {
    clear();
    may_keep_ = has_waited_for_long(state, state.job(job));
    const bool may_end = !state.ends().empty() || !state.claims().empty();
    if (!may_end && !state.has_windows() && !may_keep_) return false;
    const PoolId pool = state.job(job).pool;
    const Answer* known = known_answer(state, placer, pool, pods);
    if (known == nullptr) {
        ++searches_;
        nodes_ = 0;
        const bool is_found = search(state, placer, pool, pods);
        answers_.push_back({shapes_, may_keep_, is_found, promise_.at});
        known = &answers_.back();
    }
    placer.keep_outside(std::nullopt);
    promise_ = known->is_found ? Promise{job, known->at} : Promise{};
    return exists();
}

// In the pool as it is now. What is placed beside a promise changes the pool, so that an answer
// that is still good has `left_` as it was found.
const Reservation::Answer* Reservation::known_answer(const ClusterState& state,
                                                     const Placer& placer, PoolId pool,
                                                     const std::vector<PodId>& pods) {
    const Basis basis{state.pool(pool).changes, state.eligibility_epoch(),
                      state.eligibility_log().size()};
    if (basis != basis_ && !planted(PlantedBug::keep_old_searches)) {
        basis_ = basis;
        answers_.clear();
    }
    shapes_.clear();
    shapes_.push_back(pods.size());
    for (const PodId pod : pods) shapes_.push_back(state.shapes().at(state.pod(pod).shape).serial);
    if (state.has_windows()) {  // what it needs of the time before one is part of the question
        stay_ = state.stay_of(state.job(state.pod(pods.front()).job), pods);
        for (const std::int64_t part : {stay_.time.ms(), stay_.grace.ms()}) {
            shapes_.push_back(static_cast<std::uint64_t>(part));
        }
        shapes_.push_back(static_cast<std::uint64_t>(stay_.least));
        shapes_.push_back(stay_.own);
    }
    if (state.shapes().at(state.pod(pods.front()).shape).topology.any()) {
        // Where others of the job are is part of the question.
        std::vector<NodeId> anchors;
        state.read_anchors(state.job(state.pod(pods.front()).job), anchors);
        shapes_.push_back(anchors.size());
        for (const NodeId anchor : anchors) shapes_.push_back(anchor.value());
    }
    for (const std::string_view model : placer.avoided()) {  // of which others are left for it
        shapes_.push_back(model.size());
        shapes_.insert(shapes_.end(), model.begin(), model.end());
    }
    const auto found = std::find_if(answers_.begin(), answers_.end(), [this](const Answer& one) {
        return one.may_keep == may_keep_ && one.shapes == shapes_;
    });
    // One whose moment is over counts from now on, so that a window may have come too near since.
    const bool is_stale = found != answers_.end() && state.has_windows() && found->is_found &&
                          found->at <= state.now();
    if (found != answers_.end() && !is_stale) return &*found;
    // A new moment takes the place of `left_`: the old one would be told without it.
    std::erase_if(answers_, [](const Answer& one) { return one.is_found; });
    return nullptr;
}

bool Reservation::search(ClusterState& state, Placer& placer, PoolId pool,
                         const std::vector<PodId>& pods) {
    Capacity& capacity = state.capacity_for_planning();
    Transaction attempt{capacity, log_};
    if (!release_until_it_fits(state, placer, pool, pods, attempt)) return false;
    for (const Placement& placement : round_) {
        const Shape& shape = state.shapes().at(state.pod(placement.pod).shape);
        attempt.take(placement.node.value(), shape.needs, 1, placement.device);
    }
    note_left(state, capacity);
    return true;  // all of it is undone here
}

bool Reservation::place_at(ClusterState& state, Placer& placer, PoolId pool,
                           const std::vector<PodId>& pods, Instant at) {
    if (state.has_windows()) placer.keep_outside(state.barred(stay_, std::max(at, state.now())));
    return placer.place_all(state, state.capacity_for_planning(), pool, pods, round_);
}

// From end to end of what runs in the pool, and of windows, until there is room for all of `pods`.
bool Reservation::release_until_it_fits(ClusterState& state, Placer& placer, PoolId pool,
                                        const std::vector<PodId>& pods, Transaction& attempt) {
    Capacity& capacity = state.capacity_for_planning();
    const ShapeId first = state.pod(pods.front()).shape;
    const bool uniform = std::all_of(pods.begin(), pods.end(),
                                     [&](PodId pod) { return state.pod(pod).shape == first; });
    const Shape& shape = state.shapes().at(first);
    int tries_left = kMomentsTriedMost;
    openings_.clear();
    if (state.has_windows()) {
        placer.keep_outside(WindowSet{0});  // those that are closed now will not be for ever
        for (const MaintenanceWindow& window : state.policy().windows) {
            const Instant end = next_occurrence(window, state.now()).end;
            if (end.happened()) openings_.push_back(end);
        }
        std::sort(openings_.begin(), openings_.end());
    }
    const NodeSet eligible = placer.eligible(state, shape);  // while others are asked for
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
        while (ends.has_more() && ends.at() == at) {  // all that end at this moment
            const PodRow& pod = state.pod(ends.take());
            const std::uint32_t slot = pod.node.value();
            if (state.node(pod.node).pool != pool || pod.is_stuck(state.now())) continue;
            const std::int64_t before = fitting.on(slot);
            attempt.take(slot, state.shapes().at(pod.shape).needs, -1, pod.gpu_device);
            fitting.changed(slot, before);
            is_news = true;
        }
        if (!is_news || !fitting.all()) continue;
        if (state.has_windows() && tries_left-- == 0) return false;
        if (!place_at(state, placer, pool, pods, at)) continue;
        promise_.at = at;
        return true;
    }
    return may_keep_ && release_the_oldest(state, placer, pool, pods, attempt, fitting);
}

bool Reservation::release_the_oldest(ClusterState& state, Placer& placer, PoolId pool,
                                     const std::vector<PodId>& pods, Transaction& attempt,
                                     Fitting& fitting) {
    endless_.clear();
    const NodeSet& nodes = state.capacity().nodes_of(pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        for (const PodId id : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(id);
            if (ends_some_day(pod)) endless_.emplace_back(began_at(pod), id);  // else released
        }
    }
    std::sort(endless_.begin(), endless_.end());
    for (std::size_t i = 0; i < endless_.size();) {
        for (const Instant began = endless_[i].first;
             i < endless_.size() && endless_[i].first == began; ++i) {
            const PodRow& pod = state.pod(endless_[i].second);
            const std::uint32_t slot = pod.node.value();
            const std::int64_t before = fitting.on(slot);
            attempt.take(slot, state.shapes().at(pod.shape).needs, -1, pod.gpu_device);
            fitting.changed(slot, before);
        }
        if (!fitting.all() || !place_at(state, placer, pool, pods, state.now())) continue;
        promise_.at = Instant{};
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
        for (const Need& need : state.shapes().at(state.pod(placement.pod).shape).needs) {
            // Which device keeps how much is not told by an amount: see Withholding.
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
    return is_over_by(promise_.at, now, limit);
}

void Reservation::note_placed(const ClusterState& state, const std::vector<Placement>& round,
                              bool is_over) {
    if (is_over) return;
    for (const Placement& placement : round) {
        for (std::size_t i = 0; i < nodes_; ++i) {
            if (left_[i].slot != placement.node.value()) continue;
            for (const Need& need : state.shapes().at(state.pod(placement.pod).shape).needs) {
                for (Need& amount : left_[i].amounts) {
                    if (amount.column == need.column) amount.amount -= need.amount;
                }
            }
        }
    }
}

Reservation::Withholding::Withholding(Reservation& from, Capacity& capacity)
    : from_(from), capacity_(capacity) {
    for (std::size_t i = 0; i < from_.nodes_; ++i) {
        Left& left = from_.left_[i];
        left.withheld.clear();
        // A part put on an open device may keep that from being whole, or from having room, by
        // then. So a node on whose GPUs the promise counts takes none.
        left.is_closed = false;
        for (const Need& amount : left.amounts) {
            if (capacity_.kind(amount.column) == ColumnKind::gpu) left.is_closed = true;
            const std::int64_t more = capacity_.usable(amount.column, left.slot) -
                                      std::max<std::int64_t>(amount.amount, 0);
            if (more > 0) left.withheld.push_back({amount.column, more});
        }
        capacity_.take(left.slot, left.withheld);
        if (left.is_closed) capacity_.close_to_parts(left.slot);
    }
}

Reservation::Withholding::~Withholding() {
    for (std::size_t i = 0; i < from_.nodes_; ++i) {
        capacity_.give_back(from_.left_[i].slot, from_.left_[i].withheld);
        if (from_.left_[i].is_closed) capacity_.open_to_parts(from_.left_[i].slot);
    }
}

}  // namespace gpuctl
