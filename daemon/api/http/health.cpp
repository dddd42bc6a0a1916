// Health, readiness, version, metrics and the exported state.

#include <nlohmann/json.hpp>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/open_question.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/base/hash.hpp"
#include "text/hex.hpp"

namespace gpuctl::api {
namespace {

constexpr const char* kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";

std::string lines_text(const std::vector<ports::HealthLine>& lines) {
    std::string text;
    for (const ports::HealthLine& line : lines) {
        text += (line.ok ? "[+]" : "[-]") + line.name + (line.ok ? " ok" : " failed");
        text += line.detail.empty() ? "\n" : ": " + line.detail + "\n";
    }
    return text;
}

net::HttpResponse health_reply(const std::string& name, const std::vector<ports::HealthLine>& lines,
                               bool is_verbose) {
    const bool ok = all_ok(lines);
    if (ok && !is_verbose) return text_reply(200, "ok");
    return text_reply(ok ? 200 : 500,
                      lines_text(lines) + name + " check " + (ok ? "passed\n" : "failed\n"));
}

ports::HealthLine journal_line(const Services& services) {
    const std::optional<Error>& broken = services.engine.broken();
    return {"journal", !broken, broken ? broken->message : ""};
}

}  // namespace

std::vector<ports::HealthLine> readiness(const Services& services) {
    std::vector<ports::HealthLine> lines;
    lines.push_back(journal_line(services));
    lines.push_back(
        {"running", !services.stopping, services.stopping ? "gpuctld is stopping" : ""});
    for (ports::HealthLine& line : services.cluster.health()) lines.push_back(std::move(line));
    const bool synced = services.engine.synced();
    lines.push_back(
        {"state", synced, synced ? "" : "the first lists of the cluster are not complete yet"});
    return lines;
}

Error with_cause(const Services& services, Error refused) {
    if (refused.code != ErrorCode::NotLeader) return refused;
    for (const ports::HealthLine& line : services.cluster.health()) {
        const bool follows = line.ok && line.detail.starts_with("following ");
        if (follows) {
            refused.message =
                "this gpuctld is not the leader: it is " + line.detail +
                "; send the request to the leader, or retry when that leader has stopped";
            return refused;
        }
    }
    for (const ports::HealthLine& line : services.cluster.health()) {
        if (line.ok) continue;
        return make_error(ErrorCode::ClusterUnavailable,
                          "changes are not possible now: " + line.name + ": " + line.detail +
                              "; retry soon (/readyz?verbose has details)");
    }
    return refused;
}

bool all_ok(const std::vector<ports::HealthLine>& lines) {
    return std::all_of(lines.begin(), lines.end(), [](const auto& line) { return line.ok; });
}

net::HttpResponse get_root(Services& services, const Call&) {
    return json_reply(200, {{"message", "gpuctld"}, {"version", services.version}});
}

net::HttpResponse get_health(Services&, const Call&) {
    return json_reply(200, {{"status", "healthy"}, {"timestamp", format_time(wall_now())}});
}

// Answered by the loop itself: an answer proves that the loop runs. Fails only for a state that a
// restart resolves, so that the supervisor restarts the process.
net::HttpResponse get_livez(Services& services, const Call& call) {
    const auto waiting = std::to_string(services.engine.mailbox_size());
    const std::vector<ports::HealthLine> lines{{"loop", true, waiting + " events wait"},
                                               journal_line(services)};
    return health_reply("livez", lines, call.target.has_query("verbose"));
}

net::HttpResponse get_readyz(Services& services, const Call& call) {
    std::vector<ports::HealthLine> lines = readiness(services);
    for (const auto& [name, value] : call.target.query) {
        if (name != "exclude") continue;
        std::erase_if(lines, [&](const auto& line) { return line.name == value; });
    }
    return health_reply("readyz", lines, call.target.has_query("verbose"));
}

net::HttpResponse get_metrics(Services& services, const Call&) {
    net::HttpResponse response = text_reply(200, services.recorder.text());
    response.fields.set("Content-Type", kPrometheusText);
    return response;
}

net::HttpResponse get_caller(Services&, const Call& call) {
    Json body;
    body["name"] = call.caller.name;
    body["role"] = to_string(call.caller.role);
    return json_reply(200, body);
}

net::HttpResponse get_version(Services& services, const Call&) {
    Json body;
    body["name"] = "gpuctld";
    body["version"] = services.version;
    body["mode"] = services.settings.mode;
    body["api"] = "v1";
    return json_reply(200, body);
}

aio::Task<net::HttpResponse> get_snapshot(Services& services, Call call) {
    struct Snapshot {
        std::string state;
        std::uint64_t hash = 0;
    };
    std::function<Snapshot(const Engine&)> read = [](const Engine& engine) {
        Snapshot snapshot{engine.export_state(), 0};
        snapshot.hash = hash64(snapshot.state);  // as Engine::state_hash(), without another export
        return snapshot;
    };
    Result<core::QueryResult<Snapshot>> asked =
        co_await services.engine.query(std::move(read), patience(services));
    if (!asked) co_return problem_reply(asked.error(), call);
    net::HttpResponse response;
    response.fields.set("Content-Type", "application/octet-stream");
    response.fields.set("Content-Disposition", "attachment; filename=\"gpuctld-state.bin\"");
    response.fields.set("X-State-Hash", text::hex16(asked->value.hash));
    response.fields.set("X-Revision", std::to_string(revision_before(asked->next)));
    response.body = std::move(asked->value.state);
    co_return response;
}

}  // namespace gpuctl::api
