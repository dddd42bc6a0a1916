#pragma once
// One OpenSSL context made of plain settings, and the connections' sessions on it. Private to net/.

#include <memory>
#include <string>

#include "net/transport/tls.hpp"
#include "scheduler/base/result.hpp"

struct ssl_ctx_st;
struct ssl_st;
struct ssl_session_st;

namespace gpuctl::net {

struct SslFree {
    void operator()(ssl_st* ssl) const;
};
using SslHandle = std::unique_ptr<ssl_st, SslFree>;

// Shared by its owner and by every connection made from it; replaced as a whole on reload.
class TlsContext {
public:
    static Result<std::shared_ptr<TlsContext>> for_client(const ClientTls& settings);
    static Result<std::shared_ptr<TlsContext>> for_server(const ServerTls& settings);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    // A session on the descriptor, ready for its handshake. `name` (client) is sent as SNI and
    // verified; an address is verified against the certificate's IP SANs.
    [[nodiscard]] SslHandle new_client_session(int descriptor, const std::string& host) const;
    [[nodiscard]] SslHandle new_server_session(int descriptor) const;

    // Takes and clears OpenSSL's last error and stores what it is about (ClientTls::problem).
    [[nodiscard]] std::string take_error(const ssl_st* ssl) const;

private:
    TlsContext();
    static int keep_session(ssl_st* ssl, ssl_session_st* session);

    ssl_ctx_st* context_ = nullptr;
    ssl_session_st* session_ =
        nullptr;  // client: the newest session, offered on the next connection
    std::string server_name_;
    std::shared_ptr<TlsProblem> problem_;  // client: may be empty
};

}  // namespace gpuctl::net
