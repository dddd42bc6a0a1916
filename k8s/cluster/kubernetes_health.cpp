#include "k8s/cluster/kubernetes_health.hpp"

namespace gpuctl::k8s {

ports::HealthLine server_health(const ServerProbe& probe, const std::string& watch_error) {
    ports::HealthLine line{"api-server", probe.answering(), {}};
    if (line.ok) return line;
    line.detail = "no answer yet";
    if (probe.ever_answered()) {
        line.detail = "no answer for " + std::to_string(probe.silent_for().count()) + " s";
    }
    const std::string& error = probe.last_error().empty() ? watch_error : probe.last_error();
    if (!error.empty()) line.detail += ": " + error;
    return line;
}

ports::HealthLine cache_health(bool synced, std::size_t pods, std::size_t nodes,
                               const std::vector<std::string>& errors) {
    ports::HealthLine line{"cache", synced, {}};
    if (synced) {
        line.detail = std::to_string(pods) + " pods, " + std::to_string(nodes) + " nodes";
        return line;
    }
    line.detail = "the first lists are not complete yet";
    for (const std::string& error : errors) {
        if (!error.empty()) line.detail += ": " + error;
    }
    return line;
}

// A follower is ready while it knows of a live leader. A follower that got no answer for longer
// than a leader may be silent knows of none.
ports::HealthLine lease_health(const LeaseKeeper::View& lease, bool is_reported) {
    constexpr std::chrono::seconds silence_tolerated{15};
    const bool is_blind =
        lease.failing_since && aio::Clock::now() - *lease.failing_since >= silence_tolerated;
    const bool follows = !lease.holder.empty() && lease.holder != lease.identity && !is_blind;
    ports::HealthLine line{"lease", lease.leading || follows, {}};
    if (lease.leading) {
        line.detail = is_reported ? "leading" : "becoming the leader: listing the cluster again";
    } else if (lease.holder.empty()) {
        line.detail = "no leader";
        if (!lease.last_error.empty()) line.detail += ": " + lease.last_error;
    } else {
        // Our own name means a term that ended without renewal: the lease has not expired yet.
        const std::string why =
            lease.last_error.empty() ? "its lease was not renewed in time" : lease.last_error;
        line.detail =
            lease.holder == lease.identity ? "stepped down: " + why : "following " + lease.holder;
        if (is_blind) line.detail += ", as far as is known: " + lease.last_error;
    }
    return line;
}

}  // namespace gpuctl::k8s
