#pragma once
// Queues as written: nested, each with its `queues`. Policy stores them flat, a parent before its
// children, each with its parent's name; reading flattens, printing nests again.

#include <map>
#include <string_view>

#include "policy_document/keys.hpp"

namespace gpuctl::config {

// The orders as written.
std::vector<std::pair<std::string_view, QueueOrder>> queue_orders();

// How the jobs and queues directly in a pool or queue are ordered.
template <typename T>
Key<T> order(QueueOrder T::* member) {
    return choice("order", member, queue_orders(),
                  "order of the jobs and queues directly in it: FIFO, PRIORITY, FAIR_SHARE, "
                  "CAPACITY or SHORTEST");
}

template <typename T>
Key<T> optional_count(std::string_view name, std::optional<std::int64_t> T::* member,
                      std::int64_t low, std::int64_t high, std::string_view meaning) {
    return {name, meaning, false,
            [=](const wire::Field& field, T& value) {
                if (const auto read = field.integer(low, high)) value.*member = *read;
            },
            [member](const T& value, Shown& shown) {
                shown.absent = !(value.*member);
                shown.value = std::to_string((value.*member).value_or(100));
            }};
}

// Placeholder for the sub-queues in the table of a queue; queue_tree() reads and prints them.
Key<QueuePolicy> sub_queues();
// The queues of a pool.
Key<PoolPolicy> queue_tree(std::string_view meaning);

// "10%" of the pool's GPUs, or a number of GPUs.
Key<PoolPolicy> reserve();

// The queues that config/gpuctld.yaml shows.
std::vector<QueuePolicy> example_queues();

}  // namespace gpuctl::config
