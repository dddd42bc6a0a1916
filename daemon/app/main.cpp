// gpuctld: flags, exit code, signals. Everything else is made by app::App.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "daemon/aio/loop.hpp"
#include "daemon/aio/small_file.hpp"
#include "daemon/aio/task_group.hpp"
#include "daemon/app/app.hpp"
#include "daemon/app/files.hpp"
#include "daemon/app/notify.hpp"
#include "daemon/app/signals.hpp"
#include "daemon/config/load.hpp"
#include "daemon/diagnostics/log.hpp"
#include "daemon/net/http_client.hpp"
#include "daemon/text/url.hpp"
#include "scheduler/base/planted.hpp"

namespace gpuctl::app {
namespace {

struct Options {
    std::string config_file;
    std::string listen;
    bool listen_given = false;
    bool check_config = false;
    bool print_config = false;
};

int fail(const Error& error) {
    std::cerr << "gpuctld: " << told(error);
    return 1;
}

// HOST:PORT, [V6]:PORT or :PORT.
Result<void> apply_listen(bool is_given, const std::string& listen, config::Server& server) {
    if (!is_given) return {};
    const auto refuse = [&](const std::string& why) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "use --listen " + text::shown_address(listen) + ": it " + why +
                              "; it is HOST:PORT, e.g. 127.0.0.1:8000 or [::1]:8000");
    };
    Result<text::HostPort> parsed = text::parse_host_port(listen);
    if (!parsed) return refuse(parsed.error().message);
    if (!parsed->port) return refuse("names no port");
    if (!parsed->host.empty()) server.address = std::move(parsed->host);
    if (!text::is_loopback(server.address)) return refuse("names no IP address");
    server.port = *parsed->port;
    return {};
}

Result<config::Config> load(const Options& options) {
    Result<config::Config> config = config::load_file(options.config_file);
    if (!config) return config.error();
    if (Result<void> applied = apply_listen(options.listen_given, options.listen, config->server);
        !applied) {
        return applied.error();
    }
    if (Result<void> safe = config::check_safe(*config); !safe) return safe.error();
    return config;
}

// While the daemon works: a pipe, which may have been read once at the start, would stop it until
// somebody writes.
Result<config::Config> load_again(const Options& options) {
    if (aio::is_no_regular_file(options.config_file)) {
        return make_error(ErrorCode::InvalidConfiguration,
                          options.config_file + ": is no regular file; only those are read again");
    }
    return load(options);
}

// What happens from the first task to the last; lives on main()'s stack.
struct Run {
    aio::Loop& loop;
    App& app;
    const Options& options;
    aio::TaskGroup starting{loop};
    aio::TaskGroup tasks{loop};
    bool stopping = false;
    bool is_clean = true;
    int exit_code = 0;

    aio::Task<void> start();
    aio::Task<void> stop();
    void reload();
    void on_signal(int signal);
    void quit_when_idle();
};

aio::Task<void> Run::start() {
    Result<void> started = co_await app.start();
    if (started) {
        notify_service_manager("READY=1");
        co_return;
    }
    if (stopping) co_return;
    exit_code = fail(started.error());
    tasks.spawn("stop", stop());
}

aio::Task<void> Run::stop() {
    if (std::exchange(stopping, true)) co_return;
    notify_service_manager("STOPPING=1");
    starting.cancel();
    const aio::Deadline soon = aio::Deadline::in(std::chrono::seconds{5});
    co_await starting.join(soon);
    const bool clean = co_await app.stop();
    if (!clean) {
        is_clean = false;
        exit_code = 1;
    }
    loop.post([this] { quit_when_idle(); });
}

// The loop ends after the last task, this one's own caller included, has left it.
void Run::quit_when_idle() {
    if (tasks.size() == 0 && starting.size() == 0) return loop.stop();
    loop.post([this] { quit_when_idle(); });
}

void log_warnings(const config::Config& config) {
    for (const std::string& warning : config.warnings) {
        log::warn("configuration", {{"warning", warning}});
    }
}

void Run::reload() {
    Result<config::Config> wanted = load_again(options);
    if (!wanted) app.count_refused_reload();
    Result<void> taken = wanted ? app.reload(*wanted) : Result<void>{wanted.error()};
    if (taken) {
        log_warnings(*wanted);
        log::info("configuration reloaded", {{"file", options.config_file}});
        return;
    }
    log::error("configuration not reloaded, the old one stays", {{"err", taken.error().message}});
    const std::vector<Detail>& details = taken.error().details;  // the first is in the message
    for (std::size_t at = 1; at < details.size(); ++at) {
        log::error("configuration not reloaded", {{"problem", details[at].message}});
    }
}

void Run::on_signal(int signal) {
    if (signal == SIGHUP) {
        if (!stopping) reload();
        return;
    }
    log::info("stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
    tasks.spawn("stop", stop());
}

// Once at the start: where a Service is called gpuctld, a reader of the environment may wonder.
void say_what_is_ignored(const std::vector<std::string>& variables) {
    if (variables.empty()) return;
    log::info("environment variables that describe services are no keys and are ignored",
              {{"variables", variables.size()}, {"first", variables.front()}});
}

int run(const Options& options, config::Config config) {
    log::set_up(config.logging.format, config.logging.level);
    log_warnings(config);
    say_what_is_ignored(config.service_links);
    Signals signals;
    aio::Loop loop;
    App app{loop, std::move(config), journal::real_disk()};
    Run state{loop, app, options};
    state.starting.spawn("start", state.start());
    signals.deliver_to(loop, [&state](int signal) { state.on_signal(signal); });
    loop.run();
    // What did not end in time may hold on to anything: the journal is closed, the rest is the
    // kernel's. To wait for it would take longer than whoever stops us has patience.
    if (!state.is_clean) {
        std::_Exit(state.exit_code);
    }
    return state.exit_code;
}

aio::Task<void> ask_livez(aio::Loop& loop, const config::Config& config, int& exit_code) {
    net::HttpClientSettings settings;
    settings.host = config.server.address;
    if (settings.host == "0.0.0.0") settings.host = "127.0.0.1";
    if (settings.host == "::") settings.host = "::1";
    settings.port = config.server.port;
    settings.tls.enabled = config.server.tls.has_value();
    // Our own address, our own process: what is asked is whether it turns, not who it is.
    settings.tls.insecure_skip_verify = true;
    net::HttpClient client{loop, std::move(settings)};
    net::HttpRequest request;
    request.target = "/livez";
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    Result<net::HttpResponse> response = co_await client.request(std::move(request), deadline);
    exit_code = response && response->status == 200 ? 0 : 1;
    // With server.tls.clientCaFile it asks who we are before it answers: so it turns.
    const bool asks_who = !response && response.error().message.find(
                                           "alert certificate required") != std::string::npos;
    if (asks_who) {
        exit_code = 0;
        co_return;
    }
    if (!response) std::cerr << "gpuctld: " << response.error().message << '\n';
    if (response && exit_code != 0) std::cerr << response->body;
}

int check_health(const config::Config& config) {
    aio::Loop loop;
    aio::TaskGroup tasks{loop};
    int exit_code = 1;
    tasks.spawn("healthcheck", ask_livez(loop, config, exit_code));
    const std::function<void()> quit_when_idle = [&] {
        if (tasks.size() == 0) return loop.stop();
        loop.post(quit_when_idle);
    };
    loop.post(quit_when_idle);
    loop.run();
    return exit_code;
}

}  // namespace
}  // namespace gpuctl::app

int main(int argc, char** argv) {
    using namespace gpuctl::app;
    CLI::App flags{
        "gpuctld queues GPU work and places it on nodes, and serves the API that gpuctl "
        "speaks.",
        "gpuctld"};
    Options options;
    flags
        .add_option("--config", options.config_file,
                    "gpuctld.yaml; without it defaults and GPUCTLD_* variables count")
        ->envname("GPUCTLD_CONFIG");
    const CLI::Option* listen = flags.add_option("--listen", options.listen,
                                                 "HOST:PORT, instead of server.address and .port");
    flags.add_flag("--check-config", options.check_config, "check the configuration and end");
    flags.add_flag("--print-config", options.print_config,
                   "print the configuration in force, with every key's meaning, and end");
    flags.set_version_flag("--version", std::string{"gpuctld "} + GPUCTL_VERSION);
    const CLI::App* healthcheck = flags.add_subcommand(
        "healthcheck", "ask the gpuctld at the configured address if it lives");
    try {
        flags.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        constexpr int kUsageError = 2;  // as of gpuctl
        return flags.exit(problem) == 0 ? 0 : kUsageError;
    }
#ifdef GPUCTL_PLANTED
    const char* bug = std::getenv("GPUCTL_PLANTED_BUG");
    if (bug != nullptr && !gpuctl::plant(bug)) {
        std::cerr << "gpuctld: there is no planted bug " << bug << '\n';
        return 2;
    }
#endif

    options.listen_given = listen->count() > 0;
    gpuctl::Result<gpuctl::config::Config> config = load(options);
    if (!config) return fail(config.error());
    if (options.check_config) {
        if (const auto usable = check_files(*config); !usable) return fail(usable.error());
        for (const std::string& warning : config->warnings) {
            std::cerr << "warning: " << warning << '\n';
        }
        std::cout << (options.config_file.empty() ? "defaults" : options.config_file) << ": ok\n";
        return 0;
    }
    if (options.print_config) {
        std::cout << gpuctl::config::print_config(*config);
        return 0;
    }
    if (healthcheck->parsed()) return check_health(*config);
    return run(options, std::move(*config));
}
