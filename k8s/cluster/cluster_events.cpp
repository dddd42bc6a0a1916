#include "k8s/cluster/cluster_events.hpp"

#include <algorithm>

#include "k8s/json/json_cursor.hpp"
#include "k8s/json/object_time.hpp"
#include "net/http/http_text.hpp"

namespace gpuctl::k8s {

namespace {

constexpr int kEventsPerPage = 500;
constexpr int kEventPages = 4;
constexpr std::chrono::seconds kFresh{2};
constexpr std::size_t kMessageBytesMax = 1'024;
constexpr std::string_view kOwnController = "gpuctl";  // k8s/write/event_ledger.cpp

class EventReader {
public:
    explicit EventReader(JsonCursor& cursor) : cursor_(cursor) {}

    // Both forms of events: count and lastTimestamp, or eventTime and a series with its own.
    ports::ClusterEvent read() {
        cursor_.object([this](std::string_view key) { member(key); });
        if (event_.from.empty()) event_.from = source_;
        return std::move(event_);
    }

private:
    void member(std::string_view key) {
        if (key == "message") {
            event_.message = cursor_.string().substr(0, kMessageBytesMax);
        } else if (key == "reason") {
            event_.reason = cursor_.string();
        } else if (key == "type") {
            event_.warning = cursor_.string() == "Warning";
        } else if (key == "count") {
            event_.count = std::max(event_.count, cursor_.integer());
        } else if (key == "firstTimestamp" || key == "lastTimestamp" || key == "eventTime") {
            seen_at(cursor_.string());
        } else if (key == "reportingComponent") {
            event_.from = cursor_.string();
        } else {
            object_member(key);
        }
    }

    void object_member(std::string_view key) {
        if (key == "source") {
            cursor_.object([this](std::string_view part) {
                if (part == "component") {
                    source_ = cursor_.string();
                } else {
                    cursor_.skip();
                }
            });
        } else if (key == "involvedObject") {
            cursor_.object([this](std::string_view part) {
                if (part == "kind") {
                    event_.kind = cursor_.string();
                } else if (part == "name") {
                    event_.object.name = cursor_.string();
                } else if (part == "namespace") {
                    event_.object.namespace_name = cursor_.string();
                } else {
                    cursor_.skip();
                }
            });
        } else if (key == "series") {
            cursor_.object([this](std::string_view part) {
                if (part == "count") {
                    event_.count = std::max(event_.count, cursor_.integer());
                } else if (part == "lastObservedTime") {
                    seen_at(cursor_.string());
                } else {
                    cursor_.skip();
                }
            });
        } else {
            cursor_.skip();
        }
    }

    void seen_at(std::string_view text) {
        const Instant at = parse_object_time(text);
        if (!at.happened()) return;
        event_.at = std::max(event_.at, at);
        if (!event_.first_at.happened() || at < event_.first_at) event_.first_at = at;
    }

    JsonCursor& cursor_;
    ports::ClusterEvent event_;
    std::string source_;
};

}  // namespace

std::string read_events(std::string_view list, std::vector<ports::ClusterEvent>& out) {
    std::string next;
    JsonCursor cursor{list};
    cursor.object([&](std::string_view key) {
        if (key == "metadata") {
            cursor.object([&](std::string_view part) {
                if (part != "continue") return cursor.skip();
                next = cursor.string();
            });
        } else if (key == "items") {
            cursor.array([&] {
                ports::ClusterEvent event = EventReader{cursor}.read();
                if (event.from != kOwnController && event.at.happened())
                    out.push_back(std::move(event));
            });
        } else {
            cursor.skip();
        }
    });
    return next;
}

aio::Task<Result<ports::ClusterEvents>> list_events(Client& client, EventCache& cache,
                                                    std::string namespace_name,
                                                    aio::Deadline deadline) {
    const bool is_fresh = cache.namespace_name == namespace_name && aio::Clock::now() < cache.until;
    if (is_fresh) co_return cache.events;
    ports::ClusterEvents events;
    const std::string base =
        namespace_name.empty()
            ? std::string{"/api/v1/events"}
            : "/api/v1/namespaces/" + net::percent_encode(namespace_name) + "/events";
    std::string next;
    for (int page = 0; page < kEventPages; ++page) {
        std::string path = base + "?limit=" + std::to_string(kEventsPerPage);
        if (!next.empty()) path += "&continue=" + net::percent_encode(next);
        auto answer = co_await client.get(std::move(path), deadline);
        if (!answer) co_return while_doing("list the events of the cluster", answer.error());
        next = read_events(answer->body, events.list);
        if (next.empty()) break;
    }
    events.is_cut = !next.empty();
    cache = EventCache{std::move(namespace_name), events, aio::Clock::now() + kFresh};
    co_return events;
}

}  // namespace gpuctl::k8s
