#include "daemon/api/http/static_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/reply.hpp"
#include "scheduler/base/hash.hpp"
#include "text/hex.hpp"

namespace gpuctl::api {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndex = "index.html";

struct MediaType {
    std::string_view ending;
    std::string_view type;
};
constexpr auto kMediaTypes = std::to_array<MediaType>({
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".txt", "text/plain; charset=utf-8"},
});

std::string_view media_type_of(std::string_view path) {
    for (const MediaType& known : kMediaTypes) {
        if (path.ends_with(known.ending)) return known.type;
    }
    return "application/octet-stream";
}

Error unreadable(const std::string& path, const std::string& why) {
    return make_error(ErrorCode::InvalidConfiguration,
                      "read server.uiDirectory: " + path + ": " + why);
}

bool has_hidden_part(const fs::path& relative) {
    return std::any_of(relative.begin(), relative.end(),
                       [](const fs::path& part) { return part.string().starts_with('.'); });
}

// Links are followed only within the directory: a mounted ConfigMap consists of links.
bool is_within(const fs::path& file, const fs::path& root) {
    std::error_code failure;
    const fs::path real = fs::canonical(file, failure);
    if (failure) return false;
    const auto [end, ignored] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
    return end == root.end();
}

// RFC 9110, 13.1.2: "*", or a list of tags of which W/ does not count.
bool is_known(std::string_view none_match, std::string_view etag) {
    while (!none_match.empty()) {
        std::string_view one = none_match.substr(0, none_match.find(','));
        none_match.remove_prefix(std::min(one.size() + 1, none_match.size()));
        while (one.starts_with(' ')) one.remove_prefix(1);
        while (one.ends_with(' ')) one.remove_suffix(1);
        if (one.starts_with("W/")) one.remove_prefix(2);
        if (one == "*" || one == etag) return true;
    }
    return false;
}

}  // namespace

Result<StaticFiles> StaticFiles::read(const std::string& directory) {
    std::error_code failure;
    const fs::path root = fs::canonical(directory, failure);
    if (failure) return unreadable(directory, failure.message());
    StaticFiles found;
    std::size_t bytes = 0;
    fs::recursive_directory_iterator at{root, failure};
    for (; !failure && at != fs::recursive_directory_iterator{}; at.increment(failure)) {
        const fs::path relative = at->path().lexically_relative(root);
        std::error_code ignored;
        if (has_hidden_part(relative) || !fs::is_regular_file(at->path(), ignored)) continue;
        if (!is_within(at->path(), root)) {
            return unreadable(at->path().string(), "it is a link that leads out of the directory");
        }
        std::ifstream in{at->path(), std::ios::binary};
        std::string content{std::istreambuf_iterator<char>{in}, {}};
        if (!in.is_open() || in.bad()) return unreadable(at->path().string(), "it cannot be read");
        bytes += content.size();
        if (bytes > kStaticBytesMax || found.files_.size() >= kStaticFilesMax) {
            return unreadable(directory, "it contains more than " +
                                             std::to_string(kStaticFilesMax) + " files or " +
                                             std::to_string(kStaticBytesMax >> 20U) + " MiB");
        }
        std::string etag = "\"" + text::hex16(hash64(content)) + "\"";
        const std::string name = relative.generic_string();
        found.files_[name] = File{std::move(content), std::move(etag), media_type_of(name)};
    }
    if (failure) return unreadable(directory, failure.message());
    return found;
}

Result<net::HttpResponse> StaticFiles::answer(const std::vector<std::string>& path,
                                              std::string_view target,
                                              std::string_view none_match) const {
    const std::string_view asked = target.substr(0, target.find('?'));
    const Error missing =
        make_error(ErrorCode::NotFound, "there is nothing at " + std::string{asked});
    std::string name;
    for (const std::string& segment : path) {
        // An encoded slash is part of a name, and no file has one in its name.
        if (segment.find('/') != std::string::npos) return missing;
        name += (name.empty() ? "" : "/") + segment;
    }
    const bool is_directory_form = path.empty() || asked.ends_with('/');
    auto found = is_directory_form ? files_.end() : files_.find(name);
    if (found == files_.end()) {
        found = files_.find((name.empty() ? "" : name + "/") + std::string{kIndex});
        if (found == files_.end()) return missing;
        if (!asked.ends_with('/')) {
            net::HttpResponse moved;
            moved.status = 308;
            moved.fields.set("Location", std::string{asked} + "/");
            return moved;
        }
    }
    const File& file = found->second;
    net::HttpResponse response;
    response.fields.set("Content-Type", std::string{file.media_type});
    response.fields.set("ETag", file.etag);
    response.fields.set("Cache-Control", "no-cache");  // revalidate each time
    response.fields.set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'");
    if (is_known(none_match, file.etag)) {
        response.status = 304;
    } else {
        response.body = file.bytes;
    }
    return response;
}

net::HttpResponse get_static_file(Services& services, const Call& call) {
    Result<net::HttpResponse> answer = services.static_files.answer(
        call.parameters, call.request.target, call.request.fields.get("If-None-Match"));
    return answer ? std::move(*answer) : problem_reply(answer.error(), call);
}

}  // namespace gpuctl::api
