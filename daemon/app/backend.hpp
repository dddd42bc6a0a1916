#pragma once
// One kind of cluster that gpuctld can run on: what App needs from it, and the table of all kinds.
// App and the rest of the daemon name no kind (tools/tidy checks it); what the configuration says
// of a kind is a row of daemon/config/cluster/backend_sections.cpp. To add a kind: CONTRIBUTING.md.

#include <functional>
#include <memory>
#include <string>

#include "aio/loop.hpp"
#include "aio/task.hpp"
#include "daemon/config/config.hpp"
#include "daemon/journal/journal.hpp"
#include "metrics/recorder.hpp"
#include "ports/cluster.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::app {

// Created before the journal is opened: the cluster's id names the journal's folder. Calls in this
// order: learn_cluster_id(), make_cluster(), fill_metrics() at each scrape. Outlives the cluster.
class Backend {
public:
    // What the start waits for, for /readyz.
    using WaitsFor = std::function<void(std::string what)>;
    using StopAsked = std::function<bool()>;

    virtual ~Backend() = default;

    // "": the journal generates an id and stores it. May retry until it is answered; ends early,
    // with any error, once a stop is requested.
    virtual aio::Task<Result<std::string>> learn_cluster_id(WaitsFor waits_for,
                                                            StopAsked stop_asked) = 0;
    // `recovered`: the journal's content. Called once.
    virtual std::unique_ptr<ports::Cluster> make_cluster(const journal::Recovered& recovered) = 0;
    virtual void fill_metrics(metrics::Recorder&) {}
};

struct BackendRow {
    config::ClusterMode mode;
    // Reads the files that the configuration names, opens no connection. `config` outlives it.
    Result<std::unique_ptr<Backend>> (*make)(aio::Loop& loop, const config::Config& config);
    // The key of a configured file that is wrong, for messages; nullptr: the backend reads none.
    const char* file_key;
    // Whether make() can be called while checking a configuration on another machine.
    bool (*files_can_be_checked)(const config::Config& config);
    // A submitted job is acknowledged when the cluster has it too, not only the journal.
    bool acknowledges_in_cluster;
    // The adapter sends all objects before CacheSynced: objects that it does not send are gone.
    // Other clients write them, too, those of the policy among them.
    bool lists_all_objects;
};

const BackendRow& backend_of(config::ClusterMode mode);

// kubernetes.cpp, embedded.cpp
Result<std::unique_ptr<Backend>> make_kubernetes_backend(aio::Loop& loop,
                                                         const config::Config& config);
bool kubernetes_files_can_be_checked(const config::Config& config);
Result<std::unique_ptr<Backend>> make_embedded_backend(aio::Loop& loop,
                                                       const config::Config& config);

}  // namespace gpuctl::app
