#include "daemon/logs/channel.hpp"

#include <algorithm>

#include "aio/turn.hpp"
#include "text/time.hpp"

namespace gpuctl::logs {
namespace {

constexpr std::chrono::seconds kOpenDeadline{30};
constexpr std::chrono::seconds kBacklogDeadline{60};
// The deadline of one read; after it the channel checks whether it still has readers.
constexpr std::chrono::seconds kReadSlice{5};
// A bar may be redrawn a thousand times a second, and each change wakes every reader.
constexpr std::chrono::milliseconds kPartialPause{100};

}  // namespace

Channel::Channel(ChannelContext& context, ports::LogRequest log)
    : context_(context), log_(std::move(log)), splitter_(context.settings.line_bytes_max) {}

// Takes its own shared_ptr so that the channel lives as long as its upstream.
aio::Task<void> Channel::run(std::shared_ptr<Channel> self) {
    co_await read_backlog();
    auto pause = context_.settings.reopen_pause_min;
    while (!finished_ && !unwanted()) {
        const Position before = last_;
        Result<void> outcome = co_await follow_once();
        if (finished_ || unwanted()) break;
        if (outcome && !context_.still_runs(log_.uid)) {
            finish_line();
            finish(std::nullopt);
            break;
        }
        if (!outcome && outcome.error().code == ErrorCode::NotFound) {
            const bool runs = context_.still_runs(log_.uid);
            if (!runs) finish_line();  // the pod's last line; it cannot be read again
            finish(runs ? std::optional<Error>{outcome.error()} : std::nullopt);
            break;
        }
        context_.reopens.add();
        pause = last_ != before ? context_.settings.reopen_pause_min
                                : std::min(pause * 2, context_.settings.reopen_pause_max);
        const aio::Deadline again = aio::Deadline::in(pause);
        const bool slept = co_await aio::sleep_until(again);
        if (!slept) break;
    }
    if (!finished_) finish(make_error(ErrorCode::ShuttingDown, "the log is no longer being read"));
    self.reset();
}

// The existing log, read to its end before following, so that the first readers get "the last 100
// lines".
aio::Task<void> Channel::read_backlog() {
    ports::LogRequest request = log_;
    request.follow = false;
    request.tail_lines = static_cast<std::int64_t>(context_.settings.history_lines_per_pod);
    const aio::Deadline deadline = aio::Deadline::in(kBacklogDeadline);
    Result<std::unique_ptr<ports::LogStream>> stream =
        co_await context_.source.open(std::move(request), deadline);
    if (stream) {
        std::string bytes;
        std::vector<RawLine> lines;
        while (!deadline.passed() && !abandoned_) {
            Result<bool> more = co_await (*stream)->read_some(bytes, deadline);
            splitter_.feed(bytes, lines);
            bytes.clear();
            accept(lines);
            if (!more || !*more) break;
        }
        splitter_.forget_partial();  // following sends it again, whole
        lost_head_ = lost_head_ || ring_.size() >= context_.settings.history_lines_per_pod;
    }
    backlog_read_ = true;
    for (Subscription* reader : readers_) place(*reader);
    notify();
}

// One upstream from opening to its end. Success: it ended by itself.
aio::Task<Result<void>> Channel::follow_once() {
    ports::LogRequest request = log_;
    request.follow = true;
    if (last_.ordinal >= 0) {
        request.since_time = text::format_rfc3339(last_.time_ns / 1'000'000'000);
        catching_up_ = true;
        catch_up_ = Position{0, -1};
    }
    const aio::Deadline opening = aio::Deadline::in(kOpenDeadline);
    Result<std::unique_ptr<ports::LogStream>> stream =
        co_await context_.source.open(std::move(request), opening);
    if (!stream) co_return stream.error();
    splitter_.forget_partial();  // it is sent again, whole
    std::string bytes;
    std::vector<RawLine> lines;
    while (!unwanted()) {
        aio::Deadline slice = aio::Deadline::in(kReadSlice);
        if (partial_waits_) {
            slice = aio::Deadline::earlier(slice, aio::Deadline{next_partial_at_});
        }
        Result<bool> more = co_await (*stream)->read_some(bytes, slice);
        splitter_.feed(bytes, lines);
        bytes.clear();
        accept(lines);
        if (!more && more.error().code == ErrorCode::Timeout) continue;
        if (!more) co_return more.error();
        if (!*more) break;
    }
    co_return Result<void>{};
}

void Channel::accept(std::vector<RawLine>& lines) {
    aio::Turn::mark("logs");
    const bool has_lines = !lines.empty();
    for (RawLine& line : lines) store_line(std::move(line));
    lines.clear();
    const bool is_due = is_partial_due();
    if (has_lines || is_due) notify();
}

// Whether readers are woken now for a change of the unfinished line. If it is too early,
// follow_once() wakes them when it is time.
bool Channel::is_partial_due() {
    partial_waits_ = splitter_.has_partial() && shows_partial() &&
                     partial_notified_ != splitter_.partial_serial();
    const auto now = aio::Clock::now();
    if (!partial_waits_ || now < next_partial_at_) return false;
    partial_waits_ = false;
    partial_notified_ = splitter_.partial_serial();
    next_partial_at_ = now + kPartialPause;
    return true;
}

void Channel::finish_line() {
    std::vector<RawLine> rest;
    splitter_.finish(rest);
    accept(rest);
}

bool Channel::shows_partial() const {
    if (!catching_up_) return true;
    const std::optional<std::int64_t> stamp = parse_stamp_ns(splitter_.partial_time());
    return stamp && *stamp > last_.time_ns;
}

bool Channel::has_partial_for(const Subscription& subscription) const {
    return backlog_read_ && !finished_ && subscription.placed_ &&
           subscription.next_line_ == first_number_ + ring_.size() &&
           subscription.partial_seen_ != splitter_.partial_serial() && splitter_.has_partial() &&
           shows_partial();
}

// Assigns the line's position, drops repeats after a reopen, and stores the line in the ring.
// Clocks that step back do not lose lines: except while catching up, everything is new, and
// positions never decrease.
void Channel::store_line(RawLine line) {
    const std::optional<std::int64_t> stamp = parse_stamp_ns(line.time);
    // A kubelet writes the time at the start of a line: without one, this is the end of a line that
    // began before the requested second.
    if (catching_up_ && !stamp) return;
    if (catching_up_) {
        catch_up_ = *stamp == catch_up_.time_ns && catch_up_.ordinal >= 0
                        ? Position{*stamp, catch_up_.ordinal + 1}
                        : Position{*stamp, 0};
        if (catch_up_ < last_) return;
        catching_up_ = false;  // at the last known line, or after it when that is gone
        if (catch_up_ == last_) return;
    }
    const std::int64_t time = std::max(stamp.value_or(last_.time_ns), last_.time_ns);
    last_ = time == last_.time_ns && last_.ordinal >= 0 ? Position{time, last_.ordinal + 1}
                                                        : Position{time, 0};
    mark_cut(line);
    context_.lines.add();
    ring_bytes_ += line.text.size();
    ring_.push_back({last_, std::move(line.time), std::move(line.text)});
    while (ring_.size() > context_.settings.history_lines_per_pod ||
           (ring_bytes_ > context_.settings.history_bytes_per_pod && ring_.size() > 1)) {
        ring_bytes_ -= ring_.front().text.size();
        ring_.pop_front();
        ++first_number_;
        lost_head_ = true;
    }
}

void Channel::place(Subscription& subscription) {
    subscription.placed_ = true;
    const std::uint64_t end = first_number_ + ring_.size();
    if (!subscription.after_) {
        const auto tail = static_cast<std::uint64_t>(std::max<std::int64_t>(subscription.tail_, 0));
        subscription.next_line_ = end - std::min<std::uint64_t>(tail, ring_.size());
        return;
    }
    const Position after = *subscription.after_;
    const auto found = std::upper_bound(
        ring_.begin(), ring_.end(), after,
        [](const Position& position, const LogLine& line) { return position < line.position; });
    subscription.next_line_ = first_number_ + static_cast<std::uint64_t>(found - ring_.begin());
    if (found == ring_.begin() && lost_head_) {
        subscription.gap_ =
            "lines after the last one you saw are not stored any more; the log continues with the "
            "oldest stored line";
    }
}

LogBatch Channel::read_batch(Subscription& subscription, std::size_t lines_max, bool with_partial) {
    LogBatch batch;
    if (!backlog_read_ && !finished_) return batch;
    if (!subscription.placed_) place(subscription);
    batch.gap = std::exchange(subscription.gap_, {});
    const std::uint64_t end = first_number_ + ring_.size();
    const std::uint64_t kept =
        std::min<std::uint64_t>(ring_.size(), context_.settings.subscriber_lines_max);
    if (subscription.next_line_ < end - kept) {
        batch.dropped = end - kept - subscription.next_line_;
        context_.dropped.add(batch.dropped);
        subscription.next_line_ = end - kept;
    }
    const auto count = std::min<std::uint64_t>(end - subscription.next_line_, lines_max);
    const auto begin =
        ring_.begin() + static_cast<std::ptrdiff_t>(subscription.next_line_ - first_number_);
    batch.lines.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    subscription.next_line_ += count;
    if (with_partial && has_partial_for(subscription)) {
        subscription.partial_seen_ = splitter_.partial_serial();
        batch.partial = splitter_.partial();
    }
    if (finished_ && subscription.next_line_ == end) {
        batch.ended = true;
        batch.failed = failed_;
    }
    return batch;
}

// "The last 100 lines" are counted at the subscription, not at the first read_batch().
void Channel::add(Subscription& subscription) {
    readers_.push_back(&subscription);
    if (backlog_read_) place(subscription);
}

void Channel::remove(Subscription& subscription) {
    std::erase(readers_, &subscription);
    if (readers_.empty()) unwanted_since_ = aio::Clock::now();
}

void Channel::abandon() { abandoned_ = true; }

bool Channel::unwanted() const {
    if (abandoned_) return true;
    return readers_.empty() && aio::Clock::now() - unwanted_since_ >= context_.settings.linger;
}

void Channel::notify() {
    for (Subscription* reader : readers_) reader->signal_->notify_all();
}

void Channel::finish(std::optional<Error> failed) {
    finished_ = true;
    failed_ = std::move(failed);
    notify();
}

}  // namespace gpuctl::logs
