#include "k8s/client/client.hpp"

#include <algorithm>
#include <utility>

#include "aio/loop.hpp"
#include "k8s/client/client_http.hpp"
#include "net/http/http_client.hpp"

namespace gpuctl::k8s {

namespace {

constexpr std::size_t kStreamsMax = 4'096;  // watches and followed logs at once
constexpr std::size_t kWarningsMax = 64;    // distinct warnings

net::HttpClientSettings pool_settings(const ClusterAccess& access, const ClientSettings& settings,
                                      const net::ClientTls& tls, std::size_t in_flight_max) {
    net::HttpClientSettings pool;
    pool.host = access.server.host;
    pool.port = access.server.port;
    pool.tls = tls;
    pool.in_flight_max = in_flight_max;
    pool.response_bytes_max = settings.response_bytes_max;
    pool.connect_timeout = std::chrono::ceil<std::chrono::seconds>(settings.connect_timeout);
    return pool;
}

std::size_t latency_bucket(std::int64_t ms) {
    const auto edge = std::find_if(kLatencyEdgesMs.begin(), kLatencyEdgesMs.end(),
                                   [&](std::uint32_t upper) { return ms <= upper; });
    return static_cast<std::size_t>(edge - kLatencyEdgesMs.begin());
}

}  // namespace

std::string user_agent(std::string_view program, std::string_view version,
                       std::string_view commit) {
#if defined(__x86_64__)
    constexpr std::string_view machine = "amd64";
#elif defined(__aarch64__)
    constexpr std::string_view machine = "arm64";
#else
    constexpr std::string_view machine = "unknown";
#endif
    return std::string{program} + "/" + std::string{version} + " (linux/" + std::string{machine} +
           ") kubernetes/" + std::string{commit.substr(0, 7)};
}

struct Client::Parts {
    aio::Loop& loop;
    ClientSettings settings;
    std::unique_ptr<Credentials> credentials;
    net::HttpClient unary;
    net::HttpClient binds;
    net::HttpClient lease;
    net::HttpClient streams;
    const WriteFence* fence = nullptr;
    RetryBudget budget;
    Rng rng;
    net::HttpFields fields;           // of every request with the credentials of fields_serial
    std::uint64_t fields_serial = 0;  // none yet
    std::uint64_t tls_serial = 1;
    Figures figures;

    Parts(aio::Loop& on, ClientSettings with, std::unique_ptr<Credentials> as)
        : loop(on),
          settings(std::move(with)),
          credentials(std::move(as)),
          unary(on, pool(settings.unary_in_flight_max)),
          binds(on, pool(settings.binds_in_flight_max)),
          lease(on, pool(1)),
          streams(on, pool(kStreamsMax)),
          rng(settings.seed) {
        const text::Url& server = credentials->access().server;
        figures.host = text::host_port(server.host, server.port);
    }

    [[nodiscard]] net::HttpClientSettings pool(std::size_t in_flight_max) const {
        return pool_settings(credentials->access(), settings, credentials->initial_tls(),
                             in_flight_max);
    }
    net::HttpClient& of(Lane lane) {
        return lane == Lane::binds ? binds : lane == Lane::lease ? lease : unary;
    }

    void adopt(const Secrets& secrets);
    net::HttpRequest request_of(ApiCall& call, bool keep_body);
    void count(const std::string& method, int code, aio::Clock::time_point since);
    void store_warning(const net::HttpFields& answer);
    std::chrono::milliseconds delay(const ApiError& error, Backoff& backoff);

    [[nodiscard]] std::optional<ApiError> closed_fence(const ApiCall& call);
};

void Client::Parts::adopt(const Secrets& secrets) {
    if (secrets.tls_serial != tls_serial) {
        tls_serial = secrets.tls_serial;
        for (net::HttpClient* pool : {&unary, &binds, &lease, &streams}) {
            pool->replace_tls(secrets.tls);
        }
    }
    if (secrets.serial != fields_serial) {
        fields_serial = secrets.serial;
        fields = common_fields(credentials->access(), settings.user_agent, secrets.authorization);
    }
}

net::HttpRequest Client::Parts::request_of(ApiCall& call, bool keep_body) {
    net::HttpRequest request;
    request.method = call.method;
    request.target = credentials->access().server.base_path + call.path;
    request.fields = fields;
    if (!call.body.empty()) request.fields.add("Content-Type", std::string{call.content_type});
    request.body = keep_body ? call.body : std::move(call.body);
    return request;
}

void Client::Parts::count(const std::string& method, int code, aio::Clock::time_point since) {
    const auto took = aio::Clock::now() - since;
    ++figures.requests[{method, code}];
    Latency& latency = figures.latency[method];
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    ++latency.buckets[latency_bucket(ms)];
    ++latency.count;
    latency.sum_seconds += std::chrono::duration<double>(took).count();
    if (code != 0) figures.last_answer = aio::Clock::now();
    if (code == 429) ++figures.throttled;
}

void Client::Parts::store_warning(const net::HttpFields& answer) {
    const std::string_view warning = answer.get("Warning");
    if (warning.empty() || figures.warnings.size() >= kWarningsMax) return;
    figures.warnings.emplace(warning);
}

// The server's Retry-After, else our own backoff; never zero or negative.
std::chrono::milliseconds Client::Parts::delay(const ApiError& error, Backoff& backoff) {
    const auto own = backoff.next(aio::Clock::now());
    if (!error.retry_after) return own;
    const std::chrono::milliseconds asked = *error.retry_after;
    // Add a tenth, so that requests refused together do not return together.
    return asked + std::chrono::milliseconds{rng.between(0, asked.count() / 10)};
}

std::optional<ApiError> Client::Parts::closed_fence(const ApiCall& call) {
    if (!call.fenced_by || (fence != nullptr && fence->may_write(*call.fenced_by))) {
        return std::nullopt;
    }
    ++figures.refused_by_fence;
    return make_api_error(ErrorCode::NotLeader,
                          describe(call) + ": not sent, this process is not the leader");
}

Client::Client(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::create(aio::Loop& loop, ClusterAccess access,
                                               ClientSettings settings) {
    auto credentials = Credentials::create(loop, std::move(access), settings.credentials);
    if (!credentials) return credentials.error();
    auto parts = std::make_shared<Parts>(loop, std::move(settings), std::move(credentials.value()));
    return std::unique_ptr<Client>{new Client{std::move(parts)}};
}

void Client::set_fence(const WriteFence* fence) { parts_->fence = fence; }

namespace {

// The credentials to use now.
aio::Task<Result<Secrets>> current_secrets(Credentials& credentials, aio::Deadline deadline) {
    if (const Secrets* fresh = credentials.fresh()) co_return *fresh;
    Result<const Secrets*> refreshed = co_await credentials.refresh(deadline);
    if (!refreshed) co_return refreshed.error();
    co_return **refreshed;
}

}  // namespace

aio::Task<ApiResult<ApiResponse>> Client::call(ApiCall call, aio::Deadline deadline) {
    const auto parts = parts_;
    Backoff backoff{parts->settings.retry_backoff, Backoff::Jitter::full, parts->rng.next()};
    parts->budget.on_request();
    bool secrets_renewed = false;
    for (int attempt = 1;; ++attempt) {
        if (parts->credentials->fresh() == nullptr) {
            Result<const Secrets*> refreshed = co_await parts->credentials->refresh(deadline);
            if (!refreshed) {
                const ErrorCode code = refreshed.error().code;
                co_return make_api_error(code, describe(call) + ": " + refreshed.error().message);
            }
            parts->adopt(**refreshed);
        } else {
            parts->adopt(*parts->credentials->fresh());
        }
        const std::uint64_t serial = parts->fields_serial;
        if (auto closed = parts->closed_fence(call)) co_return std::move(*closed);
        aio::Deadline until = deadline;
        if (call.fenced_by) {
            until =
                aio::Deadline::earlier(deadline, aio::Deadline::in(parts->settings.write_timeout));
        }
        const auto sent_at = aio::Clock::now();
        net::HttpRequest request = parts->request_of(call, true);
        Result<net::HttpResponse> answer =
            co_await parts->of(call.lane).request(std::move(request), until);
        parts->count(call.method, answer ? answer->status : 0, sent_at);
        std::optional<ApiError> error;
        if (answer) {
            parts->store_warning(answer->fields);
            error = from_answer(call, *answer);
            if (!error) co_return ApiResponse{answer->status, std::move(answer->body)};
        } else {
            error = from_transport(call, answer.error());
        }
        if (error->http_status == 401 && !secrets_renewed) {
            // Once per call, and only when there are newer credentials.
            secrets_renewed = true;
            parts->credentials->rejected(serial);
            Result<const Secrets*> renewed = co_await parts->credentials->refresh(deadline);
            if (renewed && (*renewed)->serial != serial) continue;
        }
        const auto pause = parts->delay(*error, backoff);
        const bool again = attempt < parts->settings.attempts_max && may_repeat(call, *error) &&
                           pause < deadline.left() && parts->budget.take_token();
        if (error->code == ErrorCode::UnknownOutcome && !again) ++parts->figures.unknown_outcomes;
        if (!again) co_return std::move(*error);
        ++parts->figures.retries;
        const bool slept = co_await aio::sleep_until(aio::Deadline::in(pause));
        if (!slept) co_return std::move(*error);
    }
}

aio::Task<ApiResult<ApiResponse>> Client::get(std::string path, aio::Deadline deadline) {
    ApiCall wanted;
    wanted.path = std::move(path);
    wanted.retry = RetryClass::safe;
    ApiResult<ApiResponse> answer = co_await call(std::move(wanted), deadline);
    co_return answer;
}

namespace {

class StreamOverHttp : public Client::Stream {
public:
    explicit StreamOverHttp(std::unique_ptr<net::HttpClient::Stream> stream)
        : stream_(std::move(stream)) {}
    aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) override {
        Result<bool> more = co_await stream_->read_some(out, deadline);
        co_return more;
    }

private:
    std::unique_ptr<net::HttpClient::Stream> stream_;
};

}  // namespace

aio::Task<ApiResult<std::unique_ptr<Client::Stream>>> Client::open_stream(std::string path,
                                                                          aio::Deadline deadline) {
    const auto parts = parts_;
    ApiCall call;
    call.path = std::move(path);
    for (bool secrets_renewed = false;;) {
        Result<Secrets> secrets = co_await current_secrets(*parts->credentials, deadline);
        if (!secrets) {
            co_return make_api_error(secrets.error().code,
                                     describe(call) + ": " + secrets.error().message);
        }
        parts->adopt(*secrets);
        const auto sent_at = aio::Clock::now();
        net::HttpRequest request = parts->request_of(call, true);
        Result<std::unique_ptr<net::HttpClient::Stream>> opened =
            co_await parts->streams.open_stream(std::move(request), deadline);
        parts->count("WATCH", opened ? (*opened)->status() : 0, sent_at);
        if (!opened) co_return from_transport(call, opened.error());
        net::HttpClient::Stream& stream = **opened;
        parts->store_warning(stream.fields());
        if (stream.status() >= 200 && stream.status() < 300) {
            co_return std::make_unique<StreamOverHttp>(std::move(*opened));
        }
        const ApiStatus status =
            parse_status(stream.status(), stream.error_body(), stream.fields().get("Retry-After"));
        if (stream.status() == 401 && !secrets_renewed) {
            secrets_renewed = true;
            parts->credentials->rejected(secrets->serial);
            Result<const Secrets*> renewed = co_await parts->credentials->refresh(deadline);
            if (renewed && (*renewed)->serial != secrets->serial) continue;
        }
        co_return with_redirect(to_error(status, false, describe(call)), stream.status(),
                                stream.fields());
    }
}

aio::Task<ApiResult<std::unique_ptr<net::WebSocket>>> Client::open_websocket(
    std::string path, std::string protocols, aio::Deadline deadline) {
    const auto parts = parts_;
    ApiCall call;
    call.path = std::move(path);
    for (bool secrets_renewed = false;;) {
        Result<Secrets> secrets = co_await current_secrets(*parts->credentials, deadline);
        if (!secrets) {
            co_return make_api_error(secrets.error().code,
                                     describe(call) + ": " + secrets.error().message);
        }
        parts->adopt(*secrets);
        const auto sent_at = aio::Clock::now();
        net::HttpRequest request = parts->request_of(call, true);
        request.fields.set("Accept", "*/*");  // passed on to kubelets, which know no JSON here
        request.fields.add("Sec-WebSocket-Protocol", protocols);
        net::HttpClientSettings origin =
            pool_settings(parts->credentials->access(), parts->settings, secrets->tls, 1);
        const net::WebSocketSettings socket_settings;
        const auto refusal = std::make_shared<net::HttpResponse>();
        refusal->status = 0;
        Result<std::unique_ptr<net::WebSocket>> opened = co_await net::connect_websocket(
            parts->loop, std::move(origin), std::move(request), socket_settings, deadline, refusal);
        parts->count("CONNECT", opened ? 101 : refusal->status, sent_at);
        if (opened) co_return std::move(*opened);
        if (refusal->status == 0) co_return from_transport(call, opened.error());
        if (refusal->status == 401 && !secrets_renewed) {
            secrets_renewed = true;
            parts->credentials->rejected(secrets->serial);
            Result<const Secrets*> renewed = co_await parts->credentials->refresh(deadline);
            if (renewed && (*renewed)->serial != secrets->serial) continue;
        }
        const ApiStatus status =
            parse_status(refusal->status, refusal->body, refusal->fields.get("Retry-After"));
        co_return with_redirect(to_error(status, false, describe(call)), refusal->status,
                                refusal->fields);
    }
}

const Client::Figures& Client::figures() const {
    const auto binds = parts_->binds.figures();
    parts_->figures.binds_in_flight = binds.in_flight;
    parts_->figures.binds_waiting = binds.waiting;
    return parts_->figures;
}

}  // namespace gpuctl::k8s
