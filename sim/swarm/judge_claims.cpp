// I17: pods are stopped for others only when that is allowed, helps, and needs every one of them;
// what they leave is kept for whom they were stopped, and used.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

bool is_part(const PodFacts& pod) { return amounts_of(pod.request).gpus % kGpuMilliPerGpu != 0; }

// A GPU of which parts are given is no whole one; what lies on one device is no more than it has.
bool lacks_devices(const Books& books, const NodeFacts& node, const PodFacts& pod,
                   std::int32_t device) {
    if (amounts_of(pod.request).gpus == 0) return false;
    const DeviceCount devices = books.devices_on(node.name);
    return devices.taken() > amounts_of(node.allocatable).gpus ||
           (device >= 0 && devices.on_device(device) > kGpuMilliPerGpu);
}

}  // namespace

void Judge::note_eviction(const EvictPod& eviction, const ClusterState& after,
                          std::vector<Evictions>& step) {
    ++probes.evictions_sent;
    note_asked(eviction);
    if (eviction.beneficiary == ObjectKey{}) return check_drain(eviction, after);
    check_eviction(eviction);
    const auto [asked, is_new] = asked_to_go_for_.try_emplace(eviction.pod.uid);
    const bool is_asked_again = !is_new && asked->second == eviction.beneficiary;
    asked->second = eviction.beneficiary;
    // In a new term, what was never answered is asked again before claims are settled.
    const JobId by = after.find_job(eviction.beneficiary);
    if (is_asked_again && by.exists() && !after.job(by).claim_until.happened()) return;
    for (Evictions& known : step) {
        if (known.beneficiary == eviction.beneficiary) return known.pods.push_back(eviction);
    }
    step.push_back({eviction.beneficiary, {eviction}, books_});
}

// What jobs claimed in this step for whom nobody is evicted: elastic jobs shrink for them.
Judge::Places Judge::claimed_beside(const std::vector<Evictions>& step,
                                    const ClusterState& after) const {
    Places out;
    for (const auto& [key, id] : after.jobs_by_key()) {
        const auto is_for_it = [&job = key](const Evictions& of) { return of.beneficiary == job; };
        if (!after.job(id).claim_until.happened()) continue;
        if (std::any_of(step.begin(), step.end(), is_for_it)) continue;
        for (const PodId pod : after.job(id).pods) {
            const PodRow& row = after.pod(pod);
            if (row.standing != PodStanding::claimed) continue;
            out[row.facts.uid] = {after.node(row.node).facts.name, row.gpu_device};
        }
    }
    return out;
}

void Judge::check_evictions(std::vector<Evictions>& step, const ClusterState& after) {
    const Places beside = step.empty() ? Places{} : claimed_beside(step, after);
    Places claimed_in_this_step;
    for (std::size_t i = 0; i < step.size(); ++i) {
        Evictions& of = step[i];
        for (const auto& [uid, place] : claimed_in_this_step) claim(of.before, uid, place);
        const JobId id = after.find_job(of.beneficiary);
        if (!id.exists() || !after.job(id).claim_until.happened()) {
            fail("I17", "pods are stopped for job " + to_string(of.beneficiary) +
                            ", which claims nothing");
            continue;
        }
        bool is_new = false;
        for (const PodId pod : after.job(id).pods) {
            const PodRow& row = after.pod(pod);
            if (row.standing != PodStanding::claimed) continue;
            if (!books_.claimed_before(row.facts.uid).empty()) continue;
            is_new = true;
            claimed_in_this_step[row.facts.uid] = {after.node(row.node).facts.name, row.gpu_device};
        }
        if (!is_new) continue;
        Books then = without_leaving(of.before, after, after.job(id));
        for (const PodId pod : after.job(id).pods) {
            const PodRow& row = after.pod(pod);
            if (row.standing != PodStanding::claimed) continue;
            claim(then, row.facts.uid, {after.node(row.node).facts.name, row.gpu_device});
        }
        for (std::size_t later = i + 1; later < step.size(); ++later) {
            undo(step[later], then);
        }
        check_claim(of, after, beside, std::move(then));
    }
}

void Judge::claim(Books& books, const std::string& uid, const Place& place) {
    books.pods.at(uid).claimed = place.node;
    books.pods.at(uid).claimed_device = place.device;
}

// What was decided after it in the same step is no reason for it or against it.
void Judge::undo(const Evictions& of, Books& then) const {
    for (const EvictPod& eviction : of.pods) {
        BookedPod& pod = then.pods.at(eviction.pod.uid);
        pod.facts.phase = books_.pods.at(eviction.pod.uid).facts.phase;
        pod.evicting = false;
    }
}

void Judge::check_eviction(const EvictPod& eviction) {
    const std::string what = "eviction of " + to_string(eviction.pod.key);
    const auto found = books_.pods.find(eviction.pod.uid);
    if (found == books_.pods.end()) return fail("I17", what + ": nobody has this pod");
    const BookedPod& pod = found->second;
    if (!pod.is_bound() || is_terminal(pod.facts.phase)) fail("I17", what + ": it does not run");
    if (!pod.facts.has_controller) fail("I17", what + ": nobody would make it again");
    const auto asked = asked_to_go_for_.find(eviction.pod.uid);
    const bool is_asked_again =
        asked != asked_to_go_for_.end() && asked->second == eviction.beneficiary;
    if (is_stranded(pod.facts) || (is_asked_again && left_.contains(eviction.pod.uid))) {
        left_.insert(eviction.pod.uid);
        return;
    }
    const auto job = books_.jobs.find(eviction.beneficiary);
    if (job == books_.jobs.end()) return fail("I17", what + ": for a job without pods");
    const PodFacts& by = books_.pods.at(*job->second.begin()).facts;
    const bool goes_for_priority = by.priority > pod.facts.priority &&
                                   may_be_preempted(pod.facts) &&
                                   books_.queue_of(by) == books_.queue_of(pod.facts);
    if (goes_for_priority && !pod.facts.preemptible) ++probes.stopped_unasked;
    if (!pod.facts.preemptible && !goes_for_priority && !is_asked_again) {
        fail("I17", what + ": it may not be stopped for others");
    }
    if (books_.queue_of(by) != books_.queue_of(pod.facts)) return;  // taken back: check_reclaim()
    if (!by.preempts) fail("I17", what + ": for a job that may stop nobody");
    if (is_asked_again) return;  // decided before: a claim outlives the policy that it was made by
    const bool may_be_equal = stops_long_for_short(books_.queue_of(by));  // check_shorter()
    if (by.priority < pod.facts.priority || (by.priority == pod.facts.priority && !may_be_equal)) {
        fail("I17", what + ": for a job of no higher priority");
    }
}

// For higher priority: where its pool asks no user, by one who says nothing, too.
bool Judge::may_be_preempted(const PodFacts& pod) const {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    return pod.preemptible || (pod.preemptible_is_default && books_.preemption_of(pool).victims ==
                                                                 PreemptionVictims::lower_priority);
}

bool Judge::has_quota(const std::string& name) const {
    const TenantPolicy* tenant = books_.tenant(name);
    return tenant != nullptr &&
           (tenant->gpu_maximum || tenant->cpu_maximum || tenant->memory_maximum);
}

bool Judge::shares_quota(const JobRow& job, const JobRow& other) const {
    return has_quota(job.key.namespace_name) && job.key.namespace_name == other.key.namespace_name;
}

bool Judge::is_gone_soon(const ClusterState& state, const std::string& uid) const {
    const BookedPod& pod = books_.pods.at(uid);
    const PodId id = state.find_pod(uid);
    if (is_stuck(pod, state.now())) return false;
    return pod.facts.terminating || (id.exists() && state.pod(id).is_leaving());
}

// The books as they will be when all who leave are gone from the nodes of the job's pool, and those
// of its namespace from all, where what that may hold is the same in all pools.
Books Judge::without_leaving(Books out, const ClusterState& state, const JobRow& job) const {
    const std::string& pool = state.pool(job.pool).name;
    const std::string& own = job.key.namespace_name;
    const bool counts_own = has_quota(own);
    for (const auto& [uid, pod] : books_.pods) {
        const auto node = books_.nodes.find(pod.where());
        if (node == books_.nodes.end() || !node->second.ready) continue;
        const bool is_own = counts_own && pod.facts.key.namespace_name == own;
        if (node->second.pool != pool && !is_own) continue;
        if (is_gone_soon(state, uid)) out.pods.at(uid).facts.phase = PodPhase::failed;
    }
    return out;
}

// Whether without_leaving() would have less, which is asked for each job that waits.
bool Judge::does_anybody_leave(const ClusterState& state, const JobRow& job) {
    const std::string& pool = state.pool(job.pool).name;
    const std::string own = has_quota(job.key.namespace_name) ? job.key.namespace_name : "";
    const auto [known, is_new] = leaving_.try_emplace({pool, own}, false);
    if (!is_new) return known->second;
    known->second = std::any_of(books_.pods.begin(), books_.pods.end(), [&](const auto& entry) {
        const auto& [uid, pod] = entry;
        if (!pod.holds()) return false;
        const auto node = books_.nodes.find(pod.where());
        if (node == books_.nodes.end() || !node->second.ready) return false;
        const bool is_own = !own.empty() && pod.facts.key.namespace_name == own;
        return (node->second.pool == pool || is_own) && is_gone_soon(state, uid);
    });
    return known->second;
}

void Judge::check_claim(const Evictions& of, const ClusterState& after, const Places& beside,
                        Books then) {
    const auto& [beneficiary, evictions, before] = of;
    const std::string what = "for job " + to_string(beneficiary) + " ";
    const JobRow& row = after.job(after.find_job(beneficiary));
    const std::string pool = after.pool(row.pool).name;
    // As late as the last of them may be gone.
    for (const EvictPod& eviction : evictions) {
        const Duration grace = books_.pods.at(eviction.pod.uid).facts.stop_grace;
        then.begins_within = std::max(then.begins_within, grace + Duration::seconds(60));
    }
    Amounts ask;
    Gang gang = books_.gang_of(beneficiary);
    std::int64_t ranks = 0;
    PodFacts like;
    for (const PodId id : row.pods) {
        if (after.pod(id).standing != PodStanding::claimed) continue;
        like = after.pod(id).facts;
        gang.hold(like.role);
        ++ranks;
        ask.add(amounts_of(like.request));
        const NodeFacts& node = books_.nodes.at(after.node(after.pod(id).node).facts.name);
        if (node.pool != pool || !then.admits(node, like)) {
            fail("I17", what + "room is claimed on node " + node.name + ", which it may not use");
        }
        const Amounts left = then.room_on(node);
        const bool lacks_gpus = lacks_devices(then, node, like, after.pod(id).gpu_device);
        if (left.cpu < 0 || left.memory < 0 || left.slots < 0 || lacks_gpus) {
            fail("I17", what + "more is claimed on node " + node.name + " than will be free");
        }
    }
    if (gang.size > 0 && !gang.is_whole()) {
        fail("I17", what + "less is claimed than its gang needs");
    }
    check_claimed_topology(row, like, after);
    for (const PodId id : row.pods) then.pods.at(after.pod(id).facts.uid).claimed.clear();
    if (!then.limit_crossed(like, ask).empty()) {
        fail("I17", what + "pods are stopped in vain: it would cross the limit of " +
                        then.limit_crossed(like, ask));
    }
    check_reclaim(evictions, like, ask, then, before);
    for (const EvictPod& eviction : evictions) {
        note_kept(eviction, after);
        const PodFacts& victim = books_.pods.at(eviction.pod.uid).facts;
        if (is_part(victim)) ++probes.parts_stopped;
        if (is_part(like)) ++probes.stopped_for_parts;
        if (is_stranded(victim)) {
            ++probes.stranded_stopped;
            continue;
        }
        const QueueName theirs = books_.queue_of(victim);
        const QueueName mine = books_.queue_of(like);
        if (theirs == mine ? like.priority <= victim.priority
                           : !is_owed(sides(mine, theirs).first, mine, ask, before)) {
            check_shorter(eviction, after);
        }
    }
    std::map<ObjectKey, std::vector<std::string>> units;  // a gang whole, else each pod
    for (const EvictPod& eviction : evictions) {
        const bool is_gang = books_.gang_of(eviction.job).size > 0;
        units[is_gang ? eviction.job : eviction.pod.key].push_back(eviction.pod.uid);
        if (is_gang && books_.gang_of(eviction.job).bound > 0) {
            fail("I17", what + "only a part of gang " + to_string(eviction.job) + " is stopped");
        }
    }
    for (const auto& [name, uids] : units) {
        Books spared = then;
        for (const std::string& uid : uids) spared.pods.at(uid).facts.phase = PodPhase::running;
        for (const auto& [uid, place] : beside) claim(spared, uid, place);
        // Where room is promised, and of GPU models that are kept for somebody, none is to be had;
        // the books do not know where that is.
        if (!after.pool(row.pool).limits_kept.empty()) continue;
        if (!after.pool(row.pool).promise.job.exists() && spared.limit_crossed(like, ask).empty() &&
            spared.fitting_in_models(like, ranks) >= ranks) {
            fail("I17", what + to_string(name) + " is stopped without need");
        }
    }
}

// I14: room that is free is not merely kept, and nobody keeps room for ever, or to no purpose.
void Judge::look_at_claims(const ClusterState& state) {
    for (const JobId id : state.claims()) {
        const JobRow& job = state.job(id);
        if (job.workload == WorkloadState::deleting) {
            fail("I14", "job " + to_string(job.key) + " is being deleted and claims room");
        }
        bool is_free = true;
        std::vector<std::string> models;  // of the nodes that it claims
        Books then = books_;
        Amounts ask;
        PodFacts like;
        for (const PodId pod_id : job.pods) {
            const PodRow& pod = state.pod(pod_id);
            if (pod.standing != PodStanding::claimed) continue;
            like = pod.facts;
            ask.add(amounts_of(like.request));
            then.pods.at(like.uid).claimed.clear();
            const auto node = books_.nodes.find(state.node(pod.node).facts.name);
            if (node == books_.nodes.end()) continue;
            models.push_back(node->second.gpu_model);
            const Amounts left = books_.room_on(node->second);
            const bool lacks_gpus = lacks_devices(books_, node->second, pod.facts, pod.gpu_device);
            const bool lacks_ports =
                books_.is_port_taken(node->first, like.request.host_ports, like.uid);
            is_free = is_free && left.cpu >= 0 && left.memory >= 0 && left.slots >= 0 &&
                      !lacks_gpus && !lacks_ports;
        }
        for (const std::string& model : models) {
            is_free = is_free && then.model_allowed(like, ask.gpus, model);
        }
        if (is_free && then.limit_crossed(like, ask, LetIn::when_claimed).empty()) {
            fail("I14", "job " + to_string(job.key) + " claims room that is free");
        }
        if (job.claim_until <= state.now()) {
            fail("I14", "job " + to_string(job.key) + " claims room for ever");
        }
    }
}

bool Judge::may_be_stopped(const ClusterState& state, const std::string& uid,
                           const std::string& pool, bool is_willing) const {
    const PodId id = state.find_pod(uid);
    if (!id.exists()) return false;
    const BookedPod& pod = books_.pods.at(uid);
    const PodRow& row = state.pod(id);
    const auto node = books_.nodes.find(pod.where());
    const Instant protected_until =
        std::max(row.placed_at, pod.facts.started_at) + books_.policy.run_time_protected;
    return pod.stays() && row.standing == PodStanding::bound && is_willing &&
           pod.facts.has_controller && row.eviction == Eviction::none &&
           row.spared_until <= state.now() && may_be_moved(uid) && node != books_.nodes.end() &&
           node->second.ready && node->second.pool == pool && protected_until <= state.now();
}

// With all of its gang, where it is of one.
bool Judge::unit_may_be_stopped(const ClusterState& state, const BookedPod& pod,
                                const std::string& pool, Consent consent) const {
    const ObjectKey job = job_of(pod.facts);
    const auto may = [&](const BookedPod& one) {
        const bool is_willing = one.facts.preemptible || consent == Consent::not_needed ||
                                (consent == Consent::by_priority && may_be_preempted(one.facts));
        return may_be_stopped(state, one.facts.uid, pool, is_willing);
    };
    if (books_.gang_of(job).size == 0) return may(pod);
    if (!state.job(state.find_job(job)).gang_started) return false;
    const std::set<std::string>& ranks = books_.jobs.at(job);
    return std::all_of(ranks.begin(), ranks.end(), [&](const std::string& uid) {
        const BookedPod& rank = books_.pods.at(uid);
        return !rank.holds() || rank.facts.terminating || may(rank);
    });
}

// Stopping everybody whom it may stop would let it start, and nobody is asked to go.
void Judge::try_disruption(const ClusterState& state, JobId id, const Readiness& ready) {
    const PodFacts& like = state.pod(ready.pods.front()).facts;
    if (like.priority >= kSystemPriority) return;
    // Whoever only waits for them may lose that room to others, and is tried again when they go.
    if (does_anybody_leave(state, state.job(id))) return;
    const std::int64_t ranks = ready.all_or_nothing ? ready.ranks_needed : 1;
    Amounts ask;
    ask.add(amounts_of(like.request), ranks);
    if (!books_.budget_crossed(like, ask.gpus).empty()) return;  // nobody goes for the sake of one
    const std::string pool = state.pool(state.job(id).pool).name;
    Duration latest;  // that it may begin, when the slowest who could be stopped have gone
    const auto starts = [&](const Books& books) {
        return books.limit_crossed(like, ask).empty() &&
               books.fitting_in_models(like, ranks) >= ranks;
    };
    const auto starts_then = [&](std::optional<Books> then) {
        if (then && latest > Duration{}) then->begins_within = latest;
        return then && starts(*then);
    };
    for (const auto& [uid, pod] : books_.pods) {
        if (pod.holds()) latest = std::max(latest, pod.facts.stop_grace + kClaimSpare);
    }
    if (is_held_back(state, id, latest)) return;
    if (books_.policy.windows.empty()) latest = Duration{};
    ++probes.disruptions_tried;
    if (std::optional<Books> then = without_surplus(state, id, like)) {
        ++probes.shrinks_tried;
        if (starts_then(std::move(then))) {
            return fail("I14", "job " + to_string(state.job(id).key) +
                                   " could have elastic jobs shrunk for it and nobody tries");
        }
    }
    const std::string name = "job " + to_string(state.job(id).key);
    if (starts_then(without_stranded(state, state.job(id).key, pool))) {
        return fail("I14", name + " could have gangs stopped that lack ranks and nobody tries");
    }
    if (could_start_anew(state, id, ready, like)) {
        return fail("I14", name + " could start elsewhere as a whole and nobody tries");
    }
    if (std::optional<Books> then = without_loans(state, like, ask)) {
        ++probes.reclaims_tried;
        if (starts_then(std::move(then))) {
            return fail("I14", name + " could have what was lent taken back and nobody tries");
        }
    }
    // What a limit stops is not what stands beside GPUs.
    if (const auto guests = guests_in_the_way(state, like, ask); !guests.empty()) {
        std::optional<Books> then = without_loans(state, like, ask);
        if (!then) then = books_;
        if (latest > Duration{}) then->begins_within = latest;
        const bool is_allowed = then->limit_crossed(like, ask).empty();
        for (const std::string& uid : guests) then->pods.at(uid).facts.phase = PodPhase::failed;
        if (is_allowed) ++probes.clearings_tried;
        if (is_allowed && then->fitting_in_models(like, ranks) >= ranks) {
            return fail("I14", name +
                                   " could use GPUs that its queue is guaranteed if others made "
                                   "way beside them, and nobody tries");
        }
    }
    if (!like.preempts) return;
    std::vector<std::string> victims;
    for (const auto& [uid, pod] : books_.pods) {
        if (!pod.holds() || pod.facts.terminating) continue;
        if (pod.facts.priority >= like.priority) continue;
        if (books_.queue_of(pod.facts) != books_.queue_of(like)) continue;
        if (unit_may_be_stopped(state, pod, pool, Consent::by_priority)) victims.push_back(uid);
    }
    if (victims.empty()) victims = longer_ones(state, id, like);
    if (victims.empty()) return;
    std::optional<Books> without = books_;
    for (const std::string& uid : victims) without->pods.at(uid).facts.phase = PodPhase::failed;
    if (starts_then(std::move(without))) {
        fail("I14", name + " could have " + std::to_string(victims.size()) + " pods, one of them " +
                        to_string(books_.pods.at(victims.front()).facts.key) +
                        ", stopped for it and nobody tries");
    }
}

}  // namespace gpuctl::sim
