// Files from a pod, as an archive that the image's own tar writes; and what both directions share.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "aio/task_group.hpp"
#include "cli/archive/unpack.hpp"
#include "cli/commands/commands.hpp"
#include "cli/sessions/cp_parts.hpp"

namespace gpuctl::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNoSuchProgram = 127;  // of a shell
constexpr int kNotStarted = 126;

constexpr std::chrono::milliseconds kLookForInterruption{100};
constexpr int kOfSignals = 128;  // exit codes of shells

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

bool is_missing_program(const Error& error) {
    return error.message.find("executable file not found") != std::string::npos ||
           error.message.find("no such file or directory") != std::string::npos;
}

Error no_tar(const std::string& job) {
    return cp_error("the image of " + job +
                    " has no tar, or no sh to receive with, which cp needs in the container; add "
                    "it to the image, or write the file to a volume that another pod can read");
}

}  // namespace

Error cp_error(const std::string& what) {
    return make_error(ErrorCode::BadRequest, "copy: " + what);
}

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

namespace {

// --- from a pod ---

struct Destination {
    std::string folder;
    std::string name;
};

Result<Destination> destination_here(const std::string& path, const std::string& name) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(path, ignored);
    if (is_folder && name == ".") {
        return cp_error("give the copy a name: " + path + "/NAME");
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
    if (remote.name == "..") {
        co_return cp_error("the path " + from.path +
                           " ends in \"..\"; write the name of the file or folder");
    }
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

}  // namespace

CpEnd cp_end(const std::string& word) {
    const std::size_t colon = word.find(':');
    const bool is_here = colon == std::string::npos || colon == 0 || word[0] == '.' ||
                         word[0] == '/' || word[0] == '~';
    if (is_here) return {"", word};
    return {word.substr(0, colon), word.substr(colon + 1)};
}

namespace {

struct Copying {
    Connection& connection;
    aio::TaskGroup tasks;
    CpOptions options;
    std::optional<Result<void>> outcome;
};

aio::Task<void> copy(std::shared_ptr<Copying> copying, CpEnd from, CpEnd to) {
    CpOptions options = copying->options;
    if (from.job.empty()) {
        copying->outcome = co_await copy_to(copying->connection, copying->tasks, std::move(options),
                                            std::move(to));
    } else {
        copying->outcome =
            co_await copy_from(copying->connection, std::move(options), std::move(from));
    }
}

}  // namespace

aio::Task<int> run_cp(Connection& connection, CpOptions options) {
    CpEnd from = cp_end(options.source);
    CpEnd to = cp_end(options.destination);
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
    const std::shared_ptr<Copying> copying{
        new Copying{connection, aio::TaskGroup{connection.loop()}, std::move(options), {}}};
    const Interruption interruption;
    copying->tasks.spawn("copy", copy(copying, std::move(from), std::move(to)));
    bool ended = false;
    while (!ended && Interruption::caught() == 0) {
        const aio::Deadline slice = aio::Deadline::in(kLookForInterruption);
        ended = co_await copying->tasks.join(slice);
    }
    if (ended) {
        co_return *copying->outcome ? 0 : session_exit_code(copying->outcome->error());
    }
    copying->tasks.cancel();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    co_await copying->tasks.join(deadline);
    std::cerr << "\ngpuctl: interrupted; what is not complete is removed\n";
    co_return kOfSignals + Interruption::caught();
}

}  // namespace gpuctl::cli
