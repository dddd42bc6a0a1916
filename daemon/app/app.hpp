#pragma once
// The composition root: makes every object, in this order, and takes them down in the reverse.
//
//   start  listen -> (Kubernetes: learn the cluster's id) -> journal, replay -> cluster adapter ->
//          engine loop, policy -> adapter starts -> log relay, API -> READY
//   stop   no new work -> what was submitted is answered -> log readers go -> requests end ->
//          adapter stops -> engine loop ends -> journal closed
//
// The only room that names concrete cluster adapters. Thread: the loop's.

#include <memory>
#include <optional>
#include <string>

#include "daemon/aio/loop.hpp"
#include "daemon/aio/task_group.hpp"
#include "daemon/api/server.hpp"
#include "daemon/api/services.hpp"
#include "daemon/app/starting_handler.hpp"
#include "daemon/config/config.hpp"
#include "daemon/core/engine_loop.hpp"
#include "daemon/journal/disk.hpp"
#include "daemon/journal/journal.hpp"
#include "daemon/logs/log_relay.hpp"
#include "daemon/net/http_server.hpp"
#include "daemon/ports/cluster.hpp"
#include "metrics/recorder.hpp"

namespace gpuctl::app {

class App {
public:
    // `disk` is a seam for tests; the daemon hands in journal::real_disk().
    App(aio::Loop& loop, config::Config config, journal::Disk& disk);
    ~App();
    App(const App&) = delete;
    App& operator=(const App&) = delete;

    // Returns when the API is being served. On an error nothing is left running but the listener,
    // which stop() ends.
    aio::Task<Result<void>> start();
    // True when everything ended before the deadline (server.shutdownTimeout).
    aio::Task<bool> stop();
    // A file that cannot even be read is a refused reload, too.
    void count_refused_reload();
    // Whole or not at all.
    Result<void> reload(const config::Config& wanted);

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] core::EngineLoop& engine() { return *engine_; }
    [[nodiscard]] ports::Cluster& cluster() { return *cluster_; }
    [[nodiscard]] metrics::Recorder& recorder() { return recorder_; }
    [[nodiscard]] logs::LogRelay& relay() { return *relay_; }
    [[nodiscard]] api::TokenStore& tokens() { return tokens_; }

private:
    Result<void> listen();
    Result<void> load_tokens();
    aio::Task<Result<void>> open_kubernetes();
    aio::Task<Result<std::string>> learn_cluster_id();
    aio::Task<Result<void>> open_embedded();
    aio::Task<Result<journal::Recovered>> open_journal(std::string mode, std::string cluster_id);
    [[nodiscard]] static Error stopped_while_starting();
    void run_engine(journal::Recovered recovered);
    void serve();
    void fill_metrics();

    aio::Loop& loop_;
    config::Config config_;
    journal::Disk& disk_;
    metrics::Recorder recorder_;
    api::TokenStore tokens_;
    StartingHandler handler_;
    aio::TaskGroup tasks_;
    bool stop_asked_ = false;
    bool served_ = false;

    std::unique_ptr<net::HttpServer> server_;
    std::string journal_directory_;  // the cluster's own folder
    std::unique_ptr<journal::Journal> journal_;
    std::unique_ptr<ports::Cluster> cluster_;
    std::unique_ptr<core::EngineLoop> engine_;
    std::unique_ptr<logs::LogRelay> relay_;
    aio::Worker trials_{"trials"};
    std::unique_ptr<api::Services> services_;
    std::unique_ptr<api::ApiServer> api_;
};

}  // namespace gpuctl::app
