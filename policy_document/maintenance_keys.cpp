#include "policy_document/maintenance_keys.hpp"

#include <algorithm>
#include <set>

#include "policy_document/check_parts.hpp"
#include "policy_document/tables.hpp"
#include "policy_document/time_keys.hpp"
#include "text/duration.hpp"
#include "text/time.hpp"
#include "wire/job/job_rules.hpp"

namespace gpuctl::config {
namespace {

constexpr Duration kLongestWindow{90 * kMsPerDay};

Key<MaintenanceWindow> window_start() {
    return {"start", "its start, with the offset from UTC", true,
            [](const wire::Field& field, MaintenanceWindow& window) {
                window.begin = read_time(field).value_or(Instant{});
            },
            [](const MaintenanceWindow& window, Shown& shown) {
                shown.value = yaml_text(text::format_time(window.begin));
            }};
}

// The alternative to `duration`; read after `start`.
Key<MaintenanceWindow> end() {
    return {"end", "its end, instead of duration", false,
            [](const wire::Field& field, MaintenanceWindow& window) {
                const auto end = read_time(field);
                if (!end || !window.begin.happened()) return;
                window.length = *end - window.begin;
                if (window.length > Duration{}) return;
                field.error("maintenance " + window.name + " ends at " + text::format_time(*end) +
                            ", not after its start at " + text::format_time(window.begin));
            },
            [](const MaintenanceWindow& window, Shown& shown) {
                shown.absent = true;
                shown.value = yaml_text(text::format_time(window.begin + window.length));
            }};
}

}  // namespace

std::vector<std::pair<std::string_view, Drain>> drains() {
    return {{"none", Drain::none}, {"preemptible", Drain::preemptible}, {"all", Drain::all}};
}

namespace {

MaintenanceWindow example_window() {
    MaintenanceWindow window;
    window.name = "rack-7-firmware";
    window.pool = "training-pool";
    window.labels = {{"topology.kubernetes.io/rack", "r7"}};
    window.begin = *text::parse_time("2026-12-01T08:00:00Z");
    window.length = Duration{4 * kMsPerHour};
    return window;
}

MaintenanceWindow example_reservation() {
    MaintenanceWindow window = example_window();
    window.name = "paper-deadline";
    window.length = Duration{2 * kMsPerDay};
    window.queues = {"llm"};
    return window;
}

Key<Policy> windows(std::string_view name, bool is_reservation, const MaintenanceWindow& example,
                    std::string_view meaning) {
    return {
        name, meaning, false,
        [=](const wire::Field& field, Policy& policy) {
            if (field.is_null()) return report_nothing_in(field);
            std::erase_if(policy.windows, [=](const MaintenanceWindow& window) {
                return window.is_reservation() == is_reservation;
            });
            for (const wire::Field& element : field.elements()) {
                MaintenanceWindow& window = policy.windows.emplace_back();
                const std::size_t errors_before = element.problems().errors.size();
                read_struct(element, window);
                if (window.is_reservation() == is_reservation) continue;
                if (element.problems().errors.size() > errors_before)
                    continue;  // a window of its owners
                element.error(is_reservation
                                  ? "reservation " + window.name +
                                        " has no beneficiary; give queues or tenants, or make it "
                                        "maintenance"
                                  : "maintenance " + window.name +
                                        " is maintenance, which has no beneficiary; move it to "
                                        "reservations to use queues or tenants");
            }
        },
        [=](const Policy& policy, Shown& shown) {
            shown.form = Shown::Form::list;
            for (const MaintenanceWindow& window : policy.windows) {
                if (window.is_reservation() != is_reservation) continue;
                shown.items.push_back(show_struct(window));
            }
            shown.absent = shown.items.empty();
            if (shown.absent) shown.items.push_back(show_struct(example));
        }};
}

}  // namespace

Key<Policy> maintenance() {
    return windows("maintenance", false, example_window(),
                   "windows in which nodes run no jobs; at most 64, including reservations");
}

Key<Policy> reservations() {
    return windows("reservations", true, example_reservation(),
                   "windows in which nodes run only the jobs of given queues or tenants; same keys "
                   "as maintenance");
}

template <>
const std::vector<Key<MaintenanceWindow>>& keys<MaintenanceWindow>() {
    static const std::vector<Key<MaintenanceWindow>> table = {
        required(text("name", &MaintenanceWindow::name, "for people")),
        text("pool", &MaintenanceWindow::pool,
             "its nodes: of this pool, with these names and labels; a node must match all that are "
             "given"),
        texts("nodes", &MaintenanceWindow::nodes, "names; []: any"),
        text_map("nodeSelector", &MaintenanceWindow::labels, "labels; {}: any"),
        window_start(),
        span("duration", &MaintenanceWindow::length, 1, kLongestWindow.ms(), "how long it lasts"),
        end(),
        choice(
            "repeat", &MaintenanceWindow::every,
            std::vector<std::pair<std::string_view, Duration>>{{"never", Duration{}},
                                                               {"daily", Duration{kMsPerDay}},
                                                               {"weekly", Duration{7 * kMsPerDay}}},
            "never, daily (every 24 h) or weekly (every 168 h)"),
        choice("drain", &MaintenanceWindow::drain, drains(),
               "which pods are evicted before it: none, preemptible (of preemptible jobs) or all "
               "(except pods without a controller)"),
        span(
            "notice", &MaintenanceWindow::notice, 0, 30 * kMsPerDay,
            "they are evicted this long before the start, or their grace period if that is longer"),
        span("unknownRunTimeMargin", &MaintenanceWindow::closes_ahead, 0, kLongestWindow.ms(),
             "jobs without a known run time do not start within this time before it"),
        texts("queues", &MaintenanceWindow::queues,
              "queues whose jobs may run, including sub-queues; for reservations only"),
        texts("tenants", &MaintenanceWindow::tenants,
              "namespaces whose jobs may run; for reservations only"),
    };
    return table;
}

namespace {

// By the list that the window is in, which may be the wrong one.
std::string title_of(const MaintenanceWindow& window, const wire::Field& at) {
    const bool is_in_list = at.pointer().find("/maintenance/") != std::string::npos;
    return (window.is_reservation() && !is_in_list ? "reservation " : "maintenance ") + window.name;
}

}  // namespace

void check(const MaintenanceWindow& window, const wire::Field& field) {
    const std::string what = title_of(window, field);
    wire::Fields fields{field};
    const bool has_length = static_cast<bool>(fields.find("duration"));
    const bool has_end = static_cast<bool>(fields.find("end"));
    if (has_length && has_end) {
        field.error(what + " has both duration and end; give one of them");
    }
    if (!has_length && !has_end) {
        field.error(what + " needs duration or end");
    }
    if (window.length > kLongestWindow) {
        field.error(what + " lasts longer than " + text::format_duration(kLongestWindow));
    }
    if (window.every > Duration{} && window.length >= window.every) {
        field.error(what + " lasts " + text::format_duration(window.length) +
                    " and repeats every " + text::format_duration(window.every) +
                    ": its nodes would never be available");
    }
    if (const auto problem = wire::problem_with_label(window.name); !problem.empty()) {
        field.error("the name \"" + window.name + "\" " + problem);
    }
    if (window.pool.empty() && window.nodes.empty() && window.labels.empty()) {
        field.error(what + " names no nodes; give pool, nodes or nodeSelector");
    }
}

namespace {

// The last window with this name; the whole policy if there is none.
wire::Field place_of_window(const wire::Field& policy, const std::string& name) {
    wire::Field found = policy;
    for (const std::string_view list : {"maintenance", "reservations"}) {
        for (const wire::Field& window : elements_of(member_of(policy, list))) {
            const wire::Field named = member_of(window, "name");
            if (named && named.json().is_string() && named.json() == name) found = window;
        }
    }
    return found;
}

// A reservation for a queue that none of its nodes serves would close them to all jobs.
void check_queues_of(const MaintenanceWindow& window, const Policy& policy,
                     const wire::Field& field) {
    std::vector<std::string> queues{kDefaultQueue};
    for (const PoolPolicy& pool : policy.pools) {
        if (!window.pool.empty() && window.pool != pool.name) continue;
        for (const QueuePolicy& queue : pool.queues) queues.push_back(queue.name);
    }
    const std::string subject =
        window.pool.empty() ? "no pool has" : "pool " + window.pool + " does not have";
    for (const std::string& queue : window.queues) {
        if (std::find(queues.begin(), queues.end(), queue) != queues.end()) continue;
        const std::string nearest = wire::nearest_name(queue, queues);
        const wire::Field at = place_of_window(field, window.name);
        at.error(subject + " the queue " + queue + " of " + title_of(window, at) +
                 (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
    }
}

}  // namespace

void check_windows(const Policy& policy, const wire::Field& field) {
    std::set<std::string> names;
    for (const MaintenanceWindow& window : policy.windows) {
        if (window.name.empty() || names.insert(window.name).second) continue;
        place_of_window(field, window.name).error("the window " + window.name + " is given twice");
    }
    if (policy.windows.size() > kWindowsMaximum) {
        field.error("has " + std::to_string(policy.windows.size()) +
                    " windows of maintenance and reservations; at most " +
                    std::to_string(kWindowsMaximum) + " are allowed");
    }
    for (const MaintenanceWindow& window : policy.windows) {
        check_queues_of(window, policy, field);
    }
}

}  // namespace gpuctl::config
