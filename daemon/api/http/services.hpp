#pragma once
// What handlers may use: the engine's views, the mailbox, the log relay, figures and settings. All
// of it is owned by the composition root and outlives the HTTP server.

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aio/worker.hpp"
#include "daemon/api/http/auth.hpp"
#include "daemon/api/http/idempotency.hpp"
#include "daemon/api/http/static_files.hpp"
#include "daemon/config/config.hpp"
#include "daemon/core/engine_loop.hpp"
#include "daemon/logs/log_relay.hpp"
#include "metrics/recorder.hpp"
#include "ports/cluster.hpp"

namespace gpuctl::api {

class PolicyLayers;
class SessionTable;

struct ApiSettings {
    std::size_t body_bytes_max = 1u << 20;
    std::chrono::seconds request_timeout{30};
    bool metrics_need_token = false;
    bool loopback_only = true;      // then Host must name this machine (DNS rebinding)
    std::string address;            // as configured; accepted as Host
    std::string mode = "embedded";  // shown on /version
    std::vector<std::string> host_path_roots;
    std::int32_t gpu_replicas = 1;
    std::string label_prefix = "runwhere.ai";
    std::map<std::string, std::string> variables_allowed = {};
    std::string journal_directory;  // the cluster's own folder
    config::Cluster cluster;        // a previewed policy must fit it
};

struct Services {
    aio::Loop& loop;
    ApiSettings settings;
    core::EngineLoop& engine;
    ports::Cluster& cluster;
    logs::LogRelay& relay;
    metrics::Recorder& recorder;
    TokenStore& tokens;
    IdempotencyKeys idempotency;
    aio::TaskGroup& tasks;  // tasks of websocket readers
    bool stopping = false;
    std::string version;
    int questions_open = 0;  // what_if.cpp
    aio::Worker& trials;     // runs the trials
    // Checked by the trials, which then end early.
    std::shared_ptr<std::atomic<bool>> trials_stop = std::make_shared<std::atomic<bool>>(false);
    StaticFiles static_files{};        // none without server.uiDirectory
    PolicyLayers* policy = nullptr;    // never null while requests are answered
    SessionTable* sessions = nullptr;  // the same
};

}  // namespace gpuctl::api
