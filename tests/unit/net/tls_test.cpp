// TLS between our client and our server, with certificates made here.

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "unit/aio/run_on_loop.hpp"
#include "unit/net/certificates.hpp"
#include "unit/net/support.hpp"

namespace gpuctl::net {
namespace {

using std::chrono::milliseconds;

HttpRequest hello() {
    HttpRequest request;
    request.target = "/hello";
    return request;
}

ServerTls server_tls(const Identity& identity) {
    return ServerTls{identity.certificate_pem, identity.key_pem, ""};
}

ClientTls trusting(const Identity& ca) {
    ClientTls tls;
    tls.enabled = true;
    tls.ca_pem = ca.certificate_pem;
    return tls;
}

struct Attempt {
    ServerTls server;
    ClientTls client;
    std::string host = "127.0.0.1";
};

aio::Task<void> attempt_body(aio::Loop& loop, Attempt attempt, Result<HttpResponse>& outcome) {
    HttpServerSettings settings;
    settings.tls = attempt.server;
    TestServer server{loop, settings};
    HttpClientSettings origin = server.origin();
    origin.host = attempt.host;
    origin.tls = attempt.client;
    HttpClient client{loop, origin};
    Result<HttpResponse> response = co_await client.request(hello(), soon());
    outcome = std::move(response);
    co_await server.stop();
}

// "ok" or the error's code and message.
std::string outcome_of(const Attempt& attempt) {
    aio::Loop loop;
    Result<HttpResponse> outcome = make_error(ErrorCode::Internal, "not asked");
    aio::run_to_end(loop, attempt_body(loop, attempt, outcome));
    if (outcome) return outcome->body == "hello" ? "ok" : "wrong body";
    return std::string(to_string(outcome.error().code)) + " " + outcome.error().message;
}

// What the client stores of the same attempt.
TlsProblem problem_of(Attempt attempt) {
    const auto problem = std::make_shared<TlsProblem>(TlsProblem::none);
    attempt.client.problem = problem;
    outcome_of(attempt);
    return *problem;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class Tls : public testing::Test {
protected:
    Identity ca = make_ca("test CA");
    Identity other_ca = make_ca("another CA");
    Identity by_address = issue(ca, "server", "IP:127.0.0.1");
    Identity by_name = issue(ca, "server", "DNS:localhost");
};

TEST_F(Tls, an_address_is_verified_against_ip_names) {
    EXPECT_EQ(outcome_of({server_tls(by_address), trusting(ca)}), "ok");
    const std::string wrong = outcome_of({server_tls(by_name), trusting(ca)});
    EXPECT_TRUE(contains(wrong, "TlsFailed") && contains(wrong, "IP address mismatch")) << wrong;
}

TEST_F(Tls, a_name_is_verified_against_dns_names) {
    EXPECT_EQ(outcome_of({server_tls(by_name), trusting(ca), "localhost"}), "ok");
    const Identity elsewhere = issue(ca, "localhost", "DNS:elsewhere");
    const std::string wrong = outcome_of({server_tls(elsewhere), trusting(ca), "localhost"});
    EXPECT_TRUE(contains(wrong, "TlsFailed") && contains(wrong, "ostname mismatch")) << wrong;
}

TEST_F(Tls, server_name_replaces_the_host_for_verification) {
    const Identity elsewhere = issue(ca, "x", "DNS:kubernetes.default");
    ClientTls client = trusting(ca);
    client.server_name = "kubernetes.default";
    EXPECT_EQ(outcome_of({server_tls(elsewhere), client}), "ok");
}

TEST_F(Tls, a_server_of_another_ca_is_refused_also_with_the_system_roots) {
    const std::string other = outcome_of({server_tls(by_address), trusting(other_ca)});
    EXPECT_TRUE(contains(other, "TlsFailed")) << other;
    ClientTls system;
    system.enabled = true;
    const std::string roots = outcome_of({server_tls(by_address), system});
    EXPECT_TRUE(contains(roots, "TlsFailed")) << roots;
}

TEST_F(Tls, an_expired_certificate_is_refused) {
    const Identity expired = issue(ca, "server", "IP:127.0.0.1", -60);
    const std::string outcome = outcome_of({server_tls(expired), trusting(ca)});
    EXPECT_TRUE(contains(outcome, "expired")) << outcome;
}

TEST_F(Tls, verification_can_be_skipped_but_not_together_with_a_ca) {
    ClientTls client;
    client.enabled = true;
    client.insecure_skip_verify = true;
    EXPECT_EQ(outcome_of({server_tls(by_name), client}), "ok");
    client.ca_pem = ca.certificate_pem;
    const std::string both = outcome_of({server_tls(by_name), client});
    EXPECT_TRUE(contains(both, "InvalidConfiguration")) << both;
}

TEST_F(Tls, a_client_certificate_is_asked_for_and_checked) {
    ServerTls server = server_tls(by_address);
    server.client_ca_pem = ca.certificate_pem;
    const Identity mine = issue(ca, "gpuctl", "");
    const Identity foreign = issue(other_ca, "gpuctl", "");
    ClientTls client = trusting(ca);
    EXPECT_NE(outcome_of({server, client}), "ok");
    client.certificate_pem = foreign.certificate_pem;
    client.key_pem = foreign.key_pem;
    EXPECT_NE(outcome_of({server, client}), "ok");
    client.certificate_pem = mine.certificate_pem;
    client.key_pem = mine.key_pem;
    EXPECT_EQ(outcome_of({server, client}), "ok");
    client.key_pem.clear();
    EXPECT_TRUE(contains(outcome_of({server, client}), "InvalidConfiguration"));
    client.key_pem = by_name.key_pem;
    EXPECT_NE(outcome_of({server, client}), "ok") << "a key of another certificate";
}

TEST_F(Tls, the_problem_of_a_connection_is_a_value) {
    EXPECT_EQ(problem_of({server_tls(by_address), trusting(ca)}), TlsProblem::none);
    EXPECT_EQ(problem_of({server_tls(by_name), trusting(ca)}), TlsProblem::wrong_name);
    EXPECT_EQ(problem_of({server_tls(by_address), trusting(other_ca)}), TlsProblem::untrusted);
    const Identity expired = issue(ca, "server", "IP:127.0.0.1", -60);
    EXPECT_EQ(problem_of({server_tls(expired), trusting(ca)}), TlsProblem::out_of_date);
    ServerTls server = server_tls(by_address);
    server.client_ca_pem = ca.certificate_pem;
    ClientTls client = trusting(ca);
    EXPECT_EQ(problem_of({server, client}), TlsProblem::certificate_required);
    const Identity foreign = issue(other_ca, "gpuctl", "");
    client.certificate_pem = foreign.certificate_pem;
    client.key_pem = foreign.key_pem;
    EXPECT_EQ(problem_of({server, client}), TlsProblem::certificate_refused);
    client.key_pem = by_name.key_pem;
    EXPECT_EQ(problem_of({server, client}), TlsProblem::wrong_key);
}

TEST_F(Tls, damaged_pem_is_an_error_not_a_crash) {
    ClientTls client = trusting(ca);
    client.ca_pem = "-----BEGIN CERTIFICATE-----\nnot base64\n-----END CERTIFICATE-----\n";
    EXPECT_TRUE(contains(outcome_of({server_tls(by_address), client}), "TlsFailed"));
    client.ca_pem = ca.certificate_pem + client.ca_pem;
    EXPECT_TRUE(contains(outcome_of({server_tls(by_address), client}), "TlsFailed"));

    aio::Loop loop;
    EchoHandler handler{loop};
    HttpServerSettings settings;
    settings.port = 0;
    settings.tls = ServerTls{"nonsense", "nonsense", ""};
    HttpServer server{loop, settings, handler};
    EXPECT_FALSE(server.start());
}

aio::Task<void> plain_meets_tls_body(aio::Loop& loop, Identity identity) {
    HttpServerSettings settings;
    settings.tls = server_tls(identity);
    TestServer server{loop, settings};
    HttpClient client{loop, server.origin()};
    const Result<HttpResponse> response = co_await client.request(hello(), soon());
    EXPECT_TRUE(response.has_error());
    co_await server.stop();
}

TEST_F(Tls, plain_text_to_a_tls_port_gets_no_answer) {
    aio::Loop loop;
    aio::run_to_end(loop, plain_meets_tls_body(loop, by_address));
}

aio::Task<void> reload_body(aio::Loop& loop, Identity first, Identity second, Identity ca,
                            Identity second_ca) {
    HttpServerSettings settings;
    settings.tls = server_tls(first);
    TestServer server{loop, settings};
    HttpClientSettings origin = server.origin();
    origin.tls = trusting(ca);
    HttpClient client{loop, origin};
    const Result<HttpResponse> before = co_await client.request(hello(), soon());
    EXPECT_TRUE(before);
    const Result<void> damaged = server.server.replace_tls(ServerTls{"nonsense", "", ""});
    EXPECT_TRUE(damaged.has_error());
    const Result<void> replaced = server.server.replace_tls(server_tls(second));
    EXPECT_TRUE(replaced);
    const Result<HttpResponse> kept = co_await client.request(hello(), soon());
    EXPECT_TRUE(kept) << "an open connection goes on";
    EXPECT_EQ(client.figures().connections_opened, 1u);

    client.replace_tls(trusting(second_ca));
    EXPECT_EQ(client.figures().connections, 0u) << "idle connections are closed";
    const Result<HttpResponse> after = co_await client.request(hello(), soon());
    EXPECT_TRUE(after) << "the new certificate is served without a restart";
    EXPECT_EQ(client.figures().connections_opened, 2u);
    co_await server.stop();
}

TEST_F(Tls, certificates_are_replaced_on_both_sides_without_a_restart) {
    aio::Loop loop;
    const Identity second = issue(other_ca, "server", "IP:127.0.0.1");
    aio::run_to_end(loop, reload_body(loop, by_address, second, ca, other_ca));
}

aio::Task<void> large_body(aio::Loop& loop, Identity identity, Identity ca) {
    HttpServerSettings settings;
    settings.tls = server_tls(identity);
    TestServer server{loop, settings};
    server.handler.body_bytes_max = 8u << 20;
    HttpClientSettings origin = server.origin();
    origin.tls = trusting(ca);
    HttpClient client{loop, origin};
    HttpRequest request;
    request.method = "POST";
    request.target = "/echo";
    request.body = std::string(3u << 20, 'y');
    const Result<HttpResponse> response = co_await client.request(request, soon());
    EXPECT_TRUE(response);
    if (response) {
        EXPECT_TRUE(response->body == request.body);
    }
    co_await server.stop();
}

TEST_F(Tls, large_bodies_arrive_whole) {
    aio::Loop loop;
    aio::run_to_end(loop, large_body(loop, by_address, ca));
}

// What the server negotiates with a client of OpenSSL's own making; "" when it refuses.
aio::Task<std::string> negotiate(ByteStream& stream, SSL_CTX* context, const char* protocols) {
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl{SSL_new(context), SSL_free};
    if (protocols != nullptr) {
        SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(protocols),
                            static_cast<unsigned int>(std::string_view(protocols).size()));
    }
    SSL_set_fd(ssl.get(), stream.descriptor());
    SSL_set_connect_state(ssl.get());
    for (;;) {
        const int outcome = SSL_do_handshake(ssl.get());
        if (outcome == 1) break;
        const int error = SSL_get_error(ssl.get(), outcome);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) co_return std::string{};
        const Side side = error == SSL_ERROR_WANT_READ ? Side::read : Side::write;
        const Wake wake = co_await stream.wait(side, soon());
        if (wake != Wake::ready) co_return std::string{};
    }
    const unsigned char* chosen = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl.get(), &chosen, &size);
    co_return std::string(SSL_get_version(ssl.get())) + " " +
        std::string(reinterpret_cast<const char*>(chosen), size);
}

aio::Task<std::string> probe(aio::Loop& loop, std::uint16_t port, int version, const char* ciphers,
                             const char* protocols) {
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context{SSL_CTX_new(TLS_client_method()),
                                                              SSL_CTX_free};
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), version);
    SSL_CTX_set_max_proto_version(context.get(), version);
    if (ciphers != nullptr) SSL_CTX_set_cipher_list(context.get(), ciphers);
    std::unique_ptr<ByteStream> stream = co_await open_raw(loop, port);
    std::string negotiated = co_await negotiate(*stream, context.get(), protocols);
    co_return negotiated;
}

aio::Task<void> probes_body(aio::Loop& loop, Identity identity) {
    HttpServerSettings settings;
    settings.tls = server_tls(identity);
    TestServer server{loop, settings};
    const std::uint16_t port = server.server.port();
    const std::string v13 = co_await probe(loop, port, TLS1_3_VERSION, nullptr, "\x08http/1.1");
    EXPECT_EQ(v13, "TLSv1.3 http/1.1");
    const std::string v12 = co_await probe(loop, port, TLS1_2_VERSION, nullptr, nullptr);
    EXPECT_EQ(v12, "TLSv1.2 ");
    const std::string v11 = co_await probe(loop, port, TLS1_1_VERSION, "ALL:@SECLEVEL=0", nullptr);
    EXPECT_EQ(v11, "");
    const std::string cbc =
        co_await probe(loop, port, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256", nullptr);
    EXPECT_EQ(cbc, "") << "no CBC suite";
    const std::string h2 = co_await probe(loop, port, TLS1_3_VERSION, nullptr, "\x02h2");
    EXPECT_EQ(h2, "") << "no HTTP/2";
    co_await server.stop();
}

TEST_F(Tls, the_server_speaks_tls_1_2_and_1_3_with_aead_suites_and_http_1_1_only) {
    aio::Loop loop;
    aio::run_to_end(loop, probes_body(loop, by_address));
}

}  // namespace
}  // namespace gpuctl::net
