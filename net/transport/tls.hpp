#pragma once
// TLS settings as plain values and the contexts made of them.

#include <cstdint>
#include <memory>
#include <string>

#include "scheduler/base/result.hpp"

namespace gpuctl::net {

// What ended a TLS connection of a client, for programs that give advice. The message of the Error
// says it in OpenSSL's words.
enum class TlsProblem : std::uint8_t {
    none,
    certificate_required,  // the server requires a client certificate
    certificate_refused,   // the server does not accept the client certificate
    wrong_key,             // the key is not the key of the client certificate
    wrong_name,            // the server's certificate is for other names
    untrusted,             // no trusted CA signed the server's certificate
    out_of_date,           // the server's certificate has expired or is not valid yet
    other                  // for example a server without TLS
};

struct ClientTls {
    bool enabled = false;
    std::string ca_pem;           // empty: the system's roots; given: replaces them
    std::string certificate_pem;  // client certificate chain and key; both or none
    std::string key_pem;
    std::string server_name;  // SNI and verification name; empty: the URL's host
    bool insecure_skip_verify = false;
    // Where connections store what ended the last one; empty: nowhere.
    std::shared_ptr<TlsProblem> problem;
};

struct ServerTls {
    std::string certificate_pem;
    std::string key_pem;
    std::string client_ca_pem;  // given: clients must present a certificate it signed
};

// Whether a server could use these settings. Error: TlsFailed with OpenSSL's reason.
Result<void> check_tls(const ServerTls& tls);

}  // namespace gpuctl::net
