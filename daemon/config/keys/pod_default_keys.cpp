// cluster.kubernetes.podDefaults: what the pods of submitted jobs get.

#include "daemon/config/keys/tables.hpp"

namespace gpuctl::config {

template <>
const std::vector<Key<PodToleration>>& keys<PodToleration>() {
    static const std::vector<Key<PodToleration>> table = {
        text("key", &PodToleration::key, "of the taint; \"\": every taint"),
        text("value", &PodToleration::value, "of the taint; \"\": every value"),
        text("effect", &PodToleration::effect,
             "NoSchedule, PreferNoSchedule or NoExecute; \"\": each of them"),
    };
    return table;
}

template <>
const std::vector<Key<PodDefaults>>& keys<PodDefaults>() {
    static const std::vector<Key<PodDefaults>> table = {
        text("pool", &PodDefaults::pool, "for the jobs of this pool; \"\": of every pool"),
        text("serviceAccountName", &PodDefaults::service_account,
             "must exist in the job's namespace; \"\": default"),
        count("runAsUser", &PodDefaults::run_as_user, -1, INT32_MAX, "-1: as the image says"),
        count("runAsGroup", &PodDefaults::run_as_group, -1, INT32_MAX, "-1: as the image says"),
        count("fsGroup", &PodDefaults::fs_group, -1, INT32_MAX, "-1: volumes stay as they are"),
        flag("runAsNonRoot", &PodDefaults::run_as_non_root,
             "refuse containers that would run as root"),
        text("seccompProfile", &PodDefaults::seccomp_profile,
             "RuntimeDefault or Unconfined; \"\": the cluster's default"),
        list("tolerations", &PodDefaults::tolerations, PodToleration{},
             "besides those for the pool's own taint"),
        text_map("environment", &PodDefaults::environment,
                 "variables that a job does not set itself, such as NCCL_SOCKET_IFNAME"),
    };
    return table;
}

}  // namespace gpuctl::config
