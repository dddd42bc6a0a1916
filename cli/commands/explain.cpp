#include <algorithm>
#include <iostream>

#include "cli/commands/commands.hpp"
#include "text/duration.hpp"

namespace gpuctl::cli {
namespace {

void print_blocker(std::ostream& out, std::size_t number, const nlohmann::json& blocker) {
    out << "  " << number << ". " << printable(text_of(blocker, "sentence")) << "  ["
        << printable(text_of(blocker, "reason")) << "]\n";
    const auto tallies = blocker.find("nodes");
    if (tallies == blocker.end() || !tallies->is_array()) return;
    for (const auto& tally : *tallies) {
        out << "       " << number_of(tally, "nodes") << " of " << number_of(blocker, "nodesTotal")
            << " nodes: " << printable(text_of(tally, "message")) << '\n';
    }
}

// "0.80" of 80.
std::string hundredths(std::int64_t amount) {
    const std::string rest = std::to_string(amount % 100);
    return std::to_string(amount / 100) + "." + (rest.size() < 2 ? "0" : "") + rest;
}

// "12.50 %" of parts per billion.
std::string percent(std::int64_t share) { return hundredths(share / 100'000) + " %"; }

std::string share_over_weight(const nlohmann::json& of) {
    const std::string recent = percent(of.value("recentUsage", std::int64_t{0}));
    return "share " + percent(of.value("share", std::int64_t{0})) +
           (recent == percent(0) ? "" : ", recent usage " + recent) + " / weight " +
           number_of(of, "weight");
}

// The key of an order by run time. `sets_deadline`: jobs are ordered by deadlines, and the run time
// only sets that of the job.
void print_run_time(std::ostream& out, const nlohmann::json& run_time, bool sets_deadline) {
    if (!run_time.is_object()) return;
    const auto ms = [&](const char* key) { return run_time.value(key, std::int64_t{0}); };
    const bool is_left = run_time.value("isRemaining", false);
    const std::string time =
        text::format_span(ms("ms") / 1000) + (is_left ? " remaining" : " to run");
    out << "  run time (SHORTEST): ";
    if (!run_time.value("isKnown", true)) {
        out << "unknown (no expectedRunTime" << (is_left ? "" : ", no maxRunTime")
            << ", and no past job of its namespace), so it counts as " << time;
    } else {
        out << time
            << (run_time.value("isDeclared", false)
                    ? ", given by its user"
                    : ", predicted from its limit and its namespace's past jobs");
    }
    if (sets_deadline) {
        out << "; it sets the deadline only\n";
        return;
    }
    if (is_left && ms("gpuExponentPercent") > 0) {
        out << ", times " << number_of(run_time, "gpus") << " GPUs to the power of "
            << hundredths(ms("gpuExponentPercent"));
    }
    out << "; the smallest goes first";
    if (const std::int64_t every = ms("halfLifeMs"); every > 0) {
        out << "; each " << text::format_span(every / 1000) << " of waiting halves it";
    }
    out << '\n';
}

void print_ahead(std::ostream& out, const nlohmann::json& ahead) {
    const std::int64_t count = ahead.value("count", std::int64_t{0});
    const nlohmann::json jobs = ahead.value("jobs", nlohmann::json::array());
    if (count <= 0) return;
    out << "  jobs ahead in its queue: ";
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        out << (i == 0 ? "" : ", ") << printable(text_of(jobs[i], "namespace")) << '/'
            << printable(text_of(jobs[i], "jobId"));
    }
    if (count > static_cast<std::int64_t>(jobs.size())) {
        out << " and " << count - static_cast<std::int64_t>(jobs.size()) << " more";
    }
    out << '\n';
}

std::string held_text(const nlohmann::json& of) {
    return "holds " + number_of(of, "held") + (of.value("held", 0.0) == 1 ? " GPU" : " GPUs") +
           (of.value("terminating", 0.0) > 0
                ? " (" + number_of(of, "terminating") + " of them by terminating pods)"
                : "");
}

std::string joined(const std::vector<std::string>& terms) {
    std::string text;
    for (const std::string& term : terms) text += (text.empty() ? "" : ", ") + term;
    return text;
}

// The terms of a queue among its siblings, in the sequence of docs/adr/0011-queue-tree.md.
std::string queue_terms(const nlohmann::json& level) {
    const std::string order = text_of(level, "order");
    const std::string priority = "priority " + number_of(level, "priority");
    const std::string guarantee =
        held_text(level) + ", " + number_of(level, "guaranteed") + " guaranteed" +
        (level.value("isGuaranteeValid", true) ? "" : " while it holds and waits for no more");
    const std::string share = share_over_weight(level);
    if (order == "FIFO") return guarantee;
    if (order == "PRIORITY") return joined({priority, guarantee, "then by its next job"});
    if (order == "CAPACITY") return joined({guarantee, priority, share});
    return joined({priority, guarantee, share});
}

// Likewise of a job in its queue. The run time of SHORTEST has a line of its own.
std::string job_terms(const nlohmann::json& turn) {
    const std::string order = text_of(turn, "order");
    const nlohmann::json tenant = turn.value("tenant", nlohmann::json::object());
    const std::string waited = text::format_age(turn.value("waitedMs", std::int64_t{0}) / 1000);
    if (order == "FIFO") return "submitted " + waited + " ago, the oldest goes first";
    const std::string priority = "priority " + number_of(turn, "priority") + " = " +
                                 number_of(turn, "priorityBase") + " + " +
                                 number_of(turn, "priorityByWaiting") + " for waiting " + waited;
    const std::string owner = "namespace " + printable(text_of(tenant, "name")) + " ";
    if (order == "FAIR_SHARE") return joined({priority, owner + share_over_weight(tenant)});
    if (order != "CAPACITY") return priority;
    const bool has_quota = tenant.contains("quota") && tenant["quota"].is_number();
    const std::string quota = has_quota ? " of its quota of " + number_of(tenant, "quota")
                                        : " of the whole pool, as it has no quota";
    return joined({owner + held_text(tenant) + quota, priority});
}

// The terms that order jobs, from the pool down; the first term that differs decides.
void print_turn(std::ostream& out, const nlohmann::json& turn) {
    out << "What decides its position:\n";
    for (const auto& level : turn.value("queues", nlohmann::json::array())) {
        out << "  queue " << printable(text_of(level, "queue")) << " ("
            << printable(text_of(level, "order")) << "): " << queue_terms(level) << '\n';
    }
    out << "  job (" << printable(text_of(turn, "order")) << "): " << job_terms(turn) << '\n';
    const std::string due = printable(text_of(turn, "deadline"));
    print_run_time(out, turn.value("runTime", nlohmann::json{}), !due.empty());
    if (!due.empty()) {
        out << "  deadline " << due << ": the earliest deadline goes first\n";
        if (const auto times = turn.value("slowdownFactor", std::int64_t{1}); times > 1) {
            out << "  that is " << times
                << " times the pool's slowdown limit: this job cannot end sooner, so "
                   "jobs that can meet their deadline go first\n";
        }
    }
    if (const std::string by = printable(text_of(turn, "latestStart")); !by.empty()) {
        out << "  latest start " << by
            << ": started later, it would still run after all other jobs ended\n";
    }
    if (const std::string from = printable(text_of(turn, "boostFrom")); !from.empty()) {
        const bool has_begun = seconds_since(from, aio::Loop::wall_ms()) > 0;
        out << "  from " << from << " until " << printable(text_of(turn, "boostUntil"))
            << (has_begun ? " its remaining work counts as one eighth, because its wait is close "
                            "to the pool's wait target\n"
                          : " its remaining work will count as one eighth, because its wait will "
                            "then be close to the pool's wait target\n");
    }
    print_ahead(out, turn.value("ahead", nlohmann::json::object()));
}

// Not when the existing nodes can never fit the job.
bool may_come(const nlohmann::json& blockers) {
    return std::none_of(blockers.begin(), blockers.end(), [](const nlohmann::json& one) {
        const std::string reason = text_of(one, "reason");
        return reason == "never_fits" || reason == "no_matching_node" || reason == "pool_empty" ||
               reason == "unsupported_feature";
    });
}

}  // namespace

void print_blockers(std::ostream& out, const nlohmann::json& blockers, const char* subject) {
    out << "Why " << subject << " waits:\n";
    for (std::size_t i = 0; i < blockers.size(); ++i) print_blocker(out, i + 1, blockers[i]);
}

void print_explanation(std::ostream& out, const nlohmann::json& body) {
    const std::string queue = text_of(body, "queue");
    out << "job " << printable(text_of(body, "namespace")) << '/'
        << printable(text_of(body, "jobId")) << " is " << printable(text_of(body, "status"))
        << (queue.empty() ? " outside the queues of pool "  // system-critical pods
                          : " in queue " + printable(queue) + " of pool ")
        << printable(text_of(body, "pool"));
    if (const auto position = body.value("position", std::int64_t{0}); position > 0) {
        out << ", number " << position << " in its queue";
    }
    out << '\n';
    const nlohmann::json blockers = body.value("blockers", nlohmann::json::array());
    const bool runs = text_of(body, "status").ends_with("Running");  // or "Partially Running"
    if (const std::string start = start_words(body, aio::Loop::wall_ms()); !start.empty()) {
        out << "It starts " << start << '\n';
    } else if (body.value("position", std::int64_t{0}) > 0 && !runs && may_come(blockers)) {
        out << "It starts at a time that cannot be estimated yet\n";
    }
    if (blockers.empty() || runs) {
        const std::string summary = printable(text_of(body, "summary"));
        if (!summary.empty()) out << summary << '\n';
    }
    if (blockers.empty()) return;
    print_blockers(out, blockers, runs ? "the rest of the job" : "it");
    if (const auto turn = body.find("queueOrder"); turn != body.end() && turn->is_object()) {
        print_turn(out, *turn);
    }
}

aio::Task<int> run_explain(Connection& connection, ExplainOptions options) {
    const std::string target = "/api/v1/jobs/" + net::percent_encode(options.job) + "/explain" +
                               query({{"namespace", connection.options().namespace_name}});
    Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return report(reply.error(), options.format);
    nlohmann::json& body = reply->body;
    const bool is_text = !is_document(options.format);
    if (is_text) print_explanation(std::cout, body);
    if (!body.value("blockers", nlohmann::json::array()).empty()) {
        std::cout.flush();  // on a large cluster the trials take seconds
        const std::string helpful = "/api/v1/jobs/" + net::percent_encode(options.job) +
                                    "/remedies" +
                                    query({{"namespace", connection.options().namespace_name}});
        Result<Reply> helps = co_await connection.get(helpful);
        for (const char* field : {"remedies", "remediesTried", "remediesIncomplete"}) {
            if (helps && helps->body.contains(field)) body[field] = helps->body[field];
        }
        if (!helps) body["remediesMissing"] = helps.error().message;
    }
    if (!is_text) {
        print_document(std::cout, body, options.format);
        co_return 0;
    }
    print_remedies(std::cout, body);
    if (const std::string why = printable(text_of(body, "remediesMissing")); !why.empty()) {
        std::cout << "Changes that would help were not searched: " << why << '\n';
    }
    co_return 0;
}

}  // namespace gpuctl::cli
