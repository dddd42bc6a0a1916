#include "daemon/api/policy/uses.hpp"

#include <algorithm>
#include <set>

#include "scheduler/state/jobs/finished_job.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kFirstJobs = 20;

bool is_in_use(const ClusterState& state, const JobRow& job) {
    return job.workload.state != WorkloadState::deleting && !has_ended(state, job);
}

template <typename Wanted>
JobsInUse jobs_in_use(const ClusterState& state, Wanted wanted) {
    JobsInUse out;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!wanted(job) || !is_in_use(state, job)) continue;
        if (out.first.size() < kFirstJobs) out.first.push_back(key);
        ++out.count;
    }
    return out;
}

Error used_by(ErrorCode code, const std::string& what, const JobsInUse& jobs,
              const std::string& help) {
    std::string names;
    for (const ObjectKey& key : jobs.first) {
        names += (names.empty() ? "" : ", ") + key.namespace_name + "/" + shown_name(key);
    }
    if (jobs.count > jobs.first.size()) {
        names += " and " + std::to_string(jobs.count - jobs.first.size()) + " more";
    }
    return make_error(code, what + ": " + std::to_string(jobs.count) +
                                (jobs.count == 1 ? " job uses it: " : " jobs use it: ") + names +
                                help);
}

}  // namespace

JobsInUse jobs_of_pool(const ClusterState& state, const std::string& pool) {
    return jobs_in_use(state, [&](const JobRow& job) { return job.pool_wanted == pool; });
}

JobsInUse jobs_of_queue(const ClusterState& state, const std::string& name) {
    const std::size_t slash = name.find('/');
    const std::string pool = name.substr(0, slash);
    const std::string queue = name.substr(slash + 1);
    return jobs_in_use(state, [&](const JobRow& job) {
        if (!job.pool.exists() || !job.queue.exists()) return false;
        return state.pool(job.pool).name == pool && state.queue(job.queue).name == queue;
    });
}

std::optional<Error> use_of(const ClusterState& state, const PolicyKey& key) {
    if (key.kind == PolicyKind::pool) {
        const JobsInUse jobs = jobs_of_pool(state, key.name);
        if (jobs.count == 0) return std::nullopt;
        return used_by(ErrorCode::PoolInUse, "delete pool " + key.name, jobs,
                       "; delete them first, or use --force: then they wait until the pool exists "
                       "again, and running ones continue");
    }
    if (key.kind == PolicyKind::queue) {
        const JobsInUse jobs = jobs_of_queue(state, key.name);
        if (jobs.count == 0) return std::nullopt;
        return used_by(ErrorCode::Conflict, "delete queue " + key.name, jobs,
                       "; delete them first, or use --force: then they wait until the queue "
                       "exists again, and running ones continue");
    }
    return std::nullopt;
}

std::vector<std::string> used_namespaces(const ClusterState& state) {
    std::set<std::string> names;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) names.insert(key.namespace_name);
    for (const auto& [key, job] : state.jobs.finished_jobs().by_key()) {
        names.insert(key.namespace_name);
    }
    return {names.begin(), names.end()};
}

bool is_used_namespace(const ClusterState& state, const std::string& name) {
    const std::vector<std::string> names = used_namespaces(state);
    return std::binary_search(names.begin(), names.end(), name);
}

std::vector<ObjectKey> own_jobs_in(const ClusterState& state, const std::string& name) {
    std::vector<ObjectKey> keys;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (key.namespace_name != name || !job.record) continue;
        if (job.workload.state != WorkloadState::deleting) keys.push_back(key);
    }
    return keys;
}

std::optional<std::string> pool_of_node(const ClusterState& state, const std::string& name) {
    const auto found = state.nodes.nodes_by_name().find(name);
    if (found == state.nodes.nodes_by_name().end() || !state.node(found->second).known) {
        return std::nullopt;
    }
    return state.node(found->second).facts.pool;
}

}  // namespace gpuctl::api
