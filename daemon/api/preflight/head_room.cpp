#include "daemon/api/preflight/head_room.hpp"

#include <algorithm>

#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::api {
namespace {

struct Room {
    const char* what;
    std::int64_t wanted = 0;
    std::int64_t held = 0;
    std::int64_t maximum = 0;
    std::string (*format)(std::int64_t);
};

std::string sentence_about(const Room& room, const std::string& namespace_name) {
    const std::int64_t left = std::max<std::int64_t>(room.maximum - room.held, 0);
    return "the quota of namespace " + namespace_name + " leaves " + room.format(left) + " of " +
           room.format(room.maximum) + " " + room.what + ", and the job needs " +
           room.format(room.wanted) + "; it waits until other jobs of the namespace release " +
           room.format(room.wanted - left);
}

}  // namespace

std::optional<std::string> head_room_warning(const ClusterState& state, const JobSpec& spec) {
    const TenantTable& tenants = state.tree.tenant_rows();
    const auto tenant = std::find_if(tenants.begin(), tenants.end(), [&](const TenantRow& row) {
        return row.name == spec.key.namespace_name;
    });
    if (tenant == tenants.end()) return std::nullopt;
    const Resources each = pod_request(spec);
    const std::int64_t pods = std::max<std::int64_t>(spec.replicas_min, 1);
    std::vector<Room> rooms;
    if (tenant->gpu_maximum) {
        rooms.push_back({"GPUs", gpus_total(each).value() * pods, tenant->gpus_held.value(),
                         tenant->gpu_maximum->value(),
                         [](std::int64_t gpus) { return format_gpus(GpuMilli{gpus}); }});
    }
    if (tenant->cpu_maximum) {
        rooms.push_back({"CPU cores", each.cpu.value() * pods, tenant->cpu_held.value(),
                         tenant->cpu_maximum->value(),
                         [](std::int64_t cpu) { return format_cpu(CpuMilli{cpu}); }});
    }
    if (tenant->memory_maximum) {
        rooms.push_back({"memory", each.memory.value() * pods, tenant->memory_held.value(),
                         tenant->memory_maximum->value(),
                         [](std::int64_t bytes) { return format_bytes(Bytes{bytes}); }});
    }
    for (const Room& room : rooms) {
        if (room.wanted > 0 && room.held + room.wanted > room.maximum) {
            return sentence_about(room, spec.key.namespace_name);
        }
    }
    return std::nullopt;
}

}  // namespace gpuctl::api
