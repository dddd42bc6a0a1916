#pragma once
// The files of a web page, read once at start from server.uiDirectory and served from memory below
// /ui/. A request is a lookup in this table and never opens a file, so no path can leave the
// directory and no request waits for a disk.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/http_types.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::api {

inline constexpr std::size_t kStaticFilesMax = 4'096;  // and at most as many directories
inline constexpr std::size_t kStaticDepthMax = 64;     // of a directory within directories
inline constexpr std::size_t kStaticBytesMax = 64u << 20;

class StaticFiles {
public:
    // None: every request is answered 404.
    StaticFiles() = default;
    // All regular files below the directory, also through links, except those whose path has a part
    // that begins with a dot. Errors: the directory or a part of it cannot be read; a link leads
    // out of it, to nothing, or to a directory that the link is in; it contains more than the
    // limits above.
    static Result<StaticFiles> read(const std::string& directory);

    // `path`: the decoded segments below /ui. "index.html" is served for a directory, which needs a
    // slash at the end of `target` (else 308), so that its relative links work. `none_match`: the
    // If-None-Match field. Errors: NotFound.
    [[nodiscard]] Result<net::HttpResponse> answer(const std::vector<std::string>& path,
                                                   std::string_view target,
                                                   std::string_view none_match) const;
    [[nodiscard]] std::size_t size() const { return files_.size(); }

private:
    struct File {
        std::string bytes;
        std::string etag;  // in quotes
        std::string_view media_type;
    };
    class Reader;

    std::map<std::string, File, std::less<>> files_;  // by path: "assets/app.js"
};

}  // namespace gpuctl::api
