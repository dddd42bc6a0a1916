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
net::HttpResponse get_caller(Services& services, const Call& call);
net::HttpResponse get_version(Services& services, const Call& call);
aio::Task<net::HttpResponse> get_snapshot(Services& services, Call call);

// static_files.cpp
net::HttpResponse get_static_file(Services& services, const Call& call);

// jobs.cpp, create.cpp, explain.cpp
net::HttpResponse list_jobs_page(Services& services, const Call& call);
aio::Task<net::HttpResponse> get_job(Services& services, Call call);
aio::Task<net::HttpResponse> explain(Services& services, Call call);
aio::Task<net::HttpResponse> create_job(Services& services, Call call);
aio::Task<net::HttpResponse> create_jobs(Services& services, Call call);
aio::Task<net::HttpResponse> delete_job(Services& services, Call call);

// change.cpp, pause.cpp
aio::Task<net::HttpResponse> apply_job(Services& services, Call call);
aio::Task<net::HttpResponse> update_job(Services& services, Call call);
aio::Task<net::HttpResponse> pause_job(Services& services, Call call);
aio::Task<net::HttpResponse> resume_job(Services& services, Call call);

// events.cpp
aio::Task<net::HttpResponse> list_events_page(Services& services, Call call);

// migrate.cpp
aio::Task<net::HttpResponse> migrate_labels(Services& services, Call call);

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

// node_labels.cpp, label_batch.cpp
net::HttpResponse get_node_labels(Services& services, const Call& call);
net::HttpResponse get_node_label(Services& services, const Call& call);
net::HttpResponse list_label_of_nodes(Services& services, const Call& call);
net::HttpResponse list_gpu_details(Services& services, const Call& call);
net::HttpResponse list_gpu_labels(Services& services, const Call& call);
net::HttpResponse list_label_values(Services& services, const Call& call);
aio::Task<net::HttpResponse> add_node_label(Services& services, Call call);
aio::Task<net::HttpResponse> put_node_label(Services& services, Call call);
aio::Task<net::HttpResponse> delete_node_label(Services& services, Call call);
aio::Task<net::HttpResponse> label_nodes(Services& services, Call call);

// node_actions.cpp
aio::Task<net::HttpResponse> add_node_to_pool(Services& services, Call call);
aio::Task<net::HttpResponse> remove_node_from_pool(Services& services, Call call);
aio::Task<net::HttpResponse> cordon_node(Services& services, Call call);
aio::Task<net::HttpResponse> uncordon_node(Services& services, Call call);
aio::Task<net::HttpResponse> drain_node(Services& services, Call call);

// policy_routes.cpp
aio::Task<net::HttpResponse> create_pool(Services& services, Call call);
aio::Task<net::HttpResponse> change_pool(Services& services, Call call);
aio::Task<net::HttpResponse> delete_pool(Services& services, Call call);
net::HttpResponse list_quotas_page(Services& services, const Call& call);
net::HttpResponse get_quota(Services& services, const Call& call);
aio::Task<net::HttpResponse> create_quota(Services& services, Call call);
aio::Task<net::HttpResponse> change_quota(Services& services, Call call);
aio::Task<net::HttpResponse> delete_quota(Services& services, Call call);
net::HttpResponse get_queue(Services& services, const Call& call);
aio::Task<net::HttpResponse> create_queue(Services& services, Call call);
aio::Task<net::HttpResponse> change_queue(Services& services, Call call);
aio::Task<net::HttpResponse> delete_queue(Services& services, Call call);
net::HttpResponse list_namespaces_page(Services& services, const Call& call);
net::HttpResponse get_namespace(Services& services, const Call& call);
aio::Task<net::HttpResponse> create_namespace(Services& services, Call call);
aio::Task<net::HttpResponse> delete_namespace(Services& services, Call call);
aio::Task<net::HttpResponse> change_documents(Services& services, Call call);

}  // namespace gpuctl::api
