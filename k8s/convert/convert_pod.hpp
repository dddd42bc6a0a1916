#pragma once
// A pod's JSON -> PodFacts (scheduler/model/pod.hpp): one walk over the text, no tree.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "k8s/json/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

struct PodReadSettings {
    std::string scheduler_name = "gpuctl";
    LabelKeys labels;
};

struct PodReading {
    PodFacts facts;
    // PersistentVolumeClaims of the pod, sorted; not part of the facts (see volumes.hpp).
    std::vector<std::string> claims;
    std::int64_t generation = 0;
    // The PodScheduled condition as stored: the status writer skips a write that would not change
    // it.
    bool stored_unscheduled = false;
    std::string stored_reason;
    std::string stored_message;
    Instant stored_since;
};

// InvalidJson for text that is no pod with a name and a uid.
Result<PodReading> read_pod(std::string_view json, const PodReadSettings& settings);

// Over all facts: equal fingerprints mean no relevant change. `scratch` is reused between calls.
std::uint64_t fingerprint(const PodFacts& facts, std::string& scratch);

}  // namespace gpuctl::k8s
