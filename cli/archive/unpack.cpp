#include "cli/archive/unpack.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace gpuctl::cli {

namespace {

constexpr std::size_t kLeftOutMax = 16;
constexpr std::size_t kLaterMax = 1'000'000;

Error file_error(const std::string& what) {
    return make_error(ErrorCode::BadRequest, what + ": " + std::generic_category().message(errno));
}

Error too_many() {
    return make_error(ErrorCode::BadRequest, "the archive has more than " +
                                                 std::to_string(kLaterMax) +
                                                 " folders and links; copy its folders one by one");
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : "/") + part;
    return text;
}

}  // namespace

Unpacker::Unpacker(std::string folder, std::string root, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)) {
    if (Result<std::vector<std::string>> parts = safe_parts(root)) root_ = std::move(*parts);
}

Unpacker::~Unpacker() {
    drop_file();
    if (top_ >= 0) ::close(top_);
}

Result<void> Unpacker::open() {
    top_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top_ < 0) return file_error("open the folder " + folder_);
    return {};
}

TarReader::Sink Unpacker::sink() {
    return {[this](const TarEntry& entry) { return begin(entry); },
            [this](std::string_view bytes) { return write(bytes); }, [this] { return end_file(); }};
}

Result<std::vector<std::string>> Unpacker::place_of(const std::string& name) const {
    Result<std::vector<std::string>> parts = safe_parts(name);
    if (!parts) return parts;
    const bool below =
        parts->size() >= root_.size() && std::equal(root_.begin(), root_.end(), parts->begin());
    if (!below) {
        return make_error(ErrorCode::BadRequest, "the archive has the name \"" + name +
                                                     "\", which was not asked for; nothing more "
                                                     "is written");
    }
    std::vector<std::string> place{name_};
    place.insert(place.end(), parts->begin() + static_cast<std::ptrdiff_t>(root_.size()),
                 parts->end());
    return place;
}

Result<int> Unpacker::open_parent(const std::vector<std::string>& parts) const {
    int at = ::dup(top_);
    if (at < 0) return file_error("open the folder " + folder_);
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        ::mkdirat(at, parts[i].c_str(), 0777);
        const int next =
            ::openat(at, parts[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        const int why = errno;
        ::close(at);
        if (next < 0) {
            errno = why;
            return file_error("write " + folder_ + "/" + joined(parts) + ": open the folder " +
                              parts[i] + " (links are not followed)");
        }
        at = next;
    }
    return at;
}

Result<void> Unpacker::begin(const TarEntry& entry) {
    Result<std::vector<std::string>> parts = place_of(entry.name);
    if (!parts) return parts.error();
    switch (entry.kind) {
        case TarKind::file:
            return begin_file(entry, std::move(*parts));
        case TarKind::folder: {
            std::vector<std::string> inside = *parts;
            inside.emplace_back(".");
            const Result<int> folder = open_parent(inside);
            if (!folder) return folder.error();
            ::close(*folder);
            if (later_.size() >= kLaterMax) return too_many();
            later_.push_back({std::move(*parts), "", entry.mode & 0777U});
            return {};
        }
        case TarKind::symbolic_link:
            // The top is the copied folder itself, whose name is the first part.
            if (parts->size() < 2 || !link_stays_inside(entry.link, parts->size() - 2)) {
                return make_error(ErrorCode::BadRequest,
                                  "the link " + entry.name + " points to \"" + entry.link +
                                      "\", outside the destination; copy without it");
            }
            if (later_.size() >= kLaterMax) return too_many();
            later_.push_back({std::move(*parts), entry.link, 0});
            return {};
        case TarKind::hard_link:
            return link_again(entry, *parts);
        case TarKind::other:
            if (left_out_.size() < kLeftOutMax) left_out_.push_back(entry.name);
            return {};
    }
    return {};
}

Result<void> Unpacker::begin_file(const TarEntry& entry, std::vector<std::string> parts) {
    const Result<int> parent = open_parent(parts);
    if (!parent) return parent.error();
    parent_ = *parent;
    entry_ = entry;
    final_ = parts.back();
    temporary_ = ".gpuctl-cp-" + std::to_string(::getpid()) + "-" + std::to_string(files_);
    file_ = ::openat(parent_, temporary_.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file_ < 0) {
        const Error error = file_error("write " + folder_ + "/" + joined(parts));
        temporary_.clear();
        drop_file();
        return error;
    }
    return {};
}

Result<void> Unpacker::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(file_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return file_error("write " + final_);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

Result<void> Unpacker::end_file() {
    const timespec modified{static_cast<time_t>(entry_.modified), 0};
    const timespec times[2] = {modified, modified};
    ::futimens(file_, times);
    ::fchmod(file_, entry_.mode & 0777U);
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0 || ::renameat(parent_, temporary_.c_str(), parent_, final_.c_str()) != 0) {
        return file_error("write " + final_);
    }
    temporary_.clear();
    drop_file();
    ++files_;
    return {};
}

void Unpacker::drop_file() {
    if (file_ >= 0) ::close(file_);
    if (!temporary_.empty()) ::unlinkat(parent_, temporary_.c_str(), 0);
    if (parent_ >= 0) ::close(parent_);
    temporary_.clear();
    file_ = parent_ = -1;
}

// A further name of a file that the archive had before.
Result<void> Unpacker::link_again(const TarEntry& entry, const std::vector<std::string>& parts) {
    const Result<std::vector<std::string>> source = place_of(entry.link);
    if (!source) return source.error();
    const Result<int> from = open_parent(*source);
    if (!from) return from.error();
    const Result<int> to = open_parent(parts);
    if (!to) {
        ::close(*from);
        return to.error();
    }
    ::unlinkat(*to, parts.back().c_str(), 0);
    const int linked = ::linkat(*from, source->back().c_str(), *to, parts.back().c_str(), 0);
    const Error error = file_error("write " + folder_ + "/" + joined(parts));
    ::close(*from);
    ::close(*to);
    if (linked != 0) return error;
    ++files_;
    return {};
}

Result<void> Unpacker::make_link(const Later& link) const {
    const Result<int> parent = open_parent(link.parts);
    if (!parent) return parent.error();
    ::unlinkat(*parent, link.parts.back().c_str(), 0);
    const int made = ::symlinkat(link.target.c_str(), *parent, link.parts.back().c_str());
    const Error error = file_error("make the link " + folder_ + "/" + joined(link.parts));
    ::close(*parent);
    if (made != 0) return error;
    return {};
}

Result<void> Unpacker::set_mode(const Later& folder) const {
    std::vector<std::string> inside = folder.parts;
    inside.emplace_back(".");
    const Result<int> opened = open_parent(inside);
    if (!opened) return opened.error();
    const int set = ::fchmod(*opened, folder.mode);
    const Error error = file_error("set the mode of " + folder_ + "/" + joined(folder.parts));
    ::close(*opened);
    if (set != 0) return error;
    return {};
}

// Backwards: a folder comes before what is in it, which its mode may close.
Result<void> Unpacker::finish() {
    for (auto at = later_.rbegin(); at != later_.rend(); ++at) {
        Result<void> done = at->target.empty() ? set_mode(*at) : make_link(*at);
        if (!done) return done;
    }
    return {};
}

}  // namespace gpuctl::cli
