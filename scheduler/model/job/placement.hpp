#pragma once
// Rules for the nodes that a pod may use. Inter-pod affinity, topology spread constraints and
// unbound volume claims are not supported: a pod with one of them waits with
// Reason::unsupported_feature and is not placed against its rules (PodFacts::unsupported). Host
// ports are a resource (Resources::host_ports).

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/model/job/topology.hpp"

namespace gpuctl {

enum class TaintEffect : std::uint8_t { no_schedule, prefer_no_schedule, no_execute };
BOOST_DESCRIBE_ENUM(TaintEffect, no_schedule, prefer_no_schedule, no_execute)

struct Taint {
    std::string key;
    std::string value;
    TaintEffect effect = TaintEffect::no_schedule;
    friend auto operator<=>(const Taint&, const Taint&) = default;
};
BOOST_DESCRIBE_STRUCT(Taint, (), (key, value, effect))

enum class TolerationOperator : std::uint8_t { equal, exists };
BOOST_DESCRIBE_ENUM(TolerationOperator, equal, exists)

struct Toleration {
    std::string key;  // empty with `exists`: any key
    TolerationOperator op = TolerationOperator::equal;
    std::string value;
    std::optional<TaintEffect> effect;  // absent: every effect
    friend auto operator<=>(const Toleration&, const Toleration&) = default;
};
BOOST_DESCRIBE_STRUCT(Toleration, (), (key, op, value, effect))

enum class SelectorOperator : std::uint8_t { in, not_in, exists, does_not_exist, gt, lt };
BOOST_DESCRIBE_ENUM(SelectorOperator, in, not_in, exists, does_not_exist, gt, lt)

struct SelectorRequirement {
    std::string key;
    SelectorOperator op = SelectorOperator::in;
    std::vector<std::string> values;
    friend auto operator<=>(const SelectorRequirement&, const SelectorRequirement&) = default;
};
BOOST_DESCRIBE_STRUCT(SelectorRequirement, (), (key, op, values))

// All requirements of a term must hold; a term without requirements matches nothing (Kubernetes
// NodeSelectorTerm).
struct SelectorTerm {
    std::vector<SelectorRequirement> labels;
    std::vector<SelectorRequirement> fields;  // only metadata.name exists
    bool broken = false;  // it could not be parsed: it never matches, other terms may
    friend auto operator<=>(const SelectorTerm&, const SelectorTerm&) = default;
};
BOOST_DESCRIBE_STRUCT(SelectorTerm, (), (labels, fields, broken))

// A volume of the pod that only some nodes can access.
struct VolumeRule {
    std::string claim;                // name in messages
    std::vector<SelectorTerm> terms;  // OR of terms; empty: no node
    friend auto operator<=>(const VolumeRule&, const VolumeRule&) = default;
};
BOOST_DESCRIBE_STRUCT(VolumeRule, (), (claim, terms))

// The one node that a pod may use: by its name, or by a label that only that node carries.
struct NodePin {
    std::string label;  // empty: `value` is the name of the node
    std::string value;  // empty: the pod names no node
    [[nodiscard]] bool exists() const { return !value.empty(); }
    friend auto operator<=>(const NodePin&, const NodePin&) = default;
};
BOOST_DESCRIBE_STRUCT(NodePin, (), (label, value))

struct PlacementRules {
    std::vector<std::pair<std::string, std::string>> node_selector;  // sorted by key
    std::optional<std::vector<SelectorTerm>> required_affinity;      // OR of terms; empty: nothing
    std::vector<Toleration> tolerations;
    std::string gpu_model;  // compared without case against NodeFacts::gpu_model; empty: any
    // Tried in this order if the previous models have no room now (docs/adr/0021).
    std::vector<std::string> gpu_models_next;
    bool wants_whole_gpus = false;  // slices that a node offers as GPUs are not accepted
    TopologyRules topology;
    std::vector<VolumeRule> volumes;  // all of them must hold
    friend auto operator<=>(const PlacementRules&, const PlacementRules&) = default;

    [[nodiscard]] bool takes_several_models() const { return !gpu_models_next.empty(); }
};
BOOST_DESCRIBE_STRUCT(PlacementRules, (),
                      (node_selector, required_affinity, tolerations, gpu_model, gpu_models_next,
                       wants_whole_gpus, topology, volumes))

// Every model that these rules accept, the preferred first; empty: any model.
std::vector<std::string> gpu_models(const PlacementRules& rules);

}  // namespace gpuctl
