#pragma once
// Names to dense ids and back. Ids are assigned in order of first use and never reused: the sets
// are small (pools, queues, tenants, resources) and chosen by administrators or namespaces.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpuctl {

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>{}(text);
    }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

template <typename Id>
using ByName = std::map<std::string, Id, std::less<>>;

template <typename Id>
class Interner {
public:
    Id intern(std::string_view name) {
        if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
        const Id id{static_cast<typename Id::value_type>(names_.size())};
        names_.emplace_back(name);
        ids_.emplace(names_.back(), id);
        return id;
    }
    [[nodiscard]] Id find(std::string_view name) const {
        const auto found = ids_.find(name);
        return found == ids_.end() ? Id::none() : found->second;
    }
    [[nodiscard]] const std::string& name(Id id) const { return names_[id.value()]; }
    [[nodiscard]] std::size_t size() const { return names_.size(); }

private:
    std::vector<std::string> names_;
    TextMap<Id> ids_;
};

}  // namespace gpuctl
