// Simulates another configuration for the last hours: the journal's past is replayed under both
// policies on another thread, while the engine continues.

#include "scheduler/whatif/preview.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "aio/loop.hpp"
#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/open_question.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "daemon/api/policy/policy_layers.hpp"
#include "daemon/config/file_layer.hpp"
#include "daemon/config/load.hpp"
#include "daemon/journal/past.hpp"

namespace gpuctl::api {
namespace {

constexpr std::int64_t kHoursDefault = 24;
constexpr std::int64_t kHoursMax = 24 * 31;

Result<std::int64_t> hours_of(const Call& call) {
    const std::string_view text = call.query("hours");
    if (text.empty()) return kHoursDefault;
    std::int64_t hours = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), hours);
    if (problem != std::errc{} || end != text.data() + text.size() || hours < 1 ||
        hours > kHoursMax) {
        return make_error(ErrorCode::BadRequest, "hours=" + std::string{text} +
                                                     ": give a whole number from 1 to " +
                                                     std::to_string(kHoursMax));
    }
    return hours;
}

Result<whatif::Preview> make_preview(const std::string& directory, Instant since, Instant until,
                                     const Policy& proposed, const whatif::GoOn& go_on) {
    std::optional<whatif::PastCollector> collector;
    journal::PastReader reader;
    reader.begin = [&](Engine engine) { collector.emplace(std::move(engine), since); };
    reader.next = [&](const Input& input) { collector->add_input(input); };
    reader.go_on = go_on;
    const Result<void> read = journal::read_past(directory, since, reader);
    if (!read) return read.error();
    const whatif::PastWindow past = std::move(*collector).finish(until);
    if (past.exported.empty()) return whatif::Preview{};
    return whatif::preview(past, proposed, go_on);
}

double gpu_hours(std::int64_t gpu_ms) { return static_cast<double>(gpu_ms) / 3'600'000; }

Json figures_json(const whatif::WaitFigures& of) {
    return {{"waitMeanMs", of.mean.ms()},
            {"waitP95Ms", of.p95.ms()},
            {"jobsNotStarted", of.not_started},
            {"gpuHours", gpu_hours(of.gpu_ms)}};
}

Json group_json(const whatif::PreviewGroup& group) {
    Json body;
    body["name"] = group.name;
    body["jobs"] = group.jobs;
    body["before"] = figures_json(group.before);
    body["after"] = figures_json(group.after);
    return body;
}

Json groups_json(const std::vector<whatif::PreviewGroup>& groups) {
    Json list = Json::array();
    for (const whatif::PreviewGroup& group : groups) list.push_back(group_json(group));
    return list;
}

Json jobs_json(const std::vector<whatif::PreviewJob>& jobs) {
    Json list = Json::array();
    for (const whatif::PreviewJob& job : jobs) {
        Json entry;
        entry["jobId"] = shown_name(job.key);
        entry["namespace"] = job.key.namespace_name;
        entry["queue"] = job.queue;
        entry["gpu"] = gpus_json(job.gpus);
        entry["createdAt"] = format_time(job.arrived);
        entry["waitBeforeMs"] = job.wait_before.ms();
        entry["waitAfterMs"] = job.wait_after.ms();
        entry["startsBefore"] = job.started_before;
        entry["startsAfter"] = job.started_after;
        list.push_back(std::move(entry));
    }
    return list;
}

Json gone_json(const std::vector<whatif::GoneQueue>& queues) {
    Json list = Json::array();
    for (const whatif::GoneQueue& gone : queues) {
        list.push_back({{"queue", gone.queue},
                        {"reason", to_string(gone.reason)},
                        {"poolDeclared", gone.is_pool_declared},
                        {"jobs", gone.jobs}});
    }
    return list;
}

Json preview_json(const whatif::Preview& preview) {
    Json body;
    body["begin"] = format_time(preview.begin);
    body["end"] = format_time(preview.end);
    body["all"] = group_json(preview.all);
    body["queues"] = groups_json(preview.queues);
    body["tenants"] = groups_json(preview.tenants);
    body["jobsGain"] = preview.jobs_gain;
    body["jobsLose"] = preview.jobs_lose;
    body["gain"] = jobs_json(preview.gain);
    body["lose"] = jobs_json(preview.lose);
    body["queuesRemoved"] = gone_json(preview.gone);
    body["actualJobsNotStarted"] = preview.not_started_in_fact;
    body["actualWaitMeanMs"] = preview.wait_mean_in_fact.ms();
    body["jobsRunTimeAssumed"] = preview.jobs_run_time_guessed;
    return body;
}

// What a preview simulates of a configuration.
constexpr std::array<std::string_view, 3> kPolicySections{"policy.", "expert.scheduling.",
                                                          "expert.pools."};

// An empty file, perhaps of a command that failed before, has the policy of the defaults.
bool sets_no_policy(const config::Config& proposed) {
    return std::none_of(proposed.places.begin(), proposed.places.end(), [](const auto& key) {
        return std::any_of(
            kPolicySections.begin(), kPolicySections.end(),
            [&key](std::string_view section) { return key.first.starts_with(section); });
    });
}

// An error in the daemon's own configuration is its fault, one in this configuration the sender's.
net::HttpResponse refusal_of_body(const Error& error, const Call& call) {
    net::HttpResponse response = problem_reply(error, call);
    set_status(response, 400);
    return response;
}

}  // namespace

aio::Task<net::HttpResponse> preview_policy(Services& services, Call call) {
    const Result<std::int64_t> hours = hours_of(call);
    if (!hours) co_return problem_reply(hours.error(), call);
    const Result<config::Config> proposed = config::parse(
        call.request.body, "the configuration in the request", {}, services.settings.cluster);
    if (!proposed) co_return refusal_of_body(proposed.error(), call);
    // Pools and quotas that were made over the API stay when the file changes.
    const Result<config::MergedPolicy> merged =
        services.policy->merge(config::file_layer(*proposed));
    if (!merged) co_return refusal_of_body(merged.error(), call);
    if (std::optional<Error> busy = cannot_ask(services)) co_return problem_reply(*busy, call);
    const OpenQuestion open{services};
    const Instant now = wall_now();
    std::function<Result<whatif::Preview>()> work =
        [directory = services.settings.journal_directory, policy = merged->policy,
         since = Instant{now.ms() - *hours * 3'600'000}, until = now,
         stops = services.trials_stop] {
            return make_preview(directory, since, until, policy, [&] { return !stops->load(); });
        };
    const Result<whatif::Preview> preview =
        co_await aio::run_on(services.trials, services.loop, std::move(work));
    if (!preview) co_return problem_reply(preview.error(), call);
    Json body = preview_json(*preview);
    body["hours"] = *hours;
    body["isDefaultPolicy"] = sets_no_policy(*proposed);
    co_return json_reply(200, body);
}

}  // namespace gpuctl::api
