#include "bench/replay/flag_use.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace gpuctl::replay {
namespace {

const std::set<Suite>& suites_of_jobs() {
    static const std::set<Suite> kSuites = {Suite::philly64, Suite::backfill, Suite::elastic,
                                            Suite::fairness, Suite::vc};
    return kSuites;
}

// The suites that use a flag. Flags that are not listed are used by every suite.
const std::map<std::string, std::set<Suite>>& users() {
    static const std::map<std::string, std::set<Suite>> kUsers = {
        {"--nodes", {Suite::openb}},
        {"--seed", {Suite::openb}},
        {"--arrivals", {Suite::openb}},
        {"--quotas", {Suite::vc}},
        {"--epochs", {Suite::elastic}},
        {"--gpus", suites_of_jobs()},
        {"--nodes-count", suites_of_jobs()},
        {"--gpus-per-node", suites_of_jobs()},
        {"--overhead", suites_of_jobs()},
        {"--clairvoyant", suites_of_jobs()},
        {"--named-policy", suites_of_jobs()},
        {"--makespan-percent", suites_of_jobs()},
        {"--gpu-exponent-percent", suites_of_jobs()},
        {"--gain-percent", suites_of_jobs()},
        {"--data", {}}};
    return kUsers;
}

bool is_used(const std::string& flag, std::optional<Suite> suite) {
    if (flag == "--output" || flag == "--help") return true;
    if (!suite) return flag == "--data";
    const auto found = users().find(flag);
    return found == users().end() || found->second.contains(*suite);
}

}  // namespace

std::vector<std::string> unused_flags(const std::vector<std::string>& given,
                                      std::optional<Suite> suite) {
    std::vector<std::string> unused;
    std::copy_if(given.begin(), given.end(), std::back_inserter(unused),
                 [&](const std::string& flag) { return !is_used(flag, suite); });
    return unused;
}

}  // namespace gpuctl::replay
