#pragma once
// A pod's JSON -> PodFacts (scheduler/model/pod.hpp): one walk over the text, no tree.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "k8s/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

struct PodReadSettings {
    std::string scheduler_name = "gpuctl";
    LabelKeys labels;
};

struct PodReading {
    PodFacts facts;
    // PersistentVolumeClaims that it uses, sorted: the facts say nothing of these (volumes.hpp).
    std::vector<std::string> claims;
    std::int64_t generation = 0;
    // The PodScheduled condition as stored: what the status writer need not write again.
    bool told_unscheduled = false;
    std::string told_reason;
    std::string told_message;
    Instant told_since;
};

// InvalidJson for text that is no pod with a name and a uid.
Result<PodReading> read_pod(std::string_view json, const PodReadSettings& settings);

// Over everything in the facts: equal fingerprints mean nothing changed for us. `scratch` is reused
// between calls.
std::uint64_t fingerprint(const PodFacts& facts, std::string& scratch);

}  // namespace gpuctl::k8s
