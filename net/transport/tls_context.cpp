#include "net/transport/tls_context.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstring>
#include <string_view>

#include "net/transport/socket_bio.hpp"
#include "scheduler/base/check.hpp"

namespace gpuctl::net {

namespace {

constexpr std::array<unsigned char, 9> kProtocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

struct BioFree {
    void operator()(BIO* bio) const { BIO_free_all(bio); }
};
struct X509Free {
    void operator()(X509* certificate) const { X509_free(certificate); }
};
struct KeyFree {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using BioHandle = std::unique_ptr<BIO, BioFree>;
using X509Handle = std::unique_ptr<X509, X509Free>;
using KeyHandle = std::unique_ptr<EVP_PKEY, KeyFree>;

// OpenSSL's default prompts on the terminal; a daemon refuses an encrypted key instead.
int no_passphrase(char*, int, int, void*) { return -1; }

BioHandle memory(std::string_view pem) {
    return BioHandle{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
}

// Takes and clears OpenSSL's last error; `ssl` adds a failed verification.
std::string last_error(const SSL* ssl) {
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
    std::string text = reason != nullptr ? reason : "unknown TLS error";
    const long verified = ssl != nullptr ? SSL_get_verify_result(ssl) : X509_V_OK;
    if (verified != X509_V_OK) {
        text += " (";
        text += X509_verify_cert_error_string(verified);
        text += ")";
    }
    return text;
}

TlsProblem problem_of_verification(long result) {
    switch (result) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TlsProblem::wrong_name;
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return TlsProblem::untrusted;
        case X509_V_ERR_CERT_HAS_EXPIRED:
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return TlsProblem::out_of_date;
        default:
            return TlsProblem::other;
    }
}

TlsProblem problem_of(unsigned long code, const SSL* ssl) {
    const int reason = ERR_GET_REASON(code);
    if (ERR_GET_LIB(code) == ERR_LIB_X509) {
        const bool is_key =
            reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH;
        return is_key ? TlsProblem::wrong_key : TlsProblem::other;
    }
    if (ERR_GET_LIB(code) != ERR_LIB_SSL) return TlsProblem::other;
    switch (reason) {
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
            return TlsProblem::certificate_required;
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
            return TlsProblem::certificate_refused;
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            return problem_of_verification(ssl != nullptr ? SSL_get_verify_result(ssl) : X509_V_OK);
        default:
            return TlsProblem::other;
    }
}

Error tls_error(const std::string& doing) {
    return make_error(ErrorCode::TlsFailed, doing + ": " + last_error(nullptr));
}

Result<void> use_certificate(SSL_CTX* context, const std::string& chain_pem,
                             const std::string& key_pem, TlsProblem* problem = nullptr) {
    const BioHandle chain = memory(chain_pem);
    const X509Handle leaf{PEM_read_bio_X509_AUX(chain.get(), nullptr, no_passphrase, nullptr)};
    if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
        return tls_error("read the TLS certificate");
    }
    while (X509* intermediate = PEM_read_bio_X509(chain.get(), nullptr, no_passphrase, nullptr)) {
        if (SSL_CTX_add0_chain_cert(context, intermediate) != 1) {
            X509_free(intermediate);
            return tls_error("add an intermediate TLS certificate");
        }
    }
    ERR_clear_error();  // the loop ends with "no start line"
    const BioHandle key_text = memory(key_pem);
    const KeyHandle key{PEM_read_bio_PrivateKey(key_text.get(), nullptr, no_passphrase, nullptr)};
    if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
        if (problem != nullptr) *problem = problem_of(ERR_peek_error(), nullptr);
        return tls_error("read the TLS private key");
    }
    if (SSL_CTX_check_private_key(context) != 1) {
        if (problem != nullptr) *problem = problem_of(ERR_peek_error(), nullptr);
        return tls_error("match the TLS private key with its certificate");
    }
    return {};
}

Result<void> trust(SSL_CTX* context, const std::string& ca_pem) {
    const BioHandle text = memory(ca_pem);
    X509_STORE* store = SSL_CTX_get_cert_store(context);
    int count = 0;
    while (const auto certificate =
               X509Handle{PEM_read_bio_X509(text.get(), nullptr, no_passphrase, nullptr)}) {
        X509_STORE_add_cert(store, certificate.get());
        ++count;
    }
    const unsigned long why = ERR_peek_last_error();
    const bool read_to_the_end = ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
    if (count == 0 || !read_to_the_end) return tls_error("read the CA certificates");
    ERR_clear_error();
    return {};
}

void use_common_settings(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(
        context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    // Forward secrecy and AEAD only; all suites of TLS 1.3 are of that kind.
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
    // One recv() per record instead of two (header, then body).
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

int select_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
    unsigned char* chosen = nullptr;
    const int outcome = SSL_select_next_proto(&chosen, out_size, kProtocols.data(),
                                              kProtocols.size(), offered, offered_size);
    *out = chosen;
    return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool is_address(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> parsed{};
    return inet_pton(AF_INET, host.c_str(), parsed.data()) == 1 ||
           inet_pton(AF_INET6, host.c_str(), parsed.data()) == 1;
}

}  // namespace

void SslFree::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsContext::TlsContext() : context_(SSL_CTX_new(TLS_method())) {
    GPUCTL_CHECK(context_ != nullptr, "OpenSSL allocates a context");
    use_common_settings(context_);
}

TlsContext::~TlsContext() {
    SSL_SESSION_free(session_);
    SSL_CTX_free(context_);
}

Result<std::shared_ptr<TlsContext>> TlsContext::for_client(const ClientTls& settings) {
    if (settings.insecure_skip_verify && !settings.ca_pem.empty()) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "set up TLS: a CA and insecure-skip-tls-verify must not both be given");
    }
    if (settings.certificate_pem.empty() != settings.key_pem.empty()) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "set up TLS: a client certificate needs its key, and a key its "
                          "certificate");
    }
    ERR_clear_error();
    std::shared_ptr<TlsContext> made{new TlsContext};
    SSL_CTX* context = made->context_;
    if (settings.insecure_skip_verify) {
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    } else {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
        if (settings.ca_pem.empty()) {
            SSL_CTX_set_default_verify_paths(context);
        } else if (auto trusted = trust(context, settings.ca_pem); !trusted) {
            return trusted.error();
        }
    }
    if (!settings.certificate_pem.empty()) {
        auto used = use_certificate(context, settings.certificate_pem, settings.key_pem,
                                    settings.problem.get());
        if (!used) return used.error();
    }
    SSL_CTX_set_alpn_protos(context, kProtocols.data(), kProtocols.size());
    SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_set_app_data(context, made.get());
    SSL_CTX_sess_set_new_cb(context, &TlsContext::keep_session);
    made->server_name_ = settings.server_name;
    made->problem_ = settings.problem;
    return made;
}

Result<std::shared_ptr<TlsContext>> TlsContext::for_server(const ServerTls& settings) {
    ERR_clear_error();
    std::shared_ptr<TlsContext> made{new TlsContext};
    SSL_CTX* context = made->context_;
    auto used = use_certificate(context, settings.certificate_pem, settings.key_pem);
    if (!used) return used.error();
    if (!settings.client_ca_pem.empty()) {
        auto trusted = trust(context, settings.client_ca_pem);
        if (!trusted) return trusted.error();
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    // Many idle connections: give their 34 KiB of record buffers back between records.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    constexpr std::string_view id = "gpuctld";
    SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(id.data()),
                                   static_cast<unsigned int>(id.size()));
    SSL_CTX_set_alpn_select_cb(context, select_protocol, nullptr);
    return made;
}

SslHandle TlsContext::new_client_session(int descriptor, const std::string& host) const {
    if (problem_) *problem_ = TlsProblem::none;
    SslHandle ssl{SSL_new(context_)};
    GPUCTL_CHECK(ssl != nullptr, "OpenSSL allocates a session");
    attach_socket(ssl.get(), descriptor);
    const std::string& name = server_name_.empty() ? host : server_name_;
    if (is_address(name)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), name.c_str());
    } else {
        SSL_set_tlsext_host_name(ssl.get(), name.c_str());
        SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        SSL_set1_host(ssl.get(), name.c_str());
    }
    if (session_ != nullptr) SSL_set_session(ssl.get(), session_);
    SSL_set_connect_state(ssl.get());
    return ssl;
}

SslHandle TlsContext::new_server_session(int descriptor) const {
    SslHandle ssl{SSL_new(context_)};
    GPUCTL_CHECK(ssl != nullptr, "OpenSSL allocates a session");
    attach_socket(ssl.get(), descriptor);
    SSL_set_accept_state(ssl.get());
    return ssl;
}

// Connections hold their TlsContext, so the pointer behind the callback is valid.
int TlsContext::keep_session(ssl_st* ssl, ssl_session_st* session) {
    auto* self = static_cast<TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    SSL_SESSION_free(self->session_);
    self->session_ = session;
    return 1;  // the callback takes over the reference
}

std::string TlsContext::take_error(const ssl_st* ssl) const {
    if (problem_) *problem_ = problem_of(ERR_peek_error(), ssl);
    return last_error(ssl);
}

Result<void> check_tls(const ServerTls& tls) {
    const auto context = TlsContext::for_server(tls);
    if (!context) return context.error();
    return {};
}

}  // namespace gpuctl::net
