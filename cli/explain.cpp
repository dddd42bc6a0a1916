#include <algorithm>
#include <iostream>

#include "cli/commands.hpp"

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
    const std::string lately = percent(of.value("lately", std::int64_t{0}));
    return "share " + percent(of.value("share", std::int64_t{0})) +
           (lately == percent(0) ? "" : ", lately " + lately) + " / weight " +
           number_of(of, "weight");
}

// What an order by run time goes by.
void print_run_time(std::ostream& out, const nlohmann::json& run_time) {
    if (!run_time.is_object()) return;
    const auto ms = [&](const char* key) { return run_time.value(key, std::int64_t{0}); };
    const bool is_left = run_time.value("isLeft", false);
    out << "  run time (SHORTEST): " << format_span(ms("ms") / 1000)
        << (is_left ? " are left of it" : " to run")
        << (run_time.value("isTold", false) ? ", as its user says"
                                            : ", by its limit and what its namespace ran before");
    if (is_left && ms("gpuExponentPercent") > 0) {
        out << ", times " << number_of(run_time, "gpus") << " GPUs to the power of "
            << hundredths(ms("gpuExponentPercent"));
    }
    out << "; less goes first";
    if (const std::int64_t every = ms("halvedEveryMs"); every > 0) {
        out << ", and waiting for " << format_span(every / 1000) << " halves it";
    }
    out << '\n';
}

void print_ahead(std::ostream& out, const nlohmann::json& ahead) {
    const std::int64_t count = ahead.value("count", std::int64_t{0});
    const nlohmann::json jobs = ahead.value("jobs", nlohmann::json::array());
    if (count <= 0) return;
    out << "  ahead of it in its queue: ";
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        out << (i == 0 ? "" : ", ") << printable(text_of(jobs[i], "namespace")) << '/'
            << printable(text_of(jobs[i], "jobId"));
    }
    if (count > static_cast<std::int64_t>(jobs.size())) {
        out << " and " << count - static_cast<std::int64_t>(jobs.size()) << " more";
    }
    out << '\n';
}

// What decides when it is tried, from the pool down; the first term that differs decides.
void print_turn(std::ostream& out, const nlohmann::json& turn) {
    out << "What decides its turn:\n";
    for (const auto& level : turn.value("queues", nlohmann::json::array())) {
        out << "  queue " << printable(text_of(level, "queue")) << " ("
            << printable(text_of(level, "order")) << "): priority " << number_of(level, "priority")
            << ", holds " << number_of(level, "held")
            << (level.value("held", 0.0) == 1 ? " GPU" : " GPUs")
            << (level.value("leaving", 0.0) > 0
                    ? " of which " + number_of(level, "leaving") + " are leaving"
                    : "")
            << ", " << number_of(level, "guaranteed") << " guaranteed"
            << (level.value("guaranteeHolds", true) ? "" : " if it wanted no more") << ", "
            << share_over_weight(level) << '\n';
    }
    const nlohmann::json tenant = turn.value("tenant", nlohmann::json::object());
    out << "  job (" << printable(text_of(turn, "order")) << "): priority "
        << number_of(turn, "priority") << " = " << number_of(turn, "priorityBase") << " + "
        << number_of(turn, "priorityByWaiting") << " for waiting "
        << format_age(turn.value("waitedMs", std::int64_t{0}) / 1000) << ", namespace "
        << printable(text_of(tenant, "name")) << " " << share_over_weight(tenant) << '\n';
    print_run_time(out, turn.value("runTime", nlohmann::json{}));
    if (const std::string due = printable(text_of(turn, "dueAt")); !due.empty()) {
        out << "  it is due at " << due << ": what is due sooner goes first\n";
        if (const auto times = turn.value("dueTimes", std::int64_t{1}); times > 1) {
            out << "  that is " << times << " times what the pool allows: it could not be done "
                << "any sooner, and lets those go first that can be done in time\n";
        }
    }
    if (const std::string by = printable(text_of(turn, "beginBy")); !by.empty()) {
        out << "  it has to begin by " << by
            << ", or it would run on alone when all else is done\n";
    }
    if (const std::string from = printable(text_of(turn, "soonerFrom")); !from.empty()) {
        out << "  from " << from << " until " << printable(text_of(turn, "soonerUntil"))
            << " it counts for an eighth of what is left of it: it has then nearly waited for as "
               "long as the pool wants jobs to\n";
    }
    print_ahead(out, turn.value("ahead", nlohmann::json::object()));
}

// Not where the nodes there are will never do.
bool may_come(const nlohmann::json& blockers) {
    return std::none_of(blockers.begin(), blockers.end(), [](const nlohmann::json& one) {
        const std::string reason = text_of(one, "reason");
        return reason == "never_fits" || reason == "no_matching_node" || reason == "pool_empty" ||
               reason == "unsupported_feature";
    });
}

}  // namespace

void print_blockers(std::ostream& out, const nlohmann::json& blockers, const char* of) {
    out << "What keeps " << of << " waiting:\n";
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
        out << "It starts at a time that cannot be told yet\n";
    }
    if (blockers.empty() || runs) {
        const std::string summary = printable(text_of(body, "summary"));
        if (!summary.empty()) out << summary << '\n';
    }
    if (blockers.empty()) return;
    print_blockers(out, blockers, runs ? "the rest of it" : "it");
    if (const auto turn = body.find("turn"); turn != body.end() && turn->is_object()) {
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
        for (const char* field : {"remedies", "remediesTried", "remediesEndedEarly"}) {
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
        std::cout << "What would change that was not tried: " << why << '\n';
    }
    co_return 0;
}

}  // namespace gpuctl::cli
