#include "policy_document/run_time_rules.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "policy_document/check_parts.hpp"
#include "policy_document/queue_keys.hpp"

namespace gpuctl::config {
namespace {

std::string mode_of(const PoolPolicy& pool) {
    switch (pool.preemption.mode) {
        case PreemptionMode::priority:
            return "preemption.mode priority";
        case PreemptionMode::shortest:
            return "preemption.mode shortest";
        case PreemptionMode::due:
            return "preemption.mode due";
    }
    return "";
}

std::string order_of(const QueuePolicy& queue) {
    for (const auto& [word, order] : queue_orders()) {
        if (order == queue.order) return std::string{word};
    }
    return "";
}

// The queues that take jobs; `default` exists without an entry.
std::vector<QueuePolicy> queues_with_jobs(const PoolPolicy& pool) {
    std::set<std::string> parents;
    bool has_default = false;
    for (const QueuePolicy& queue : pool.queues) {
        parents.insert(queue.parent);
        has_default = has_default || queue.name == kDefaultQueue;
    }
    std::vector<QueuePolicy> queues = pool.queues;
    std::erase_if(queues, [&](const QueuePolicy& queue) { return parents.contains(queue.name); });
    if (has_default) return queues;
    QueuePolicy implied;
    implied.name = kDefaultQueue;
    queues.push_back(implied);
    return queues;
}

bool is_by_run_time(const QueuePolicy& queue) { return queue.order == QueueOrder::shortest; }

bool orders_by_run_time(const PoolPolicy& pool) {
    const std::vector<QueuePolicy> queues = queues_with_jobs(pool);
    return std::any_of(queues.begin(), queues.end(), is_by_run_time);
}

wire::Field element_called(const wire::Field& list, const std::string& name) {
    for (const wire::Field& element : elements_of(list)) {
        const wire::Field field = member_of(element, "name");
        if (!field || field.json().is_structured()) continue;
        if (field.text().value_or("") == name) return element;
    }
    return {};
}

// At any depth of the tree.
wire::Field queue_called(const wire::Field& list, const std::string& name) {
    if (const wire::Field found = element_called(list, name)) return found;
    for (const wire::Field& element : elements_of(list)) {
        if (const wire::Field found = queue_called(member_of(element, "queues"), name)) {
            return found;
        }
    }
    return {};
}

// One pool with the places where it is written.
class PoolChecks {
public:
    PoolChecks(const PolicyDocument& document, const PoolPolicy& pool, const wire::Field& root)
        : document_(document),
          pool_(pool),
          root_(root),
          policy_(member_of(root, "policy")),
          element_(element_called(member_of(policy_, "pools"), pool.name)),
          expert_(element_called(member_of(member_of(root, "expert"), "pools"), pool.name)),
          mode_(member_of(member_of(expert_, "preemption"), "mode")) {}

    void check() const {
        if (pool_.preemption.stops_by_run_time()) {
            check_orders();
            check_evictions();
        }
        check_effects();
    }

private:
    // Where the mode comes from: its own key, or the name of a policy.
    [[nodiscard]] wire::Field place_of_mode() const {
        if (mode_) return mode_;
        if (const wire::Field name = member_of(element_, "policy")) return name;
        if (const wire::Field name = member_of(policy_, "name")) return name;
        return element_ ? element_ : root_;
    }
    [[nodiscard]] std::string policy_name() const {
        return "policy " + std::string{policy_of_pool(document_, pool_.name).name};
    }

    // The pool makes no reservation, whatever the order of its queues: without preemption by run
    // time its head-of-line job could wait for ever.
    void check_orders() const {
        const std::string key = "expert.pools[]." + mode_of(pool_);
        if (!orders_by_run_time(pool_)) {
            return place_of_mode().error(
                (mode_ ? key : policy_name() + " (" + key + ")") +
                " needs a queue with policy.pools[].queues[].order SHORTEST in pool " + pool_.name +
                ": only jobs of such queues preempt by run time, and no job of the pool gets a "
                "head-of-line reservation");
        }
        for (const QueuePolicy& queue : queues_with_jobs(pool_)) {
            if (is_by_run_time(queue)) continue;
            const wire::Field at = queue_called(member_of(element_, "queues"), queue.name);
            (at ? at : place_of_mode())
                .warning("queue " + queue.name + " of pool " + pool_.name + " has order " +
                         order_of(queue) + ": with " + mode_of(pool_) +
                         " its jobs preempt no job by run time and get no reservation; set order: "
                         "SHORTEST");
        }
    }

    // The number is one for all pools, and a pool's policy does not set it.
    void check_evictions() const {
        if (member_of(policy_, "evictionsPerJobPerHour").is_written()) return;
        std::int32_t wanted = 0;
        for (const NamedPolicy& one : named_policies()) {
            wanted = std::max(wanted, one.evictions_per_job_per_hour);
        }
        const std::int32_t most = document_.policy.evictions_per_job_per_hour;
        if (most >= wanted) return;
        place_of_mode().warning(
            "policy.evictionsPerJobPerHour is " + std::to_string(most) + " (policy " +
            document_.policy_name + "), one value for all pools: in pool " + pool_.name + " (" +
            mode_of(pool_) + ") a job that was preempted " + std::to_string(most) +
            " times in an hour is not preempted again in that hour; set "
            "policy.evictionsPerJobPerHour: " +
            std::to_string(wanted));
    }

    void check_effects() const {
        for (const char* section : {"backfill", "preemption"}) {
            const wire::Field map = member_of(expert_, section);
            for (const char* key : {"head", "reserveAfter", "ageing", "waitMaximum",
                                    "slowdownPercent", "waitTarget"}) {
                const wire::Field field = member_of(map, key);
                const std::string why = why_without_effect(pool_, key);
                if (!field || why.empty()) continue;
                field.warning("expert.pools[]." + std::string{section} + "." + key + " of pool " +
                              pool_.name + " has no effect " + why);
            }
        }
    }

    const PolicyDocument& document_;
    const PoolPolicy& pool_;
    wire::Field root_;
    wire::Field policy_;   // the section
    wire::Field element_;  // of policy.pools
    wire::Field expert_;   // element of expert.pools
    wire::Field mode_;     // in it
};

}  // namespace

std::string why_without_effect(const PoolPolicy& pool, std::string_view key) {
    const bool is_by_run_time = pool.preemption.stops_by_run_time();
    const bool reserves = pool.backfill.head == HeadOfLine::reserve;
    const std::string with_mode = "with " + mode_of(pool);
    if (key == "head" && reserves && is_by_run_time) {
        return with_mode + ": the head-of-line job gets no reservation";
    }
    if (key == "reserveAfter" && is_by_run_time) return with_mode;
    if (key == "reserveAfter" && !reserves) return "with backfill.head noReservation";
    const bool is_wait = key == "ageing" || key == "waitMaximum";
    if (is_wait && !orders_by_run_time(pool)) return "without a queue of order SHORTEST";
    if (key == "ageing" && pool.preemption.mode == PreemptionMode::due) return with_mode;
    if (key == "waitMaximum" && !is_by_run_time && !reserves) {
        return "with backfill.head noReservation";
    }
    if (key == "slowdownPercent" && pool.preemption.mode != PreemptionMode::due) return with_mode;
    if (key == "waitTarget" && pool.preemption.mode != PreemptionMode::shortest) return with_mode;
    return "";
}

void check_run_time_rules(const PolicyDocument& document, const wire::Field& root) {
    for (const PoolPolicy& pool : document.policy.pools) {
        PoolChecks{document, pool, root}.check();
    }
}

}  // namespace gpuctl::config
