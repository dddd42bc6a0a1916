#include "daemon/api/http/auth.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "aio/small_file.hpp"
#include "scheduler/base/check.hpp"
#include "text/characters.hpp"

namespace gpuctl::api {
namespace {

constexpr std::string_view kRoleNames[] = {"anonymous", "viewer", "user", "operator", "admin"};
constexpr const char* kNotOpened =
    "it cannot be opened; check that it exists and that gpuctld may read it";
constexpr std::size_t kTokenBytesMin = 16;
constexpr std::size_t kTokenBytesMax = 512;

std::optional<Role> role_of(std::string_view name) {
    for (std::size_t i = 1; i < std::size(kRoleNames); ++i) {
        if (kRoleNames[i] == name) return static_cast<Role>(i);
    }
    return std::nullopt;
}

Error bad_file(const std::string& path, int line, const std::string& what) {
    return make_error(
        ErrorCode::InvalidConfiguration,
        "read tokens from " + path + (line > 0 ? ":" + std::to_string(line) : "") + ": " + what);
}

}  // namespace

std::string_view to_string(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

TokenStore::TokenStore() {
    GPUCTL_CHECK(RAND_bytes(key_.data(), static_cast<int>(key_.size())) == 1,
                 "the system returns random bytes");
}

Result<void> TokenStore::load(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return bad_file(path, 0, kNotOpened);
    if (S_ISDIR(status.st_mode)) return bad_file(path, 0, "it is a directory");
    if (aio::is_no_regular_file(path)) return bad_file(path, 0, "it is not a regular file");
    std::ifstream file{path};
    if (!file) return bad_file(path, 0, kNotOpened);
    if ((status.st_mode & S_IROTH) != 0) {
        return bad_file(path, 0, "every user of this machine can read it; run chmod o-r on it");
    }
    std::vector<Entry> entries;
    std::string text;
    for (int line = 1; std::getline(file, text); ++line) {
        std::istringstream words{text};
        std::string token;
        std::string role;
        std::string name;
        std::string rest;
        if (!(words >> token) || token.starts_with('#')) continue;
        if (!(words >> role >> name) || words >> rest) {
            return bad_file(path, line, "a line must be `token role name`");
        }
        for (const std::string_view word :
             {std::string_view{token}, std::string_view{role}, std::string_view{name}}) {
            const std::string invisible = text::problem_with_invisible(word);
            if (!invisible.empty()) return bad_file(path, line, "a word " + invisible);
        }
        const std::optional<Role> known = role_of(role);
        if (!known) {
            return bad_file(path, line,
                            "unknown role \"" + role + "\"; viewer, user, operator or admin");
        }
        if (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax) {
            return bad_file(path, line,
                            "a token must have 16 to 512 characters (openssl rand -hex 32)");
        }
        const Digest digest = digest_of(token);
        const bool is_there = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
            return entry.digest == digest;
        });
        if (is_there) return bad_file(path, line, "this token is in the file already");
        entries.push_back({digest, {name, *known}});
        OPENSSL_cleanse(token.data(), token.size());
    }
    if (entries.empty()) return bad_file(path, 0, "it contains no token");
    entries_ = std::move(entries);
    required_ = true;
    return {};
}

TokenStore::Digest TokenStore::digest_of(std::string_view token) const {
    Digest digest{};
    unsigned int size = 0;
    HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
         reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data(), &size);
    GPUCTL_CHECK(size == digest.size(), "HMAC-SHA-256 returns 32 bytes");
    return digest;
}

Result<Identity> TokenStore::identify(std::string_view authorization) const {
    if (!required_) return Identity{"local", Role::admin};
    constexpr std::string_view kScheme = "bearer ";
    bool is_bearer = authorization.size() > kScheme.size();
    for (std::size_t i = 0; is_bearer && i < kScheme.size(); ++i) {
        is_bearer = std::tolower(static_cast<unsigned char>(authorization[i])) == kScheme[i];
    }
    if (!is_bearer || authorization.size() > kTokenBytesMax + kScheme.size()) {
        return make_error(ErrorCode::Unauthorized,
                          "this gpuctld requires a token: send `Authorization: Bearer TOKEN` "
                          "(gpuctl --token, or GPUCTL_TOKEN)");
    }
    const Digest digest = digest_of(authorization.substr(kScheme.size()));
    const Entry* found = nullptr;
    for (const Entry& entry : entries_) {  // all of them, whichever matches
        if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = &entry;
    }
    if (found == nullptr) {
        return make_error(ErrorCode::Unauthorized, "the token is not known to this gpuctld");
    }
    return found->identity;
}

}  // namespace gpuctl::api
