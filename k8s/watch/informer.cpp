#include "k8s/watch/informer.hpp"

#include <algorithm>
#include <optional>

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "k8s/watch/informer_ending.hpp"
#include "k8s/watch/informer_store.hpp"
#include "k8s/watch/watch_decoder.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

using Time = aio::Clock::time_point;

constexpr std::string_view kTurnWork = "watch";

// How long a relist request may go unnoticed while a watch is silent.
constexpr std::chrono::milliseconds kAttention{1'000};
// After this many suspicious failures in a row, list again.
constexpr int kSuspicionsBeforeRelist = 5;

bool ends_initial_events(std::string_view bookmark) {
    const auto metadata = json_member(bookmark, "metadata");
    const auto annotations = metadata ? json_member(*metadata, "annotations") : std::nullopt;
    return annotations && json_string_member(*annotations, "k8s.io/initial-events-end") == "true";
}

}  // namespace

struct Informer::Parts {
    aio::Loop& loop;
    Client& client;
    InformerSettings settings;
    Figures figures;
    InformerStore store;
    InformerHandler& handler;
    Backoff backoff;
    Rng rng;
    aio::Signal now;      // ends a pause
    std::string version;  // resume from here; empty: nothing listed yet
    bool watch_list;
    bool list_due = true;  // until a list is complete
    bool relist_asked = false;
    Time listed_at{};
    int suspicions_in_a_row = 0;

    Parts(aio::Loop& on, Client& with, InformerSettings how, InformerHandler& to)
        : loop(on),
          client(with),
          settings(std::move(how)),
          store(to, figures),
          handler(to),
          backoff(settings.backoff, Backoff::Jitter::on_top, settings.seed),
          rng(settings.seed + 1),
          now(on),
          watch_list(settings.watch_list) {}

    [[nodiscard]] std::string query() const;
    [[nodiscard]] std::string watch_path(bool initial);
    [[nodiscard]] std::string page_path(const std::string& continue_token) const;
    [[nodiscard]] std::chrono::milliseconds spread();
    std::optional<End> handle_frame(const WatchFrame& frame, bool& initial);
    std::optional<End> handle_bookmark(std::string_view object, bool& initial);
    void synced(std::string_view at_version);
    void record_end(const End& end);
    void handle_absence();
    void decide(End& end);
    std::chrono::milliseconds pause_after(const End& end);

    // Coroutines hold the Parts, so that nothing dangles when the Informer is destroyed first.
    static aio::Task<End> read_watch(std::shared_ptr<Parts> parts, bool initial);
    static aio::Task<End> read_page(std::shared_ptr<Parts> parts, std::string& token,
                                    std::string& version);
    static aio::Task<End> list_pages(std::shared_ptr<Parts> parts);
    static aio::Task<bool> rest(std::shared_ptr<Parts> parts, std::chrono::milliseconds pause);
};

std::string Informer::Parts::query() const {
    std::string text;
    if (!settings.field_selector.empty()) {
        text += "&fieldSelector=" + net::percent_encode(settings.field_selector);
    }
    if (!settings.label_selector.empty()) {
        text += "&labelSelector=" + net::percent_encode(settings.label_selector);
    }
    return text;
}

std::string Informer::Parts::watch_path(bool initial) {
    const std::int64_t least = settings.watch_seconds_min.count();
    const std::int64_t seconds =
        std::max<std::int64_t>(1, rng.between(least, 2 * least - 1) / 1000);
    std::string path = settings.path + "?watch=1&allowWatchBookmarks=true";
    if (initial) path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    return path + "&resourceVersion=" + (initial ? std::string{} : net::percent_encode(version)) +
           "&timeoutSeconds=" + std::to_string(seconds) + query();
}

// resourceVersion stays empty: a consistent read, which never goes back in time.
std::string Informer::Parts::page_path(const std::string& continue_token) const {
    std::string path = settings.path + "?limit=" + std::to_string(settings.page_limit);
    path += continue_token.empty() ? "&resourceVersion="
                                   : "&continue=" + net::percent_encode(continue_token);
    return path + query();
}

std::chrono::milliseconds Informer::Parts::spread() {
    return std::chrono::milliseconds{rng.between(0, settings.start_delay_max.count())};
}

void Informer::Parts::synced(std::string_view at_version) {
    version = at_version;
    figures.resource_version = version;
    figures.objects = store.size();
    figures.synced = true;
    figures.healthy = true;
    figures.last_error.clear();
    ++figures.lists;
    list_due = false;
    listed_at = aio::Clock::now();
    handler.on_synced();
}

// Handles one frame; returns an End when it ends the watch. `initial`: the synthetic ADDED events
// of a WatchList are still coming; their versions are unordered and cannot be resumed from.
std::optional<End> Informer::Parts::handle_frame(const WatchFrame& frame, bool& initial) {
    if (frame.type == WatchType::error) {
        const ApiStatus status = parse_status(500, frame.object, "");
        End end = end_of(to_error(status, false, "watch " + settings.path));
        end.suspicious = end.how == Ending::interrupted && status.code != 429;
        return end;
    }
    if (frame.type == WatchType::bookmark) return handle_bookmark(frame.object, initial);
    const auto identity = identity_of(frame.object);
    if (!identity || identity->name.empty() || identity->resource_version.empty()) {
        return End{
            Ending::damaged, "watch " + settings.path + ": an event names no object", {}, false};
    }
    ++figures.events;
    const bool room = frame.type == WatchType::deleted ? store.saw_delete(*identity, frame.object)
                                                       : store.saw(*identity, frame.object);
    if (!room) {
        ++figures.handler_full;
        return End{Ending::full, "watch " + settings.path + ": no room for events", {}, false};
    }
    if (!initial) {
        version = identity->resource_version;
        figures.resource_version = version;
    }
    figures.objects = store.size();
    return std::nullopt;
}

std::optional<End> Informer::Parts::handle_bookmark(std::string_view object, bool& initial) {
    const auto identity = identity_of(object);
    if (!identity || identity->resource_version.empty()) {
        return End{
            Ending::damaged, "watch " + settings.path + ": a bookmark without version", {}, false};
    }
    if (!initial) {
        version = identity->resource_version;
        figures.resource_version = version;
        return std::nullopt;
    }
    if (!ends_initial_events(object)) return std::nullopt;
    initial = false;
    if (!store.end_list()) {
        ++figures.handler_full;
        return End{Ending::full, "list " + settings.path + ": no room for events", {}, false};
    }
    synced(identity->resource_version);
    return std::nullopt;
}

void Informer::Parts::record_end(const End& end) {
    if (end.why.empty()) return;
    figures.last_error = end.why;
    figures.healthy = false;
    if (end.how != Ending::unsupported) ++figures.watch_errors;
    if (end.how == Ending::expired) ++figures.relists_expired;
}

// The wait before the next request; every wait is jittered.
std::chrono::milliseconds Informer::Parts::pause_after(const End& end) {
    std::chrono::milliseconds pause{0};
    switch (end.how) {
        case Ending::closed:
        case Ending::silent:
        case Ending::listed:
        case Ending::cancelled:
        case Ending::unsupported:
            return pause;
        case Ending::relist:
            return spread();
        case Ending::absent:
            if (settings.optional) return settings.optional_retry + spread();
            pause = backoff.next(aio::Clock::now());
            break;
        case Ending::too_new:
            pause = std::chrono::seconds{1} + spread();
            break;
        case Ending::expired:
            // Normal after a quiet time; many of them right after a list are not.
            if (aio::Clock::now() - listed_at > settings.backoff.cap) break;
            pause = backoff.next(aio::Clock::now());
            break;
        default:
            pause = backoff.next(aio::Clock::now());
    }
    if (end.retry_after) pause = std::max<std::chrono::milliseconds>(pause, *end.retry_after);
    if (needs_list(end.how)) pause += spread();
    return pause;
}

aio::Task<End> Informer::Parts::read_watch(std::shared_ptr<Parts> parts, bool initial) {
    const std::string what = "watch " + parts->settings.path;
    if (initial) parts->store.begin_list();
    const Time opened_at = aio::Clock::now();
    ApiResult<std::unique_ptr<Client::Stream>> opened = co_await parts->client.open_stream(
        parts->watch_path(initial), aio::Deadline::in(parts->settings.page_timeout));
    if (!opened) {
        const ErrorCode code = opened.error().code;
        if (initial && (code == ErrorCode::ValidationFailed || code == ErrorCode::BadRequest)) {
            co_return End{Ending::unsupported, opened.error().message, {}, false};
        }
        co_return end_of(opened.error());
    }
    parts->figures.healthy = parts->figures.healthy || !initial;
    const std::unique_ptr<Client::Stream> stream = std::move(*opened);
    WatchDecoder decoder;
    bool any_frame = false;
    Time heard_at = aio::Clock::now();
    for (;;) {
        if (parts->relist_asked && !initial) co_return End{Ending::relist, {}, {}, false};
        const Time now = aio::Clock::now();
        const Time patience = heard_at + parts->settings.silence_max;
        if (now >= patience) {
            // A server without support for sendInitialEvents never ends them.
            if (initial)
                co_return End{
                    Ending::unsupported, what + ": the initial list did not end", {}, false};
            ++parts->figures.silences;
            co_return End{Ending::silent, {}, {}, false};
        }
        const aio::Deadline until{std::min(patience, now + kAttention)};
        Result<bool> more = co_await stream->read_some(decoder.buffer(), until);
        if (!more) {
            if (more.error().code == ErrorCode::Timeout) continue;
            co_return end_of(more.error());
        }
        heard_at = aio::Clock::now();
        aio::Turn::mark(kTurnWork);
        for (;;) {
            auto frame = decoder.next();
            if (!frame) co_return End{Ending::damaged, frame.error().message, {}, false};
            if (!frame->has_value()) break;
            any_frame = true;
            if (auto end = parts->handle_frame(**frame, initial)) co_return std::move(*end);
            parts->suspicions_in_a_row = 0;
            // A stream that delivers changes works; the synthetic events of a list prove less:
            // their version may have expired when they end.
            if (!initial) parts->backoff.reset();
        }
        if (*more) continue;
        if (decoder.bytes_pending() > 0) {
            co_return End{Ending::interrupted, what + ": cut in the middle of an event", {}, false};
        }
        if (initial || (!any_frame && heard_at - opened_at < parts->settings.short_watch)) {
            co_return End{Ending::interrupted, what + ": closed at once by the server", {}, true};
        }
        co_return End{Ending::closed, {}, {}, false};
    }
}

// Reads one page; its continue token goes to `token`.
aio::Task<End> Informer::Parts::read_page(std::shared_ptr<Parts> parts, std::string& token,
                                          std::string& version) {
    const std::string what = "list " + parts->settings.path;
    const std::string path = parts->page_path(token);
    ApiResult<std::unique_ptr<Client::Stream>> opened =
        co_await parts->client.open_stream(path, aio::Deadline::in(parts->settings.page_timeout));
    if (!opened) co_return end_of(opened.error());
    const std::unique_ptr<Client::Stream> stream = std::move(*opened);
    ListDecoder decoder;
    while (!decoder.complete()) {
        Result<bool> more = co_await stream->read_some(
            decoder.buffer(), aio::Deadline::in(parts->settings.page_timeout));
        if (!more) co_return end_of(more.error());
        aio::Turn::mark(kTurnWork);
        for (;;) {
            auto item = decoder.next();
            if (!item) co_return End{Ending::damaged, item.error().message, {}, false};
            if (!item->has_value()) break;
            const auto identity = identity_of(**item);
            if (!identity || identity->name.empty()) {
                co_return End{Ending::damaged, what + ": an item has no name", {}, false};
            }
            if (!parts->store.saw(*identity, **item)) {
                ++parts->figures.handler_full;
                co_return End{Ending::full, what + ": no room for events", {}, false};
            }
        }
        if (!*more && !decoder.complete()) {
            co_return End{Ending::interrupted, what + ": cut in the middle", {}, false};
        }
    }
    if (!decoder.has_items() || decoder.resource_version().empty()) {
        co_return End{Ending::damaged, what + ": the answer is not a list", {}, false};
    }
    token = decoder.continue_token();
    version = decoder.resource_version();
    co_return End{Ending::listed, {}, {}, false};
}

aio::Task<End> Informer::Parts::list_pages(std::shared_ptr<Parts> parts) {
    parts->store.begin_list();
    std::string token;
    std::string version;
    do {
        End end = co_await read_page(parts, token, version);
        // An expired continue token: start again with the first page.
        if (end.how != Ending::listed) co_return end;
    } while (!token.empty());
    if (!parts->store.end_list()) {
        ++parts->figures.handler_full;
        co_return End{
            Ending::full, "list " + parts->settings.path + ": no room for events", {}, false};
    }
    parts->synced(version);
    co_return End{Ending::listed, {}, {}, false};
}

// False when cancelled.
aio::Task<bool> Informer::Parts::rest(std::shared_ptr<Parts> parts,
                                      std::chrono::milliseconds pause) {
    const aio::Deadline until = aio::Deadline::in(pause);
    const bool woken = co_await parts->now.wait(until);
    if (woken) parts->backoff.reset();
    co_return woken || until.passed();
}

// A resource that does not exist has no objects.
void Informer::Parts::handle_absence() {
    store.begin_list();
    if (store.end_list()) {
        synced("");
    } else {
        ++figures.handler_full;
    }
}

// Decides the next round from the end of a list or watch.
void Informer::Parts::decide(End& end) {
    record_end(end);
    if (end.how == Ending::unsupported) watch_list = false;
    if (end.how == Ending::absent && settings.optional) handle_absence();
    if (end.suspicious && ++suspicions_in_a_row >= kSuspicionsBeforeRelist) {
        suspicions_in_a_row = 0;
        end.how = Ending::damaged;
    }
    list_due = list_due || needs_list(end.how);
}

Informer::Informer(aio::Loop& loop, Client& client, InformerSettings settings,
                   InformerHandler& handler)
    : parts_(std::make_shared<Parts>(loop, client, std::move(settings), handler)) {}
Informer::~Informer() = default;

aio::Task<void> Informer::run() {
    const auto parts = parts_;
    const bool started = co_await aio::sleep_until(aio::Deadline::in(parts->spread()));
    if (!started) co_return;
    for (;;) {
        if (std::exchange(parts->relist_asked, false)) parts->list_due = true;
        End end;
        if (parts->list_due && !parts->watch_list) {
            end = co_await Parts::list_pages(parts);
        } else {
            end = co_await Parts::read_watch(parts, parts->list_due);
        }
        if (end.how == Ending::cancelled) co_return;
        parts->decide(end);
        const bool running = co_await Parts::rest(parts, parts->pause_after(end));
        if (!running) co_return;
    }
}

void Informer::request_relist() {
    parts_->relist_asked = true;
    parts_->now.notify_all();  // a caller waits for it
}

void Informer::try_now() { parts_->now.notify_all(); }

const Informer::Figures& Informer::figures() const { return parts_->figures; }

}  // namespace gpuctl::k8s
