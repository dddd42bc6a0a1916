// Maintenance windows in gpuctld.yaml: values, and messages about wrong ones.

#include <gtest/gtest.h>

#include "daemon/config/load.hpp"
#include "text/time.hpp"

namespace gpuctl::config {
namespace {

constexpr const char* kNodes =
    "cluster: {embedded: {nodes: [{name: a, count: 3, pool: p}, {name: b, pool: rest}]}}\n";

// The members of one window; with what follows below `policy`.
std::string with_window(const std::string& members, const std::string& more = "") {
    return "policy:\n  maintenance:\n    - {" + members + "}\n" + more;
}

std::string refusal(const std::string& yaml) {
    const Result<Config> read = parse(yaml, "test.yaml");
    return read ? "accepted" : read.error().message;
}

void expect_refusal(const std::string& yaml, const std::string& text) {
    const std::string message = refusal(yaml);
    EXPECT_NE(message.find(text), std::string::npos) << message;
}

TEST(MaintenanceConfiguration, a_window_is_read_with_all_its_keys) {
    const Result<Config> config =
        parse(with_window(
                  "name: rack-7, nodes: [dev-0, dev-1], nodeSelector: {rack: r7}, pool: dev-pool, "
                  "start: 2026-12-01T09:00:00+01:00, duration: 4h, repeat: weekly, drain: all, "
                  "notice: 10m, unknownRunTimeMargin: 2d",
                  "  drainUnhealthy: preemptible\n"),
              "test.yaml");
    ASSERT_TRUE(config) << config.error().message;
    MaintenanceWindow window;
    window.name = "rack-7";
    window.pool = "dev-pool";
    window.nodes = {"dev-0", "dev-1"};
    window.labels = {{"rack", "r7"}};
    window.begin = *text::parse_time("2026-12-01T08:00:00Z");
    window.length = Duration::seconds(4 * 3600);
    window.every = Duration::seconds(7 * 24 * 3600);
    window.drain = Drain::all;
    window.notice = Duration::seconds(600);
    window.closes_ahead = Duration::seconds(2 * 24 * 3600);
    EXPECT_EQ(config->policy.windows, std::vector{window});
    EXPECT_EQ(config->policy.unhealthy_drain, Drain::preemptible);
}

TEST(MaintenanceConfiguration, an_end_is_equivalent_to_a_duration) {
    const Result<Config> config = parse(
        with_window(
            "name: w, nodes: [dev-0], start: 2026-12-01T08:00:00Z, end: 2026-12-01T10:30:00Z"),
        "test.yaml");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->policy.windows.at(0).length, Duration::seconds(2 * 3600 + 1800));
    EXPECT_EQ(config->policy.windows.at(0).drain, Drain::preemptible);
}

TEST(MaintenanceConfiguration, mistakes_are_reported_with_what_to_do) {
    const std::string at = "name: w, nodes: [dev-0], start: 2026-12-01T08:00:00Z";
    expect_refusal(with_window(at + ", end: 2026-12-01T07:00:00Z"),
                   "ends at 2026-12-01T07:00:00Z, not after its start at 2026-12-01T08:00:00Z");
    expect_refusal(with_window(at), "needs duration or end");
    expect_refusal(with_window(at + ", duration: 1h, end: 2026-12-01T09:00:00Z"),
                   "both duration and end");
    expect_refusal(with_window("name: w, start: 2026-12-01T08:00:00Z, duration: 1h"),
                   "names no nodes");
    expect_refusal(with_window("name: w, nodes: [dev-0], start: tomorrow, duration: 1h"),
                   "must be a time such as 2026-12-01T08:00:00Z");
    expect_refusal(with_window("name: w, nodes: [dev-0], start: 2026-12-01T08:00:00, duration: 1h"),
                   "must be a time such as");
    expect_refusal(with_window(at + ", duration: 25h, repeat: daily"), "would never be available");
    expect_refusal(with_window(at + ", duration: 1h, drain: every"), "none, preemptible, all");
    expect_refusal(with_window("name: w, pool: defualt, start: 2026-12-01T08:00:00Z, duration: 1h"),
                   "there is no pool defualt; did you mean default?");
    expect_refusal(with_window(at + ", duration: 1h}\n    - {" + at + ", duration: 2h"),
                   "test.yaml:4:7: the window w is given twice");
    expect_refusal(with_window(at + ", duration: 1h, queues: [zz]"),
                   "test.yaml:3:7: maintenance w is maintenance, which has no beneficiary");
}

std::string with_reservation(const std::string& members) {
    return "policy:\n  pools: [{name: p, queues: [{name: lab}]}]\n  reservations:\n    - {name: r, "
           "pool: p, start: 2026-12-01T08:00:00Z, " +
           members + "}\n";
}

TEST(ReservationConfiguration, a_reservation_is_a_window_with_owners) {
    const Result<Config> config =
        parse(with_reservation("duration: 2d, repeat: weekly, queues: [lab], tenants: [t]") +
                  "  maintenance: [{name: w, nodes: [dev-0], start: 2026-12-01T08:00:00Z, "
                  "duration: 1h}]\n",
              "test.yaml");
    ASSERT_TRUE(config) << config.error().message;
    ASSERT_EQ(config->policy.windows.size(), 2u);
    const auto& windows = config->policy.windows;
    const MaintenanceWindow& paper = windows[0].name == "r" ? windows[0] : windows[1];
    EXPECT_EQ(paper.queues, std::vector<std::string>{"lab"});
    EXPECT_EQ(paper.tenants, std::vector<std::string>{"t"});
    EXPECT_TRUE(paper.is_reservation());
    const Result<Config> again = parse(print_config(*config), "printed.yaml");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->policy, config->policy);
}

TEST(ReservationConfiguration, mistakes_are_reported_with_what_to_do) {
    expect_refusal(with_reservation("duration: 2d"),
                   "reservation r has no beneficiary; give queues or tenants");
    expect_refusal(with_reservation("duration: 2d, queues: [lba]"),
                   "pool p does not have the queue lba of reservation r; did you mean lab?");
    // Regression: it closed pool p to all its jobs.
    const std::string elsewhere =
        "policy:\n  pools: [{name: p}, {name: q, queues: [{name: lab}]}]\n  reservations:\n"
        "    - {name: r, pool: POOL, start: 2026-12-01T08:00:00Z, duration: 2d, queues: [lab]}\n";
    const auto in_pool = [&](const std::string& name) {
        return std::string{elsewhere}.replace(elsewhere.find("POOL"), 4, name);
    };
    expect_refusal(in_pool("p"), "pool p does not have the queue lab of reservation r");
    EXPECT_EQ(refusal(in_pool("q")), "accepted");
    expect_refusal(
        with_window("name: w, nodes: [dev-0], start: 2026-12-01T08:00:00Z, duration: 1h, "
                    "queues: [default]"),
        "move it to reservations");
    expect_refusal(with_reservation("duration: 2d, queues: [lab]") +
                       "  maintenance: [{name: r, nodes: [dev-0], start: 2026-12-01T08:00:00Z, "
                       "duration: 1h}]\n",
                   "the window r is given twice");
}

std::string window_on(const std::string& nodes) {
    return kNodes +
           with_window("name: w, nodes: " + nodes + ", start: 2026-12-01T08:00:00Z, duration: 1h");
}

TEST(WindowNames, nodes_must_exist_in_the_embedded_cluster) {
    EXPECT_EQ(refusal(window_on("[a-0, a-2, b-0]")), "accepted");
    EXPECT_EQ(refusal(window_on("[a-0, qqqq]")),
              "test.yaml:4:30: there is no node qqqq; the nodes of a group of "
              "cluster.embedded.nodes are called name-0, name-1, ...");
    expect_refusal(window_on("[a-3]"), "there is no node a-3; did you mean a-0?");
    expect_refusal(window_on("[b]"), "there is no node b;");
    expect_refusal(kNodes + with_reservation("nodes: [a-7], duration: 2d, queues: [lab]"),
                   "there is no node a-7");
}

TEST(WindowNames, nodes_must_be_in_the_pool_of_the_window) {
    EXPECT_EQ(refusal(window_on("[a-0], pool: p")), "accepted");
    EXPECT_EQ(refusal(window_on("[a-0, b-0], pool: p")),
              "test.yaml:4:30: node b-0 is in pool rest, not in pool p of this window: remove the "
              "pool, or name a node of it");
}

TEST(WindowNames, no_beneficiary_has_an_empty_name) {
    expect_refusal(kNodes + with_reservation("nodes: [a-1], duration: 2d, tenants: ['']"),
                   "policy.reservations.0.tenants.0 is empty; give it a value or leave it out");
}

TEST(WindowNames, nodes_of_kubernetes_are_not_checked) {
    EXPECT_EQ(refusal("cluster: {mode: kubernetes}\n" +
                      with_window("name: w, nodes: [qqqq], pool: zzzz, "
                                  "start: 2026-12-01T08:00:00Z, duration: 1h")),
              "accepted");
}

}  // namespace
}  // namespace gpuctl::config
