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

bool is_within(const fs::path& real, const fs::path& root) {
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

// Reads a directory and those below it. Links are followed only within the root: a mounted
// ConfigMap consists of links, to files and to directories.
class StaticFiles::Reader {
public:
    Reader(StaticFiles& files, fs::path root) : files_(files), root_(std::move(root)) {}

    // `directory`: its real path; `prefix`: its name below the root, "" or "assets/".
    Result<void> read(const fs::path& directory, const std::string& prefix) {
        if (++directories_ > kStaticFilesMax) return too_much();
        if (open_.size() >= kStaticDepthMax) {
            return unreadable(shown(prefix), "it is more than " + std::to_string(kStaticDepthMax) +
                                                 " directories deep");
        }
        open_.push_back(directory);
        std::error_code failure;
        fs::directory_iterator at{directory, failure};
        for (; !failure && at != fs::directory_iterator{}; at.increment(failure)) {
            const std::string name = at->path().filename().string();
            if (name.starts_with('.')) continue;
            if (Result<void> taken = read_entry(at->path(), prefix + name); !taken) return taken;
        }
        if (failure) return unreadable(shown(prefix), failure.message());
        open_.pop_back();
        return {};
    }

private:
    Result<void> read_entry(const fs::path& path, const std::string& name) {
        std::error_code failure;
        const fs::path real = fs::canonical(path, failure);
        if (failure) return unreadable(shown(name), failure.message());
        const fs::file_status status = fs::status(real, failure);
        if (failure) return unreadable(shown(name), failure.message());
        if (!is_within(real, root_)) {
            return unreadable(shown(name), "it is a link that leads out of the directory");
        }
        if (!fs::is_directory(status) && !fs::is_regular_file(status)) return {};
        if (fs::is_regular_file(status)) return take_file(real, name);
        if (std::find(open_.begin(), open_.end(), real) != open_.end()) {
            return unreadable(shown(name), "it is a link to a directory that it is in");
        }
        return read(real, name + "/");
    }

    Result<void> take_file(const fs::path& real, const std::string& name) {
        std::error_code failure;
        const std::uintmax_t size = fs::file_size(real, failure);
        if (!failure && size > kStaticBytesMax - bytes_) return too_much();
        std::ifstream in{real, std::ios::binary};
        std::string content{std::istreambuf_iterator<char>{in}, {}};
        if (!in.is_open() || in.bad()) return unreadable(shown(name), "it cannot be read");
        if (content.size() > kStaticBytesMax - bytes_) return too_much();
        if (files_.files_.size() >= kStaticFilesMax) return too_much();
        bytes_ += content.size();
        std::string etag = "\"" + text::hex16(hash64(content)) + "\"";
        files_.files_[name] = File{std::move(content), std::move(etag), media_type_of(name)};
        return {};
    }

    [[nodiscard]] std::string shown(const std::string& name) const {
        return (root_ / name).string();
    }
    [[nodiscard]] Error too_much() const {
        return unreadable(root_.string(), "it contains more than " +
                                              std::to_string(kStaticFilesMax) +
                                              " files or directories, or " +
                                              std::to_string(kStaticBytesMax >> 20U) + " MiB");
    }

    StaticFiles& files_;
    fs::path root_;
    std::vector<fs::path> open_;  // the directory that is read, and those it is in: no cycle
    // Each time it is read: links can lead to a directory by more ways than there are files.
    std::size_t directories_ = 0;
    std::size_t bytes_ = 0;
};

Result<StaticFiles> StaticFiles::read(const std::string& directory) {
    std::error_code failure;
    const fs::path root = fs::canonical(directory, failure);
    if (failure) return unreadable(directory, failure.message());
    StaticFiles found;
    if (Result<void> read = Reader{found, root}.read(root, ""); !read) return read.error();
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
