// POST /api/v1/labels/migrate: labels of earlier products on the objects of jobs, under the present
// prefix. Those of nodes are changed one by one (node_labels.cpp).

#include <nlohmann/json.hpp>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"

namespace gpuctl::api {

aio::Task<net::HttpResponse> migrate_labels(Services& services, Call call) {
    const Result<bool> dry_run = flag_of(call, "dryRun");
    if (!dry_run) co_return problem_reply(dry_run.error(), call);
    const Result<bool> removes_old = flag_of(call, "removeOld");
    if (!removes_old) co_return problem_reply(removes_old.error(), call);
    if (std::optional<Error> refused = services.engine.refusal()) {
        co_return problem_reply(with_cause(services, *refused), call);
    }
    ports::LabelMigration order;
    order.dry_run = *dry_run;
    order.removes_old = *removes_old;
    order.epoch = services.engine.state().session.epoch();
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    const Result<ports::MigratedLabels> done =
        co_await services.cluster.migrate_labels(order, deadline);
    if (!done) co_return problem_reply(done.error(), call);
    Json items = Json::array();
    for (const ports::MigratedLabel& label : done->list) {
        items.push_back({{"kind", label.kind},
                         {"namespace", label.object.namespace_name},
                         {"name", label.object.name},
                         {"from", label.from},
                         {"to", label.to},
                         {"value", label.value},
                         {"action", label.action},
                         {"message", label.message}});
    }
    Json body;
    body["total"] = items.size();
    body["items"] = std::move(items);
    body["more"] = done->is_cut;  // repeat the request for the rest
    body["dryRun"] = *dry_run;
    co_return json_reply(200, body);
}

}  // namespace gpuctl::api
