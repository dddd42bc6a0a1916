// Pods with rules to be together or apart (docs/adr/0019). Only domains that may have room are
// examined, tightest first, so that roomy domains stay free for gangs that need them.
//
// For ranks of one shape the result is exact: a domain of the required level with room for them is
// found if there is one, and the number of domains of the preferred level is minimal. Ranks of
// several shapes are tried domain by domain, from the preferred level outwards.

#include <algorithm>
#include <optional>
#include <tuple>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/allocate/placer.hpp"

namespace gpuctl {
namespace {

constexpr std::uint32_t kNoGroup = UINT32_MAX;

// A lower bound on the GPUs that the ranks need, in thousandths. It is 0 for requests of fractions
// or CPU only, because domains do not count those.
std::int64_t gpus_needed(const Capacity& capacity, const Shape& shape, std::size_t ranks) {
    if (capacity.kind(shape.index_column) != ColumnKind::gpu) return 0;
    for (const Need& need : shape.needs) {
        if (need.column == shape.index_column) {
            return std::min(need.amount, kAmountMax / static_cast<std::int64_t>(ranks)) *
                   static_cast<std::int64_t>(ranks);
        }
    }
    return 0;
}

constexpr TopologyLevel outward(TopologyLevel level) {
    return static_cast<TopologyLevel>(at(level) + 1);
}
// The outermost level that is tried; beyond it all allowed nodes are tried.
constexpr TopologyLevel outmost(const TopologyRules& rules) {
    return rules.required == TopologyLevel::none
               ? TopologyLevel::block
               : static_cast<TopologyLevel>(at(rules.required) - 1);
}

// A domain that is a single host is not included in the sums of capacity.
bool is_counted(const Capacity& capacity, const Domain& domain) {
    return capacity.domains().is_counted(domain.slots.front());
}

// Orders domains by free capacity: a wider domain is tried later. A heap with this order yields the
// tightest domain first. Mostly the first one fits, so the rest need not be sorted.
struct Wider {
    const Capacity& capacity;
    const std::vector<Domain>& domains;
    bool operator()(DomainId a, DomainId b) const { return key(b) < key(a); }
    [[nodiscard]] std::pair<std::int64_t, std::uint32_t> key(DomainId id) const {
        const Domain& domain = domains[id.value()];
        const std::uint32_t first = domain.slots.front();
        return {is_counted(capacity, domain) ? domain.gpus_free : capacity.idle_gpus(first), first};
    }
};

DomainId take_tightest(const Capacity& capacity, TopologyLevel level, std::vector<DomainId>& from) {
    if (level != TopologyLevel::none) {
        std::pop_heap(from.begin(), from.end(),
                      Wider{capacity, capacity.domains().of_level(level)});
    }
    const DomainId tightest = from.back();
    from.pop_back();
    return tightest;
}

}  // namespace

// --- the nodes that are examined ---

const NodeSet& Placer::allowed(const ClusterState& state, const Shape& shape) {
    const NodeSet& eligible = this->eligible(state, shape);
    if (!is_scoped_) return eligible;
    auto found = std::find_if(scopes_.begin(), scopes_.end(), [&](const Scope& scope) {
        return scope.is_built && scope.constraint == shape.constraint;
    });
    if (found != scopes_.end()) return found->nodes;
    found = std::find_if(scopes_.begin(), scopes_.end(),
                         [](const Scope& scope) { return !scope.is_built; });
    if (found == scopes_.end()) found = scopes_.insert(scopes_.end(), Scope{});
    found->constraint = shape.constraint;
    found->is_built = true;
    found->nodes.resize(state.nodes.node_slots());
    for (const std::uint32_t slot : scope_slots_) {
        if (eligible.contains(slot)) found->nodes.insert(slot);
    }
    return found->nodes;
}

void Placer::open_scope() { is_scoped_ = true; }

void Placer::close_scope() {
    for (Scope& scope : scopes_) {
        if (!scope.is_built) continue;
        for (const std::uint32_t slot : scope_slots_) scope.nodes.erase(slot);
        scope.is_built = false;
    }
    is_scoped_ = false;
    scope_slots_.clear();
}

bool Placer::is_anchored(const Capacity& capacity, TopologyLevel level, DomainId domain) const {
    return domain.exists() && std::any_of(anchors_.begin(), anchors_.end(), [&](NodeId anchor) {
               return capacity.domains().of(level, anchor.value()) == domain;
           });
}

bool Placer::has_anchor_in(const Capacity& capacity, TopologyLevel level) const {
    return std::any_of(anchors_.begin(), anchors_.end(), [&](NodeId anchor) {
        return capacity.domains().of(level, anchor.value()).exists();
    });
}

// True if a pod of the job is already in the node's domain of the spread level.
bool Placer::is_taken(const Capacity& capacity, std::uint32_t slot) const {
    if (wish_.spread == TopologyLevel::none) return false;
    const DomainId here = capacity.domains().of(wish_.spread, slot);
    return is_anchored(capacity, wish_.spread, here) ||
           std::any_of(chosen_.begin(), chosen_.end(), [&](const Spot& spot) {
               return capacity.domains().of(wish_.spread, spot.node.value()) == here;
           });
}

// --- several domains ---

bool Placer::place_in_domains(const ClusterState& state, TrialCapacity trial, PoolId pool,
                              const std::vector<PodId>& pods, std::vector<Placement>& out) {
    const Capacity& capacity = trial.read();
    anchors_.clear();
    if (!runs_now(state, pods.front())) {
        state.gangs.read_anchors(state.job(state.pod(pods.front()).job), anchors_);
    }
    chosen_.clear();
    if (pods.size() == 1) {
        const Spot spot = best_near_anchors(state, capacity, pool, pods.front());
        if (spot.node.exists()) out.push_back({pods.front(), spot.node, spot.device});
        return spot.node.exists();
    }
    sort_by_size(state, pods);
    const ShapeId first = state.pod(order_.front()).shape;
    const bool uniform = std::all_of(order_.begin(), order_.end(),
                                     [&](PodId pod) { return state.pod(pod).shape == first; });
    Transaction attempt{trial, log_};
    std::int64_t steps_left = kSearchStepsMax;
    const auto place = [&] {
        return uniform ? place_together(state, capacity, pool, attempt, state.shape_of(first))
                       : place_mixed(state, capacity, pool, attempt, steps_left);
    };
    bool placed = place();
    if (!placed && wish_.preferred != TopologyLevel::none && wish_.spread != TopologyLevel::none) {
        // Domains of different levels may cross: an island in two racks was counted in both racks.
        // The spread rule is required.
        attempt.rollback_to(0);
        wish_.preferred = TopologyLevel::none;
        placed = place();
    }
    if (!placed) return false;
    write_placements(pods, out);
    return true;  // the attempt is rolled back here, as in place_all()
}

void Placer::list_domains(const Capacity& capacity, TopologyLevel level, std::int64_t gpus) {
    candidates_.clear();
    const std::vector<Domain>& domains = capacity.domains().of_level(level);
    const bool has_company = level == wish_.required && has_anchor_in(capacity, level);
    for (std::uint32_t i = 0; i < domains.size(); ++i) {
        if (domains[i].slots.empty()) continue;
        if (is_counted(capacity, domains[i]) && domains[i].gpus_free < gpus) continue;
        if (has_company && !is_anchored(capacity, level, DomainId{i})) continue;
        candidates_.push_back(DomainId{i});
    }
    std::make_heap(candidates_.begin(), candidates_.end(), Wider{capacity, domains});
}

// Finds the nodes with room for some of the ranks, and the groups that these nodes form.
void Placer::survey_rooms(const ClusterState& state, const Capacity& capacity, PoolId pool,
                          const Shape& shape, DomainId required) {
    rooms_.clear();
    groups_.clear();
    ++stamp_;
    const DomainMap& domains = capacity.domains();
    group_of_.resize(domains.of_level(wish_.preferred).size());
    group_stamp_.resize(group_of_.size());
    spread_stamp_.resize(domains.of_level(wish_.spread).size());
    const NodeSet& eligible = allowed(state, shape);
    const auto look = [&](std::uint32_t slot) {
        if (!is_avoided(state, slot)) count_room(capacity, shape, slot);
    };
    if (required.exists()) {
        for (const std::uint32_t slot : domains.at_id(wish_.required, required).slots) {
            if (capacity.pool_of(slot) == pool && eligible.contains(slot)) look(slot);
        }
        return;
    }
    for (const std::uint32_t slot : capacity.nodes_of(pool).common(eligible)) {
        look(slot);
    }
}

void Placer::count_room(const Capacity& capacity, const Shape& shape, std::uint32_t slot) {
    const DomainMap& domains = capacity.domains();
    std::int64_t ranks =
        capacity.fitting(slot, shape.needs, static_cast<std::int64_t>(order_.size()));
    if (ranks == 0) return;
    if (wish_.spread != TopologyLevel::none) {
        // At most one rank is placed in each domain, on any of its nodes.
        const DomainId apart = domains.of(wish_.spread, slot);
        if (!apart.exists() || is_anchored(capacity, wish_.spread, apart)) return;
        std::uint32_t& seen = spread_stamp_[apart.value()];
        ranks = seen == stamp_ ? 0 : 1;
        seen = stamp_;
    }
    const TopologyLevel level = wish_.preferred;
    const DomainId domain =
        level == TopologyLevel::none ? DomainId::none() : domains.of(level, slot);
    std::uint32_t group = kNoGroup;
    if (level == TopologyLevel::none && !groups_.empty()) group = 0;
    if (domain.exists() && group_stamp_[domain.value()] == stamp_) {
        group = group_of_[domain.value()];
    }
    if (group == kNoGroup) {
        group = static_cast<std::uint32_t>(groups_.size());
        groups_.push_back({domain, slot, 0, 0, is_anchored(capacity, level, domain)});
        if (domain.exists()) {
            group_of_[domain.value()] = group;
            group_stamp_[domain.value()] = stamp_;
        }
    }
    rooms_.push_back({slot, ranks, group});
    groups_[group].ranks += ranks;
    if (capacity.kind(shape.index_column) == ColumnKind::gpu) {
        groups_[group].gpus_free += capacity.free(shape.index_column, slot);
    }
}

// Takes groups with other pods of the job first, then the largest groups; the last one is the
// smallest group that is sufficient. No smaller number of groups holds as many ranks.
std::size_t Placer::pick_fewest(const std::vector<std::uint32_t>& from,
                                std::vector<std::uint32_t>& to) {
    to.clear();
    auto left = static_cast<std::int64_t>(order_.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        const Group& group = groups_[from[i]];
        if (group.ranks < left) {
            to.push_back(from[i]);
            left -= group.ranks;
            continue;
        }
        std::uint32_t last = from[i];
        const auto size = [this](std::uint32_t at) {
            return std::pair{groups_[at].ranks, groups_[at].gpus_free};
        };
        for (std::size_t j = i + 1; j < from.size() && !group.is_anchored; ++j) {
            if (groups_[from[j]].ranks < left) break;
            if (size(from[j]) < size(last)) last = from[j];
        }
        to.push_back(last);
        return to.size();
    }
    return 0;
}

std::size_t Placer::pick_groups(const Capacity& capacity) {
    order_of_groups_.clear();
    for (std::uint32_t i = 0; i < groups_.size(); ++i) order_of_groups_.push_back(i);
    const auto key = [this](std::uint32_t i) {
        const Group& group = groups_[i];
        return std::tuple{!group.is_anchored, -group.ranks, -group.gpus_free, group.first_slot};
    };
    std::sort(order_of_groups_.begin(), order_of_groups_.end(),
              [&key](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    const std::size_t fewest = pick_fewest(order_of_groups_, picked_);
    if (fewest > 1) narrow_outward(capacity);
    return fewest;
}

// Looks for the same minimal number of groups within one domain of an outer level, at the nearest
// such level.
void Placer::narrow_outward(const Capacity& capacity) {
    if (!anchors_.empty()) return;  // the groups of the job's other pods come first
    const DomainMap& domains = capacity.domains();
    for (TopologyLevel level = outward(wish_.preferred); level <= outmost(wish_);
         level = outward(level)) {
        using Key = std::pair<std::int64_t, std::uint32_t>;
        std::optional<Key> tightest;
        for (std::uint32_t i = 0; i < domains.of_level(level).size(); ++i) {
            const DomainId outer{i};
            const std::vector<std::uint32_t>& slots = domains.at_id(level, outer).slots;
            if (slots.empty()) continue;
            inside_.clear();
            std::int64_t ranks = 0;
            for (const std::uint32_t group : order_of_groups_) {
                if (domains.of(level, groups_[group].first_slot) != outer) continue;
                inside_.push_back(group);
                ranks += groups_[group].ranks;
            }
            const Key key{ranks, slots.front()};
            if (tightest && key >= *tightest) continue;
            if (pick_fewest(inside_, picked_outward_) != picked_.size()) continue;
            tightest = key;
            picked_.swap(picked_outward_);
        }
        if (tightest) return;
    }
}

bool Placer::place_together(const ClusterState& state, const Capacity& capacity, PoolId pool,
                            Transaction& attempt, const Shape& shape) {
    candidates_.assign(1, DomainId::none());
    if (wish_.required != TopologyLevel::none) {
        list_domains(capacity, wish_.required, gpus_needed(capacity, shape, order_.size()));
    }
    DomainId best = DomainId::none();
    std::size_t fewest = 0;
    while (!candidates_.empty()) {
        const DomainId candidate = take_tightest(capacity, wish_.required, candidates_);
        survey_rooms(state, capacity, pool, shape, candidate);
        const std::size_t groups = pick_groups(capacity);
        if (groups == 0 || (fewest != 0 && groups >= fewest)) continue;
        fewest = groups;
        best = candidate;
        if (fewest == 1) return place_groups(state, capacity, pool, attempt, shape);
    }
    if (fewest == 0) return false;
    survey_rooms(state, capacity, pool, shape, best);
    (void)pick_groups(capacity);
    return place_groups(state, capacity, pool, attempt, shape);
}

bool Placer::place_groups(const ClusterState& state, const Capacity& capacity, PoolId pool,
                          Transaction& attempt, const Shape& shape) {
    chosen_.clear();
    const ShapeId id = state.pod(order_.front()).shape;
    auto left = static_cast<std::int64_t>(order_.size());
    for (const std::uint32_t group : picked_) {
        const std::int64_t ranks = std::min(left, groups_[group].ranks);
        if (ranks == 0) continue;
        for (const Room& room : rooms_) {
            if (room.group == group) scope_slots_.push_back(room.slot);
        }
        open_scope();
        const bool placed = wish_.spread == TopologyLevel::none
                                ? place_ranks(state, capacity, pool, attempt, id, ranks)
                                : place_apart(state, capacity, pool, attempt, shape, ranks);
        close_scope();
        if (!placed) return false;
        left -= ranks;
    }
    return left == 0;
}

// Places one rank in each domain, on the tightest nodes.
bool Placer::place_apart(const ClusterState& state, const Capacity& capacity, PoolId pool,
                         Transaction& attempt, const Shape& shape, std::int64_t ranks) {
    const auto* buckets = capacity.buckets(pool, shape.index_column);
    if (buckets == nullptr) return false;
    const NodeSet& nodes = allowed(state, shape);
    for (const NodeSet& bucket : *buckets) {
        // A node that takes a rank may move to another bucket, so it is looked up again each time.
        for (const std::uint32_t slot : bucket.common(nodes)) {
            if (is_avoided(state, slot) || is_taken(capacity, slot)) continue;
            if (capacity.fitting(slot, shape.needs, 1) == 0) continue;
            take_ranks(capacity, attempt, NodeId{slot}, shape, 1);
            if (--ranks == 0) return true;
        }
    }
    return false;
}

// --- ranks of several shapes ---

bool Placer::place_in_scope(const ClusterState& state, const Capacity& capacity, PoolId pool,
                            Transaction& attempt, std::int64_t& steps_left) {
    open_scope();
    const bool placed = place_order(state, capacity, pool, attempt, steps_left);
    if (!placed) attempt.rollback_to(0);
    close_scope();
    return placed;
}

bool Placer::place_mixed(const ClusterState& state, const Capacity& capacity, PoolId pool,
                         Transaction& attempt, std::int64_t& steps_left) {
    const DomainMap& domains = capacity.domains();
    const auto is_near_anchors = [&](std::uint32_t slot) {
        const TopologyLevel level = wish_.required;
        return level == TopologyLevel::none || !has_anchor_in(capacity, level) ||
               is_anchored(capacity, level, domains.of(level, slot));
    };
    const auto try_level = [&](TopologyLevel level) {
        list_domains(capacity, level, 0);
        while (!candidates_.empty()) {
            const DomainId candidate = take_tightest(capacity, level, candidates_);
            for (const std::uint32_t slot : domains.at_id(level, candidate).slots) {
                if (is_near_anchors(slot)) scope_slots_.push_back(slot);
            }
            if (scope_slots_.empty()) continue;
            if (place_in_scope(state, capacity, pool, attempt, steps_left)) return true;
        }
        return false;
    };
    if (wish_.preferred != TopologyLevel::none) {
        for (TopologyLevel level = wish_.preferred; level <= outmost(wish_);
             level = outward(level)) {
            if (try_level(level)) return true;
        }
    }
    if (wish_.required != TopologyLevel::none) return try_level(wish_.required);
    return place_order(state, capacity, pool, attempt, steps_left);
}

}  // namespace gpuctl
