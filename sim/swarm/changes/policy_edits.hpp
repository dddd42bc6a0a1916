#pragma once
// Objects of the policy that people make, change and delete in worlds with changes: pools, queues,
// quotas, namespaces. In production their documents are read as JSON; here a document is the name
// of a drawn edit, and the policy is the base policy with all edits.

#include <map>
#include <optional>
#include <string>

#include "scheduler/base/rng.hpp"
#include "scheduler/model/event.hpp"
#include "sim/swarm/changes/change_probes.hpp"

namespace gpuctl::sim {

using PolicyObjects = std::map<PolicyKey, PolicyObject>;

// The pool that exists by its object alone.
inline constexpr const char* kExtraPool = "extra";

class PolicyEdits {
public:
    explicit PolicyEdits(std::uint64_t seed) : rng_(seed) {}

    // A random edit of these objects, sometimes one that is out of date.
    PolicyObjectsChanged draw(const PolicyObjects& known, Instant now, ChangeProbes& probes);
    // All objects go.
    static PolicyObjectsChanged removal(const PolicyObjects& known);
    // `event` applied to the objects as each client may rely on.
    static void apply(const PolicyObjectsChanged& event, PolicyObjects& objects);
    [[nodiscard]] Policy merged(Policy base, const PolicyObjects& objects) const;
    // The GPUs that a quota allows.
    [[nodiscard]] std::optional<GpuMilli> quota_in(const std::string& document) const;

private:
    struct Edit {  // what a document says; each kind of object reads its part
        std::optional<GpuMilli> maximum;
        std::optional<std::int64_t> jobs_maximum;
        GpuMilli guaranteed;
        std::int32_t priority = 0;
        std::int64_t weight = 1;
        QueueOrder order = QueueOrder::fair_share;
        bool has_order = false;
        std::string queue;
    };

    [[nodiscard]] PolicyKey draw_key();
    [[nodiscard]] std::string draw_document();
    void merge(const PolicyKey& key, const Edit& edit, Policy& policy) const;

    Rng rng_;
    std::map<std::string, Edit> edits_;  // by document
    std::uint64_t uids_ = 0;
};

}  // namespace gpuctl::sim
