#include "k8s/cluster/controller_trouble.hpp"

#include <algorithm>

#include "k8s/json/json_cursor.hpp"
#include "k8s/json/object_time.hpp"
#include "net/http/http_text.hpp"

namespace gpuctl::k8s {

namespace {

constexpr std::string_view kReason = "FailedCreate";

struct ControllerEvent {
    std::string message;
    std::int64_t count = 1;
    Instant last;
};

// Both forms of events: count and lastTimestamp, or a series with its own.
ControllerEvent read_event(JsonCursor& cursor) {
    ControllerEvent event;
    const auto seen_at = [&event](std::string_view time) {
        event.last = std::max(event.last, parse_object_time(time));
    };
    const auto read_series = [&](std::string_view key) {
        if (key == "count") {
            event.count = std::max(event.count, cursor.integer());
        } else if (key == "lastObservedTime") {
            seen_at(cursor.string());
        } else {
            cursor.skip();
        }
    };
    cursor.object([&](std::string_view key) {
        if (key == "message") {
            event.message = cursor.string();
        } else if (key == "count") {
            event.count = std::max(event.count, cursor.integer());
        } else if (key == "lastTimestamp" || key == "eventTime" || key == "firstTimestamp") {
            seen_at(cursor.string());
        } else if (key == "series") {
            cursor.object(read_series);
        } else {
            cursor.skip();
        }
    });
    return event;
}

}  // namespace

std::string read_trouble(std::string_view event_list) {
    JsonCursor cursor{event_list};
    ControllerEvent newest;
    cursor.object([&](std::string_view key) {
        if (key != "items") return cursor.skip();
        cursor.array([&] {
            ControllerEvent event = read_event(cursor);
            if (!event.message.empty() && event.last >= newest.last) newest = std::move(event);
        });
    });
    if (newest.message.empty()) return {};
    std::string text = newest.message + " (" + std::string{kReason};
    if (newest.count > 1) text += ", " + std::to_string(newest.count) + " times";
    if (newest.last.happened()) text += ", last at " + format_object_time(newest.last);
    return text + ")";
}

aio::Task<Result<std::string>> read_controller_trouble(Client& client, ObjectKey object,
                                                       std::string uid, aio::Deadline deadline) {
    if (uid.empty()) co_return std::string{};
    const std::string selector = "involvedObject.uid=" + uid + ",reason=" + std::string{kReason};
    auto answer =
        co_await client.get("/api/v1/namespaces/" + net::percent_encode(object.namespace_name) +
                                "/events?fieldSelector=" + net::percent_encode(selector),
                            deadline);
    if (!answer) {
        co_return while_doing("read the events of the workload of job " + to_string(object),
                              answer.error());
    }
    co_return read_trouble(answer->body);
}

}  // namespace gpuctl::k8s
