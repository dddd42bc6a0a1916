#pragma once
// The handlers named by the route table: decode -> views or mailbox -> encode. One .cpp per
// subject.

#include <memory>

#include "daemon/api/http/routes.hpp"

namespace gpuctl::api {

// health.cpp
net::HttpResponse get_root(Services& services, const Call& call);
net::HttpResponse get_health(Services& services, const Call& call);
net::HttpResponse get_livez(Services& services, const Call& call);
net::HttpResponse get_readyz(Services& services, const Call& call);
net::HttpResponse get_metrics(Services& services, const Call& call);
net::HttpResponse get_version(Services& services, const Call& call);
aio::Task<net::HttpResponse> get_snapshot(Services& services, Call call);

// static_files.cpp
net::HttpResponse get_static_file(Services& services, const Call& call);

// jobs.cpp, create.cpp, explain.cpp
net::HttpResponse list_jobs_page(Services& services, const Call& call);
aio::Task<net::HttpResponse> get_job(Services& services, Call call);
aio::Task<net::HttpResponse> explain(Services& services, Call call);
aio::Task<net::HttpResponse> create_job(Services& services, Call call);
aio::Task<net::HttpResponse> delete_job(Services& services, Call call);

// what_if.cpp
aio::Task<net::HttpResponse> what_if(Services& services, Call call);
aio::Task<net::HttpResponse> get_remedies(Services& services, Call call);

// preview.cpp
aio::Task<net::HttpResponse> preview_policy(Services& services, Call call);

// logs.cpp
aio::Task<net::HttpResponse> get_logs(Services& services, Call call);
aio::Task<net::HttpResponse> logs_need_websocket(Services& services, Call call);
Result<void> admit_follow(Services& services, const Call& call);
aio::Task<void> follow_logs(Services& services, Call call, std::unique_ptr<net::WebSocket> socket);

// sessions.cpp
aio::Task<net::HttpResponse> sessions_need_websocket(Services& services, Call call);
Result<void> admit_session(Services& services, const Call& call);
aio::Task<void> serve_session(Services& services, Call call,
                              std::unique_ptr<net::WebSocket> socket);

// cluster.cpp
net::HttpResponse list_pools_page(Services& services, const Call& call);
net::HttpResponse get_pool(Services& services, const Call& call);
net::HttpResponse list_nodes_page(Services& services, const Call& call);
net::HttpResponse get_node(Services& services, const Call& call);
net::HttpResponse list_queues_page(Services& services, const Call& call);

}  // namespace gpuctl::api
