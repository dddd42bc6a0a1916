#include "daemon/app/app.hpp"

#include <chrono>

#include "aio/entropy.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/app/figures.hpp"
#include "daemon/app/files.hpp"
#include "daemon/app/health_log.hpp"
#include "daemon/app/past_events.hpp"
#include "daemon/app/state_directory.hpp"
#include "daemon/app/turns.hpp"
#include "daemon/config/cluster/backend_sections.hpp"
#include "daemon/config/file_layer.hpp"
#include "daemon/config/load.hpp"
#include "daemon/core/policy_stores.hpp"
#include "daemon/diagnostics/log.hpp"
#include "text/url.hpp"

namespace gpuctl::app {
namespace {

using metrics::Metric;

constexpr std::chrono::seconds kSessionsEnd{5};

logs::LogRelaySettings relay_settings(const config::Config& config) {
    logs::LogRelaySettings settings;
    settings.history_lines_per_pod = config.logs.history_lines_per_pod;
    settings.subscriber_lines_max = config.logs.ring_lines_per_subscriber;
    settings.line_bytes_max = config.logs.line_bytes_max;
    settings.subscribers_max = config.server.log_streams_max;
    return settings;
}

net::HttpServerSettings server_settings(const config::Config& config) {
    net::HttpServerSettings settings;
    settings.address = config.server.address;
    settings.port = config.server.port;
    settings.connections_max = config.server.connections_max;
    // A ping is sent at half of the idle timeout.
    settings.websocket.idle_timeout = config.logs.ping_interval * 2;
    return settings;
}

}  // namespace

App::App(aio::Loop& loop, config::Config config, journal::Disk& disk)
    : loop_(loop), config_(std::move(config)), disk_(disk), tasks_(loop) {
    recorder_.gauge(Metric::build_info, {GPUCTL_VERSION}).set(1);
    recorder_.gauge(Metric::start_time).set(static_cast<double>(aio::Loop::wall_ms()) / 1000);
    recorder_.counter(Metric::reloads, {"ok"});
    recorder_.counter(Metric::reloads, {"refused"});
    observe_turns(loop_, recorder_);
}

App::~App() { loop_.observe_turns({}); }

std::uint16_t App::port() const { return server_ ? server_->port() : 0; }

Result<void> App::load_static_files() {
    if (config_.server.ui_directory.empty()) return {};
    Result<api::StaticFiles> files = api::StaticFiles::read(config_.server.ui_directory);
    if (!files) return files.error();
    static_files_ = std::move(*files);
    return {};
}

Result<void> App::listen() {
    net::HttpServerSettings settings = server_settings(config_);
    if (config_.server.tls) {
        Result<net::ServerTls> tls = read_tls(config_);
        if (!tls) return tls.error();
        settings.tls = std::move(*tls);
    }
    server_ = std::make_unique<net::HttpServer>(loop_, std::move(settings), handler_);
    Result<void> started = server_->start();
    if (!started) {
        return while_doing(
            "start the API",
            make_error(
                started.error().code,
                started.error().message +
                    "; is another gpuctld running there? Choose another address with --listen"));
    }
    return {};
}

Error App::stopped_while_starting() {
    return make_error(ErrorCode::ShuttingDown, "gpuctld was stopped while it was starting");
}

// On the pool: replaying a long journal takes seconds, during which probes must be answered.
aio::Task<Result<journal::Recovered>> App::open_journal(std::string mode, std::string cluster_id) {
    Result<std::string> base = resolve_state_directory(config_.journal.directory);
    if (!base) co_return base.error();
    journal::JournalSettings settings;
    journal_directory_ = journal_folder(*base, mode, cluster_id);
    settings.directory = journal_directory_;
    settings.mode = mode;
    settings.cluster_id = cluster_id;
    settings.segment_bytes_max = config_.journal.segment_bytes_max;
    settings.past_bytes_max = config_.journal.past_bytes_max;
    handler_.waits_for("reading the journal in " + settings.directory);
    struct Opened {
        std::unique_ptr<journal::Journal> journal;
        journal::Recovered recovered;
    };
    std::function<Result<Opened>()> open = [this, settings]() -> Result<Opened> {
        Opened out;
        auto opened = journal::Journal::open(loop_, disk_, settings, out.recovered);
        if (!opened) return opened.error();
        out.journal = std::move(*opened);
        return out;
    };
    Result<Opened> opened = co_await aio::offload(loop_, std::move(open));
    if (!opened) co_return while_doing("open the journal in " + settings.directory, opened.error());
    if (stop_asked_) co_return stopped_while_starting();
    journal_ = std::move(opened->journal);
    journal::Recovered recovered = std::move(opened->recovered);
    log::info("journal opened", {{"directory", settings.directory},
                                 {"cluster_id", recovered.cluster_id},
                                 {"inputs_replayed", recovered.inputs_replayed}});
    if (!recovered.upgraded_from.empty()) {
        log::info("journal of an older gpuctld upgraded; the old files are kept but not read",
                  {{"written_as", recovered.upgraded_from}, {"kept_in", recovered.kept_in}});
    }
    if (recovered.bytes_cut > 0) {
        log::warn(
            "journal ended with incomplete records, which were removed; a stop during a write "
            "leaves such records, and none of them was acknowledged. If the file was changed or "
            "its disk is failing, acknowledged jobs may be missing",
            {{"bytes_cut", recovered.bytes_cut}});
    }
    if (!recovered.doubt.empty()) {
        log::warn(recovered.doubt +
                  ": unless gpuctld was stopped while it created the file, acknowledged jobs are "
                  "missing; stop gpuctld and restore the folder from a backup");
    }
    co_return recovered;
}

// The journal belongs to one cluster, so its folder is known only after the backend has learned the
// cluster's id.
aio::Task<Result<void>> App::open_cluster() {
    const BackendRow& row = backend_of(config_.cluster.mode);
    Result<std::unique_ptr<Backend>> made = row.make(loop_, config_);
    if (!made) co_return made.error();
    backend_ = std::move(*made);
    Backend::WaitsFor waits_for = [this](std::string what) { handler_.waits_for(std::move(what)); };
    Backend::StopAsked stop_asked = [this] { return stop_asked_; };
    Result<std::string> id =
        co_await backend_->learn_cluster_id(std::move(waits_for), std::move(stop_asked));
    if (stop_asked_) co_return stopped_while_starting();
    if (!id) co_return id.error();
    Result<journal::Recovered> recovered =
        co_await open_journal(std::string{config::to_string(row.mode)}, *id);
    if (!recovered) co_return recovered.error();
    config::FileLayer file = config::file_layer(config_);
    Result<config::MergedPolicy> merged = api::merge_with_file(
        file, recovered->engine.state().policy_objects.by_key(), row.lists_all_objects);
    if (!merged) co_return merged.error();
    cluster_ = backend_->make_cluster(*recovered);
    run_engine(std::move(*recovered), std::move(file), std::move(*merged));
    co_return Result<void>{};
}

void App::run_engine(journal::Recovered recovered, config::FileLayer file,
                     config::MergedPolicy merged) {
    core::EngineLoopSettings settings;
    settings.queue_max = config_.journal.queue_max;
    settings.snapshot_every_inputs = config_.journal.snapshot_every_inputs;
    settings.seed = aio::random_seed();
    const BackendRow& backend = backend_of(config_.cluster.mode);
    settings.wait_for_workload = backend.acknowledges_in_cluster;
    settings.adapter_lists_all = backend.lists_all_objects;
    engine_ = std::make_unique<core::EngineLoop>(loop_, *journal_, std::move(recovered.engine),
                                                 recovered.next_sequence, settings, recorder_);
    ports::NodePools* const nodes = cluster_->node_pools();
    ports::PolicyObjectPort* const objects = cluster_->policy_objects();
    if (objects != nullptr) {
        policy_store_ = std::make_unique<core::ClusterPolicyStore>(*engine_, *objects, nodes);
    } else {
        policy_store_ = std::make_unique<core::JournaledPolicyStore>(*engine_, nodes);
    }
    policy_layers_ = std::make_unique<api::PolicyLayers>(loop_, *engine_, *policy_store_);
    started_at_ = api::wall_now();
    engine_->start(*cluster_);
    policy_layers_->commit(std::move(file), std::move(merged));
    if (objects == nullptr) return cluster_->start(*engine_);
    reported_objects_ = std::make_unique<api::ReportedObjects>(*engine_, *policy_layers_);
    cluster_->start(*reported_objects_);
    tasks_.spawn("report of the policy", api::report_policy(*engine_, *policy_layers_, *objects));
}

void App::serve() {
    core::EngineLoop& engine = *engine_;
    relay_ = std::make_unique<logs::LogRelay>(
        loop_, cluster_->logs(), relay_settings(config_),
        [&engine](const std::string& uid) { return engine.history().pod_runs(uid); }, recorder_);
    api::ApiSettings settings;
    settings.body_bytes_max = config_.server.body_bytes_max;
    settings.request_timeout = config_.server.request_timeout;
    settings.metrics_need_token = config_.server.metrics_need_token;
    settings.address = config_.server.address;
    settings.loopback_only = text::is_loopback(config_.server.address).value_or(false);
    settings.mode = config::to_string(config_.cluster.mode);
    settings.host_path_roots = config::host_path_roots(config_.cluster);
    settings.gpu_replicas = config_.names.gpu_replicas;
    settings.label_prefix = config_.names.label_prefix;
    settings.variables_allowed = config_.names.allowed_variables;
    settings.journal_directory = journal_directory_;
    settings.cluster = config_.cluster;
    services_.reset(new api::Services{loop_,
                                      std::move(settings),
                                      engine,
                                      *cluster_,
                                      *relay_,
                                      recorder_,
                                      tokens_,
                                      {},
                                      tasks_,
                                      false,
                                      GPUCTL_VERSION,
                                      0,
                                      trials_});
    services_->policy = policy_layers_.get();
    sessions_ = std::make_unique<api::SessionTable>(loop_, config_.server);
    services_->sessions = sessions_.get();
    services_->static_files = std::move(static_files_);
    services_->idempotency.recover(engine.state());
    api_ = std::make_unique<api::ApiServer>(*services_);
    recorder_.before_scrape([this] { fill_metrics(); });
    tasks_.spawn("log health", log_health_changes(*services_));
    tasks_.spawn("events before the start", add_past_events(loop_, engine, journal_directory_,
                                                            started_at_, services_->trials_stop));
    handler_.hand_over_to(*api_);
}

void App::fill_metrics() {
    fill_state_gauges(recorder_, *engine_, config_.metrics.tenant_labels_max);
    fill_journal_figures(recorder_, journal_->figures());
    backend_->fill_metrics(recorder_);
    recorder_.gauge(Metric::ready).set(api::all_ok(api::readiness(*services_)) ? 1 : 0);
    recorder_.gauge(Metric::log_upstreams).set(static_cast<double>(relay_->upstreams()));
    fill_session_figures(recorder_, sessions_->figures());
    recorder_.gauge(Metric::log_subscribers).set(static_cast<double>(relay_->subscribers()));
    const net::HttpServer::Figures http = server_->figures();
    recorder_.gauge(Metric::http_connections).set(static_cast<double>(http.connections));
    recorder_.counter(Metric::http_accepted).raise_to(http.accepted);
    recorder_.counter(Metric::http_refused).raise_to(http.refused);
}

aio::Task<Result<void>> App::start() {
    if (Result<void> loaded = load_tokens(config_, tokens_); !loaded) co_return loaded.error();
    if (Result<void> loaded = load_static_files(); !loaded) co_return loaded.error();
    if (Result<void> listening = listen(); !listening) co_return listening.error();
    Result<void> opened = co_await open_cluster();
    if (!opened) co_return opened.error();
    serve();
    served_ = true;
    log::info("gpuctld serves", {{"address", config_.server.address},
                                 {"port", port()},
                                 {"mode", config::to_string(config_.cluster.mode)},
                                 {"tls", config_.server.tls.has_value()},
                                 {"tokens", tokens_.size()},
                                 {"version", GPUCTL_VERSION}});
    co_return Result<void>{};
}

aio::Task<bool> App::stop() {
    const aio::Deadline deadline = aio::Deadline::in(config_.server.shutdown_timeout);
    // Reserve time for the last steps, which clients that do not disconnect must not use up.
    const aio::Deadline for_clients =
        aio::Deadline::in(config_.server.shutdown_timeout - config_.server.shutdown_timeout / 4);
    const aio::Deadline for_successor = aio::Deadline::in(config_.server.shutdown_timeout / 2);
    stop_asked_ = true;
    bool clean = true;
    if (services_) {
        services_->stopping = true;
        *services_->trials_stop = true;
    }
    if (server_) server_->stop_accepting();
    if (engine_) {
        engine_->stop_intake();
        const bool drained = co_await engine_->drain(for_clients);
        if (!drained) log::warn("stopping with waiting inputs or submits");
        clean = clean && drained;
        engine_->changed().notify_all();
    }
    if (cluster_) co_await cluster_->hand_over(for_successor);
    if (relay_) {
        const bool ended = co_await relay_->stop(for_clients);
        clean = clean && ended;
    }
    if (sessions_) {
        // Each sends its client the reason; the end of the server would only close the connection.
        const aio::Deadline for_sessions = aio::Deadline::in(kSessionsEnd);
        co_await sessions_->all_ended(for_sessions);
    }
    if (server_) {
        const bool ended = co_await server_->stop(for_clients);
        if (!ended) log::warn("stopping with requests in progress");
        clean = clean && ended;
    }
    tasks_.cancel();
    const bool joined = co_await tasks_.join(deadline);
    for (const std::string& name : tasks_.left()) log::warn("task did not end", {{"name", name}});
    clean = clean && joined;
    if (cluster_) {
        const bool ended = co_await cluster_->stop(deadline);
        clean = clean && ended;
    }
    if (engine_) {
        const bool ended = co_await engine_->stop(deadline);
        clean = clean && ended;
    }
    recorder_.clear_hooks();
    if (journal_) {
        if (Result<void> closed = journal_->close(); !closed) {
            log::error("journal not closed", {{"err", closed.error().message}});
            clean = false;
        }
    }
    if (served_) {
        log::info("gpuctld stopped", {{"clean", clean}});
    } else {
        log::warn("gpuctld stopped during its start, before it accepted any work");
    }
    co_return clean;
}

void App::count_refused_reload() { recorder_.counter(Metric::reloads, {"refused"}).add(); }

// Everything that can fail comes first; then everything is applied.
Result<void> App::reload(const config::Config& wanted) {
    config::FileLayer file = config::file_layer(wanted);
    std::optional<config::MergedPolicy> merged;
    const auto prepare = [&]() -> Result<void> {
        if (Result<void> safe = config::check_safe(wanted); !safe) return safe.error();
        if (Result<void> same = config::check_reloadable(config_, wanted); !same) {
            return same.error();
        }
        if (policy_layers_) {
            Result<config::MergedPolicy> read = policy_layers_->merge(file);
            if (!read) return read.error();
            merged = std::move(*read);
        }
        api::TokenStore tokens;
        if (Result<void> loaded = load_tokens(wanted, tokens); !loaded) return loaded;
        if (wanted.server.tls) {
            Result<net::ServerTls> tls = read_tls(wanted);
            if (!tls) return tls.error();
            if (Result<void> taken = server_->replace_tls(std::move(*tls)); !taken) {
                return taken.error();
            }
        }
        tokens_ = std::move(tokens);
        return {};
    };
    Result<void> prepared = prepare();
    recorder_.counter(Metric::reloads, {prepared ? "ok" : "refused"}).add();
    if (!prepared) return prepared;
    if (merged) policy_layers_->commit(std::move(file), std::move(*merged));
    log::set_level(wanted.logging.level);
    config_ = wanted;
    return {};
}

}  // namespace gpuctl::app
