#pragma once
// Shared by the adapter's tests: a sink of limited size for its events, and a pod in the API
// server's form.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ports/event_sink.hpp"

namespace gpuctl::k8s {

struct Sink : ports::EventSink {
    std::vector<Event> events;
    std::size_t room = 1'000'000;
    bool offer(Event event) override {
        if (events.size() >= room) return false;
        events.push_back(std::move(event));
        return true;
    }
    template <typename T>
    [[nodiscard]] std::vector<T> all() const {
        std::vector<T> found;
        for (const Event& event : events) {
            if (const T* one = std::get_if<T>(&event)) found.push_back(*one);
        }
        return found;
    }
};

inline std::string pod_json(const std::string& name, const std::string& phase = "Pending",
                            const std::string& node = "") {
    nlohmann::json pod = {
        {"metadata",
         {{"name", name}, {"namespace", "t"}, {"uid", "u-" + name}, {"resourceVersion", "5"}}},
        {"spec", {{"schedulerName", "gpuctl"}}},
        {"status", {{"phase", phase}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    return pod.dump();
}

}  // namespace gpuctl::k8s
