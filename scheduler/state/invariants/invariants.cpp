#include "scheduler/state/invariants/invariants.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/invariants/invariants_models.hpp"
#include "scheduler/state/invariants/invariants_ports.hpp"
#include "scheduler/state/invariants/invariants_seats.hpp"

namespace gpuctl {

// Friend of ClusterState: the invariants also concern its private tables.
class Verifier {
public:
    explicit Verifier(const ClusterState& state) : state_(state) {}

    std::vector<Violation> run() {
        check_capacity();
        for (std::string& wrong : wrong_resource_counts(state_)) fail("I1", std::move(wrong));
        check_pod_states();
        check_records();
        check_gangs();
        check_accounts();
        check_queues();
        return std::move(found_);
    }

private:
    void fail(const char* id, std::string what) { found_.push_back({id, std::move(what)}); }

    // I1: what is free is what is offered without what is held, and the index agrees.
    void check_capacity() {
        const Capacity& capacity = state_.nodes.capacity();
        for (std::uint32_t slot = 0; slot < state_.nodes.rows().size(); ++slot) {
            const NodeRow& node = state_.nodes.rows()[slot];
            std::vector<std::int64_t> held(capacity.columns());
            for (const PodId id : node.pods) {
                const PodRow& pod = state_.pods.rows()[id.value()];
                if (pod.node != NodeId{slot}) {
                    fail("I1", "node " + node.facts.name + " lists a pod that is elsewhere");
                }
                for (const Need& need : state_.pods.shapes().at(pod.shape).needs) {
                    if (!is_host_port(need.column)) held[at(need.column)] += need.amount;
                }
            }
            for (std::string& wrong : wrong_host_ports(state_, NodeId{slot})) {
                fail("I1", std::move(wrong));
            }
            check_devices(slot, held);
            for (std::size_t i = 0; i < capacity.columns(); ++i) {
                const auto column = static_cast<Column>(i);
                if (capacity.kind(column) == ColumnKind::gpu_part) continue;  // check_devices()
                if (capacity.free(column, slot) != capacity.allocatable(column, slot) - held[i]) {
                    fail("I1", "free " + capacity.resource(column) + " of node " + node.facts.name +
                                   " is not what its pods leave");
                }
            }
            const bool offered = capacity.pool_of(slot).exists();
            if (offered != node.known || (offered && capacity.pool_of(slot) != node.pool)) {
                fail("I1", "node " + node.facts.name + " is offered in the wrong pool");
            }
            if (!node.live && (node.known || !node.pods.empty())) {
                fail("I1", "a vacant node slot is in use");
            }
        }
        for (std::string& wrong : capacity.check_index()) fail("I1", std::move(wrong));
    }

    // A device is open if pods hold fractions of it, and has free what they leave. Each open device
    // is one whole GPU less for other pods, which is added to `held`.
    void check_devices(std::uint32_t slot, std::vector<std::int64_t>& held) {
        const Capacity& capacity = state_.nodes.capacity();
        const NodeRow& node = state_.nodes.rows()[slot];
        for (std::size_t i = 0; i < capacity.columns(); ++i) {
            const auto column = static_cast<Column>(i);
            if (capacity.kind(column) != ColumnKind::gpu_part) continue;
            std::map<std::int32_t, OpenDevice> open;
            for (const PodId id : node.pods) {
                const PodRow& pod = state_.pods.rows()[id.value()];
                const Need* part = capacity.part_of(state_.pods.shapes().at(pod.shape).needs);
                if (part == nullptr || part->column != column) continue;
                if (pod.gpu_device < 0)
                    fail("I1", "a part of a GPU of node " + node.facts.name + " lies on no device");
                OpenDevice& device = open[pod.gpu_device];
                device.number = pod.gpu_device;
                device.free -= part->amount;
            }
            std::vector<OpenDevice> counted;
            std::int64_t most = 0;
            for (const auto& [number, device] : open) {
                counted.push_back(device);
                most = std::max(most, device.free);
            }
            const Column whole = capacity.whole_column(column);
            held[at(whole)] += static_cast<std::int64_t>(open.size()) * kGpuMilliPerGpu;
            if (capacity.free(whole, slot) >= kGpuMilliPerGpu) most = kGpuMilliPerGpu;
            if (capacity.free(whole, slot) < 0) most = 0;
            if (capacity.open_devices(column, slot) != counted ||
                capacity.free(column, slot) != most) {
                fail("I1", "the shared GPUs of node " + node.facts.name +
                               " are not what their pods leave");
            }
        }
    }

    // I2: a pod holds one node at most, and at most one effect is in flight for it.
    void check_pod_states() {
        std::set<EffectId> effects;
        for (std::uint32_t i = 0; i < state_.pods.rows().size(); ++i) {
            const PodRow& pod = state_.pods.rows()[i];
            if (pod.facts.uid.empty()) continue;
            const auto name = [&pod] { return "pod " + to_string(pod.facts.key); };
            const bool holds = pod.node.exists();
            switch (pod.bind.state) {
                case BindState::waiting:
                case BindState::done:
                    if (holds) fail("I2", name() + " holds a node without being placed");
                    break;
                case BindState::assumed:
                case BindState::bound:
                case BindState::nominated:
                case BindState::seat:
                    if (!holds) fail("I2", name() + " is placed and holds no node");
                    break;
                case BindState::foreign:
                    break;
            }
            if (pod.bind.in_flight && pod.bind.state != BindState::assumed) {
                fail("I2", name() + " has a bind in flight and is not assumed");
            }
            if (pod.bind.in_flight && !effects.insert(pod.bind.effect).second) {
                fail("I2", name() + " shares its bind with another pod");
            }
            if (holds) {
                const auto& pods = state_.nodes.rows()[pod.node.value()].pods;
                if (std::count(pods.begin(), pods.end(), PodId{i}) != 1) {
                    fail("I2", name() + " is not listed once by its node");
                }
            }
            if (!pod.facts.node.empty() && holds &&
                state_.nodes.rows()[pod.node.value()].facts.name != pod.facts.node) {
                fail("I2", name() + " holds another node than the one it was seen on");
            }
        }
    }

    // I3: one record per job uid and name; a due or open effect belongs to a record.
    void check_records() {
        std::set<std::string> uids;
        for (const auto& [key, id] : state_.jobs.job_ids()) {
            const JobRow& job = state_.jobs.rows()[id.value()];
            if (job.key != key || !job.live) fail("I3", "job " + to_string(key) + " is misfiled");
            if (job.record && !uids.insert(job.record->uid).second) {
                fail("I3", "job uid " + job.record->uid + " was accepted twice");
            }
            if (!job.record && (job.workload.due || job.workload.in_flight)) {
                fail("I3", "job " + to_string(key) + " has a workload effect and no record");
            }
            if (job.workload.due && !job.workload.in_flight &&
                !state_.workloads.unsent().contains(key)) {
                fail("I3", "job " + to_string(key) + " is not written and not listed as such");
            }
            Instant refusal_ends_at;
            for (const PodId pod : job.pods) {
                const PodRow& row = state_.pods.rows()[pod.value()];
                if (row.job != id) {
                    fail("I3", "job " + to_string(key) + " lists a pod of another job");
                }
                const bool is_first = !refusal_ends_at.happened();
                if (row.bind.bar == PodBar::refused &&
                    (is_first || row.bind.barred_until < refusal_ends_at)) {
                    refusal_ends_at = row.bind.barred_until;
                }
            }
            if (job.binding.refusal_ends_at != refusal_ends_at) {
                fail("I14", "job " + to_string(key) + " has another end of its refusals in mind");
            }
            const bool has_ended_pods =
                job.retention.past && !job.retention.past->ended_pods.empty();
            if (job.pods.empty() && !job.record && !has_ended_pods) {
                fail("I3", "job " + to_string(key) + " has neither pods nor record");
            }
        }
    }

    // I4: a gang that is neither whole nor empty has a deadline, or is known to lack ranks.
    void check_gangs() {
        for (const auto& [key, id] : state_.jobs.job_ids()) {
            const JobRow& job = state_.jobs.rows()[id.value()];
            const GangSize size = state_.gangs.gang_of(job).value_or(GangSize{});
            if (size.ranks <= 0 || job.is_dirty) continue;
            GangTally held{size};
            held.add(job.gang.finished);
            std::int64_t assumed = 0;
            std::int64_t bound = 0;
            bool rolling_back = false;
            for (const PodId pod_id : job.pods) {
                const PodRow& pod = state_.pods.rows()[pod_id.value()];
                if (pod.bind.state == BindState::assumed) ++assumed;
                rolling_back = rolling_back || pod.bind.delete_in_flight;
                const bool ended =
                    pod.bind.state == BindState::done && pod.facts.phase == PodPhase::succeeded;
                const bool stays = pod.bind.state == BindState::assumed ||
                                   (pod.bind.state == BindState::bound && !pod.is_terminating());
                if (ended || stays) held.add(pod.facts.role);
                if (stays) ++bound;
            }
            if (bound == 0 || held.is_whole() || has_started(job.gang.phase()) || rolling_back)
                continue;
            if (!job.gang.deadline.happened()) {
                fail("I4", "gang " + to_string(key) + " holds " + std::to_string(held.ranks()) +
                               " ranks, lacks " + std::to_string(held.missing()) +
                               ", and nothing watches it");
            }
            const bool late = job.gang.deadline < state_.session.event_time();
            if (late && assumed == 0 && state_.session.leading() && state_.session.synced() &&
                state_.gangs.can_roll_back(job)) {
                fail("I4", "gang " + to_string(key) + " is half bound beyond its deadline");
            }
        }
    }

    // I5: queues and tenants are charged exactly what their pods hold.
    void check_accounts() {
        std::map<QueueId, Load> by_queue;  // with every queue below
        std::map<QueueId, std::set<JobId>> jobs;
        std::map<std::pair<QueueId, TenantId>, Load> by_tenant_in_queue;
        std::map<std::pair<PoolId, TenantId>, GpuMilli> by_tenant_in_pool;
        struct Held {
            GpuMilli gpus;
            CpuMilli cpu;
            Bytes memory;
        };
        std::map<TenantId, Held> by_tenant;
        std::map<QueueId, GpuMilli> nominated;
        for (const PodRow& pod : state_.pods.rows()) {
            if (pod.facts.uid.empty() || !pod.node.exists() || !pod.job.exists()) continue;
            const JobRow& job = state_.jobs.rows()[pod.job.value()];
            if (job.priority >= kSystemPriority) continue;
            const Shape& shape = state_.pods.shapes().at(pod.shape);
            Held& held = by_tenant[job.tenant];
            held.gpus += shape.gpus;
            held.cpu += shape.cpu;
            held.memory += shape.memory;
            if (!job.queue.exists()) continue;
            const Load load{shape.gpus, shape.cpu, shape.memory};
            by_tenant_in_queue[{job.queue, job.tenant}].add(load);
            if (pod.bind.state == BindState::nominated) nominated[job.queue] += shape.gpus;
            by_tenant_in_pool[{job.pool, job.tenant}] += shape.gpus;
            for (QueueId id = job.queue; id.exists();
                 id = state_.tree.queue_rows()[id.value()].parent) {
                by_queue[id].add(load);
                jobs[id].insert(pod.job);
            }
        }
        for (std::uint32_t i = 0; i < state_.tree.queue_rows().size(); ++i) {
            const QueueRow& queue = state_.tree.queue_rows()[i];
            if (queue.account.held != by_queue[QueueId{i}] ||
                queue.jobs_held != static_cast<std::int64_t>(jobs[QueueId{i}].size())) {
                fail("I5", "queue " + queue.name + " is charged wrongly");
            }
            if (queue.nominated != nominated[QueueId{i}]) {
                fail("I5", "what is nominated for queue " + queue.name + " is charged wrongly");
            }
            for (const ModelHolding& model : queue.models) {
                if (!models::is_charged_right(state_, QueueId{i}, model)) {
                    fail("I5", "a GPU model of queue " + queue.name + " is charged wrongly");
                }
            }
            for (std::uint32_t t = 0; t < queue.by_tenant.size(); ++t) {
                if (queue.by_tenant[t].held != by_tenant_in_queue[{QueueId{i}, TenantId{t}}]) {
                    fail("I5", "a tenant of queue " + queue.name + " is charged wrongly");
                }
            }
        }
        for (std::uint32_t i = 0; i < state_.tree.pool_rows().size(); ++i)
            check_pool(PoolId{i}, by_tenant_in_pool);
        for (std::uint32_t i = 0; i < state_.tree.tenant_rows().size(); ++i) {
            const TenantRow& tenant = state_.tree.tenant_rows()[i];
            const Held& held = by_tenant[TenantId{i}];
            if (tenant.gpus_held != held.gpus || tenant.cpu_held != held.cpu ||
                tenant.memory_held != held.memory) {
                fail("I5", "namespace " + tenant.name + " is charged wrongly");
            }
        }
    }

    using HeldInPool = std::map<std::pair<PoolId, TenantId>, GpuMilli>;
    void check_pool(PoolId id, HeldInPool& held_in_pool) {
        const PoolRow& pool = state_.tree.pool_rows()[id.value()];
        GpuMilli held;
        GpuMilli held_or_reserved;
        for (const QueueId root : pool.roots) {
            held += state_.tree.queue_rows()[root.value()].account.held.gpus;
            held_or_reserved += held_or_reserved_by(root);
        }
        GpuMilli growing;
        for (const PodRow& pod : state_.pods.rows()) {
            if (!pod.grows_with_demand || !pod.job.exists()) continue;
            const JobRow& job = state_.jobs.rows()[pod.job.value()];
            const bool counts = job.pool == id && job.queue.exists();
            if (counts && job.priority < kSystemPriority) {
                growing += state_.pods.shapes().at(pod.shape).gpus;
            }
        }
        if (pool.held_by_growing != growing) {
            fail("I5", "what may use the reserve of pool " + pool.name + " is charged wrongly");
        }
        if (pool.held != held || pool.held_or_reserved != held_or_reserved) {
            fail("I5", "what the queues of pool " + pool.name + " keep is summed up wrongly");
        }
        for (const ModelRoom& room : pool.reserved_models) {
            const bool agrees_on_reserved = models::agrees_on_reserved(state_, id, room);
            if (agrees_on_reserved && models::is_summed_up(state_, id, room)) continue;
            fail("I5", "GPUs " + room.model + " of pool " + pool.name + " are summed up wrongly");
        }
        Load offered;
        for (const NodeRow& node : state_.nodes.rows()) {
            if (!node.known || node.pool != id) continue;
            offered.add({gpus_total(node.facts.allocatable), node.facts.allocatable.cpu,
                         node.facts.allocatable.memory});
        }
        if (pool.offered != offered) fail("I1", "pool " + pool.name + " offers another amount");
        for (std::uint32_t t = 0; t < pool.held_by_tenant.size(); ++t) {
            if (pool.held_by_tenant[t] != held_in_pool[{id, TenantId{t}}]) {
                fail("I5", "a tenant of pool " + pool.name + " is charged wrongly");
            }
        }
    }

    GpuMilli held_or_reserved_by(QueueId id) const {
        const QueueRow& queue = state_.tree.queue_rows()[id.value()];
        GpuMilli held_or_reserved = queue.direct.gpus;
        for (const QueueId child : queue.children) held_or_reserved += held_or_reserved_by(child);
        return std::max(held_or_reserved, queue.not_lent);
    }

    // I3 again: a waiting job is in its queue, on the list of changed jobs, or held for a reason.
    void check_queues() {
        std::size_t queued = 0;
        for (const auto& [key, id] : state_.jobs.job_ids()) {
            const JobRow& job = state_.jobs.rows()[id.value()];
            Readiness ready;
            state_.waiting.read_readiness(id, ready);
            const bool can_be_tried = ready.can_be_tried();
            if (job.waiting.in_class.exists()) {
                ++queued;
                const JobClass& waiting = state_.waiting.book().at(job.waiting.in_class);
                if (!waiting.jobs.contains({job.submitted_at, job.arrival, id})) {
                    fail("I3", "job " + to_string(key) + " is not in the class it names");
                }
            } else if (can_be_tried && !job.is_dirty) {
                fail("I3", "job " + to_string(key) + " could be tried and is not listed for it");
            }
        }
        if (queued != state_.waiting.book().jobs_waiting()) {
            fail("I3", "the queue book holds jobs that are gone");
        }
    }

    const ClusterState& state_;
    std::vector<Violation> found_;
};

std::vector<Violation> verify(const ClusterState& state) {
    std::vector<Violation> found = Verifier{state}.run();
    verify_evictions(state, found);
    verify_budgets(state, found);
    verify_demand(state, found);
    verify_finished(state, found);
    verify_seats(state, found);
    return found;
}

}  // namespace gpuctl
