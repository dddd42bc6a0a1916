#include "daemon/api/logs/log_targets.hpp"

#include <algorithm>
#include <charconv>

#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/finished.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "wire/log_limits.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {

namespace {

// A whole number from 1 to `most`; `otherwise` if the parameter is absent.
Result<std::int64_t> number_in(const Call& call, std::string_view name, std::int64_t most,
                               std::int64_t otherwise) {
    const std::string_view text = call.query(name);
    if (text.empty()) return otherwise;
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && at == end && value >= 1 && value <= most) return value;
    return make_error(ErrorCode::BadRequest, "read " + std::string{name} + "=" + std::string{text} +
                                                 ": must be from 1 to " + std::to_string(most));
}

constexpr std::int64_t kSinceSecondsMax = 10 * 365 * 24 * 3'600;

// sinceSeconds, previous and timestamps.
Result<void> read_selection(const Call& call, LogQuery& query) {
    const Result<std::int64_t> seconds = number_in(call, "sinceSeconds", kSinceSecondsMax, 0);
    if (!seconds) return seconds.error();
    if (*seconds > 0) query.not_before_ns = (wall_now().ms() - *seconds * 1'000) * 1'000'000;
    const Result<bool> previous = flag_of(call, "previous");
    if (!previous) return previous.error();
    query.previous = *previous;
    const Result<bool> timestamps = flag_of(call, "timestamps");
    if (!timestamps) return timestamps.error();
    query.timestamps = *timestamps;
    return {};
}

}  // namespace

Result<LogQuery> read_query(const Call& call) {
    LogQuery query;
    const Result<std::int64_t> tail = number_in(call, "tail", wire::kLogTailMax, query.tail);
    if (!tail) return tail.error();
    query.tail = *tail;
    if (Result<void> selection = read_selection(call, query); !selection) return selection.error();
    const Result<bool> all = flag_of(call, "all");
    if (!all) return all.error();
    query.all = *all;
    query.pod = call.query("pod");
    query.container = call.query("container");
    if (query.all && !query.pod.empty()) {
        return make_error(ErrorCode::BadRequest, "give either pod=NAME or all=true, not both");
    }
    const std::optional<std::vector<logs::Token>> since = logs::parse_tokens(call.query("since"));
    if (!since || since->size() > kPodsFollowedMax) {
        return make_error(ErrorCode::BadRequest,
                          "read since: it is the `position` of a log frame, unchanged");
    }
    query.since = *since;
    return query;
}

namespace {

LogTarget target_of(const JobView& job, const PodView& pod, const LogQuery& query) {
    LogTarget target;
    target.log.pod = pod.facts.key;
    target.log.container = query.container;
    target.log.uid = pod.facts.uid;
    target.readable = pod.facts.phase != PodPhase::pending;
    if (target.readable) return target;
    const std::string status = pod_status(pod);
    target.waiting_for = pod.node.empty() && job.waiting
                             ? "Pending: " + wording::sentence(*job.waiting)
                             : status + (pod.node.empty() ? "" : ": on node " + pod.node);
    return target;
}

// Pods that are only in the summary of their job: the cluster has them and their logs.
std::vector<PodView> ended_pods(const FinishedJob& job) {
    std::vector<PodView> pods;
    for (const EndedPod& ended : job.ended_pods) {
        PodView& pod = pods.emplace_back();
        pod.facts.key = {job.key.namespace_name, name_of(ended, job.key)};
        pod.facts.uid = text_of(ended.uid);
        pod.facts.phase = ended.succeeded ? PodPhase::succeeded : PodPhase::failed;
        pod.bind_state = BindState::done;
    }
    return pods;
}

// "; its pods are a, b", the first few.
std::string pods_named(const std::vector<PodView>& pods) {
    constexpr std::size_t kNamed = 4;
    std::string names;
    for (std::size_t i = 0; i < std::min(pods.size(), kNamed); ++i) {
        names += (i == 0 ? "" : ", ") + pods[i].facts.key.name;
    }
    if (names.empty()) return "; it has no pods";
    return "; its pods are " + names + (pods.size() > kNamed ? ", ..." : "");
}

Result<std::vector<LogTarget>> targets_of(const JobView& job, const Call& call,
                                          const LogQuery& query) {
    std::vector<LogTarget> targets;
    const std::string& id = call.parameters.at(0);
    const bool is_job = id == shown_name(job.key) || id == whole_name(job.key);
    const std::string wanted = !query.pod.empty() || is_job ? query.pod : id;
    const PodView* best = nullptr;
    for (const PodView& pod : job.pods) {
        if (query.all) {
            targets.push_back(target_of(job, pod, query));
        } else if (!wanted.empty()) {
            if (pod.facts.key.name == wanted) targets.push_back(target_of(job, pod, query));
        } else if (best == nullptr || (best->facts.phase != PodPhase::running &&
                                       (pod.facts.phase == PodPhase::running ||
                                        (best->facts.phase == PodPhase::pending &&
                                         pod.facts.phase != PodPhase::pending)))) {
            best = &pod;
        }
    }
    if (best != nullptr) targets.push_back(target_of(job, *best, query));
    if (!query.pod.empty() && targets.empty()) {
        return make_error(ErrorCode::JobNotFound, "job " + to_string(job.key) + " has no pod " +
                                                      query.pod + pods_named(job.pods));
    }
    if (targets.size() > kPodsFollowedMax) {
        return make_error(ErrorCode::BadRequest,
                          "job " + to_string(job.key) + " has " + std::to_string(targets.size()) +
                              " pods; at most " + std::to_string(kPodsFollowedMax) +
                              " can be followed together, choose one with pod=NAME");
    }
    return targets;
}

}  // namespace

Result<std::vector<LogTarget>> find_targets(Services& services, const Call& call,
                                            const LogQuery& query) {
    Result<JobView> job =
        find_job(services.engine.listing(), call.query("namespace"), call.parameters.at(0));
    if (!job) return job.error();
    if (auto gone = log_not_kept(services.engine.state(), *job)) return *gone;
    if (job->summary != nullptr) job->pods = ended_pods(*job->summary);
    return targets_of(*job, call, query);
}

}  // namespace gpuctl::api
