// gpuctld: flags, exit code, signals. Everything else is made by app::App.

#include <CLI/CLI.hpp>
#include <charconv>
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
#include "scheduler/base/planted.hpp"

namespace gpuctl::app {
namespace {

struct Options {
    std::string config_file;
    std::string listen;
    bool check_config = false;
    bool print_config = false;
};

int fail(const Error& error) {
    std::cerr << "gpuctld: " << told(error);
    return 1;
}

// HOST:PORT, [V6]:PORT or :PORT.
Result<void> apply_listen(const std::string& listen, config::Server& server) {
    if (listen.empty()) return {};
    const std::size_t colon = listen.rfind(':');
    std::string host = listen.substr(0, colon);
    const std::string port = colon == listen.npos ? "" : listen.substr(colon + 1);
    int number = -1;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    const bool is_port =
        error == std::errc{} && end == port.data() + port.size() && number >= 0 && number <= 65'535;
    if (!is_port) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "read --listen " + listen + ": it is HOST:PORT, e.g. 127.0.0.1:8000");
    }
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (!host.empty()) server.address = host;
    server.port = static_cast<std::uint16_t>(number);
    return {};
}

Result<config::Config> load(const Options& options) {
    Result<config::Config> config = config::load_file(options.config_file);
    if (!config) return config.error();
    if (Result<void> applied = apply_listen(options.listen, config->server); !applied) {
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
    if (!clean) exit_code = 1;
    loop.post([this] { quit_when_idle(); });
}

// The loop ends after the last task, this one's own caller included, has left it.
void Run::quit_when_idle() {
    if (tasks.size() == 0 && starting.size() == 0) return loop.stop();
    loop.post([this] { quit_when_idle(); });
}

void Run::reload() {
    Result<config::Config> wanted = load_again(options);
    if (!wanted) app.count_refused_reload();
    Result<void> taken = wanted ? app.reload(*wanted) : Result<void>{wanted.error()};
    if (taken) {
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

int run(const Options& options, config::Config config) {
    log::set_up(config.logging.format, config.logging.level);
    Signals signals;
    aio::Loop loop;
    App app{loop, std::move(config), journal::real_disk()};
    Run state{loop, app, options};
    state.starting.spawn("start", state.start());
    signals.deliver_to(loop, [&state](int signal) { state.on_signal(signal); });
    loop.run();
    return state.exit_code;
}

aio::Task<void> ask_livez(aio::Loop& loop, const config::Config& config, int& exit_code) {
    net::HttpClientSettings settings;
    settings.host = config.server.address == "0.0.0.0" ? "127.0.0.1" : config.server.address;
    settings.port = std::to_string(config.server.port);
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
    flags.add_option("--config", options.config_file,
                     "gpuctld.yaml; without it defaults and GPUCTLD_* variables count");
    flags.add_option("--listen", options.listen, "HOST:PORT, instead of server.address and .port");
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

    gpuctl::Result<gpuctl::config::Config> config = load(options);
    if (!config) return fail(config.error());
    if (options.check_config) {
        if (const auto usable = check_files(*config); !usable) return fail(usable.error());
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
