#include "daemon/logs/log_relay.hpp"

#include "daemon/logs/channel.hpp"

namespace gpuctl::logs {

using metrics::Metric;

struct LogRelay::Parts {
    Parts(aio::Loop& l, ports::LogSource& source, LogRelaySettings s, StillRuns still_runs,
          metrics::Recorder& recorder)
        : loop(l),
          settings(s),
          context{source,
                  settings,
                  std::move(still_runs),
                  recorder.counter(Metric::log_lines),
                  recorder.counter(Metric::log_dropped),
                  recorder.counter(Metric::log_reopens)},
          refused(recorder.counter(Metric::log_refused)),
          tasks(l) {}

    aio::Loop& loop;
    LogRelaySettings settings;
    ChannelContext context;
    metrics::Counter& refused;
    aio::TaskGroup tasks;
    std::map<std::string, std::shared_ptr<Channel>> channels;  // by pod uid and container
    bool stopped = false;

    [[nodiscard]] std::size_t subscribers() const {
        std::size_t count = 0;
        for (const auto& [key, channel] : channels) count += channel->readers();
        return count;
    }

    void forget_finished() {
        std::erase_if(channels, [](const auto& entry) {
            return entry.second->finished() && entry.second->readers() == 0;
        });
    }

    std::shared_ptr<Channel> channel_for(const ports::LogRequest& log) {
        std::shared_ptr<Channel>& channel = channels[log.uid + "/" + log.container];
        // A finished channel may be out of date (its pod was considered gone, or reading failed).
        if (channel && !channel->finished()) return channel;
        channel = std::make_shared<Channel>(context, log);
        tasks.spawn("log of " + to_string(log.pod), channel->run(channel));
        return channel;
    }
};

Subscription::Subscription(std::shared_ptr<Channel> channel, std::shared_ptr<aio::Signal> signal)
    : channel_(std::move(channel)), signal_(std::move(signal)) {}

Subscription::~Subscription() { channel_->remove(*this); }

LogBatch Subscription::read_batch(std::size_t lines_max, Partial partial) {
    return channel_->read_batch(*this, lines_max, partial == Partial::take);
}
bool Subscription::has_partial() const { return channel_->has_partial_for(*this); }

const std::string& Subscription::pod_name() const { return channel_->log().pod.name; }
const std::string& Subscription::pod_uid() const { return channel_->log().uid; }

LogRelay::LogRelay(aio::Loop& loop, ports::LogSource& source, LogRelaySettings settings,
                   StillRuns still_runs, metrics::Recorder& recorder)
    : parts_(std::make_shared<Parts>(loop, source, settings, std::move(still_runs), recorder)) {}

LogRelay::~LogRelay() = default;

bool LogRelay::has_room() const {
    return !parts_->stopped && parts_->subscribers() < parts_->settings.subscribers_max;
}

Result<std::unique_ptr<Subscription>> LogRelay::subscribe(SubscribeRequest request,
                                                          std::shared_ptr<aio::Signal> signal) {
    parts_->forget_finished();
    if (parts_->stopped) return make_error(ErrorCode::ShuttingDown, "gpuctld is stopping");
    if (!has_room()) {
        parts_->refused.add();
        return make_error(ErrorCode::TooManyRequests,
                          "follow " + to_string(request.log.pod) + ": already " +
                              std::to_string(parts_->settings.subscribers_max) +
                              " readers of logs, retry later");
    }
    std::unique_ptr<Subscription> subscription{
        new Subscription{parts_->channel_for(request.log), std::move(signal)}};
    subscription->tail_ = request.tail;
    subscription->after_ = request.after;
    if (request.other_incarnation) {
        subscription->tail_ = static_cast<std::int64_t>(parts_->settings.history_lines_per_pod);
        subscription->gap_ = "the pod " + to_string(request.log.pod) +
                             " was replaced by a new pod of this name; its log starts here";
    }
    subscription->channel_->add(*subscription);
    return subscription;
}

aio::Task<Result<std::vector<LogLine>>> LogRelay::read_tail(ports::LogRequest request,
                                                            aio::Deadline deadline) {
    request.follow = false;
    const std::int64_t tail = request.tail_lines.value_or(100);
    Result<std::unique_ptr<ports::LogStream>> stream =
        co_await parts_->context.source.open(std::move(request), deadline);
    if (!stream) co_return stream.error();
    LineSplitter splitter{parts_->settings.line_bytes_max};
    std::string bytes;
    std::vector<RawLine> raw;
    std::vector<LogLine> lines;
    std::size_t size = 0;
    bool more = true;
    while (more) {
        Result<bool> read = co_await (*stream)->read_some(bytes, deadline);
        if (!read) co_return read.error();
        more = *read;
        splitter.feed(bytes, raw);
        bytes.clear();
        if (!more) splitter.finish(raw);
        for (RawLine& line : raw) {
            mark_cut(line);
            size += line.text.size();
            lines.push_back({{}, std::move(line.time), std::move(line.text)});
        }
        raw.clear();
        const bool too_many = static_cast<std::int64_t>(lines.size()) > tail + 1'000;
        if (too_many || size > parts_->settings.history_bytes_per_pod) {
            const auto excess = std::max<std::ptrdiff_t>(
                std::ssize(lines) - tail, size > parts_->settings.history_bytes_per_pod ? 1 : 0);
            for (auto line = lines.begin(); line != lines.begin() + excess; ++line) {
                size -= line->text.size();
            }
            lines.erase(lines.begin(), lines.begin() + excess);
        }
    }
    if (std::ssize(lines) > tail) lines.erase(lines.begin(), lines.end() - tail);
    co_return lines;
}

std::size_t LogRelay::upstreams() const { return parts_->tasks.size(); }
std::size_t LogRelay::subscribers() const { return parts_->subscribers(); }

aio::Task<bool> LogRelay::stop(aio::Deadline deadline) {
    parts_->stopped = true;
    for (const auto& [key, channel] : parts_->channels) channel->abandon();
    parts_->tasks.cancel();
    const bool ended = co_await parts_->tasks.join(deadline);
    co_return ended;
}

}  // namespace gpuctl::logs
