#include "daemon/app/files.hpp"

#include "aio/small_file.hpp"
#include "daemon/api/http/static_files.hpp"
#include "daemon/app/backend.hpp"

namespace gpuctl::app {
namespace {

// As the text of an error that names where the configuration asks for it.
Error with_key(const config::Config& config, const std::string& key, Error error) {
    error.message = config.at(key) + key + ": " + error.message;
    return error;
}

Result<std::string> read_file(const config::Config& config, const std::string& key,
                              const std::string& path) {
    Result<std::string> text = aio::read_small_file(path);
    if (text) return text;
    return with_key(config, key,
                    make_error(text.error().code, "read " + path + ": " + text.error().message +
                                                      "; correct the key, or create the file"));
}

}  // namespace

Result<void> load_tokens(const config::Config& config, api::TokenStore& tokens) {
    if (config.server.tokens_file.empty()) return {};
    Result<void> loaded = tokens.load(config.server.tokens_file);
    if (!loaded) return with_key(config, "server.tokensFile", loaded.error());
    return {};
}

Result<net::ServerTls> read_tls(const config::Config& config) {
    const config::TlsFiles& files = *config.server.tls;
    net::ServerTls tls;
    Result<std::string> certificate =
        read_file(config, "server.tls.certificateFile", files.certificate_file);
    if (!certificate) return certificate.error();
    Result<std::string> key = read_file(config, "server.tls.keyFile", files.key_file);
    if (!key) return key.error();
    tls.certificate_pem = std::move(*certificate);
    tls.key_pem = std::move(*key);
    std::string named = "certificateFile " + files.certificate_file + ", keyFile " + files.key_file;
    if (!files.client_ca_file.empty()) {
        Result<std::string> client_ca =
            read_file(config, "server.tls.clientCaFile", files.client_ca_file);
        if (!client_ca) return client_ca.error();
        tls.client_ca_pem = std::move(*client_ca);
        named += ", clientCaFile " + files.client_ca_file;
    }
    if (Result<void> usable = net::check_tls(tls); !usable) {
        return with_key(
            config, "server.tls",
            make_error(ErrorCode::InvalidConfiguration,
                       "the files cannot be used (" + named + "): " + usable.error().message +
                           "; each must be PEM, and the key must match the certificate"));
    }
    return tls;
}

Result<void> check_files(const config::Config& config) {
    api::TokenStore tokens;
    if (Result<void> loaded = load_tokens(config, tokens); !loaded) return loaded;
    if (!config.server.ui_directory.empty()) {
        Result<api::StaticFiles> files = api::StaticFiles::read(config.server.ui_directory);
        if (!files) return with_key(config, "server.uiDirectory", files.error());
    }
    aio::Loop loop;
    if (config.server.tls) {
        Result<net::ServerTls> tls = read_tls(config);
        if (!tls) return tls.error();
    }
    const BackendRow& backend = backend_of(config.cluster.mode);
    if (backend.file_key != nullptr && backend.files_can_be_checked(config)) {
        auto made = backend.make(loop, config);
        if (!made) return with_key(config, backend.file_key, made.error());
    }
    return {};
}

std::string error_lines(const Error& error) {
    std::string text = error.message + "\n";
    for (const Detail& detail : error.details) {
        if (error.message.find(detail.message) != std::string::npos) continue;
        text += "  ";
        if (detail.place.line > 0) {
            text += "line " + std::to_string(detail.place.line) + ", column " +
                    std::to_string(detail.place.column) + ": ";
        }
        text += detail.message + "\n";
    }
    return text;
}

}  // namespace gpuctl::app
