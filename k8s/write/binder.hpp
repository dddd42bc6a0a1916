#pragma once
// Binds pods: POST pods/binding with the uid, the leader's epoch and the gang's attempt.
//
//   queued --deadline passed, fence closed--> failed (never sent)
//   queued --> sent --201--> bound
//                   --certainly not processed--> failed
//                   --anything else--> read the pod back until it can be read:
//                        gone, other uid --> gone        on our node --> bound
//                        on another node --> elsewhere   still unbound --> refused or failed
//
// An unclear answer is never followed by a second POST: the pod's spec.nodeName decides.
// Thread: the loop's.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "aio/task_group.hpp"
#include "k8s/client/client.hpp"
#include "k8s/json/labels.hpp"
#include "k8s/write/work_queue.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::k8s {

std::string binding_path(const PodReference& pod);
std::string binding_body(const BindPod& order, const LabelKeys& labels);

// The result that the answer to a binding proves by itself; nullopt: the pod must be read back.
std::optional<BindResult> classify_answer(const ApiResult<ApiResponse>& answer);

// The fields of a pod that show whether it is bound.
struct PodGlimpse {
    std::string uid;
    std::string node;
    bool terminating = false;
    bool gated = false;
};
std::optional<PodGlimpse> glimpse_pod(std::string_view json);

// `first` is the answer to the binding; `pod` is absent when it does not exist any more.
BindResult classify_read_back(const BindPod& order, ErrorCode first,
                              const std::optional<PodGlimpse>& pod);

struct BinderSettings {
    LabelKeys labels;
    std::size_t in_flight_max = 64;
    std::chrono::milliseconds timeout{5'000};  // so that the write ends before a successor leads
};

class Binder {
public:
    using Done = std::function<void(BindOutcome outcome)>;

    Binder(aio::TaskGroup& group, Client& client, BinderSettings settings, Done done);

    void bind(BindPod order);
    [[nodiscard]] bool idle() const { return queue_.idle(); }

private:
    aio::Task<void> run(BindPod order);
    aio::Task<BindResult> read_back(BindPod order, ErrorCode first);
    void report(const BindPod& order, BindResult result, std::string message);

    Client& client_;
    BinderSettings settings_;
    Done done_;
    WorkQueue queue_;
};

}  // namespace gpuctl::k8s
