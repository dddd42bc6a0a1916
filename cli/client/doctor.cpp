#include <iostream>
#include <sstream>
#include <utility>

#include "cli/client/client.hpp"
#include "cli/commands/commands.hpp"
#include "cli/configuration.hpp"
#include "cli/version_number.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kSkewMaxSeconds = 60;
constexpr int kUnreachable = 7;

// What was checked, in order; each line says OK, or what is wrong and what to do.
class Findings {
public:
    void ok(std::string check, std::string message) {
        add(std::move(check), true, std::move(message));
    }
    void problem(std::string check, std::string message) {
        ++problems_;
        add(std::move(check), false, std::move(message));
    }
    [[nodiscard]] int problems() const { return problems_; }

    void print(const DoctorOptions& options) const {
        if (is_document(options.format)) {
            Json document = {{"ok", problems_ == 0}, {"checks", lines_}};
            return print_document(std::cout, document, options.format);
        }
        Table table{{"STATUS", "CHECK", "RESULT"}};
        for (const Json& line : lines_) {
            table.add_row({line["ok"] == true ? "OK" : "PROBLEM", text_of(line, "check"),
                           text_of(line, "message")});
        }
        table.print(std::cout, {true, options.is_colored, nullptr});
        std::cout << (problems_ == 0   ? "no problem found"
                      : problems_ == 1 ? "1 problem found"
                                       : std::to_string(problems_) + " problems found")
                  << '\n';
    }

private:
    void add(std::string check, bool is_ok, std::string message) {
        lines_.push_back({{"check", std::move(check)}, {"ok", is_ok}, {"message", message}});
    }

    Json lines_ = Json::array();
    int problems_ = 0;
};

void check_configuration(const ConnectionOptions& options, Findings& findings) {
    const Result<ConfigurationFile> file = read_configuration(options.config_file);
    if (!file) return findings.problem("configuration", file.error().message);
    std::string text =
        file->exists ? file->path + " has " + std::to_string(file->contexts.size()) + " contexts"
                     : "there is no file " + file->path + ", which is not needed";
    if (!options.context.empty()) text += ", context " + options.context + " is used";
    findings.ok("configuration", text);
}

void check_version(const Json& version, Findings& findings) {
    const std::string theirs = text_of(version, "version");
    const std::string ours{kVersion};
    if (theirs == ours) return findings.ok("versions", "gpuctl and gpuctld are " + ours);
    findings.problem("versions", "gpuctl is " + ours + ", gpuctld is " + theirs +
                                     ": install the gpuctl of the server's version, older or "
                                     "newer ones may not know all of its answers");
}

// `asked_ms`: halfway between request and answer.
void check_clock(const std::string& server_time, std::int64_t asked_ms, Findings& findings) {
    constexpr std::int64_t far_ms = std::int64_t{1} << 50;
    const std::int64_t since = seconds_since(server_time, far_ms);
    if (since < 0) return findings.problem("clock", "gpuctld reports no time; is it a gpuctld?");
    const std::int64_t ahead = (far_ms / 1'000 - since) - asked_ms / 1'000;
    const std::int64_t apart = ahead < 0 ? -ahead : ahead;
    if (apart <= kSkewMaxSeconds) {
        return findings.ok("clock", "the clocks differ by " + std::to_string(apart) + " s");
    }
    findings.problem("clock", "the server's clock is " + std::to_string(apart) + " s " +
                                  (ahead > 0 ? "ahead of" : "behind") +
                                  " this machine's: ages and estimates are wrong by that; set one "
                                  "of them by NTP");
}

// The lines of /readyz?verbose that failed: "[-]lease failed: why".
void check_readiness(int status, const std::string& body, Findings& findings) {
    if (status == 200) return findings.ok("readiness", "gpuctld is ready");
    std::string failed;
    std::istringstream lines{body};
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("[-]")) continue;
        failed += (failed.empty() ? "" : "; ") + line.substr(3);
    }
    findings.problem("readiness", "gpuctld is not ready: " + (failed.empty() ? body : failed) +
                                      "; jobs wait until it is, see its log");
}

void check_caller(const Result<Reply>& caller, bool has_token, Findings& findings) {
    if (caller) {
        const std::string role = text_of(caller->body, "role");
        const std::string text = "gpuctld knows this client as " +
                                 text_of(caller->body, "name", "a local user") + ", role " + role;
        if (role != "viewer") return findings.ok("token", text);
        return findings.ok("token", text + ", which may read and not change anything");
    }
    if (caller.error().code == ErrorCode::Unauthorized) {
        return findings.problem(
            "token", caller.error().message + (has_token ? "; is the token of this server?"
                                                         : "; set GPUCTL_TOKEN or token-file in "
                                                           "the context"));
    }
    if (caller.error().code == ErrorCode::NotFound) {
        return findings.ok("token", "this gpuctld is older and does not say which role it has");
    }
    findings.problem("token", caller.error().message);
}

void check_mode(const Json& version, Findings& findings) {
    const std::string mode = text_of(version, "mode", "unknown");
    findings.ok("cluster", mode == "embedded" ? "embedded: nodes and pods are simulated" : mode);
}

}  // namespace

int report_setup(const Error& error, const DoctorOptions& options) {
    Findings findings;
    findings.problem("configuration", error.message);
    findings.print(options);
    return 1;
}

aio::Task<int> run_doctor(Connection& connection, DoctorOptions options) {
    Findings findings;
    check_configuration(connection.options(), findings);
    const Result<Reply> version = co_await connection.get("/version");
    if (!version) {
        findings.problem("server", version.error().message);
        findings.print(options);
        co_return version.error().code == ErrorCode::ProtocolError ? 1 : kUnreachable;
    }
    findings.ok("server", connection.options().server + " answers");
    check_version(version->body, findings);
    const std::int64_t before = aio::Loop::wall_ms();
    const Result<Reply> health = co_await connection.get("/health");
    const std::int64_t halfway = before + (aio::Loop::wall_ms() - before) / 2;
    check_clock(health ? text_of(health->body, "timestamp") : "", halfway, findings);
    const Result<net::HttpResponse> ready =
        co_await connection.exchange("GET", "/readyz?verbose", "", "");
    if (ready) {
        check_readiness(ready->status, ready->body, findings);
    } else {
        findings.problem("readiness", ready.error().message);
    }
    const Result<Reply> caller = co_await connection.get("/api/v1/whoami");
    check_caller(caller, !connection.options().token.empty(), findings);
    check_mode(version->body, findings);
    findings.print(options);
    co_return findings.problems() == 0 ? 0 : 1;
}

}  // namespace gpuctl::cli
