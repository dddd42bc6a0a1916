#include "scheduler/whatif/rerun.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace gpuctl::whatif {
namespace {

// Far more Plans than are needed at any point in time: an endless loop ends here.
constexpr int kPlansPerTimeMax = 10'000;

struct Happening {
    enum class Kind : std::uint8_t { event, arrival, end, give_up, wake };
    Instant at;
    std::uint64_t order = 0;  // among events at the same time
    Kind kind = Kind::event;
    std::size_t index = 0;  // index of the event or pod
    std::uint32_t incarnation = 0;
    friend bool operator>(const Happening& a, const Happening& b) {
        return std::tie(a.at, a.order) > std::tie(b.at, b.order);
    }
};

// The state of a pod in the rerun.
struct Live {
    bool is_there = false;
    Instant since;  // the pod runs since then; never: it waits
    Instant began;  // beginning of its present run, which may be before the window
    Duration kept;  // progress kept from earlier runs, up to the last checkpoint
    bool was_stopped = false;
    std::string node;
    std::uint32_t incarnation = 0;
    bool was_too_many = false;  // it was a rank beyond the size of its elastic job
};

class Player {
public:
    Player(const RerunAsk& ask, Engine engine)
        : ask_(ask), engine_(std::move(engine)), out_(ask.past.pods.size()), live_(out_.size()) {}
    Result<std::vector<RerunPod>> play();

private:
    void begin();
    void happen(Event event);
    void settle();
    void carry_out(const Happening& next);
    void arrive(std::size_t pod);
    void start(std::size_t pod, const std::string& node);
    void stop(std::size_t pod);
    void stop_unfinished(std::size_t pod);
    void end(std::size_t pod);
    void schedule(Instant at, Happening::Kind kind, std::size_t index);
    [[nodiscard]] std::string uid_of(std::size_t pod) const;
    void note_queue(std::size_t pod);
    [[nodiscard]] std::optional<std::size_t> find(const std::string& uid) const;

    void answer(const BindPod& bind);
    void answer(const DeletePod& deletion);
    void answer(const EvictPod& eviction);
    void recreate(const std::string& uid);
    void answer(const CreateWorkload& creation);
    void answer(const DeleteWorkload& deletion);
    void answer(const ResizeWorkload& resize);
    void answer(const UpdateWorkload& update);
    void answer(const ChangeNode& change);
    void answer(const WakeAt& wake);
    void answer(const ReportPending&) {}
    void answer(const ReportStarted&) {}
    void answer(const DropDetails&) {}

    const RerunAsk& ask_;
    Engine engine_;
    std::vector<RerunPod> out_;
    std::vector<Live> live_;
    std::map<std::string, std::size_t, std::less<>> by_uid_;
    std::priority_queue<Happening, std::vector<Happening>, std::greater<>> future_;
    std::vector<Event> answers_;
    EffectList effects_;
    Instant now_;
    std::uint64_t sequence_ = 0;
    std::uint64_t order_ = 0;
};

std::string Player::uid_of(std::size_t pod) const {
    const std::uint32_t incarnation = live_[pod].incarnation;
    const std::string& uid = ask_.past.pods[pod].facts.uid;
    return incarnation == 0 ? uid : uid + "/" + std::to_string(incarnation);
}

std::optional<std::size_t> Player::find(const std::string& uid) const {
    const auto found = by_uid_.find(uid);
    if (found == by_uid_.end()) return std::nullopt;
    return found->second;
}

void Player::schedule(Instant at, Happening::Kind kind, std::size_t index) {
    const std::uint32_t incarnation = kind == Happening::Kind::end ? live_[index].incarnation : 0;
    future_.push({at, ++order_, kind, index, incarnation});
}

void Player::happen(Event event) {
    effects_.clear();
    engine_.step(Input{Sequence{++sequence_}, now_, sequence_, std::move(event)}, effects_);
    for (const Effect& effect : effects_) {
        std::visit([this](const auto& one) { answer(one); }, effect);
    }
}

void Player::settle() {
    for (int plans = 0; plans < kPlansPerTimeMax; ++plans) {
        while (!answers_.empty()) {
            for (Event& one : std::exchange(answers_, {})) happen(std::move(one));
        }
        if (!engine_.wants_plan()) return;
        happen(Plan{});
    }
}

void Player::answer(const BindPod& bind) {
    answers_.emplace_back(BindOutcome{bind.id, bind.pod.uid, BindResult::bound, ""});
    if (const auto pod = find(bind.pod.uid)) start(*pod, bind.node);
}

void Player::answer(const DeletePod& deletion) {
    answers_.emplace_back(PodDeleteOutcome{deletion.id, deletion.pod.uid, true, ""});
    recreate(deletion.pod.uid);
}

// The evicted pod terminates at once, and loses the work since its last checkpoint.
void Player::answer(const EvictPod& eviction) {
    answers_.emplace_back(PodEvictOutcome{eviction.id, eviction.pod.uid, EvictResult::evicted, ""});
    recreate(eviction.pod.uid);
}

void Player::recreate(const std::string& uid) {
    const auto pod = find(uid);
    answers_.emplace_back(PodRemoved{uid});
    if (!pod) return;
    stop_unfinished(*pod);
    ++live_[*pod].incarnation;  // its controller creates a replacement
    schedule(now_, Happening::Kind::arrival, *pod);
}

void Player::answer(const CreateWorkload& creation) {
    answers_.emplace_back(
        WorkloadOutcome{creation.id, creation.job->spec.key, true, false, "", {}});
}

void Player::answer(const UpdateWorkload& update) {
    answers_.emplace_back(WorkloadOutcome{update.id, update.job->spec.key, true, false, "", {}});
}

void Player::answer(const ChangeNode& change) {
    answers_.emplace_back(NodeChangeOutcome{
        change.id, change.request, change.change.node, NodeChangeResult::changed, {}, ""});
}

void Player::answer(const DeleteWorkload& deletion) {
    answers_.emplace_back(WorkloadOutcome{deletion.id, deletion.key, true, false, "", {}});
    for (std::size_t pod = 0; pod < live_.size(); ++pod) {
        const PodFacts& facts = ask_.past.pods[pod].facts;
        const bool is_of_it = facts.job == deletion.key.name &&
                              facts.key.namespace_name == deletion.key.namespace_name;
        if (!live_[pod].is_there || !is_of_it) continue;
        answers_.emplace_back(PodRemoved{uid_of(pod)});
        stop(pod);
    }
}

// Surplus ranks terminate at once; missing ranks are created again if they existed before.
void Player::answer(const ResizeWorkload& resize) {
    answers_.emplace_back(
        WorkloadResizeOutcome{resize.id, resize.key, ResizeResult::resized, 0, ""});
    for (std::size_t pod = 0; pod < live_.size(); ++pod) {
        const PodFacts& facts = ask_.past.pods[pod].facts;
        const bool is_of_it =
            facts.job == resize.key.name && facts.key.namespace_name == resize.key.namespace_name;
        if (!is_of_it) continue;
        Live& live = live_[pod];
        if (live.is_there && facts.rank >= resize.to) {
            answers_.emplace_back(PodRemoved{uid_of(pod)});
            stop_unfinished(pod);
            live.was_too_many = true;
        } else if (live.was_too_many && facts.rank < resize.to) {
            live.was_too_many = false;
            ++live.incarnation;
            schedule(now_, Happening::Kind::arrival, pod);
        }
    }
}

void Player::answer(const WakeAt& wake) {
    schedule(std::max(wake.at, now_), Happening::Kind::wake, 0);
}

void Player::arrive(std::size_t pod) {
    PodFacts facts = ask_.past.pods[pod].facts;
    facts.uid = uid_of(pod);
    by_uid_[facts.uid] = pod;
    live_[pod].is_there = true;
    happen(PodObserved{std::move(facts)});
    note_queue(pod);
}

void Player::note_queue(std::size_t pod) {
    const ClusterState& state = engine_.state();
    const PodId id = state.pods.find_pod(uid_of(pod));
    if (!id.exists() || !state.pod(id).job.exists()) return;
    const JobRow& job = state.job(state.pod(id).job);
    RerunPod& out = out_[pod];
    out.nowhere = Reason::none;
    if (!job.pool.exists()) {
        out.queue.clear();
        out.nowhere = Reason::pool_unknown;
        return;
    }
    const std::string& pool = state.pool(job.pool).name;
    out.queue = job.queue.exists() ? pool + "/" + state.tree.queue_path(job.queue) : pool;
    if (job.priority >= kSystemPriority) return;  // it is in no queue
    if (!job.queue.exists()) {
        out.nowhere = Reason::queue_unknown;
    } else if (!state.queue(job.queue).children.empty()) {
        out.nowhere = Reason::queue_holds_queues;
    }
}

void Player::start(std::size_t pod, const std::string& node) {
    Live& live = live_[pod];
    if (live.since.happened()) return;
    live.since = live.began = now_;
    live.node = node;
    if (!out_[pod].started.happened()) out_[pod].started = now_;
    PodFacts facts = ask_.past.pods[pod].facts;
    facts.uid = uid_of(pod);
    facts.phase = PodPhase::running;
    facts.node = node;
    facts.started_at = now_;
    answers_.emplace_back(PodObserved{std::move(facts)});
    const Duration length = ask_.run_times[pod];
    if (length == Duration{}) return;
    const Duration again = live.was_stopped ? ask_.past.pods[pod].facts.restart_cost : Duration{};
    schedule(now_ + std::max(length - live.kept, Duration{1}) + again, Happening::Kind::end, pod);
}

// Removes the pod, which holds no capacity any more, and counts its run time.
void Player::stop(std::size_t pod) {
    Live& live = live_[pod];
    if (live.since.happened()) out_[pod].ran_ms += (now_ - live.since).ms();
    live.is_there = false;
    live.since = Instant{};
}

void Player::stop_unfinished(std::size_t pod) {
    Live& live = live_[pod];
    const PodFacts& facts = ask_.past.pods[pod].facts;
    if (live.since.happened()) {
        live.kept = live.kept + kept(facts, progress(facts, now_ - live.began, live.was_stopped));
        live.was_stopped = true;
    }
    stop(pod);
}

void Player::end(std::size_t pod) {
    const PastPod& past = ask_.past.pods[pod];
    PodFacts facts = past.facts;
    facts.uid = uid_of(pod);
    facts.node = live_[pod].node;
    facts.phase = past.ended_as;
    const bool began_before = past.was_running && live_[pod].incarnation == 0;
    facts.started_at = began_before ? past.started : live_[pod].since;
    facts.finished_at = now_;
    stop(pod);
    happen(PodObserved{std::move(facts)});
}

void Player::carry_out(const Happening& next) {
    switch (next.kind) {
        case Happening::Kind::event: {
            const Event& event = ask_.past.events[next.index].event;
            if (ask_.policy && std::holds_alternative<PolicyChanged>(event)) return;
            return happen(event);
        }
        case Happening::Kind::arrival:
            return arrive(next.index);
        case Happening::Kind::end:
            if (live_[next.index].is_there && live_[next.index].incarnation == next.incarnation) {
                end(next.index);
            }
            return;
        case Happening::Kind::give_up:
            if (!live_[next.index].is_there || live_[next.index].since.happened()) return;
            stop(next.index);
            return happen(PodRemoved{uid_of(next.index)});
        case Happening::Kind::wake:
            return happen(WokeUp{});
    }
}

// Restores the engine as it was. It leads, and effects in flight are requested again.
void Player::begin() {
    now_ = ask_.past.begin;
    const ClusterState& state = engine_.state();
    const auto epoch = static_cast<std::uint64_t>(state.session.epoch());
    for (std::size_t i = 0; i < live_.size(); ++i) {
        const PastPod& past = ask_.past.pods[i];
        if (past.given_up.happened()) schedule(past.given_up, Happening::Kind::give_up, i);
        if (!past.was_there) {
            schedule(past.arrived, Happening::Kind::arrival, i);
            continue;
        }
        by_uid_[past.facts.uid] = i;
        live_[i].is_there = true;
        if (!past.was_running) continue;
        const PodId id = state.pods.find_pod(past.facts.uid);
        live_[i].node = state.pod(id).facts.node;
        live_[i].since = ask_.past.begin;  // the part of its run before the window does not count
        live_[i].began = past.started;
        out_[i].started = past.started;
        const Duration length = ask_.run_times[i];
        if (length > Duration{}) {
            schedule(std::max(past.started + length, now_), Happening::Kind::end, i);
        }
    }
    for (std::size_t i = 0; i < ask_.past.events.size(); ++i) {
        future_.push({ask_.past.events[i].at, ++order_, Happening::Kind::event, i, 0});
    }
    if (!state.session.synced()) happen(CacheSynced{});
    happen(LeadershipChanged{false, Epoch{epoch}});
    happen(LeadershipChanged{true, Epoch{epoch + 1}});
    if (ask_.policy) happen(PolicyChanged{*ask_.policy});
    settle();
    for (std::size_t i = 0; i < live_.size(); ++i) {
        if (ask_.past.pods[i].was_there) note_queue(i);
    }
}

Result<std::vector<RerunPod>> Player::play() {
    begin();
    while (!future_.empty() && future_.top().at <= ask_.past.end) {
        if (ask_.go_on && !ask_.go_on()) {
            return make_error(ErrorCode::ShuttingDown, "play the past again: gpuctld is stopping");
        }
        now_ = std::max(now_, future_.top().at);
        while (!future_.empty() && future_.top().at <= now_) {
            const Happening next = future_.top();
            future_.pop();
            carry_out(next);
        }
        settle();
    }
    now_ = ask_.past.end;
    for (std::size_t pod = 0; pod < live_.size(); ++pod) stop(pod);
    return std::move(out_);
}

}  // namespace

Result<std::vector<RerunPod>> rerun(const RerunAsk& ask) {
    Result<Engine> engine = Engine::import_state(ask.past.exported);
    if (!engine) return while_doing("copy the engine for a rerun", engine.error());
    return Player{ask, std::move(*engine)}.play();
}

}  // namespace gpuctl::whatif
