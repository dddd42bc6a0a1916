#pragma once
// Finds members in JSON text without building a tree. Total on any input: malformed text gives
// nullopt, never a read outside it. Structure is checked only as far as it is walked; the caller
// parses the value.

#include <optional>
#include <string>
#include <string_view>

namespace gpuctl::k8s {

// The raw text of `object`'s member `key` ("" quotes included for strings). The first one wins.
std::optional<std::string_view> json_member(std::string_view object, std::string_view key);

// The decoded string member; nullopt when absent or no string.
std::optional<std::string> json_string_member(std::string_view object, std::string_view key);

// Decodes a raw string value with its quotes.
std::optional<std::string> json_unquote(std::string_view raw);

// Appends `text` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

// The end of the value that begins at `from` (whitespace skipped); npos: malformed or cut.
std::size_t json_value_end(std::string_view text, std::size_t from);

// The metadata of an object that the informer needs.
struct ObjectIdentity {
    std::string namespace_name;  // empty: cluster-scoped
    std::string name;
    std::string uid;
    std::string resource_version;
};
std::optional<ObjectIdentity> identity_of(std::string_view object);

}  // namespace gpuctl::k8s
