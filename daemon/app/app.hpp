#pragma once
// The composition root: creates every object, in this order, and destroys them in the reverse
// order.
//
//   start: listen -> learn the cluster's id (Kubernetes) -> journal, replay -> cluster adapter ->
//              engine loop, policy -> adapter starts -> log relay, API -> READY
//   stop:  no new work -> submitted jobs are answered -> log readers and sessions end -> requests
//              end -> adapter stops -> engine loop ends -> journal closed
//
// The only room that names concrete cluster adapters (backend.hpp). Thread: the loop's.

#include <memory>
#include <optional>
#include <string>

#include "aio/loop.hpp"
#include "aio/task_group.hpp"
#include "daemon/api/http/server.hpp"
#include "daemon/api/http/services.hpp"
#include "daemon/api/policy/reported_objects.hpp"
#include "daemon/api/sessions/session_table.hpp"
#include "daemon/app/backend.hpp"
#include "daemon/app/starting_handler.hpp"
#include "daemon/config/config.hpp"
#include "daemon/core/engine_loop.hpp"
#include "daemon/journal/disk.hpp"
#include "daemon/journal/journal.hpp"
#include "daemon/logs/log_relay.hpp"
#include "metrics/recorder.hpp"
#include "net/http/http_server.hpp"
#include "ports/cluster.hpp"

namespace gpuctl::app {

class App {
public:
    // `disk` lets tests inject failures; the daemon passes journal::real_disk().
    App(aio::Loop& loop, config::Config config, journal::Disk& disk);
    ~App();
    App(const App&) = delete;
    App& operator=(const App&) = delete;

    // Returns when the API is served. After an error only the listener is left running, which
    // stop() ends.
    aio::Task<Result<void>> start();
    // True when everything ended before the deadline (server.shutdownTimeout).
    aio::Task<bool> stop();
    // An unreadable file is a refused reload, too.
    void count_refused_reload();
    // All changes or none.
    Result<void> reload(const config::Config& wanted);

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] core::EngineLoop& engine() { return *engine_; }
    [[nodiscard]] ports::Cluster& cluster() { return *cluster_; }
    [[nodiscard]] metrics::Recorder& recorder() { return recorder_; }
    [[nodiscard]] logs::LogRelay& relay() { return *relay_; }
    [[nodiscard]] api::TokenStore& tokens() { return tokens_; }

private:
    Result<void> listen();
    Result<void> load_static_files();
    aio::Task<Result<void>> open_cluster();
    aio::Task<Result<journal::Recovered>> open_journal(std::string mode, std::string cluster_id);
    [[nodiscard]] static Error stopped_while_starting();
    void run_engine(journal::Recovered recovered, config::FileLayer file,
                    config::MergedPolicy merged);
    void serve();
    void fill_metrics();

    aio::Loop& loop_;
    config::Config config_;
    journal::Disk& disk_;
    metrics::Recorder recorder_;
    api::TokenStore tokens_;
    api::StaticFiles static_files_;
    StartingHandler handler_;
    aio::TaskGroup tasks_;
    bool stop_asked_ = false;
    bool served_ = false;
    Instant started_at_;  // of the engine; earlier inputs are from earlier processes

    std::unique_ptr<net::HttpServer> server_;
    std::string journal_directory_;  // the cluster's own folder
    std::unique_ptr<journal::Journal> journal_;
    std::unique_ptr<Backend> backend_;
    std::unique_ptr<ports::Cluster> cluster_;
    std::unique_ptr<core::EngineLoop> engine_;
    std::unique_ptr<ports::PolicyStore> policy_store_;
    std::unique_ptr<api::PolicyLayers> policy_layers_;
    std::unique_ptr<api::ReportedObjects> reported_objects_;  // where the cluster stores objects
    std::unique_ptr<logs::LogRelay> relay_;
    std::unique_ptr<api::SessionTable> sessions_;
    aio::Worker trials_{"trials"};
    std::unique_ptr<api::Services> services_;
    std::unique_ptr<api::ApiServer> api_;
};

}  // namespace gpuctl::app
