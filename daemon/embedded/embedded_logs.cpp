#include "daemon/embedded/embedded_logs.hpp"

#include <algorithm>
#include <optional>

#include "daemon/embedded/embedded_cluster.hpp"

namespace gpuctl::embedded {

namespace {

constexpr std::size_t kBytesPerReadMax = 64u << 10;
constexpr std::string_view kContainer = "main";  // the container of a submitted job's pods

Error unreachable(const ObjectKey& pod, const std::string& node) {
    return make_error(ErrorCode::Unreachable, "read the log of pod " + to_string(pod) + ": node " +
                                                  node + " does not answer");
}

class EmbeddedLogStream final : public ports::LogStream {
public:
    // The end of a log that is not followed: before this line, after this many pieces of it.
    struct End {
        std::int64_t line = 0;
        std::int64_t pieces = 0;
    };
    EmbeddedLogStream(EmbeddedCluster& cluster, ports::LogRequest request, std::string uid,
                      std::int32_t restarts, std::int64_t first_line, End end)
        : cluster_(cluster),
          request_(std::move(request)),
          uid_(std::move(uid)),
          restarts_(restarts),
          next_line_(first_line),
          end_(end) {}

    aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) override {
        for (;;) {
            const Instant now = cluster_.simulated_until();
            const sim::Cluster& cluster = cluster_.virtual_cluster();
            const PodFacts* pod = cluster.find_pod(request_.pod);
            // The kubelet ends a followed log when the container does.
            if (pod == nullptr || pod->uid != uid_ || pod->restarts != restarts_) co_return false;
            if (!cluster.node_answers(pod->node)) co_return unreachable(request_.pod, pod->node);
            const std::optional<sim::LogScript> log = cluster.log_of(request_.pod);
            if (!log) co_return false;
            std::int64_t available = log->lines_until(now);
            std::int64_t pieces = log->pieces_until(now);
            if (!request_.follow) {
                available = std::min(available, end_.line);
                pieces = end_.pieces;
            }
            if (next_line_ < available || next_piece_ < pieces) {
                append(*log, available, pieces, out);
                co_return true;
            }
            if (!request_.follow || log->ended()) co_return false;
            if (deadline.passed()) {
                co_return make_error(ErrorCode::Timeout, "no new line in the log of pod " +
                                                             to_string(request_.pod) + " in time");
            }
            const Instant next = log->pieces_of(next_line_) > 0 ? log->time_of_piece(next_piece_)
                                                                : log->time_of(next_line_);
            const std::chrono::milliseconds left{std::max<std::int64_t>(1, (next - now).ms())};
            const aio::Deadline next_line = aio::Deadline::in(left);
            const aio::Deadline until = aio::Deadline::earlier(deadline, next_line);
            co_await cluster_.changed().wait(until);
        }
    }

private:
    // The rest of a partly read line, whole lines, and the existing part of the line after them.
    void append(const sim::LogScript& log, std::int64_t lines, std::int64_t pieces,
                std::string& out) {
        const std::size_t before = out.size();
        while (next_line_ < lines && out.size() - before < kBytesPerReadMax) {
            if (next_piece_ == 0) {
                out += log.line(next_line_);
            } else {
                const std::int64_t all = log.pieces_of(next_line_);
                for (; next_piece_ < all; ++next_piece_) out += log.piece(next_piece_);
                out += '\n';
                next_piece_ = 0;
            }
            ++next_line_;
        }
        if (next_line_ < lines) return;
        while (next_piece_ < pieces) out += log.piece(next_piece_++);
    }

    EmbeddedCluster& cluster_;
    ports::LogRequest request_;
    std::string uid_;
    std::int32_t restarts_;
    std::int64_t next_line_;
    std::int64_t next_piece_ = 0;  // of that line
    End end_;
};

// The first line of that second or later; timestamps sort as text.
std::int64_t first_line_since(const sim::LogScript& log, std::int64_t lines,
                              const std::string& since) {
    const std::string second = since.substr(0, 19);  // 2026-01-02T03:04:05
    std::int64_t low = 0;
    std::int64_t high = lines;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        const bool is_before = log.line(middle).compare(0, 19, second) < 0;
        (is_before ? low : high) = is_before ? middle + 1 : middle;
    }
    return low;
}

}  // namespace

aio::Task<Result<std::unique_ptr<ports::LogStream>>> EmbeddedLogs::open(ports::LogRequest request,
                                                                        aio::Deadline) {
    const Instant now = cluster_.simulated_until();
    const sim::Cluster& cluster = cluster_.virtual_cluster();
    const std::string subject = "read the log of pod " + to_string(request.pod) + ": ";
    const PodFacts* pod = cluster.find_pod(request.pod);
    if (pod == nullptr || (!request.uid.empty() && pod->uid != request.uid)) {
        co_return make_error(ErrorCode::NotFound, subject + "the pod does not exist");
    }
    if (!request.container.empty() && request.container != kContainer) {
        co_return make_error(ErrorCode::NotFound, subject + "it has no container " +
                                                      request.container + ", only " +
                                                      std::string{kContainer});
    }
    if (!pod->node.empty() && !cluster.node_answers(pod->node)) {
        co_return unreachable(request.pod, pod->node);
    }
    if (request.previous) {
        const char* const why =
            pod->restarts == 0
                ? "its container has not started again, so there is no previous log"
                : "the embedded cluster stores only the log of the container that runs now";
        co_return make_error(ErrorCode::NotFound, subject + why);
    }
    const std::optional<sim::LogScript> log = cluster.log_of(request.pod);
    if (!log) {
        co_return make_error(ErrorCode::BadRequest,
                             subject + "its container has not started: " + pod->status);
    }
    const std::int64_t lines = log->lines_until(now);
    std::int64_t first = 0;
    if (!request.since_time.empty()) first = first_line_since(*log, lines, request.since_time);
    if (request.tail_lines) {
        first = std::max(first, lines - std::max<std::int64_t>(*request.tail_lines, 0));
    }
    std::unique_ptr<ports::LogStream> stream = std::make_unique<EmbeddedLogStream>(
        cluster_, std::move(request), pod->uid, pod->restarts, first,
        EmbeddedLogStream::End{lines, log->pieces_until(now)});
    co_return std::move(stream);
}

}  // namespace gpuctl::embedded
