#pragma once
// TLS settings as plain values and the contexts made of them.

#include <memory>
#include <string>

#include "scheduler/base/result.hpp"

namespace gpuctl::net {

struct ClientTls {
    bool enabled = false;
    std::string ca_pem;           // empty: the system's roots; given: replaces them (C4)
    std::string certificate_pem;  // client certificate chain and key; both or none
    std::string key_pem;
    std::string server_name;  // SNI and verification name; empty: the URL's host
    bool insecure_skip_verify = false;
};

struct ServerTls {
    std::string certificate_pem;
    std::string key_pem;
    std::string client_ca_pem;  // given: clients must present a certificate it signed
};

// Whether a server could use them. Error: TlsFailed, which says what OpenSSL makes of them.
Result<void> check_tls(const ServerTls& tls);

}  // namespace gpuctl::net
