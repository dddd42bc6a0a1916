// gpuctld: flags, exit code, signals. Everything else is made by app::App.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "aio/loop.hpp"
#include "aio/small_file.hpp"
#include "aio/task_group.hpp"
#include "daemon/app/app.hpp"
#include "daemon/app/files.hpp"
#include "daemon/app/notify.hpp"
#include "daemon/app/signals.hpp"
#include "daemon/config/load.hpp"
#include "daemon/config/vendors/vendor_file.hpp"
#include "daemon/diagnostics/log.hpp"
#include "net/http/http_client.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "text/url.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::app {
namespace {

struct Options {
    std::string config_file;
    std::string listen;
    bool listen_given = false;
    bool check_config = false;
    bool print_config = false;
    bool print_vendors = false;
};

int fail(const Error& error) {
    std::cerr << "gpuctld: " << error_lines(error);
    return 1;
}

// HOST:PORT, [V6]:PORT or :PORT.
Result<void> apply_listen(bool is_given, const std::string& listen, config::Config& config) {
    if (!is_given) return {};
    config::Server& server = config.server;
    const auto refuse = [&](const std::string& why) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "--listen " + text::shown_address(listen) + " cannot be used: it " + why +
                              "; it is HOST:PORT, e.g. 127.0.0.1:8000 or [::1]:8000");
    };
    Result<text::HostPort> parsed = text::parse_host_port(listen);
    if (!parsed) return refuse(parsed.error().message);
    if (!parsed->port) return refuse("names no port");
    if (!parsed->host.empty()) {
        server.address = std::move(parsed->host);
        config.places["server.address"] = "flag --listen";
    }
    if (!text::is_loopback(server.address)) return refuse("names no IP address");
    server.port = *parsed->port;
    config.places["server.port"] = "flag --listen";
    return {};
}

Result<config::Config> load(const Options& options) {
    Result<config::Config> config = config::load_file(options.config_file);
    if (!config) return config.error();
    if (Result<void> applied = apply_listen(options.listen_given, options.listen, *config);
        !applied) {
        return applied.error();
    }
    if (Result<void> safe = config::check_safe(*config); !safe) return safe.error();
    return config;
}

// A pipe, which may have been read once at the start, would block the daemon until it is written to
// again.
Result<config::Config> load_again(const Options& options) {
    if (aio::is_no_regular_file(options.config_file)) {
        return make_error(
            ErrorCode::InvalidConfiguration,
            options.config_file + ": not a regular file; only regular files can be reloaded");
    }
    return load(options);
}

// The state from the first task to the last; lives on main()'s stack.
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

// The loop ends after the last task has left it, including the caller of this function.
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
    log::error("configuration not reloaded, the old one stays in force",
               {{"err", taken.error().message}});
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

// Logged once at the start: with a Service named gpuctld, the environment has variables that look
// like ours.
void log_ignored_variables(const std::vector<std::string>& variables) {
    if (variables.empty()) return;
    log::info("environment variables of Kubernetes services are not keys and are ignored",
              {{"variables", variables.size()}, {"first", variables.front()}});
}

int run(const Options& options, config::Config config) {
    log::set_up(config.logging.format, config.logging.level);
    log_warnings(config);
    log_ignored_variables(config.service_links);
    Signals signals;
    aio::Loop loop;
    App app{loop, std::move(config), journal::real_disk()};
    Run state{loop, app, options};
    state.starting.spawn("start", state.start());
    signals.deliver_to(loop, [&state](int signal) { state.on_signal(signal); });
    loop.run();
    // Tasks that did not end in time may hold any resource: the journal is closed, the kernel frees
    // the rest. Waiting for them would exceed the supervisor's patience.
    if (!state.is_clean) {
        std::_Exit(state.exit_code);
    }
    return state.exit_code;
}

aio::Task<void> probe_livez(aio::Loop& loop, const config::Config& config, int& exit_code) {
    net::HttpClientSettings settings;
    settings.host = config.server.address;
    if (settings.host == "0.0.0.0") settings.host = "127.0.0.1";
    if (settings.host == "::") settings.host = "::1";
    settings.port = config.server.port;
    settings.tls.enabled = config.server.tls.has_value();
    // Our own address, our own process: the check is whether the loop runs, so the certificate is
    // not verified.
    settings.tls.insecure_skip_verify = true;
    const auto problem = std::make_shared<net::TlsProblem>(net::TlsProblem::none);
    settings.tls.problem = problem;
    net::HttpClient client{loop, std::move(settings)};
    net::HttpRequest request;
    request.target = "/livez";
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    Result<net::HttpResponse> response = co_await client.request(std::move(request), deadline);
    exit_code = response && response->status == 200 ? 0 : 1;
    // With server.tls.clientCaFile the server requests a client certificate before it answers: so
    // the loop runs.
    const bool requires_certificate =
        !response && *problem == net::TlsProblem::certificate_required;
    if (requires_certificate) {
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
    tasks.spawn("healthcheck", probe_livez(loop, config, exit_code));
    const std::function<void()> quit_when_idle = [&] {
        if (tasks.size() == 0) return loop.stop();
        loop.post(quit_when_idle);
    };
    loop.post(quit_when_idle);
    loop.run();
    return exit_code;
}

// Names the first argument that is not known, and the nearest one that is.
std::string usage_error(const CLI::App& flags, const CLI::ParseError& problem) {
    const std::vector<std::string> unknown = flags.remaining(true);
    if (unknown.empty()) return std::string{problem.what()} + ".";
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    std::vector<std::string> known{"healthcheck"};
    for (const CLI::Option* option : flags.get_options()) known.push_back(option->get_name());
    const std::string near = wire::nearest_name(word, known);
    return "unknown argument " + word + (near.empty() ? "." : "; did you mean " + near + "?");
}

}  // namespace
}  // namespace gpuctl::app

int main(int argc, char** argv) {
    using namespace gpuctl::app;
    CLI::App flags{
        "gpuctld queues GPU jobs, places them on nodes, and serves the API that gpuctl "
        "speaks.",
        "gpuctld"};
    Options options;
    flags
        .add_option("--config", options.config_file,
                    "gpuctld.yaml; without it, defaults and GPUCTLD_* variables apply")
        ->envname("GPUCTLD_CONFIG");
    const CLI::Option* listen = flags.add_option("--listen", options.listen,
                                                 "HOST:PORT, instead of server.address and .port");
    flags.add_flag("--check-config", options.check_config, "check the configuration and exit");
    flags.add_flag("--print-config", options.print_config,
                   "print the configuration in force, each key with its meaning and each value "
                   "with its source, and exit");
    flags.add_flag("--print-vendors", options.print_vendors,
                   "print the table of GPU vendors in use, and exit");
    flags.set_version_flag("--version", std::string{"gpuctld "} + GPUCTL_VERSION);
    CLI::App* healthcheck = flags.add_subcommand(
        "healthcheck", "check that the gpuctld at the configured address is alive, and exit");
    healthcheck->fallthrough();  // `gpuctld healthcheck --config X`: flags may follow it
    try {
        flags.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        constexpr int kUsageError = 2;  // as of gpuctl
        if (problem.get_exit_code() == 0) return flags.exit(problem);
        std::cerr << "gpuctld: " << usage_error(flags, problem) << " See `gpuctld --help`.\n";
        return kUsageError;
    }
#ifdef GPUCTL_SEEDED_FAULTS
    const char* fault = std::getenv("GPUCTL_SEEDED_FAULT");
    if (fault != nullptr && !gpuctl::select_fault(fault)) {
        std::cerr << "gpuctld: there is no seeded fault " << fault << '\n';
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
        std::cout << gpuctl::config::print_config_with_sources(*config);
        return 0;
    }
    if (options.print_vendors) {
        std::cout << gpuctl::config::print_vendors(gpuctl::gpu_vendor_table());
        return 0;
    }
    if (healthcheck->parsed()) return check_health(*config);
    return run(options, std::move(*config));
}
