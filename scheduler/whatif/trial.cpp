#include "scheduler/whatif/trial.hpp"

#include <utility>

#include "scheduler/model/job/job_pods.hpp"
#include "scheduler/model/policy/preemption_cost.hpp"

namespace gpuctl::whatif {
namespace {

// Far more Plans than any state needs: an endless loop ends here.
constexpr int kPlansMax = 10'000;

// Reports the outcomes of effects as if all of them succeeded.
struct Agree {
    const ClusterState& state;
    std::vector<Event>& answers;
    std::vector<EvictedPod>& evicted_pods;
    std::vector<std::string>& bound;
    std::set<Instant>& wakes;
    void note_stop(PodId id, bool job_goes_on) const {
        const PodRow& pod = state.pod(id);
        if (!pod.node.exists()) return;
        const GpuMilli gpus = state.shape_of(pod).gpus;
        evicted_pods.push_back({state.job(pod.job).key, pod.facts.key.name, gpus,
                                lost_gpu_ms(pod.facts, gpus, state.now()), job_goes_on});
    }
    void operator()(const BindPod& bind) const {
        answers.emplace_back(BindOutcome{bind.id, bind.pod.uid, BindResult::bound, ""});
        bound.push_back(bind.pod.uid);
    }
    void operator()(const DeletePod& deletion) const {
        answers.emplace_back(PodDeleteOutcome{deletion.id, deletion.pod.uid, true, ""});
        answers.emplace_back(PodRemoved{deletion.pod.uid});
    }
    void operator()(const CreateWorkload& creation) const {
        answers.emplace_back(
            WorkloadOutcome{creation.id, creation.job->spec.key, true, false, "", {}});
    }
    void operator()(const DeleteWorkload& deletion) const {
        answers.emplace_back(WorkloadOutcome{deletion.id, deletion.key, true, false, "", {}});
    }
    void operator()(const EvictPod& eviction) const {
        if (const PodId id = state.pods.find_pod(eviction.pod.uid); id.exists())
            note_stop(id, false);
        answers.emplace_back(
            PodEvictOutcome{eviction.id, eviction.pod.uid, EvictResult::evicted, ""});
        answers.emplace_back(PodRemoved{eviction.pod.uid});
    }
    // Surplus ranks are removed at once. No controller creates further ranks here.
    void operator()(const ResizeWorkload& resize) const {
        answers.emplace_back(
            WorkloadResizeOutcome{resize.id, resize.key, ResizeResult::resized, 0, ""});
        for (const PodId id : state.job(state.jobs.find_job(resize.key)).pods) {
            const PodFacts& pod = state.pod(id).facts;
            if (pod.rank >= resize.to && !is_terminal(pod.phase)) {
                note_stop(id, true);
                answers.emplace_back(PodRemoved{pod.uid});
            }
        }
    }
    // No controller creates or removes pods here.
    void operator()(const UpdateWorkload& update) const {
        answers.emplace_back(WorkloadOutcome{update.id, update.job->spec.key, true, false, "", {}});
    }
    void operator()(const ChangeNode& change) const {
        answers.emplace_back(NodeChangeOutcome{
            change.id, change.request, change.change.node, NodeChangeResult::changed, {}, ""});
    }
    void operator()(const ReportPending&) const {}
    void operator()(const ReportStarted&) const {}
    void operator()(const DropDetails&) const {}
    void operator()(const WakeAt& wake) const { wakes.insert(wake.at); }
};

}  // namespace

Result<Trial> Trial::of(std::string_view exported, Instant now) {
    Result<Engine> engine = Engine::import_state(exported);
    if (!engine) return while_doing("copy the engine for a trial", engine.error());
    Trial trial{std::move(*engine), now};
    if (!trial.state().session.synced()) trial.happen(CacheSynced{});
    if (!trial.state().session.leading()) {
        const auto epoch = static_cast<std::uint64_t>(trial.state().session.epoch());
        trial.happen(LeadershipChanged{true, Epoch{epoch + 1}});
    }
    return trial;
}

void Trial::happen(Event event) {
    effects_.clear();
    engine_.step(Input{Sequence{++sequence_}, now_, sequence_, std::move(event)}, effects_);
    for (const Effect& effect : effects_) {
        std::visit(Agree{engine_.state(), answers_, evicted_, bound_, wakes_}, effect);
    }
}

void Trial::answer_all() {
    while (!answers_.empty()) {
        for (Event& answer : std::exchange(answers_, {})) happen(std::move(answer));
    }
}

void Trial::submit(const JobRecord& job, const std::string& label_prefix) {
    happen(JobSubmitted{job});
    answer_all();
    for (std::int32_t ordinal = 0; ordinal < pods_of(job.spec); ++ordinal) {
        PodFacts pod = pod_of(job.spec, ordinal, now_, label_prefix);
        pod.key = {job.spec.key.namespace_name, job.spec.key.name + "-" + std::to_string(ordinal)};
        pod.uid = job.uid + "/" + std::to_string(ordinal);
        happen(PodObserved{std::move(pod)});
    }
}

Instant Trial::next_wake() {
    wakes_.erase(wakes_.begin(), wakes_.upper_bound(now_));
    return wakes_.empty() ? Instant{} : *wakes_.begin();
}

void Trial::settle() {
    for (int plans = 0; plans < kPlansMax; ++plans) {
        answer_all();
        if (!engine_.wants_plan()) return;
        happen(Plan{});
    }
}

}  // namespace gpuctl::whatif
