#pragma once
// The secrets of one ClusterAccess as they are now. Token files are read again every 60 s and their
// last good content kept (C3); exec plugins run on the offload pool and their answer is kept until
// it expires (C2); client certificate and CA files are looked at every 5 min (C4). A 401 throws the
// current secret away once.
//
// Thread: the loop's. Ownership: by Client. Every wait ends at the caller's deadline; a plugin is
// killed at its own.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/aio/deadline.hpp"
#include "daemon/aio/task.hpp"
#include "daemon/net/tls.hpp"
#include "k8s/kubeconfig.hpp"
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

// What goes with a request. `serial` names this state of the secrets: rejected() with an older one
// is ignored, so that a burst of 401s causes one refresh.
struct Secrets {
    std::string authorization;  // the header's value; empty: none
    net::ClientTls tls;
    std::uint64_t serial = 0;
    std::uint64_t tls_serial = 0;  // changes when connections must be made anew
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
