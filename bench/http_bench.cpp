// CPU time of this process per small POST over kept-alive connections, plain and TLS, with one
// request at a time and with 32 in flight. The server runs in a process of its own, so only the
// client's time is counted.

#include <benchmark/benchmark.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

#include "aio/loop.hpp"
#include "aio/task_group.hpp"
#include "net/http/http_client.hpp"
#include "net/http/http_server.hpp"

namespace gpuctl::net {
namespace {

constexpr int kRequestsPerIteration = 2'000;

// The size of a bind request and of its answer.
const std::string kBody(400, 'b');
const std::string kAnswer(150, 'a');

class FixedAnswer final : public HttpHandler {
public:
    HeaderVerdict on_header(const HttpRequest&) override { return {}; }
    aio::Task<HttpResponse> on_request(HttpRequest) override {
        HttpResponse response;
        response.status = 201;
        response.fields.add("Audit-Id", "5bd21d6e-9a0c-4a7e-b6f5-2f27a5f5e2a1");
        response.fields.add("Cache-Control", "no-cache, private");
        response.fields.add("Content-Type", "application/json");
        response.fields.add("X-Kubernetes-Pf-Flowschema-Uid", "d5bd21d6-9a0c-4a7e-b6f5-2f27a5f5e2");
        response.body = kAnswer;
        co_return response;
    }
    aio::Task<std::optional<HttpResponse>> on_upgrade(HttpRequest) override {
        co_return HttpResponse{};
    }
    aio::Task<void> on_websocket(HttpRequest, std::unique_ptr<WebSocket>) override { co_return; }
    HttpResponse problem(int status, std::string, std::string message) override {
        HttpResponse response;
        response.status = status;
        response.body = std::move(message);
        return response;
    }
};

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free_all(bio);
    return text;
}

ServerTls self_signed() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86'400);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    BIO* certificate_text = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(certificate_text, certificate);
    BIO* key_text = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return ServerTls{text_of(certificate_text), text_of(key_text), ""};
}

struct Ports {
    std::uint16_t plain = 0;
    std::uint16_t tls = 0;
};

[[noreturn]] void run_server(int report) {
    aio::Loop loop;
    FixedAnswer handler;
    HttpServerSettings settings;
    settings.port = 0;
    HttpServer plain{loop, settings, handler};
    settings.tls = self_signed();
    HttpServer tls{loop, settings, handler};
    if (!plain.start() || !tls.start()) std::_Exit(1);
    const Ports ports{plain.port(), tls.port()};
    if (::write(report, &ports, sizeof ports) != sizeof ports) std::_Exit(1);
    loop.run();
    std::_Exit(0);
}

Ports start_server_process() {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) std::exit(1);
    if (::fork() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_server(ends[1]);
    }
    Ports ports;
    if (::read(ends[0], &ports, sizeof ports) != sizeof ports) std::exit(1);
    return ports;
}

aio::Task<void> send_some(HttpClient& client, int count, int& failed) {
    for (int i = 0; i < count; ++i) {
        HttpRequest request;
        request.method = "POST";
        request.target = "/api/v1/namespaces/default/pods/some-training-job-0-abcde/binding";
        request.fields.add("Authorization", "Bearer " + std::string(900, 't'));
        request.fields.add("Content-Type", "application/json");
        request.fields.add("Accept", "application/json");
        request.body = kBody;
        const Result<HttpResponse> response =
            co_await client.request(std::move(request), aio::Deadline::in(std::chrono::seconds(5)));
        if (!response || response->status != 201) ++failed;
    }
}

aio::Task<void> send_all(aio::Loop& loop, HttpClient& client, int in_flight, int& failed) {
    aio::TaskGroup group{loop};
    for (int i = 0; i < in_flight; ++i) {
        group.spawn("sender", send_some(client, kRequestsPerIteration / in_flight, failed));
    }
    co_await group.join(aio::Deadline::in(std::chrono::seconds(60)));
    loop.stop();
}

void post(benchmark::State& state, bool tls, int in_flight, Ports ports) {
    aio::Loop loop;
    HttpClientSettings origin;
    origin.host = "127.0.0.1";
    origin.port = tls ? ports.tls : ports.plain;
    origin.tls.enabled = tls;
    origin.tls.insecure_skip_verify = tls;
    HttpClient client{loop, origin};
    int failed = 0;
    for (auto _ : state) {
        aio::TaskGroup group{loop};
        group.spawn("bench", send_all(loop, client, in_flight, failed));
        loop.run();
    }
    if (failed > 0) state.SkipWithError("requests failed");
    state.counters["cpu_per_request"] =
        benchmark::Counter(static_cast<double>(state.iterations()) * kRequestsPerIteration,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["connections"] = static_cast<double>(client.figures().connections_opened);
}

}  // namespace
}  // namespace gpuctl::net

int main(int argc, char** argv) {
    using gpuctl::net::post;
    const auto ports = gpuctl::net::start_server_process();
    benchmark::Initialize(&argc, argv);
    for (const bool tls : {false, true}) {
        for (const int in_flight : {1, 32}) {
            const std::string name = std::string("post/") + (tls ? "tls" : "plain") + "/" +
                                     std::to_string(in_flight) + "_in_flight";
            benchmark::RegisterBenchmark(
                name.c_str(), [=](benchmark::State& state) { post(state, tls, in_flight, ports); })
                ->MeasureProcessCPUTime()
                ->Unit(benchmark::kMillisecond);
        }
    }
    benchmark::RunSpecifiedBenchmarks();
}
