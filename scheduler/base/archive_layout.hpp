#pragma once
// The form of a type in the archive, as text: two builds whose texts are equal read each other's
// bytes, and no others do. The journal keeps a hash of it, so that what another build wrote is told
// from what is damaged.

#include <string>
#include <string_view>

#include "scheduler/base/archive.hpp"

namespace gpuctl {

template <typename T>
struct LayoutOf {
    static void append(std::string& out) {
        using namespace archive_detail;
        if constexpr (std::is_same_v<T, bool>) {
            out += 'b';
        } else if constexpr (std::is_enum_v<T>) {
            out += 'e';
            LayoutOf<std::underlying_type_t<T>>::append(out);
        } else if constexpr (std::is_integral_v<T>) {
            out += std::is_signed_v<T> ? 'i' : 'u';
        } else if constexpr (is_quantity<T>::value || is_dense_id<T>::value) {
            LayoutOf<typename T::value_type>::append(out);
        } else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) {
            out += 'i';
        } else if constexpr (std::is_same_v<T, std::string>) {
            out += 's';
        } else if constexpr (is_vector<T>::value) {
            out += '[';
            LayoutOf<typename T::value_type>::append(out);
            out += ']';
        } else if constexpr (is_map<T>::value) {
            out += '{';
            LayoutOf<typename T::key_type>::append(out);
            LayoutOf<typename T::mapped_type>::append(out);
            out += '}';
        } else if constexpr (is_array<T>::value) {
            out += '(' + std::to_string(std::tuple_size_v<T>);
            LayoutOf<typename T::value_type>::append(out);
            out += ')';
        } else if constexpr (is_optional<T>::value) {
            out += '?';
            LayoutOf<typename T::value_type>::append(out);
        } else if constexpr (is_pair<T>::value) {
            LayoutOf<typename T::first_type>::append(out);
            LayoutOf<typename T::second_type>::append(out);
        } else if constexpr (is_variant<T>::value) {
            append_alternatives(out, static_cast<const T*>(nullptr));
        } else {
            append_members(out);
        }
    }

private:
    template <typename... Alternatives>
    static void append_alternatives(std::string& out, const std::variant<Alternatives...>*) {
        out += '|';
        ((LayoutOf<Alternatives>::append(out), out += '|'), ...);
    }
    // Names count: a member that means something else now has another name.
    static void append_members(std::string& out) {
        out += '<';
        boost::mp11::mp_for_each<archive_detail::members<T>>([&](auto member) {
            out += member.name;
            out += ':';
            using Value = std::remove_cvref_t<decltype(std::declval<T>().*member.pointer)>;
            LayoutOf<Value>::append(out);
            out += ';';
        });
        out += '>';
    }
};

template <typename T>
std::string archive_layout() {
    std::string out;
    LayoutOf<T>::append(out);
    return out;
}

}  // namespace gpuctl
