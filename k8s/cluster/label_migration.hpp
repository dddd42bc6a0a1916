#pragma once
// Labels with the prefixes of earlier products on workloads and pods, written under the present
// prefix: `gpuctl migrate`. A label that is there is never changed. Pod templates are left as they
// are: those of Jobs cannot change, and a change of the others would start their pods again.

#include <string>
#include <string_view>
#include <vector>

#include "k8s/client/client.hpp"
#include "k8s/json/json_text.hpp"
#include "k8s/json/labels.hpp"
#include "ports/cluster.hpp"

namespace gpuctl::k8s {

struct LabelledObject {
    ObjectIdentity identity;
    std::vector<ports::MigratedLabel> labels;  // those with an old prefix, with what is to be done
};

// What is to be done with one object. An old label stays where the present one differs.
LabelledObject plan_migration(std::string_view object, std::string_view kind,
                              const LabelKeys& labels, bool removes_old);

// The merge patch of a plan, with the uid and the version that were read; empty: nothing to do.
std::string migration_patch(const LabelledObject& object);

aio::Task<Result<ports::MigratedLabels>> migrate_labels(Client& client, LabelKeys labels,
                                                        ports::LabelMigration order,
                                                        aio::Deadline deadline);

}  // namespace gpuctl::k8s
