#include "bench/reads/verbs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "aio/loop.hpp"
#include "bench/reads/http_load.hpp"
#include "net/http/http_server.hpp"
#include "scheduler/base/rng.hpp"
#include "sim/replay/percentile.hpp"

namespace gpuctl::bench {
namespace {

std::atomic<bool> stopped{false};

void stop(int) { stopped.store(true); }

void stop_on_signals() {
    struct sigaction action = {};
    action.sa_handler = stop;
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
}

class FixedAnswer final : public net::HttpHandler {
public:
    explicit FixedAnswer(std::size_t bytes) : body_(bytes, 'a') {}
    net::HeaderVerdict on_header(const net::HttpRequest&) override { return {}; }
    aio::Task<net::HttpResponse> on_request(net::HttpRequest) override {
        net::HttpResponse response;
        response.fields.add("Content-Type", "application/json");
        response.body = body_;
        co_return response;
    }
    aio::Task<std::optional<net::HttpResponse>> on_upgrade(net::HttpRequest) override {
        co_return net::HttpResponse{};
    }
    aio::Task<void> on_websocket(net::HttpRequest, std::unique_ptr<net::WebSocket>) override {
        co_return;
    }
    net::HttpResponse problem(int status, std::string, std::string message) override {
        net::HttpResponse response;
        response.status = status;
        response.body = std::move(message);
        return response;
    }

private:
    std::string body_;
};

}  // namespace

int load_until_stopped(const LoadOptions& options) {
    stop_on_signals();
    int status = 0;
    while (!stopped.load() && status == 0) {
        fetch(options.port, options.target, status);
        if (status == 0) std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    Rng rng{5};
    const NextRequest next = [&] {
        if (options.pages <= 1) return get_request(options.target);
        return get_request(options.target +
                           "&page=" + std::to_string(1 + rng.below(options.pages)));
    };
    const std::vector<Stream> streams{{next, options.per_second, options.connections}};
    constexpr std::chrono::hours longest{1};
    const LoadResult result = run_load(options.port, streams, longest, &stopped).front();
    const std::uint64_t answers = std::max<std::uint64_t>(1, result.answers);
    const nlohmann::ordered_json out{{"per_second", result.rate()},
                                     {"answers", result.answers},
                                     {"refused", result.refused},
                                     {"bytes", result.bytes / answers},
                                     {"p50_ms", replay::percentile(result.latencies_ms, 50)},
                                     {"p99_ms", replay::percentile(result.latencies_ms, 99)}};
    std::printf("%s\n", out.dump().c_str());
    return 0;
}

int serve_fixed_answers(std::uint16_t port, std::size_t bytes) {
    aio::Loop loop;
    FixedAnswer handler{bytes};
    net::HttpServerSettings settings;
    settings.port = port;
    net::HttpServer server{loop, settings, handler};
    if (const Result<void> started = server.start(); !started) {
        std::fprintf(stderr, "%s\n", started.error().message.c_str());
        return 1;
    }
    loop.run();
    return 0;
}

}  // namespace gpuctl::bench
