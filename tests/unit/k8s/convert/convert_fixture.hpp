#pragma once
// A pod in the API server's form, to be changed by a test, and its facts.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/convert/convert_pod.hpp"

namespace gpuctl::k8s::convert_fixture {

using Json = nlohmann::json;

inline Json basic_pod() {
    return Json::parse(R"({
      "metadata": {"name": "a-0", "namespace": "team", "uid": "u1", "generation": 3,
        "creationTimestamp": "2026-11-20T10:00:00Z",
        "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {"f:containers": {"}": "]\""}}}}]},
      "spec": {"schedulerName": "gpuctl", "priority": 7,
        "containers": [{"name": "main", "image": "i", "env": [{"name": "A", "value": "\"{}["}],
          "resources": {"requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"},
                        "limits": {"cpu": "900m", "nvidia.com/gpu": "2"}}}]},
      "status": {"phase": "Pending"}})");
}

inline PodReading read(const Json& pod) {
    auto reading = read_pod(pod.dump(), {});
    EXPECT_TRUE(reading.has_value());
    return reading ? *reading : PodReading{};
}
inline PodFacts facts(const Json& pod) { return read(pod).facts; }

}  // namespace gpuctl::k8s::convert_fixture
