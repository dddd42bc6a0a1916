#include "k8s/write/resizer.hpp"

#include <nlohmann/json.hpp>

#include "k8s/json/json_cursor.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kResizeTimeout{10};
constexpr std::size_t kResizesRunningMax = 8;

std::string message_of(const ResizeWorkload& order, const std::string& what) {
    return "resize job " + to_string(order.key) + " from " + std::to_string(order.from) + " to " +
           std::to_string(order.to) + " ranks: " + what;
}

// A name as one step of a JSON pointer (RFC 6901).
std::string pointer_step(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

bool is_final(int http_status) {
    return http_status == 400 || http_status == 403 || http_status == 405 || http_status == 422;
}

}  // namespace

// Both fields are tested through one: only parallelism may have been changed by a user.
std::string resize_patch(const ResizeWorkload& order, const LabelKeys& labels) {
    const std::string uid = "/metadata/labels/" + pointer_step(labels.text(OwnKey::job_uid));
    const Json patch =
        Json::array({{{"op", "test"}, {"path", uid}, {"value", order.job_uid}},
                     {{"op", "test"}, {"path", "/spec/completions"}, {"value", order.from}},
                     {{"op", "replace"}, {"path", "/spec/completions"}, {"value", order.to}},
                     {{"op", "replace"}, {"path", "/spec/parallelism"}, {"value", order.to}}});
    return patch.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JobSize read_job_size(std::string_view json, const LabelKeys& labels) {
    JobSize size;
    JsonCursor cursor{json};
    const auto read_labels = [&] {
        cursor.object([&](std::string_view label) {
            const std::string_view value = cursor.string();
            if (labels.recognise(label).key == OwnKey::job_uid) size.job_uid = value;
        });
    };
    cursor.object([&](std::string_view part) {
        if (part == "metadata") {
            return cursor.object(
                [&](std::string_view key) { key == "labels" ? read_labels() : cursor.skip(); });
        }
        if (part != "spec") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key == "completions") {
                size.completions = cursor.integer();
            } else {
                cursor.skip();
            }
        });
    });
    return size;
}

Resizer::Resizer(aio::TaskGroup& group, Client& client, LabelKeys labels, Done done)
    : client_(client),
      labels_(std::move(labels)),
      done_(std::move(done)),
      queue_(group, "resize", kResizesRunningMax) {}

void Resizer::resize(ResizeWorkload order) {
    if (!is_addressable(order.key)) {  // possible in an older journal
        done_({order.id, order.key, ResizeResult::gone, 0,
               message_of(order, "the job does not exist")});
        return;
    }
    queue_.add([this, order = std::move(order)] { return run(order); });
}

aio::Task<void> Resizer::run(ResizeWorkload order) {
    const WorkloadPaths paths = workload_paths(JobKind::training, order.key);
    ApiCall call;
    call.method = "PATCH";
    call.path = paths.object + "?fieldManager=gpuctl";
    call.body = resize_patch(order, labels_);
    call.content_type = kJsonPatch;
    call.retry = RetryClass::safe;  // its test operation lets only one of them through
    call.fenced_by = order.epoch;
    auto answer = co_await client_.call(std::move(call), aio::Deadline::in(kResizeTimeout));
    WorkloadResizeOutcome outcome{order.id, order.key, ResizeResult::resized, 0, ""};
    if (!answer) outcome = co_await read_back(order, paths.object, answer.error());
    done_(std::move(outcome));
}

aio::Task<WorkloadResizeOutcome> Resizer::read_back(ResizeWorkload order, std::string path,
                                                    ApiError error) {
    WorkloadResizeOutcome outcome{order.id, order.key, ResizeResult::failed, 0,
                                  message_of(order, error.message)};
    if (error.code == ErrorCode::NotLeader) co_return outcome;
    auto found = co_await client_.get(path, aio::Deadline::in(kResizeTimeout));
    if (!found) {
        if (found.error().http_status == 404) outcome.result = ResizeResult::gone;
        co_return outcome;
    }
    const JobSize size = read_job_size(found->body, labels_);
    if (size.job_uid != order.job_uid) {
        outcome.result = ResizeResult::gone;
    } else if (size.completions == order.to) {
        outcome.result = ResizeResult::resized;
        outcome.message.clear();
    } else if (size.completions != order.from) {
        outcome.result = ResizeResult::other_size;
        outcome.size = static_cast<std::int32_t>(size.completions);
    } else if (is_final(error.http_status)) {
        outcome.result = ResizeResult::refused;
    }
    co_return outcome;
}

}  // namespace gpuctl::k8s
