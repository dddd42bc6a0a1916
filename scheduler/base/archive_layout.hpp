#pragma once
// The layout of an archive: the sequence of values in its bytes, with the names of members and
// enumerators. A file carries the text of the layout that it was written with, so that a build with
// changed types can read it:
//
//   - members are matched by name: a new member takes the default of its struct, a member that no
//     longer exists is dropped, and the order of members does not matter;
//   - enumerators are matched by name; a missing enumerator makes the value unreadable;
//   - alternatives of a variant are matched by position, so new alternatives go at the end;
//   - a written T is read as a present value where an optional T is wanted, and as the first
//     alternative with the same layout where a variant is wanted.
//
// An upgrade (scheduler/state/image/upgrades.hpp) handles what these rules do not cover: a member
// that was renamed or changed its meaning. The rules follow the schema resolution of the Apache
// Avro specification.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/archive.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl {

struct Layout {
    enum class Kind : std::uint8_t {
        boolean,
        unsigned_integer,
        signed_integer,
        enumeration,
        string,
        list,       // parts: its element
        map,        // key, value
        array,      // its element, `length` times
        optional,   // its value
        pair,       // first, second
        variant,    // its alternatives
        structure,  // its members
    };
    Kind kind = Kind::structure;
    std::uint64_t length = 0;
    std::vector<std::string> names;  // of members, or of enumerators
    std::vector<Layout> parts;
    // Defaults of the members, archived. Only layouts of types have them; layouts parsed from text
    // do not.
    std::vector<std::string> defaults;

    friend bool operator==(const Layout& left, const Layout& right) {
        return left.kind == right.kind && left.length == right.length &&
               left.names == right.names && left.parts == right.parts;
    }
};

// The layout as one line of printable ASCII; equal layouts have equal texts.
std::string to_text(const Layout& layout);
// Returns nothing if the text is not a layout.
std::optional<Layout> parse_layout(std::string_view text);

namespace archive_detail {

// Enumerations without names (ids and positions) are stored as numbers.
template <typename T>
std::vector<std::string> enumerator_names() {
    std::vector<std::string> names;
    if constexpr (boost::describe::has_describe_enumerators<T>::value) {
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto enumerator) {
            names.resize(std::max(names.size(), static_cast<std::size_t>(enumerator.value) + 1));
            names[static_cast<std::size_t>(enumerator.value)] = enumerator.name;
        });
    } else if constexpr (requires { archive_enumerators(T{}); }) {
        for (const std::string_view name : archive_enumerators(T{})) names.emplace_back(name);
    }
    return names;
}

}  // namespace archive_detail

template <typename T>
Layout layout_of();

template <typename... T>
void append_alternatives(std::vector<Layout>& parts, const std::variant<T...>*) {
    (parts.push_back(layout_of<T>()), ...);
}

template <typename T>
Layout layout_of() {
    using namespace archive_detail;
    using Kind = Layout::Kind;
    Layout layout;
    if constexpr (std::is_same_v<T, bool>) {
        layout.kind = Kind::boolean;
    } else if constexpr (std::is_enum_v<T>) {
        static_assert(std::is_unsigned_v<std::underlying_type_t<T>>);
        layout.names = enumerator_names<T>();
        layout.kind = layout.names.empty() ? Kind::unsigned_integer : Kind::enumeration;
    } else if constexpr (std::is_integral_v<T>) {
        layout.kind = std::is_signed_v<T> ? Kind::signed_integer : Kind::unsigned_integer;
    } else if constexpr (is_quantity<T>::value || is_dense_id<T>::value) {
        return layout_of<typename T::value_type>();
    } else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) {
        layout.kind = Kind::signed_integer;
    } else if constexpr (std::is_same_v<T, std::string>) {
        layout.kind = Kind::string;
    } else if constexpr (is_vector<T>::value || is_optional<T>::value) {
        layout.kind = is_vector<T>::value ? Kind::list : Kind::optional;
        layout.parts.push_back(layout_of<typename T::value_type>());
    } else if constexpr (is_map<T>::value) {
        layout.kind = Kind::map;
        layout.parts = {layout_of<typename T::key_type>(), layout_of<typename T::mapped_type>()};
    } else if constexpr (is_array<T>::value) {
        layout.kind = Kind::array;
        layout.length = std::tuple_size_v<T>;
        layout.parts.push_back(layout_of<typename T::value_type>());
    } else if constexpr (is_pair<T>::value) {
        layout.kind = Kind::pair;
        layout.parts = {layout_of<typename T::first_type>(), layout_of<typename T::second_type>()};
    } else if constexpr (is_variant<T>::value) {
        layout.kind = Kind::variant;
        append_alternatives(layout.parts, static_cast<const T*>(nullptr));
    } else {
        const T initial{};
        boost::mp11::mp_for_each<members<T>>([&](auto member) {
            using Value = std::remove_cvref_t<decltype(initial.*member.pointer)>;
            layout.names.emplace_back(member.name);
            layout.parts.push_back(layout_of<Value>());
            layout.defaults.push_back(to_archive(initial.*member.pointer));
        });
    }
    return layout;
}

}  // namespace gpuctl
