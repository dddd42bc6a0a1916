// Files to a pod, as an archive that the image's own tar reads.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <system_error>

#include "aio/entropy.hpp"
#include "aio/signal.hpp"
#include "cli/archive/tar.hpp"
#include "cli/sessions/cp_parts.hpp"

namespace gpuctl::cli {
namespace {

namespace fs = std::filesystem;

// Runs in the container with the destination, the name of what is copied, and another name, which
// is the archive's. What has come in whole gets its own name; whatever ends this removes the rest.
// The last entry, NAME.end, shows that all came: tar accepts an archive that ends after any entry.
constexpr const char* kReceive = R"(d=$1 n=$2
fail() { echo "$1" >&2; exit 1; }
command -v tar >/dev/null || exit 127
if [ -d "$d" ]; then f=${d%/}
else case $d in
  */) fail "the folder $d does not exist" ;;
  */*) f=${d%/*} n=${d##*/} ;;
  *) f=. n=$d ;;
esac; fi
case $d in /*) ;; *) f=$PWD/$f ;; esac
p=$f/$3 q=$f/$n
[ -d "$f/" ] || fail "the folder $f does not exist; make it first"
trap 'rm -rf "$p" "$p.end"' EXIT
trap 'exit 1' HUP INT TERM PIPE
tar xpmf - -C "$f/" || exit
[ -e "$p.end" ] || fail "the archive broke off"
if [ ! -d "$q" ]; then mv -f "$p" "$q"; exit; fi
[ -d "$p" ] || fail "$q is a folder"
cd "$p" || exit
find . -type d -exec sh -c '[ ! -e "$0/$1" ] && mv "$1" "$0/$1"' "$q" {} \; -prune || exit
find . ! -type d -exec sh -c 'for i; do
  if [ -L "$0/$i" ]; then rm -f "$0/$i"; elif [ -d "$0/$i" ]; then echo "$0/$i is a folder" >&2; exit 1; fi
  mv -f "$i" "$0/$i" || exit; done' "$q" {} +
)";

// The session with tar, and what it said meanwhile.
struct Sending {
    explicit Sending(aio::Loop& loop) : ended(loop) {}
    std::shared_ptr<PodSession> session;
    aio::Signal ended;
    std::string reported;
    std::optional<Result<std::int32_t>> outcome;
};

aio::Task<void> listen_to_tar(std::shared_ptr<Sending> sending) {
    while (!sending->outcome) {
        Result<SessionPiece> piece = co_await sending->session->next();
        if (!piece) {
            sending->outcome = Result<std::int32_t>{piece.error()};
        } else if (piece->channel == wire::SessionChannel::outcome) {
            sending->outcome = wire::read_session_outcome(piece->bytes);
        } else if (sending->reported.size() < kReportedBytesMax) {
            sending->reported += piece->bytes;
        }
    }
    sending->ended.notify_all();
}

aio::Task<Result<void>> send_piece(std::shared_ptr<Sending> sending, std::string bytes) {
    if (sending->outcome) {
        co_return cp_error("tar in the pod ended before it had everything");
    }
    Result<void> sent =
        co_await sending->session->send(wire::SessionChannel::input, std::move(bytes));
    co_return sent;
}

aio::Task<Result<void>> send_file(std::shared_ptr<Sending> sending, TarEntry entry,
                                  std::string path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        co_return cp_error("read " + path + ": " + std::generic_category().message(errno));
    }
    struct stat now{};
    ::fstat(descriptor, &now);
    entry.size = static_cast<std::uint64_t>(now.st_size);
    std::string piece = tar_header(entry);
    Result<void> sent = co_await send_piece(sending, std::move(piece));
    std::uint64_t left = entry.size;
    while (sent && left > 0) {
        const auto wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(left, wire::kSessionPieceBytes));
        std::string bytes(wanted, '\0');
        const ssize_t count = ::read(descriptor, bytes.data(), wanted);
        if (count <= 0) {
            sent = cp_error("read " + path + ": it became shorter while it was copied");
            break;
        }
        bytes.resize(static_cast<std::size_t>(count));
        left -= static_cast<std::uint64_t>(count);
        sent = co_await send_piece(sending, std::move(bytes));
    }
    ::close(descriptor);
    if (!sent || tar_padding(entry.size).empty()) co_return sent;
    std::string padding = tar_padding(entry.size);
    sent = co_await send_piece(sending, std::move(padding));
    co_return sent;
}

// nullopt: neither file, folder nor link.
std::optional<TarEntry> entry_of(const fs::path& path, std::string name, bool follows) {
    struct stat facts{};
    const int failed = follows ? ::stat(path.c_str(), &facts) : ::lstat(path.c_str(), &facts);
    if (failed != 0) return std::nullopt;
    TarEntry entry;
    entry.name = std::move(name);
    entry.mode = facts.st_mode & 0777U;
    entry.modified = facts.st_mtime;
    if (S_ISDIR(facts.st_mode)) {
        entry.kind = TarKind::folder;
    } else if (S_ISLNK(facts.st_mode)) {
        std::error_code failure;
        entry.kind = TarKind::symbolic_link;
        entry.link = fs::read_symlink(path, failure).string();
        if (failure) return std::nullopt;
    } else if (!S_ISREG(facts.st_mode)) {
        return std::nullopt;
    }
    return entry;
}

aio::Task<Result<void>> send_one(std::shared_ptr<Sending> sending, fs::path path, std::string name,
                                 bool follows) {
    std::optional<TarEntry> entry = entry_of(path, std::move(name), follows);
    if (!entry) {
        std::cerr << "gpuctl: left out " << printable(path.string())
                  << ": only files, folders and links are copied\n";
        co_return Result<void>{};
    }
    if (entry->kind == TarKind::file) {
        std::string text = path.string();
        Result<void> sent = co_await send_file(sending, std::move(*entry), std::move(text));
        co_return sent;
    }
    std::string header = tar_header(*entry);
    Result<void> sent = co_await send_piece(sending, std::move(header));
    co_return sent;
}

aio::Task<Result<void>> send_all(std::shared_ptr<Sending> sending, fs::path source,
                                 std::string name) {
    std::string top = name;
    Result<void> sent = co_await send_one(sending, source, std::move(top), true);
    if (!sent) co_return sent;
    std::error_code failure;
    if (fs::is_directory(source, failure)) {
        fs::recursive_directory_iterator at{source, failure};
        for (; !failure && at != fs::recursive_directory_iterator{}; at.increment(failure)) {
            const fs::path path = at->path();
            std::string inside = name + "/" + path.lexically_relative(source).string();
            sent = co_await send_one(sending, path, std::move(inside), false);
            if (!sent) co_return sent;
        }
        if (failure) co_return cp_error("read " + source.string() + ": " + failure.message());
    }
    TarEntry last;
    last.name = name + ".end";
    std::string end = tar_header(last) + tar_end();
    sent = co_await send_piece(sending, std::move(end));
    if (!sent) co_return sent;
    std::string nothing;
    sent = co_await sending->session->send(wire::SessionChannel::end_of_input, std::move(nothing));
    co_return sent;
}

// False: it did not end in time, or the copy is interrupted.
aio::Task<bool> await_tar(std::shared_ptr<Sending> sending) {
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::minutes{5});
    while (!sending->outcome) {
        const bool notified = co_await sending->ended.wait(deadline);
        if (!notified) break;
    }
    co_return sending->outcome.has_value();
}

}  // namespace

aio::Task<Result<void>> copy_to(Connection& connection, aio::TaskGroup& tasks, CpOptions options,
                                CpEnd to) {
    std::error_code failure;
    const fs::path source{options.source};
    if (!fs::exists(source, failure)) {
        co_return cp_error(options.source +
                           " does not exist here; a file in a pod is written "
                           "NAME:PATH");
    }
    const fs::path whole = fs::absolute(source).lexically_normal();
    const std::string name =
        whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
    if (name.empty()) co_return cp_error("/ has no name; copy the folders in it");
    std::ostringstream first;
    first << ".gpuctl-cp-" << std::hex << aio::random_seed();
    SessionWish wish =
        tar_wish(options, to.job, {"sh", "-c", kReceive, "gpuctl-cp", to.path, name, first.str()});
    wish.has_input = true;
    Result<std::shared_ptr<PodSession>> session =
        co_await PodSession::open(connection, std::move(wish));
    if (!session) co_return session.error();
    const auto sending = std::make_shared<Sending>(connection.loop());
    sending->session = *session;
    tasks.spawn("what tar reports", listen_to_tar(sending));
    std::string top = first.str();
    Result<void> sent = co_await send_all(sending, source, std::move(top));
    // After a failure here, tar gets no more; after one there, its last words are on the way.
    const bool broke_here =
        !sent && sent.error().code == ErrorCode::BadRequest && !sending->outcome;
    if (broke_here) co_await sending->session->close();
    const bool ended = co_await await_tar(sending);
    if (!broke_here) co_await sending->session->close();
    if (broke_here) co_return sent;
    if (!ended) {
        co_return sent ? cp_error("tar in the pod did not end within 5 minutes of the last byte")
                       : sent.error();
    }
    Result<void> outcome = outcome_of_tar(*sending->outcome, sending->reported, to.job);
    co_return outcome ? sent : outcome;
}

}  // namespace gpuctl::cli
