#include "k8s/auth/credentials.hpp"

#include <optional>
#include <utility>

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "k8s/auth/credentials_exec.hpp"
#include "k8s/auth/kubeconfig_text.hpp"
#include "text/token.hpp"

namespace gpuctl::k8s {

namespace {

using Time = aio::Clock::time_point;

// A plugin that failed is not run again at once for each waiting request.
constexpr std::chrono::seconds kPluginPause{1};

std::string trimmed(std::string text) {
    const auto end = text.find_last_not_of(" \t\r\n");
    text.erase(end == text.npos ? 0 : end + 1);
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin != text.npos) text.erase(0, begin);
    return text;
}

Result<std::string> read_token(const std::string& path) {
    auto text = read_small_file(path, "token file");
    if (!text) return text.error();
    std::string token = trimmed(std::move(*text));  // as client-go does
    if (const std::string problem = text::problem_with_token(token); !problem.empty()) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "read token file " + path + ": " +
                              (token.empty() ? "it contains no token" : "it " + problem));
    }
    return token;
}

Result<std::string> read_pem(const PemSource& source, std::string_view key) {
    if (!source.data.empty()) return source.data;
    if (source.file.empty()) return std::string{};
    auto text = read_small_file(source.file, key);
    if (!text) return text.error();
    if (text->find("-----BEGIN ") == text->npos) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "read " + std::string{key} + " " + source.file + ": it contains no PEM");
    }
    return text;
}

Result<net::ClientTls> read_tls(const ClusterAccess& access) {
    net::ClientTls tls;
    tls.enabled = access.server.is_https;
    tls.server_name = access.tls_server_name;
    tls.insecure_skip_verify = access.insecure_skip_verify;
    auto ca = read_pem(access.ca, "certificate-authority");
    auto certificate = read_pem(access.client_certificate, "client-certificate");
    auto key = read_pem(access.client_key, "client-key");
    if (!ca) return ca.error();
    if (!certificate) return certificate.error();
    if (!key) return key.error();
    tls.ca_pem = std::move(*ca);
    tls.certificate_pem = std::move(*certificate);
    tls.key_pem = std::move(*key);
    return tls;
}

bool same(const net::ClientTls& a, const net::ClientTls& b) {
    return a.ca_pem == b.ca_pem && a.certificate_pem == b.certificate_pem && a.key_pem == b.key_pem;
}

bool files_to_watch(const ClusterAccess& access) {
    return !access.ca.file.empty() || !access.client_certificate.file.empty() ||
           !access.client_key.file.empty();
}

// The result of reading files and plugins: made on the pool, applied on the loop.
struct SecretReading {
    std::optional<Result<std::string>> token;
    std::optional<Result<net::ClientTls>> tls;
    std::optional<Result<ExecCredential>> plugin;
};

struct ReadOrder {
    bool token = false;
    bool tls = false;
    bool plugin = false;
    std::chrono::milliseconds plugin_timeout{0};
    ClusterAccess access;
    std::string ca_pem;
};

SecretReading read_secrets(const ReadOrder& order) {
    SecretReading found;
    if (order.token) found.token = read_token(order.access.token_file);
    if (order.tls) found.tls = read_tls(order.access);
    if (order.plugin) {
        const ExecPlugin& plugin = *order.access.exec;
        found.plugin = run_exec_plugin(plugin, exec_info(plugin, order.access, order.ca_pem),
                                       order.plugin_timeout);
    }
    return found;
}

}  // namespace

struct Credentials::Parts {
    aio::Loop& loop;
    ClusterAccess access;
    CredentialSettings settings;
    net::ClientTls initial_tls;
    Secrets secrets;
    bool have_token = false;             // or no token is needed
    Time token_due = Time::max();        // when to read the file again
    Time tls_due = Time::max();          // when to look at the certificate files again
    std::int64_t plugin_expires_ms = 0;  // 0: until a 401
    std::optional<Error> plugin_error;   // of the last run, kept for kPluginPause
    Time plugin_failed_at{};
    bool looking = false;
    aio::Signal refreshed;

    Parts(aio::Loop& on, ClusterAccess to, CredentialSettings with)
        : loop(on), access(std::move(to)), settings(with), refreshed(on) {}

    [[nodiscard]] bool plugin_rests(Time now) const {
        return plugin_error && now - plugin_failed_at < kPluginPause;
    }
    [[nodiscard]] bool plugin_due(Time now) const {
        if (!access.exec || plugin_rests(now)) return false;
        return !have_token ||
               (plugin_expires_ms != 0 &&
                aio::Loop::wall_ms() + settings.expiry_leeway.count() >= plugin_expires_ms);
    }
    // The plugin's last credential is still valid, although it is time for another.
    [[nodiscard]] bool plugin_token_holds() const {
        return have_token && (plugin_expires_ms == 0 || aio::Loop::wall_ms() < plugin_expires_ms);
    }
    [[nodiscard]] bool token_due_now(Time now) const {
        return !access.token_file.empty() && (!have_token || now >= token_due);
    }
    [[nodiscard]] bool is_fresh(Time now) const {
        return have_token && now < token_due && now < tls_due && !plugin_due(now);
    }

    void set_authorization(std::string value) {
        have_token = true;
        if (value == secrets.authorization) return;
        secrets.authorization = std::move(value);
        ++secrets.serial;
    }
    void set_tls(net::ClientTls tls) {
        if (same(tls, secrets.tls)) return;
        secrets.tls = std::move(tls);
        ++secrets.tls_serial;
        ++secrets.serial;
    }

    Result<void> apply_reading(SecretReading found, Time now);
    void apply_plugin(ExecCredential credential);
};

// When reading files fails, the last good content stays in use; the failure is an error only when
// there is none.
Result<void> Credentials::Parts::apply_reading(SecretReading found, Time now) {
    if (found.tls) {
        tls_due = now + settings.certificate_reread;
        if (*found.tls && !access.exec) set_tls(std::move(found.tls->value()));
    }
    if (found.token) {
        if (*found.token) {
            set_authorization("Bearer " + found.token->value());
            token_due = now + settings.token_file_reread;
        } else if (have_token) {
            token_due = now + std::min(settings.token_file_reread, settings.expiry_leeway);
        } else {
            return found.token->error();
        }
    }
    if (found.plugin) {
        if (!*found.plugin) {
            plugin_error = found.plugin->error();
            plugin_failed_at = now;
            if (!plugin_token_holds()) return *plugin_error;
        } else {
            plugin_error.reset();
            apply_plugin(std::move(found.plugin->value()));
        }
    }
    return {};
}

void Credentials::Parts::apply_plugin(ExecCredential credential) {
    plugin_expires_ms = credential.expires_at_ms.value_or(0);
    net::ClientTls tls = secrets.tls;
    tls.certificate_pem = std::move(credential.certificate_pem);
    tls.key_pem = std::move(credential.key_pem);
    set_tls(std::move(tls));
    set_authorization(credential.token.empty() ? std::string{} : "Bearer " + credential.token);
}

Credentials::Credentials(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
Credentials::~Credentials() = default;

Result<std::unique_ptr<Credentials>> Credentials::create(aio::Loop& loop, ClusterAccess access,
                                                         CredentialSettings settings) {
    auto parts = std::make_shared<Parts>(loop, std::move(access), settings);
    const auto during = [&](Error error) {
        return while_doing("authenticate with " + parts->access.origin, std::move(error));
    };
    auto tls = read_tls(parts->access);
    if (!tls) return during(tls.error());
    const Time now = aio::Clock::now();
    parts->secrets.serial = parts->secrets.tls_serial = 1;
    parts->secrets.tls = *tls;
    parts->initial_tls = std::move(*tls);
    if (files_to_watch(parts->access)) parts->tls_due = now + settings.certificate_reread;
    const ClusterAccess& to = parts->access;
    if (!to.token_file.empty()) {
        auto token = read_token(to.token_file);
        if (!token) return during(token.error());
        parts->set_authorization("Bearer " + *token);
        parts->token_due = now + settings.token_file_reread;
    } else if (!to.token.empty()) {
        std::string token = trimmed(to.token);
        if (const std::string problem = text::problem_with_token(token); !problem.empty()) {
            return during(make_error(ErrorCode::InvalidConfiguration, "its token " + problem));
        }
        parts->set_authorization("Bearer " + std::move(token));
    } else if (!to.username.empty()) {
        parts->set_authorization("Basic " + encode_base64(to.username + ":" + to.password));
    } else if (!to.exec) {
        parts->set_authorization("");
    }
    return std::unique_ptr<Credentials>{new Credentials{std::move(parts)}};
}

const Secrets* Credentials::fresh() const {
    return parts_->is_fresh(aio::Clock::now()) ? &parts_->secrets : nullptr;
}

aio::Task<Result<const Secrets*>> Credentials::refresh(aio::Deadline deadline) {
    const auto parts = parts_;
    // One refresh at a time; other callers wait for its result.
    while (parts->looking) {
        const bool notified = co_await parts->refreshed.wait(deadline);
        if (!notified) {
            co_return make_error(ErrorCode::Timeout, "wait for credentials of " +
                                                         parts->access.origin +
                                                         ": not ready before the deadline");
        }
    }
    const Time now = aio::Clock::now();
    if (parts->is_fresh(now)) co_return &parts->secrets;
    if (!parts->have_token && parts->plugin_rests(now)) {
        co_return while_doing("authenticate with " + parts->access.origin, *parts->plugin_error);
    }
    ReadOrder order{
        parts->token_due_now(now),
        now >= parts->tls_due,
        parts->plugin_due(now),
        std::min(parts->settings.exec_timeout,
                 std::chrono::duration_cast<std::chrono::milliseconds>(deadline.left())),
        parts->access,
        parts->secrets.tls.ca_pem};
    parts->looking = true;
    std::function<SecretReading()> work = [order = std::move(order)] {
        return read_secrets(order);
    };
    SecretReading found = co_await aio::offload(parts->loop, std::move(work));
    parts->looking = false;
    auto taken = parts->apply_reading(std::move(found), aio::Clock::now());
    parts->refreshed.notify_all();
    if (!taken) co_return while_doing("authenticate with " + parts->access.origin, taken.error());
    co_return &parts->secrets;
}

void Credentials::rejected(std::uint64_t serial) {
    Parts& parts = *parts_;
    if (serial != parts.secrets.serial) return;  // a newer secret is already in use
    if (!parts.access.token_file.empty() || parts.access.exec) parts.have_token = false;
    if (files_to_watch(parts.access)) parts.tls_due = {};
}

const ClusterAccess& Credentials::access() const { return parts_->access; }
const net::ClientTls& Credentials::initial_tls() const { return parts_->initial_tls; }

}  // namespace gpuctl::k8s
