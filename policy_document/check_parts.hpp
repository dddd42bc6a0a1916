#pragma once
// What checks of whole structs share.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "wire/job/fields.hpp"

namespace gpuctl::config {

// The member `key` of the map that `field` was read from, for a more exact place than the map's.
wire::Field place_in(const wire::Field& field, std::string_view key);

// The member `key`; absent if `map` is no map, which its reader has reported.
wire::Field member_of(const wire::Field& map, std::string_view key);
// The elements of a list; none if `list` is no list.
std::vector<wire::Field> elements_of(const wire::Field& list);

// Empty is no error.
void check_label(const wire::Field& field, std::string_view key, const std::string& value);

// `list` holds items with unique names; reports the second of two equal ones at its place.
template <typename Item>
void check_unique(const std::vector<Item>& items, const wire::Field& field, std::string_view key,
                  const char* what) {
    std::set<std::string> names;
    const wire::Field list = place_in(field, key);
    const auto elements = list.json().is_array() ? list.elements() : std::vector<wire::Field>{};
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].name.empty() || names.insert(items[i].name).second) continue;
        const wire::Field& at = i < elements.size() ? elements[i] : field;
        at.error(std::string{what} + " " + items[i].name + " is given twice");
    }
}

}  // namespace gpuctl::config
