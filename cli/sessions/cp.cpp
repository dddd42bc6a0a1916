// Files to and from a pod, as an archive that the image's own tar writes or reads.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "aio/task_group.hpp"
#include "cli/archive/unpack.hpp"
#include "cli/commands/commands.hpp"
#include "cli/sessions/commands.hpp"
#include "cli/sessions/pod_session.hpp"

namespace gpuctl::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReportedBytesMax = 4u << 10;
constexpr int kNoSuchProgram = 127;  // of a shell
constexpr int kNotStarted = 126;

struct RemotePath {
    std::string folder;
    std::string name;
};

// "/a/b/" is b in /a, "b" is b in the working directory.
RemotePath split_remote(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const std::size_t slash = path.rfind('/');
    if (path == "/") return {"/", "."};
    if (slash == std::string::npos) return {".", path};
    return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

Error cp_error(const std::string& what) {
    return make_error(ErrorCode::BadRequest, "copy: " + what);
}

bool is_missing_program(const Error& error) {
    return error.message.find("executable file not found") != std::string::npos ||
           error.message.find("no such file or directory") != std::string::npos;
}

Error no_tar(const std::string& job) {
    return cp_error("the image of " + job +
                    " has no tar, which cp needs in the container; add it to the image, or write "
                    "the file to a volume that another pod can read");
}

// What tar said, in one sentence; success for exit code 0.
Result<void> outcome_of_tar(const Result<std::int32_t>& code, const std::string& reported,
                            const std::string& job) {
    if (!code) return is_missing_program(code.error()) ? no_tar(job) : code.error();
    if (*code == 0) return {};
    const bool is_missing = reported.find("tar: not found") != std::string::npos ||
                            reported.find("tar: command not found") != std::string::npos;
    if (*code == kNoSuchProgram || *code == kNotStarted || is_missing) return no_tar(job);
    return cp_error("tar in the pod ended with exit code " + std::to_string(*code) +
                    (reported.empty() ? "" : ": " + reported));
}

SessionWish tar_wish(const CpOptions& options, const std::string& job,
                     std::vector<std::string> command) {
    SessionWish wish;
    wish.route = "exec";
    wish.job = job;
    wish.container = options.container;
    wish.command = std::move(command);
    return wish;
}

// --- from a pod ---

struct Destination {
    std::string folder;
    std::string name;
};

Result<Destination> destination_here(const std::string& path, const std::string& name) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(path, ignored);
    if (is_folder && name == ".") {
        return cp_error("give the copy of / a name: " + path + "/NAME");
    }
    if (is_folder) return Destination{path, name};
    if (path.ends_with('/')) return cp_error("the folder " + path + " does not exist");
    const fs::path whole{path};
    const std::string folder = whole.has_parent_path() ? whole.parent_path().string() : ".";
    if (!fs::is_directory(folder, ignored)) {
        return cp_error("the folder " + folder + " does not exist; make it first");
    }
    return Destination{folder, whole.filename().string()};
}

aio::Task<Result<void>> receive(std::shared_ptr<PodSession> session, TarReader& reader,
                                std::string job) {
    std::string reported;
    for (;;) {
        Result<SessionPiece> piece = co_await session->next();
        if (!piece) co_return piece.error();
        if (piece->channel == wire::SessionChannel::outcome) {
            const Result<std::int32_t> code = wire::read_session_outcome(piece->bytes);
            if (Result<void> fine = outcome_of_tar(code, reported, job); !fine) co_return fine;
            co_return reader.finish();
        }
        if (piece->channel == wire::SessionChannel::error_output) {
            if (reported.size() < kReportedBytesMax) reported += piece->bytes;
            continue;
        }
        if (Result<void> written = reader.feed(piece->bytes); !written) co_return written;
    }
}

aio::Task<Result<void>> copy_from(Connection& connection, CpOptions options, CpEnd from) {
    const RemotePath remote = split_remote(from.path);
    Result<Destination> place = destination_here(options.destination, remote.name);
    if (!place) co_return place.error();
    Unpacker unpacker{place->folder, remote.name, place->name};
    if (Result<void> opened = unpacker.open(); !opened) co_return opened;
    SessionWish wish =
        tar_wish(options, from.job, {"tar", "cf", "-", "-C", remote.folder, "./" + remote.name});
    Result<std::shared_ptr<PodSession>> session =
        co_await PodSession::open(connection, std::move(wish));
    if (!session) co_return session.error();
    TarReader reader{unpacker.sink()};
    Result<void> received = co_await receive(*session, reader, from.job);
    co_await (*session)->close();
    if (!received) co_return received;
    Result<void> finished = unpacker.finish();
    for (const std::string& name : unpacker.left_out()) {
        std::cerr << "gpuctl: left out " << printable(name)
                  << ": only files, folders and links are copied\n";
    }
    co_return finished;
}

// --- to a pod ---

// The session with tar, and what it said meanwhile.
struct Sending {
    std::shared_ptr<PodSession> session;
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
    std::string end = tar_end();
    sent = co_await send_piece(sending, std::move(end));
    if (!sent) co_return sent;
    std::string nothing;
    sent = co_await sending->session->send(wire::SessionChannel::end_of_input, std::move(nothing));
    co_return sent;
}

aio::Task<Result<void>> send_archive(Connection& connection, SessionWish wish, fs::path source,
                                     std::string name) {
    const std::string job = wish.job;
    wish.has_input = true;
    Result<std::shared_ptr<PodSession>> session =
        co_await PodSession::open(connection, std::move(wish));
    if (!session) co_return session.error();
    const auto sending = std::make_shared<Sending>();
    sending->session = *session;
    aio::TaskGroup tasks{connection.loop()};
    tasks.spawn("what tar reports", listen_to_tar(sending));
    Result<void> sent = co_await send_all(sending, std::move(source), std::move(name));
    // After a failure here, tar gets no more; after one there, its last words are on the way.
    const bool broke_here =
        !sent && sent.error().code == ErrorCode::BadRequest && !sending->outcome;
    if (broke_here) co_await sending->session->close();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::minutes{5});
    const bool ended = co_await tasks.join(deadline);
    if (!ended) {
        tasks.cancel();
        const aio::Deadline soon = aio::Deadline::in(std::chrono::seconds{2});
        co_await tasks.join(soon);
        co_return sent ? cp_error("tar in the pod did not end within 5 minutes of the last byte")
                       : sent.error();
    }
    co_await sending->session->close();
    if (broke_here) co_return sent;
    Result<void> outcome = outcome_of_tar(*sending->outcome, sending->reported, job);
    co_return outcome ? sent : outcome;
}

// A file has its name only when it is complete: tar writes another name, which mv then changes.
aio::Task<Result<void>> copy_to(Connection& connection, CpOptions options, CpEnd to) {
    std::error_code failure;
    const fs::path source{options.source};
    if (!fs::exists(source, failure)) {
        co_return cp_error(options.source +
                           " does not exist here; a file in a pod is written "
                           "NAME:PATH");
    }
    SessionWish asking = tar_wish(options, to.job, {"test", "-d", to.path});
    Result<ShortRun> is_folder = co_await run_shortly(connection, std::move(asking));
    // An image may lack `test`; if the node refuses more than that, it refuses tar as well.
    const bool is_known = is_folder || is_folder.error().code == ErrorCode::BadRequest;
    if (!is_known) co_return is_folder.error();
    const std::string here = fs::absolute(source).lexically_normal().filename().string();
    const bool into = (is_folder && is_folder->exit_code == 0) || to.path.ends_with('/');
    const RemotePath split = split_remote(to.path);
    const std::string folder = into ? to.path : split.folder;
    const std::string name =
        into ? (here.empty() ? source.parent_path().filename().string() : here) : split.name;
    const bool is_tree = fs::is_directory(source, failure);
    const std::string first =
        is_tree ? name : ".gpuctl-cp-" + std::to_string(::getpid()) + "-" + name;
    SessionWish wish = tar_wish(options, to.job, {"tar", "xmf", "-", "-C", folder});
    Result<void> sent = co_await send_archive(connection, std::move(wish), source, first);
    if (is_tree) {
        if (!sent) co_return while_doing("the folder in the pod is incomplete", sent.error());
        co_return sent;
    }
    const std::string in_pod = folder + "/" + first;
    const std::string final_name = folder + "/" + name;
    std::vector<std::string> last = {"mv", "-f", in_pod, final_name};
    if (!sent) last = {"rm", "-f", in_pod};
    SessionWish settling = tar_wish(options, to.job, std::move(last));
    Result<ShortRun> settled = co_await run_shortly(connection, std::move(settling));
    if (!sent) co_return sent;
    if (!settled) co_return while_doing("give the copy its name", settled.error());
    if (settled->exit_code == 0) co_return sent;
    co_return cp_error("the file is in the pod as " + in_pod + ", but mv to " + final_name +
                       " failed: " + settled->errors);
}

}  // namespace

CpEnd cp_end(const std::string& word) {
    const std::size_t colon = word.find(':');
    const bool is_here = colon == std::string::npos || colon == 0 || word[0] == '.' ||
                         word[0] == '/' || word[0] == '~';
    if (is_here) return {"", word};
    return {word.substr(0, colon), word.substr(colon + 1)};
}

aio::Task<int> run_cp(Connection& connection, CpOptions options) {
    CpEnd from = cp_end(options.source);
    CpEnd to = cp_end(options.destination);
    Result<void> copied{};
    if (from.job.empty() == to.job.empty()) {
        report(cp_error("one of SRC and DST must be in a pod, written NAME:PATH, and the other "
                        "here; a local name with a colon is written ./NAME"),
               Format::table);
        co_return 2;
    }
    std::string& job = from.job.empty() ? to.job : from.job;
    const std::string& path = from.job.empty() ? to.path : from.path;
    Result<JobName> parsed = parse_job_name(job, connection.options().namespace_name);
    if (!parsed || path.empty()) {
        report(!parsed ? parsed.error() : cp_error("the path after " + job + ": is empty"),
               Format::table);
        co_return 2;
    }
    connection.use_namespace(parsed->namespace_name);
    job = parsed->name;
    if (from.job.empty()) {
        copied = co_await copy_to(connection, std::move(options), std::move(to));
    } else {
        copied = co_await copy_from(connection, std::move(options), std::move(from));
    }
    co_return copied ? 0 : session_exit_code(copied.error());
}

}  // namespace gpuctl::cli
