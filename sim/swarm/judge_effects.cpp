// What the engine asks of the world: may it?

#include <algorithm>
#include <utility>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

// I2: writes only in office, stamped with the term, and never under a number that was used before.
void Judge::check_may_write(EffectId effect, Epoch epoch, const std::string& what) {
    if (!books_.leading) fail("I2", what + " without being the leader");
    if (epoch != books_.epoch) fail("I2", what + " carries the epoch of another term");
    if (effect <= effect_last_) fail("I2", what + " reuses the number of an effect");
    effect_last_ = std::max(effect_last_, effect);
}

void Judge::check_bind(const BindPod& bind, const ClusterState& after, std::vector<Turn>& turns) {
    const std::string what = "bind of " + to_string(bind.pod.key);
    check_may_write(bind.id, bind.epoch, what);
    const auto found = books_.pods.find(bind.pod.uid);
    if (found == books_.pods.end()) return fail("I2", what + ": nobody has this pod");
    BookedPod& pod = found->second;
    const ObjectKey job = job_of(pod.facts);
    if (!pod.facts.node.empty()) fail("I2", what + ": it is bound already");
    if (is_terminal(pod.facts.phase)) fail("I2", what + ": it has ended");
    // Once nothing of it can land any more, the room is given up and it is decided anew.
    const bool moved = pod.promised != bind.node || pod.promised_device != bind.gpu_device;
    const bool is_over = pod.reserved || (pod.open && pod.deadline < books_.now && !is_kept(pod));
    if (is_over && moved && pod.lands_until < books_.now) {
        pod.open = pod.reserved = false;
        pod.promised.clear();
    }
    if (pod.open || pod.reserved) {  // asked again, not decided again
        if (pod.promised != bind.node) fail("I2", what + ": an open bind moved to another node");
        if (pod.promised_device != bind.gpu_device) {
            fail("I2", what + ": an open bind moved to another GPU");
        }
        check_reservation(bind, pod);
        return books_.promise(bind);
    }
    if (!pod.promised.empty()) return fail("I2", what + ": it was told to be bound already");
    if (pod.facts.terminating || pod.facts.gated) fail("I2", what + ": it may not start");
    const auto quiet = quiet_until_.find(job);
    if (quiet != quiet_until_.end() && books_.now < quiet->second) {
        fail("I14", what + ": tried again at once after a failure");
    }
    const auto refused = refusals_.find(bind.pod.uid);
    if (refused != refusals_.end()) {
        if (!refused->second.has_changed && books_.now < refused->second.until) {
            fail("I14", what + ": tried again at once after it was refused");
        }
        refusals_.erase(refused);
    }
    check_room(bind, pod, after);
    if (books_.claimed_before(bind.pod.uid) == bind.node) {  // decided when it was claimed
        ++probes.claims_used;
        ++settled_[job];
        return books_.promise(bind);
    }
    check_model_preferred(bind, pod, after);
    check_packing(bind, pod, after);
    const JobRow& row = after.job(after.find_job(job));
    const Gang gang = books_.gang_of(job);
    const bool is_further =
        ClusterState::is_elastic(row) && gang.is_whole() && pod.facts.rank > gang.rank_last;
    const bool grows = is_further && gang.succeeded == 0;
    const bool may_grow = is_further && !grows;
    if (turns.empty() || turns.back().job != job || turns.back().grows != grows ||
        turns.back().may_grow != may_grow) {
        // A claim that came to nothing may be decided anew, for some ranks as it was before.
        const bool resumes = gang.held > settled_[job] && !gang.is_whole();
        turns.push_back({job,
                         pod.facts,
                         0,
                         gang.size > 0,
                         resumes,
                         grows,
                         may_grow,
                         row.submitted_at,
                         row.arrival,
                         {},
                         {}});
    }
    ++turns.back().ranks;
    turns.back().uids.insert(bind.pod.uid);
    turns.back().away.insert(bind.pod.uid);
    turns.back().away.insert(told_to_go_.begin(), told_to_go_.end());
    books_.promise(bind);
}

// I1 and I5, by sums over all pods.
void Judge::check_room(const BindPod& bind, const BookedPod& pod, const ClusterState& after) {
    const std::string what = "bind of " + to_string(bind.pod.key) + " to " + bind.node;
    const Amounts request = amounts_of(pod.facts.request);
    const auto node = books_.nodes.find(bind.node);
    if (node == books_.nodes.end()) return fail("I1", what + ": there is no such node");
    const std::string pool = pod.facts.pool.empty() ? kDefaultPool : pod.facts.pool;
    if (node->second.pool != pool) fail("I1", what + ": that is another pool");
    if (!Books::may_use(pod.facts.rules, node->second)) {
        fail("I1", what + ": its rules do not allow that node");
    }
    if (!books_.is_open(node->second, pod.facts)) {
        fail("I20", what + ": it is closed for maintenance, or will be before the job is over");
    }
    if (!books_.policy.windows.empty()) ++probes.binds_beside_windows;
    const auto is_for_it = [&](const MaintenanceWindow& window) {
        return books_.is_for(window, pod.facts) && covers(window, node->second);
    };
    if (std::any_of(books_.policy.windows.begin(), books_.policy.windows.end(), is_for_it)) {
        ++probes.binds_in_reservations;
    }
    if (!pod.facts.rules.volumes.empty()) ++probes.binds_to_volumes;
    if (!request.ports.empty()) {
        ++probes.ports_given;
        if (books_.is_port_taken(bind.node, request.ports)) {
            fail("I1", what + ": another pod listens at a port of it there");
        }
    }
    if (books_.fitting(node->second, request, 1) < 1) {
        fail("I1", what + ": there is no room");
    }
    const bool is_part = request.gpus > 0 && request.gpus < 1000;
    if (is_part) ++probes.parts_placed;
    if (is_part && books_.devices_on(bind.node).on_device(bind.gpu_device) > 0) {
        ++probes.devices_shared;
    }
    if (is_part != (bind.gpu_device >= 0)) {
        fail("I1", what + ": a part of a GPU, and no other, lies on a device");
    } else if (request.gpus > 0 &&
               !books_.devices_on(bind.node).takes(amounts_of(node->second.allocatable).gpus,
                                                   request.gpus, bind.gpu_device)) {
        fail("I1", what + ": there is no room on GPU " + std::to_string(bind.gpu_device));
    }
    if (!books_.model_allowed(pod.facts, request.gpus, node->second.gpu_model)) {
        fail("I5", what + " crosses a limit for GPUs of model " + node->second.gpu_model);
    }
    const bool was_claimed = books_.claimed_before(bind.pod.uid) == bind.node;
    const LetIn let_in = was_claimed ? LetIn::when_claimed : LetIn::now;
    std::string crossed = books_.limit_crossed(pod.facts, request, let_in);
    if (!crossed.empty()) {  // what was claimed before it in this step is kept back no more
        Books claimed = books_;
        claimed.read_claims(after, false);
        crossed = claimed.limit_crossed(pod.facts, request, let_in);
    }
    if (!crossed.empty()) fail("I5", what + " crosses the limit of " + crossed);
}

// Where it was told to be bound there is still room for it, with all that was told so.
bool Judge::is_kept(const BookedPod& pod) const {
    const auto node = books_.nodes.find(pod.promised);
    if (node == books_.nodes.end()) return false;
    Books then = books_;  // what is claimed there is to come when others have gone
    for (auto& [uid, other] : then.pods) other.claimed.clear();
    Amounts room = then.room_on(node->second);
    // A policy that keeps more slots free since then takes none back.
    room.slots += std::max<std::int64_t>(books_.policy.pods_reserved_per_node, 0);
    const DeviceCount devices = then.devices_on(pod.promised);
    const bool has_gpus =
        devices.taken() <= amounts_of(node->second.allocatable).gpus &&
        (pod.promised_device < 0 || devices.on_device(pod.promised_device) <= 1000);
    const bool needs_gpus = amounts_of(pod.facts.request).gpus > 0;
    if (then.is_port_taken(pod.promised, pod.facts.request.host_ports, pod.facts.uid)) return false;
    return room.cpu >= 0 && room.memory >= 0 && room.slots >= 0 && (!needs_gpus || has_gpus);
}

void Judge::check_reservation(const BindPod& bind, const BookedPod& pod) {
    if (!is_kept(pod))
        fail("I1", "bind of " + to_string(bind.pod.key) + ": its reservation is gone");
}

// In a new term a bind whose room is gone is not sent again, and when it is too late for it to land
// it is not waited for either: what is answered yet says nothing.
void Judge::note_given_up(const ClusterState& after) {
    for (auto& [uid, pod] : books_.pods) {
        if (!pod.open || pod.deadline >= books_.now || pod.lands_until >= books_.now) continue;
        const PodId id = after.find_pod(uid);
        if (!id.exists() || after.pod(id).standing != PodStanding::waiting || is_kept(pod))
            continue;
        pod.open = false;
        pod.given_up = true;
        pod.promised.clear();
    }
}

// Only the first failure after a long peace is judged: from then on the engine's own backoff, which
// may run since an earlier failure of the same job, is what counts.
void Judge::check_backoff(const BindOutcome& outcome) {
    const auto pod = books_.pods.find(outcome.uid);
    if (pod == books_.pods.end() || pod->second.effect != outcome.effect) return;
    if (pod->second.given_up) return;
    // Bound by what an earlier term had sent: that this second try failed changes nothing.
    if (!pod->second.facts.node.empty()) return;
    if (outcome.result == BindResult::refused) {
        refusals_[outcome.uid] = {books_.now + books_.policy.backoff_maximum, false};
    }
    if (outcome.result != BindResult::failed) return;
    const ObjectKey job = job_of(pod->second.facts);
    const auto before = failed_at_.find(job);
    const bool is_first =
        before == failed_at_.end() || books_.now - before->second > books_.policy.backoff_maximum;
    failed_at_[job] = books_.now;
    if (is_first) quiet_until_[job] = books_.now + books_.policy.backoff_initial;
}

// I4: what was placed of a gang completes it.
void Judge::check_gangs(const std::vector<Turn>& turns) {
    for (const Turn& turn : turns) {
        check_topology(turn);
        check_model_of_gang(turn);
        if (!turn.gang) continue;
        const Gang gang = books_.gang_of(turn.job);
        if (!gang.is_whole()) {
            fail("I4", "gang " + to_string(turn.job) + " was placed with " +
                           std::to_string(gang.held) + " of " + std::to_string(gang.size) +
                           " ranks, or without one of its roles");
        }
    }
}

void Judge::check_delete(const DeletePod& deletion) {
    const std::string what = "deletion of " + to_string(deletion.pod.key);
    check_may_write(deletion.id, deletion.epoch, what);
    const auto found = books_.pods.find(deletion.pod.uid);
    if (found == books_.pods.end()) return;
    BookedPod& pod = found->second;
    if (!pod.facts.has_controller) fail("I4", what + ": nobody would make it again");
    if (pod.deleting) return;  // asked again in a new term
    const Gang gang = books_.gang_of(job_of(pod.facts));
    if (gang.size == 0) fail("I4", what + ": it is in no gang");
    if (started_.contains(job_of(pod.facts))) {
        fail("I4", what + ": its gang once ran as a whole and is not rolled back");
    }
    pod.deleting = true;
    rolled_back_.insert(job_of(pod.facts));
}

// I4: a roll-back leaves none of the gang behind.
// Deletions asked for again in a new term are left out: one that was refused meanwhile waits for
// its backoff.
void Judge::check_rollbacks() {
    for (const ObjectKey& job : std::exchange(rolled_back_, {})) {
        if (books_.gang_of(job).bound > 0) {
            fail("I4", "the roll-back of gang " + to_string(job) + " leaves ranks behind");
        }
    }
}

void Judge::check_started(const ReportStarted& report) {
    const Gang gang = books_.gang_of(report.job);
    if (report.waited < Duration{0})
        fail("I15", to_string(report.job) + " waited less than nothing");
    for (std::size_t i = 0; i < report.pods.size(); ++i) {
        const auto found = books_.pods.find(report.pods[i].uid);
        if (found == books_.pods.end()) continue;
        const BookedPod& pod = found->second;
        if (pod.where() != report.nodes[i] || pod.open || pod.reserved) {
            fail("I15", "pod " + to_string(report.pods[i].key) + " is told to be on " +
                            report.nodes[i] + " and is not bound there");
        }
    }
    if (gang.size == 0) return;
    if (!started_.contains(report.job) && !gang.is_whole()) {
        fail("I4", "gang " + to_string(report.job) + " is told to have started and is not whole");
    }
    const bool is_first = !started_.contains(report.job);
    if (is_first && !gang.least.empty()) ++probes.gangs_with_roles;
    if (is_first && gang.size > 1) ++probes.gangs_started;
    started_.insert(report.job);
}

// I3: one write per job's workload at a time, so that none overtakes another.
void Judge::check_workload(const ObjectKey& job, EffectId effect, Epoch epoch) {
    check_may_write(effect, epoch, "workload of " + to_string(job));
    if (workloads_open_.contains(job)) {
        fail("I3", "two writes of the workload of " + to_string(job) + " are under way");
    }
    workloads_open_[job] = effect;
}

void Judge::close_workload(const Event& event) {
    if (const auto* term = std::get_if<LeadershipChanged>(&event)) {
        if (term->leading) workloads_open_.clear();  // sent again in the new term
    } else if (const auto* outcome = std::get_if<WorkloadOutcome>(&event)) {
        const auto open = workloads_open_.find(outcome->key);
        if (!outcome->done) ++probes.creates_failed;
        if (open != workloads_open_.end() && open->second == outcome->effect) {
            workloads_open_.erase(open);
        }
    } else if (const auto* deletion = std::get_if<PodDeleteOutcome>(&event)) {
        if (!deletion->deleted) ++probes.deletes_failed;
    }
}

}  // namespace gpuctl::sim
