#pragma once
// Certificates made for a test: a CA and what it signs. P-256, so that making them costs nothing.

#include <string>

namespace gpuctl::net {

struct Identity {
    std::string certificate_pem;
    std::string key_pem;
};

Identity make_ca(const std::string& name);

// `alternative_names` as in openssl.cnf: "DNS:localhost,IP:127.0.0.1". Valid from an hour ago for
// `valid_seconds` from now (negative: expired).
Identity issue(const Identity& ca, const std::string& name, const std::string& alternative_names,
               long valid_seconds = 3600);

}  // namespace gpuctl::net
