// Questions that are answered by simulation in copies of the engine, on other threads, while the
// engine itself continues.

#include "scheduler/whatif/what_if.hpp"

#include <nlohmann/json.hpp>

#include "aio/deadline.hpp"
#include "aio/loop.hpp"
#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/open_question.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/job_body.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/model/job/job_pods.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {
namespace {

constexpr int kQuestionsMax = 1;

Json moves_json(const whatif::Remedy& remedy) {
    Json list = Json::array();
    for (const whatif::MovedJob& job : remedy.moves) {
        Json entry;
        entry["jobId"] = shown_name(job.key);
        entry["namespace"] = job.key.namespace_name;
        entry["gpu"] = gpus_json(job.gpus);
        entry["lostGpuSeconds"] = job.lost_gpu_ms / 1'000;
        entry["pods"] = Json::array();
        for (const whatif::MovedPod& pod : job.pods) {
            entry["pods"].push_back({{"pod", pod.name}, {"from", pod.from}, {"to", pod.to}});
        }
        list.push_back(std::move(entry));
    }
    return list;
}

// As an operator would move them: stopped together, so that none takes the capacity that another
// one frees; started again when the job runs.
Json steps_json(const whatif::Remedy& remedy, const ObjectKey& waiting, bool exists) {
    Json steps = Json::array();
    const auto create = [](const ObjectKey& key) {
        return "gpuctl create -n " + key.namespace_name + " -f FILE (the file of job " +
               shown_name(key) + ")";
    };
    if (!exists) steps.push_back(create(waiting));
    const auto made_elsewhere = [](const whatif::MovedJob& job, const char* suspended) {
        if (job.key.name.starts_with(kLonePodPrefix))
            return std::string{" the object that created this pod"};
        return " the object that created it; for a Kubernetes Job: kubectl -n " +
               job.key.namespace_name + " patch job " + shown_name(job.key) +
               R"( --type=merge -p '{"spec":{"suspend":)" + suspended + "}}'";
    };
    for (const whatif::MovedJob& job : remedy.moves) {
        const std::string& in = job.key.namespace_name;
        steps.push_back(job.is_submitted
                            ? "gpuctl delete job " + shown_name(job.key) + " -n " + in
                            : to_string(job.key) + ": stop" + made_elsewhere(job, "true"));
    }
    steps.push_back("wait until " + to_string(waiting) + " runs");
    for (const whatif::MovedJob& job : remedy.moves) {
        steps.push_back(job.is_submitted
                            ? create(job.key)
                            : to_string(job.key) + ": start" + made_elsewhere(job, "false"));
    }
    return steps;
}

Json stops_json(const std::vector<whatif::EvictedJob>& stops) {
    Json list = Json::array();
    for (const whatif::EvictedJob& job : stops) {
        Json entry;
        entry["jobId"] = shown_name(job.key);
        entry["namespace"] = job.key.namespace_name;
        entry["gpu"] = gpus_json(job.gpus);
        entry["lostGpuSeconds"] = job.lost_gpu_ms / 1'000;
        entry["continues"] = job.goes_on;
        if (job.at_most) entry["isUpperBound"] = true;
        entry["pods"] = job.pods;
        list.push_back(std::move(entry));
    }
    return list;
}

Json parts_json(const whatif::Remedy& remedy) {
    Json list = Json::array();
    for (const whatif::Remedy& part : remedy.parts) {
        list.push_back({{"change", boost::describe::enum_to_string(part.kind, "")},
                        {"subject", part.subject},
                        {"amount", part.amount}});
    }
    return list;
}

Json tried_json(const whatif::Remedies& remedies) {
    Json list = Json::array();
    for (const whatif::ChangeKind kind : remedies.tried) {
        list.push_back(boost::describe::enum_to_string(kind, ""));
    }
    return list;
}

// `exists`: the job waits; else the question is about a job that is not submitted.
Json remedies_json(const whatif::Remedies& remedies, const ObjectKey& waiting, bool exists) {
    Json list = Json::array();
    for (const whatif::Remedy& remedy : remedies.found) {
        Json entry;
        entry["change"] = boost::describe::enum_to_string(remedy.kind, "");
        entry["subject"] = remedy.subject;
        entry["amount"] = remedy.amount;
        entry["sentence"] = wording::sentence(remedy.facts);
        entry["stops"] = stops_json(remedy.stops);
        if (!remedy.parts.empty()) entry["parts"] = parts_json(remedy);
        if (!remedy.moves.empty()) {
            entry["moves"] = moves_json(remedy);
            entry["steps"] = steps_json(remedy, waiting, exists);
        }
        list.push_back(std::move(entry));
    }
    return list;
}

Json answer_json(const JobSpec& spec, const whatif::Answer& answer) {
    Json body;
    body["jobId"] = spec.key.name;
    body["namespace"] = spec.key.namespace_name;
    body["kind"] = to_string(spec.kind);
    body["pool"] = spec.pool.empty() ? kDefaultPool : spec.pool;
    body["starts"] = answer.starts;
    body["pods"] = pods_of(spec);
    body["placements"] = Json::array();
    for (const whatif::TrialPlacement& placement : answer.placements) {
        body["placements"].push_back({{"pod", placement.pod}, {"node", placement.node}});
    }
    body["stops"] = stops_json(answer.stops);
    body["estimatedStart"] = start_json(answer.start);
    body["position"] = answer.position;
    body["blockers"] = Json::array();
    for (const Explanation& blocker : answer.blockers) {
        body["blockers"].push_back(explanation_json(blocker));
    }
    body["remedies"] = remedies_json(answer.remedies, spec.key, false);
    body["remediesTried"] = tried_json(answer.remedies);
    body["remediesIncomplete"] = answer.remedies.ended_early;
    return body;
}

}  // namespace

std::optional<Error> cannot_ask(const Services& services) {
    if (services.questions_open >= kQuestionsMax) {
        return make_error(ErrorCode::TooManyRequests,
                          "another what-if or preview is running; retry in a second");
    }
    if (!services.engine.state().session.synced()) {
        return make_error(
            ErrorCode::ClusterUnavailable,
            "simulate: the first lists of the cluster are not complete yet; retry soon");
    }
    return std::nullopt;
}

aio::Deadline patience(const Services& services) {
    return aio::Deadline::in(services.settings.request_timeout / 2);
}

whatif::GoOn for_a_while(const Services& services) {
    return [end = aio::Deadline::in(services.settings.request_timeout / 3),
            stops = services.trials_stop] { return !end.passed() && !stops->load(); };
}

aio::Task<Result<Exported>> export_state(Services& services) {
    using State = std::shared_ptr<const std::string>;
    std::function<State(const Engine&)> read = [](const Engine& engine) {
        return std::make_shared<const std::string>(engine.export_state());
    };
    Result<core::QueryResult<State>> asked =
        co_await services.engine.query(std::move(read), patience(services));
    if (!asked) co_return asked.error();
    co_return Exported{std::move(asked->value), revision_before(asked->next)};
}

aio::Task<net::HttpResponse> what_if(Services& services, Call call) {
    std::vector<Detail> warnings;
    Result<JobBody> asked = read_job(services, call, warnings);
    if (!asked) co_return problem_reply(asked.error(), call, warnings);
    if (std::optional<Error> busy = cannot_ask(services)) co_return problem_reply(*busy, call);
    const OpenQuestion open{services};
    Result<void> tried =
        co_await services.cluster.try_create(asked->job, services.engine.state().session.epoch());
    if (!tried) co_return problem_reply(tried.error(), call, warnings);
    const Result<Exported> exported = co_await export_state(services);
    if (!exported) co_return problem_reply(exported.error(), call, warnings);
    std::function<Result<whatif::Answer>()> work = [state = exported->state, job = asked->job,
                                                    prefix = services.settings.label_prefix,
                                                    go_on = for_a_while(services)] {
        return whatif::simulate_submission(*state, job, prefix, job.submitted_at, go_on);
    };
    const Result<whatif::Answer> answer =
        co_await aio::run_on(services.trials, services.loop, std::move(work));
    if (!answer) co_return problem_reply(answer.error(), call, warnings);
    if (answer->never) {
        co_return problem_reply(wording::error_of(*answer->never), call, warnings);
    }
    Json body = answer_json(asked->job.spec, *answer);
    body["revision"] = exported->revision;
    body["warnings"] = warnings_json(warnings);
    co_return json_reply(200, body);
}

aio::Task<net::HttpResponse> get_remedies(Services& services, Call call) {
    ObjectKey key;  // all that may be stored across the wait
    {
        const Result<JobView> job =
            find_job(services.engine.listing(), call.query("namespace"), call.parameters.at(0));
        if (!job) co_return problem_reply(job.error(), call);
        key = job->key;
    }
    if (std::optional<Error> busy = cannot_ask(services)) co_return problem_reply(*busy, call);
    const OpenQuestion open{services};
    const Result<Exported> exported = co_await export_state(services);
    if (!exported) co_return problem_reply(exported.error(), call);
    std::function<Result<whatif::Remedies>()> work =
        [state = exported->state, key, now = wall_now(), go_on = for_a_while(services)] {
            return whatif::find_remedies(*state, key, now, go_on);
        };
    const Result<whatif::Remedies> found =
        co_await aio::run_on(services.trials, services.loop, std::move(work));
    if (!found) co_return problem_reply(found.error(), call);
    Json body;
    body["jobId"] = shown_name(key);
    body["namespace"] = key.namespace_name;
    body["revision"] = exported->revision;
    body["remedies"] = remedies_json(*found, key, true);
    body["remediesTried"] = tried_json(*found);
    body["remediesIncomplete"] = found->ended_early;
    co_return json_reply(200, body);
}

}  // namespace gpuctl::api
