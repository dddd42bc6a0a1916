#include "policy_document/policy_keys.hpp"

#include <algorithm>

#include "policy_document/queue_keys.hpp"
#include "policy_document/tables.hpp"

namespace gpuctl::config {
namespace {

constexpr std::string_view kPools = "pools";
constexpr std::string_view kPoolPolicy = "policy";

constexpr std::string_view kNameMeaning =
    "balanced, throughput, fair, sla or batch: what decides the order of jobs, backfill and "
    "preemption; docs/policies";

std::vector<std::pair<std::string_view, std::string>> policy_names() {
    std::vector<std::pair<std::string_view, std::string>> names;
    for (const NamedPolicy& one : named_policies()) names.emplace_back(one.name, one.name);
    return names;
}

Key<PolicyDocument> cluster_policy_name() {
    Key<PolicyDocument> key = choice<PolicyDocument, std::string>(
        "name", &PolicyDocument::policy_name, policy_names(), kNameMeaning);
    key.read = [read = key.read](const wire::Field& field, PolicyDocument& document) {
        read(field, document);
        const NamedPolicy& named = *find_named_policy(document.policy_name);
        document.policy.evictions_per_job_per_hour = named.evictions_per_job_per_hour;
    };
    return key;
}

// Queues without an order of their own get that of the named policy, recursively.
void order_queues(const wire::Field& list, QueueOrder order, PoolPolicy& pool) {
    if (!list || !list.json().is_array()) return;
    for (const wire::Field& element : list.elements()) {
        if (!element || !element.json().is_object()) continue;
        wire::Fields fields{element};
        order_queues(fields.find("queues"), order, pool);
        const wire::Field name = fields.find("name");
        if (!name || name.json().is_structured() || fields.find("order").is_written()) continue;
        const std::string wanted = name.text().value_or("");
        for (QueuePolicy& queue : pool.queues) {
            if (queue.name == wanted) queue.order = order;
        }
    }
}

// The queue `default` exists without an entry; an entry is needed only to change its order.
void add_default_queue(const NamedPolicy& named, PoolPolicy& pool) {
    if (named.order == QueuePolicy{}.order) return;
    const auto is_default = [](const QueuePolicy& one) { return one.name == kDefaultQueue; };
    if (std::any_of(pool.queues.begin(), pool.queues.end(), is_default)) return;
    QueuePolicy queue;
    queue.name = kDefaultQueue;
    queue.order = named.order;
    pool.queues.push_back(std::move(queue));
}

const NamedPolicy* named_by(const wire::Field& field) {
    const auto written = field.word();
    if (!written) return nullptr;
    const NamedPolicy* named = find_named_policy(*written);
    if (named != nullptr) return named;
    std::vector<std::string> names;
    for (const NamedPolicy& one : named_policies()) names.emplace_back(one.name);
    report_none_of(names, *written, field);
    return nullptr;
}

void read_pool(const wire::Field& element, PolicyDocument& document) {
    PoolPolicy& pool = document.policy.pools.emplace_back();
    const NamedPolicy* named = find_named_policy(document.policy_name);
    bool has_own = false;
    wire::Field queues;
    if (element && element.json().is_object()) {
        wire::Fields fields{element};
        queues = fields.find("queues");
        if (const wire::Field own = fields.find(kPoolPolicy); own.is_written()) {
            if (const NamedPolicy* chosen = named_by(own)) {
                named = chosen;
                has_own = true;
            }
        }
    }
    apply_named_policy(*named, pool);
    read_struct(element, pool);
    order_queues(queues, named->order, pool);
    add_default_queue(*named, pool);
    if (has_own) document.pool_policy_names[pool.name] = std::string{named->name};
}

std::vector<std::vector<Shown>> show_pools(const PolicyDocument& document) {
    std::vector<std::vector<Shown>> items;
    for (const PoolPolicy& pool : document.policy.pools) {
        std::vector<Shown> shown = show_struct(pool);
        const auto own = document.pool_policy_names.find(pool.name);
        for (Shown& key : shown) {
            if (key.name != kPoolPolicy || own == document.pool_policy_names.end()) continue;
            key.absent = false;
            key.value = yaml_text(own->second);
        }
        items.push_back(std::move(shown));
    }
    return items;
}

Key<PolicyDocument> pools(const PoolPolicy& example) {
    return {kPools, "pools with queues; a pool called default exists anyway", false,
            [](const wire::Field& field, PolicyDocument& document) {
                if (field.is_null()) return report_nothing_in(field);
                document.policy.pools.clear();
                for (const wire::Field& element : field.elements()) read_pool(element, document);
            },
            [example](const PolicyDocument& document, Shown& shown) {
                shown.form = Shown::Form::list;
                shown.absent = document.policy.pools.empty();
                shown.items = show_pools(document);
                if (!shown.absent) return;
                shown.items.push_back(show_struct(example));
                for (Shown& key : shown.items.front()) key.in_force = key.name == "order";
            }};
}

}  // namespace

void add_pool(const std::string& name, PolicyDocument& document) {
    const auto has_name = [&](const PoolPolicy& one) { return one.name == name; };
    std::vector<PoolPolicy>& all = document.policy.pools;
    if (std::any_of(all.begin(), all.end(), has_name)) return;
    PoolPolicy pool;
    pool.name = name;
    const NamedPolicy& named = *find_named_policy(document.policy_name);
    apply_named_policy(named, pool);
    add_default_queue(named, pool);
    all.push_back(std::move(pool));
}

const NamedPolicy& policy_of_pool(const PolicyDocument& document, const std::string& pool) {
    const auto own = document.pool_policy_names.find(pool);
    return *find_named_policy(own == document.pool_policy_names.end() ? document.policy_name
                                                                      : own->second);
}

Key<PoolPolicy> pool_policy_name() {
    return {kPoolPolicy, "a named policy for this pool; absent: policy.name", false,
            [](const wire::Field&, PoolPolicy&) {},
            [](const PoolPolicy&, Shown& shown) {
                shown.absent = true;
                shown.value = "throughput";
            }};
}

std::vector<Key<PolicyDocument>> policy_keys() {
    std::vector<Key<PolicyDocument>> members{
        cluster_policy_name(),
        pools(PoolPolicy{"training-pool", "large training jobs", example_queues()})};
    for (const Key<Policy>& key : keys<Policy>()) {
        members.push_back(lift(&PolicyDocument::policy, key));
    }
    return members;
}

}  // namespace gpuctl::config
