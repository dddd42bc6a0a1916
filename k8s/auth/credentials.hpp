#pragma once
// The current secrets of one ClusterAccess. As client-go does: token files are read again every 60
// s, and their last good content stays in use; exec plugins run on the offload pool, and their
// credential is used until it expires; client certificate and CA files are checked every 5 min. A
// 401 discards the current secret once.
//
// Thread: the loop's. Ownership: by Client. Every wait ends at the caller's deadline; a plugin is
// killed at its own.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "k8s/auth/kubeconfig.hpp"
#include "net/transport/tls.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::aio {
class Loop;
}

namespace gpuctl::k8s {

struct CredentialSettings {
    std::chrono::milliseconds token_file_reread{60'000};
    std::chrono::milliseconds certificate_reread{300'000};
    std::chrono::milliseconds exec_timeout{30'000};
    std::chrono::milliseconds expiry_leeway{10'000};
};

// The authentication of one request. `serial` identifies this state of the secrets: rejected() with
// an older serial is ignored, so that a burst of 401s causes one refresh.
struct Secrets {
    std::string authorization;  // value of the Authorization header; empty: none
    net::ClientTls tls;
    std::uint64_t serial = 0;
    std::uint64_t tls_serial = 0;  // changes when connections must be opened again
};

class Credentials {
public:
    // Reads what can be read without running anything; errors name file and key.
    static Result<std::unique_ptr<Credentials>> create(aio::Loop& loop, ClusterAccess access,
                                                       CredentialSettings settings);
    ~Credentials();
    Credentials(const Credentials&) = delete;
    Credentials& operator=(const Credentials&) = delete;

    // The current state when it is fresh, else nullptr: the caller then awaits refresh().
    [[nodiscard]] const Secrets* fresh() const;
    aio::Task<Result<const Secrets*>> refresh(aio::Deadline deadline);
    // The server answered 401 to secrets of this serial.
    void rejected(std::uint64_t serial);

    [[nodiscard]] const ClusterAccess& access() const;
    // TLS settings as read at creation, before any exec plugin ran.
    [[nodiscard]] const net::ClientTls& initial_tls() const;

private:
    struct Parts;
    explicit Credentials(std::shared_ptr<Parts> parts);
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::k8s
