#include "scheduler/plan/explain/explain.hpp"

#include <algorithm>
#include <utility>

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {

using explain_parts::Group;

namespace {

// The pods that must find room for the job to start: all missing ranks of a gang, or any one pod of
// other jobs.
std::vector<Group> groups_of(const ClusterState& state, const Readiness& ready) {
    std::vector<Group> groups;
    std::size_t pods = ready.pods.size();
    if (ready.all_or_nothing) {
        pods = std::min(pods, static_cast<std::size_t>(ready.ranks_needed));
    }
    for (std::size_t i = 0; i < pods; ++i) {
        const ShapeId shape = state.pod(ready.pods[i]).shape;
        const auto known = std::find_if(groups.begin(), groups.end(),
                                        [&](const Group& group) { return group.shape == shape; });
        if (known == groups.end()) {
            groups.push_back({shape, 1});
        } else if (ready.all_or_nothing) {
            ++known->ranks;
        }
    }
    return groups;
}

Load asked(const ClusterState& state, const std::vector<Group>& groups, bool all) {
    Load sum;
    for (const Group& group : groups) {
        sum.add(state.shape_of(group.shape).load(), group.ranks);
        if (!all) break;
    }
    return sum;
}

const PlacementRules& rules_of(const ClusterState& state, const Group& group) {
    return state.rules_of(state.shape_of(group.shape));
}

// The GPU model that all groups request. Empty: they accept any model, or several.
std::string model_asked(const ClusterState& state, const std::vector<Group>& groups) {
    if (groups.empty()) return "";
    const std::string& first = rules_of(state, groups.front()).gpu_model;
    const bool is_one = std::all_of(groups.begin(), groups.end(), [&](const Group& group) {
        const PlacementRules& rules = rules_of(state, group);
        return rules.gpu_model == first && !rules.takes_several_models();
    });
    return is_one ? first : "";
}

bool has_other_model(const ClusterState& state, PoolId pool, std::string_view model) {
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(pool)) {
        const std::string& here = state.node(NodeId{slot}).facts.gpu_model;
        if (!here.empty() && !same_gpu_model(here, model)) return true;
    }
    return false;
}

bool takes_model(const ClusterState& state, const std::vector<Group>& groups,
                 std::string_view model) {
    return std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
        return takes_gpu_model(rules_of(state, group), model);
    });
}

// Why ranks of one shape find no room; nothing if they do.
std::optional<Explanation> refusal_of(const ClusterState& state, const JobRow& job,
                                      const Group& group, const Stay& stay) {
    const auto find_shortage = [&](const Group& of) {
        std::optional<Explanation> found = explain_parts::explain_group(state, job, of);
        if (!found) return explain_parts::explain_topology(state, job, of);
        // The topology rules are to blame if they leave less room than each rank alone has.
        const bool has_room_for_some =
            std::any_of(found->figures.begin(), found->figures.end(), [](const Figure& figure) {
                return figure.name == "ranks_fitting" && figure.value > 0;
            });
        if (!has_room_for_some) return found;
        if (auto topology = explain_parts::find_topology_shortage(state, job, of)) {
            found->facts.push_back(std::move(*topology));
        }
        return found;
    };
    std::optional<Explanation> found = find_shortage(group);
    if (!found || group.barred == 0) return found;
    Group anyway = group;
    anyway.barred = 0;
    anyway.open = nullptr;
    return explain_parts::explain_maintenance(state, job, group, stay, std::move(*found),
                                              find_shortage(anyway));
}

// The repair deadline of a gang that once ran completely and lacks ranks now.
std::optional<fact::GangRepair> repair_of(const ClusterState& state, const JobRow& job) {
    const Instant from = state.gangs.stranded_from(job);
    if (!from.happened()) return std::nullopt;
    return fact::GangRepair{std::max(from - state.now(), Duration{}),
                            state.now() - job.gang.short_since};
}

Explanation waits_for(Reason reason, std::string subject, fact::WaitsFor what) {
    Explanation out;
    out.reason = reason;
    out.subject = std::move(subject);
    out.facts = {fact::Waits{what}};
    return out;
}

// Reports that the rest of the gang cannot be bound, for the reason in `half`.
void explain_half_bound(const ClusterState& state, const JobRow& job, const Readiness& ready,
                        Explanation& half) {
    half.reason = Reason::gang_half_bound;
    half.subject = shown_name(job.key);
    half.facts.insert(half.facts.begin(), fact::GangHalfBound{ready.ranks_min, ready.ranks_held,
                                                              explain_parts::role_counts(ready)});
    if (auto repair = repair_of(state, job)) half.facts.push_back(*repair);
    half.figures.push_back({"ranks_min", ready.ranks_min});
    half.figures.push_back({"ranks_present", ready.ranks_held});
    explain_parts::add_role_figures(ready, half.figures);
}

// Why the ranks find no room: of a gang the first group that finds none, or all groups together; of
// other jobs each group until one finds room.
void explain_groups(const ClusterState& state, const JobRow& job, const Readiness& ready,
                    const std::vector<Group>& groups, const Stay& stay,
                    std::vector<Explanation>& out) {
    bool has_room = true;
    for (const Group& group : groups) {
        std::optional<Explanation> found = refusal_of(state, job, group, stay);
        if (!found) {
            if (!ready.all_or_nothing) break;  // any pod that fits is progress
            continue;
        }
        has_room = false;
        if (ready.all_or_nothing && groups.size() > 1) {
            found->facts.push_back(fact::MixTogether{explain_parts::whole_of_mix(state, ready)});
        }
        out.push_back(std::move(*found));
        if (ready.all_or_nothing) break;
    }
    if (has_room && ready.all_or_nothing && groups.size() > 1) {
        if (std::optional<Explanation> found =
                explain_parts::explain_mix(state, job, ready, groups.front().barred)) {
            out.push_back(std::move(*found));
        }
    }
}

}  // namespace

std::vector<Explanation> blockers(const ClusterState& state, JobId id, const Readiness& ready,
                                  EligibilityCache* eligibility) {
    std::vector<Explanation> out;
    if (!ready.waits) return out;
    const JobRow& job = state.job(id);
    if (!state.session.synced()) {
        out.push_back(waits_for(Reason::not_synced, "", fact::WaitsFor::cluster_read));
    } else if (!state.session.leading()) {
        out.push_back(waits_for(Reason::not_leader, "", fact::WaitsFor::leadership));
    }
    if (ready.hold != Reason::none) {
        out.push_back(explain_parts::explain_hold(state, job, ready));
        return out;
    }
    std::vector<Group> groups = groups_of(state, ready);
    const Stay stay =
        state.maintenance.has_windows() ? state.maintenance.stay_of(job, ready.pods) : Stay{};
    const WindowSet barred = state.maintenance.barred(stay, state.now());
    for (Group& group : groups) group.barred = barred;
    if (eligibility != nullptr && groups.size() == 1) {  // the cache keeps few sets at a time
        const ConstraintId constraint = state.shape_of(groups.front().shape).constraint;
        groups.front().open = barred == 0 ? &eligibility->of(state, constraint)
                                          : &eligibility->outside(state, constraint, barred);
    }
    visit_limits(state, job, asked(state, groups, ready.all_or_nothing), [&](const LimitHit& hit) {
        out.push_back(explain_parts::explain_limit(state, job, hit));
        return true;
    });
    // If the job names a GPU model, a limit of that model is reported first; otherwise such limits
    // are reported after the room.
    const std::string model = model_asked(state, groups);
    // limits of models, if other models are left: room is explained first
    std::vector<Explanation> with_alternative;
    const auto add_model_limits = [&](bool is_asked_for) {
        visit_model_limits(
            state, job, asked(state, groups, ready.all_or_nothing), [&](const LimitHit& hit) {
                if (model.empty() == is_asked_for) return;
                if (!takes_model(state, groups, hit.model)) return;
                const bool is_split = !is_asked_for && ready.all_or_nothing &&
                                      has_other_model(state, job.pool, hit.model);
                (hit.leaves_others ? with_alternative : out)
                    .push_back(explain_parts::explain_limit(state, job, hit, is_split));
            });
    };
    add_model_limits(true);
    explain_groups(state, job, ready, groups, stay, out);
    add_model_limits(false);
    if (ready.resume && out.empty()) out = std::exchange(with_alternative, {});
    if (ready.resume && !out.empty()) explain_half_bound(state, job, ready, out.front());
    explain_parts::explain_short_work(state, id, out);
    explain_parts::explain_quota_reservation(state, id, out);
    explain_parts::explain_head_reservation(state, id, out);
    out.insert(out.end(), with_alternative.begin(), with_alternative.end());
    if (out.empty()) {
        out.push_back(waits_for(Reason::turn, job.queue.exists() ? state.queue(job.queue).name : "",
                                fact::WaitsFor::turn));
    }
    return out;
}

std::vector<Explanation> explain(const ClusterState& state, JobId id, const Readiness& ready,
                                 EligibilityCache* eligibility) {
    std::vector<Explanation> out = blockers(state, id, ready, eligibility);
    if (!out.empty()) add_origin(state, state.job(id), out.front().facts);
    return out;
}

std::vector<Explanation> explain(const ClusterState& state, JobId id) {
    Readiness ready;
    state.waiting.read_readiness(id, ready);
    return explain(state, id, ready);
}

void explain_any_queue(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (out.empty() || out.front().reason != Reason::queue_unknown || job.holding.pods > 0) return;
    Readiness ready;
    state.waiting.read_readiness(id, ready);
    ready.hold = Reason::none;
    for (const PodId pod : job.pods) {
        const PodRow& row = state.pod(pod);
        const bool is_ready =
            row.bind.state == BindState::waiting && row.bind.bar == PodBar::none &&
            !row.facts.gated && !row.facts.terminating && !row.is_surplus &&
            row.facts.unsupported.empty() && device_class_needed(state, job, row.facts).empty();
        if (is_ready) ready.pods.push_back(pod);
    }
    ready.all_or_nothing = ready.ranks_min > 0;
    ready.ranks_needed = ready.ranks_min;
    const auto ranks = static_cast<std::int64_t>(ready.pods.size());
    if (ranks == 0 || ranks < ready.ranks_min) return;
    for (Explanation& one : blockers(state, id, ready)) {
        const bool is_of_its_queue = one.reason == Reason::queue_limit ||
                                     one.reason == Reason::reserved || one.reason == Reason::turn;
        if (!is_of_its_queue) out.push_back(std::move(one));
    }
}

}  // namespace gpuctl
