#include "daemon/api/jobs/missing_pods.hpp"

namespace gpuctl::api {
namespace {

bool is_about_missing_pods(const Explanation& explanation) {
    return explanation.reason == Reason::pods_missing ||
           explanation.reason == Reason::gang_incomplete;
}

}  // namespace

bool waits_for_controller(const JobView& job) {
    return job.record != nullptr && job.waiting && is_about_missing_pods(*job.waiting);
}

aio::Task<std::string> controller_words(Services& services, ObjectKey job) {
    constexpr std::chrono::seconds patience{3};
    const auto words =
        co_await services.cluster.controller_trouble(std::move(job), aio::Deadline::in(patience));
    co_return words ? *words : std::string{};
}

void add_controller_words(const std::string& words, Explanation& explanation) {
    if (words.empty() || !is_about_missing_pods(explanation)) return;
    if (explanation.reason == Reason::pods_missing) {
        explanation.facts = {fact::PodsMissing{fact::PodsMissingCause::controller_fails, words}};
    } else {
        explanation.facts.push_back(fact::ControllerFails{words});
    }
}

}  // namespace gpuctl::api
