#pragma once
// Authentication. Tokens come from a file, one `token role name` per line; only their HMAC-SHA-256
// under a key of this process is stored in memory, and each comparison takes constant time.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::api {

// Each role may do everything that the roles before it may.
enum class Role : std::uint8_t { anonymous, viewer, user, operator_, admin };
std::string_view to_string(Role role);

struct Identity {
    std::string name;
    Role role = Role::anonymous;
};

class TokenStore {
public:
    // Without a file every client of the loopback address is admin.
    TokenStore();

    // InvalidConfiguration: unreadable, readable by other users, a bad line, no token at all. On
    // error the previous tokens stay.
    Result<void> load(const std::string& path);
    [[nodiscard]] bool required() const { return required_; }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

    // `authorization` is the header's value. Unauthorized: missing or unknown token.
    [[nodiscard]] Result<Identity> identify(std::string_view authorization) const;

private:
    using Digest = std::array<unsigned char, 32>;
    struct Entry {
        Digest digest{};
        Identity identity;
    };
    [[nodiscard]] Digest digest_of(std::string_view token) const;

    Digest key_{};
    std::vector<Entry> entries_;
    bool required_ = false;
};

}  // namespace gpuctl::api
