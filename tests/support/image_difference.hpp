#pragma once
// Lists the differences between two values of described structs, as lines "jobs[3].block_watch: 4 |
// 0". A test prints them if the hashes of two states are unequal.

#include <algorithm>
#include <string>

#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/base/time.hpp"

namespace gpuctl::test {

template <typename T>
std::string printed(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
        return '"' + value + '"';
    } else if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) {
        return std::to_string(static_cast<std::int64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) {
        return std::to_string(value.ms()) + " ms";
    } else {
        return "hash " + std::to_string(hash64(to_archive(value)));
    }
}

template <typename T>
void add_differences(const std::string& place, const T& one, const T& two, std::string& out) {
    using namespace archive_detail;
    if (to_archive(one) == to_archive(two)) return;
    if constexpr (is_vector<T>::value) {
        if (one.size() != two.size()) {
            out += place + ": " + std::to_string(one.size()) + " | " + std::to_string(two.size()) +
                   " elements\n";
        }
        for (std::size_t i = 0; i < std::min(one.size(), two.size()); ++i) {
            add_differences(place + '[' + std::to_string(i) + ']', one[i], two[i], out);
        }
    } else if constexpr (is_optional<T>::value) {
        if (one.has_value() && two.has_value()) return add_differences(place, *one, *two, out);
        out += place + ": " + (one.has_value() ? "present" : "absent") + " | " +
               (two.has_value() ? "present" : "absent") + '\n';
    } else if constexpr (boost::describe::has_describe_members<T>::value) {
        boost::mp11::mp_for_each<members<T>>([&](auto member) {
            add_differences(place + '.' + member.name, one.*member.pointer, two.*member.pointer,
                            out);
        });
    } else {
        out += place + ": " + printed(one) + " | " + printed(two) + '\n';
    }
}

}  // namespace gpuctl::test
