#include "k8s/cluster/node_port.hpp"

#include <nlohmann/json.hpp>

#include "k8s/workload/workload.hpp"

namespace gpuctl::k8s {

std::int32_t node_port_in(std::string_view service) {
    const nlohmann::json object = nlohmann::json::parse(service, nullptr, false);
    const nlohmann::json::json_pointer at{"/spec/ports/0/nodePort"};
    if (!object.is_object() || !object.contains(at) || !object[at].is_number_integer()) return 0;
    return object[at].get<std::int32_t>();
}

aio::Task<Result<std::int32_t>> read_node_port(Client& client, ObjectKey job,
                                               aio::Deadline deadline) {
    // Every kind of job has its Service at the same path.
    const std::string path = workload_paths(JobKind::compute, job).service;
    auto answer = co_await client.get(path, deadline);
    if (!answer) {
        if (answer.error().code == ErrorCode::NotFound) co_return 0;
        co_return while_doing("read the Service of job " + to_string(job), answer.error());
    }
    co_return node_port_in(answer->body);
}

}  // namespace gpuctl::k8s
