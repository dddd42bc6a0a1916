// Why a job waits, and when it starts. Computed on the replica (daemon/core/replica.hpp), from one
// state: the jobs ahead in the queue and the holders of GPUs take longer than the loop may block.

#include <nlohmann/json.hpp>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/open_question.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/missing_pods.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "daemon/api/jobs/state_sentence.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/whatif/foresee.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {
namespace {

// The data of an answer, copied from one state.
struct Findings {
    std::optional<Error> refused;
    JobView job;
    std::optional<TurnView> turn;
    std::vector<Explanation> blockers;
    Sequence next{};         // the state before this input
    std::string incomplete;  // why part of the answer is missing, as a sentence; or empty
};

// The data read on the replica.
struct Reasons {
    std::optional<TurnView> turn;
    std::vector<Explanation> blockers;
    std::string exported;  // the exported state, if the start is to be estimated
};

Reasons read_reasons(const Engine& engine, const ObjectKey& key, Instant now, bool with_state) {
    engine.state().session.look(now);
    return {turn_of(engine.state(), key), explain_job(engine.state(), key),
            with_state ? engine.export_state() : std::string{}};
}

// Further back in the queue the list's estimate is as good.
bool is_near(const JobView& job) {
    constexpr std::int64_t kAheadMost = 1'000;
    return job.position > 0 && job.position <= kAheadMost;
}

// The data that lists have: the queue position, and the first reason to wait.
Findings read_at_hand(Services& services, const Call& call) {
    Findings found;
    Result<JobView> job =
        find_job(services.engine.listing(), call.query("namespace"), call.parameters.at(0));
    found.next = services.engine.taken_until();
    if (!job) {
        found.refused = job.error();
        return found;
    }
    found.job = std::move(*job);
    found.job.record = nullptr;
    if (found.job.waiting) found.blockers.push_back(*found.job.waiting);
    return found;
}

aio::Task<Findings> collect_findings(Services& services, Call call) {
    Findings found = read_at_hand(services, call);
    if (found.refused || !found.job.waiting) co_return found;
    // While another question is simulated, the estimate of the list is used.
    std::optional<OpenQuestion> open;
    if (is_near(found.job) && !cannot_ask(services)) open.emplace(services);
    // Requested in the same turn, so it is about the state that was read just now.
    std::function<Reasons(const Engine&)> read =
        [key = found.job.key, now = wall_now(), with_state = open.has_value()](
            const Engine& engine) { return read_reasons(engine, key, now, with_state); };
    Result<core::QueryResult<Reasons>> asked =
        co_await services.engine.query(std::move(read), patience(services));
    if (!asked) {
        found.incomplete =
            "only the first reason is listed, with the list's estimate of its start: " +
            asked.error().message;
        co_return found;
    }
    found.next = asked->next;
    found.turn = std::move(asked->value.turn);
    found.blockers = std::move(asked->value.blockers);
    if (!open) co_return found;
    std::function<std::optional<StartEstimate>()> foresee =
        [state = std::move(asked->value.exported), key = found.job.key, now = wall_now(),
         listed_start = found.job.start, go_on = for_a_while(services)] {
            return whatif::foresee_start(state, key, now, listed_start, go_on);
        };
    const std::optional<StartEstimate> start =
        co_await aio::run_on(services.trials, services.loop, std::move(foresee));
    found.job.start = start;
    co_return found;
}

// The job's view is not kept across the wait: the state may have changed after it.
aio::Task<std::string> words_about(Services& services, Call call) {
    ObjectKey key;
    {
        const Result<JobView> job =
            find_job(services.engine.listing(), call.query("namespace"), call.parameters.at(0));
        if (!job || !waits_for_controller(*job)) co_return std::string{};
        key = job->key;
    }
    std::string words = co_await controller_words(services, key);
    co_return words;
}

}  // namespace

aio::Task<net::HttpResponse> explain(Services& services, Call call) {
    const std::string words = co_await words_about(services, call);
    Findings found = co_await collect_findings(services, call);
    if (found.refused) co_return problem_reply(*found.refused, call);
    JobView& job = found.job;
    if (job.waiting) {
        add_controller_words(words, *job.waiting);
        whatif::keep_to(job.start, *job.waiting);
    }
    Json body;
    body["jobId"] = shown_name(job.key);
    body["name"] = shown_name(job.key);
    body["namespace"] = job.key.namespace_name;
    body["status"] = job.status;
    body["pool"] = job.pool;
    body["queue"] = job.queue;
    body["position"] = job.position;
    body["estimatedStart"] = start_json(job.start);
    body["startedAt"] = format_time(job.started_at);
    body["finishedAt"] = format_time(job.finished_at);
    body["summary"] = state_sentence(job, services.engine.history().of(job.key));
    body["queueOrder"] = found.turn ? turn_json(*found.turn) : Json{};
    body["blockers"] = Json::array();
    for (Explanation& blocker : found.blockers) {
        add_controller_words(words, blocker);
        whatif::keep_to(job.start, blocker);
        Json entry = explanation_json(blocker);
        entry["kubernetesMessage"] = wording::kubernetes_message(blocker);
        body["blockers"].push_back(std::move(entry));
    }
    body["revision"] = revision_before(found.next);
    if (!found.incomplete.empty()) body["incomplete"] = found.incomplete;
    co_return json_reply(200, body);
}

}  // namespace gpuctl::api
