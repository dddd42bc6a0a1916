#pragma once
// How many ranks make a gang whole (ADR 0026).

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuctl {

struct RoleMinimum {
    std::string role;
    std::int32_t ranks = 0;
    friend auto operator<=>(const RoleMinimum&, const RoleMinimum&) = default;
};
BOOST_DESCRIBE_STRUCT(RoleMinimum, (), (role, ranks))

// So many ranks in all and of each role that is named, by name.
struct GangSize {
    std::int32_t ranks = 0;  // 0: nobody says
    std::vector<RoleMinimum> roles;
    friend bool operator==(const GangSize&, const GangSize&) = default;

    // Of a role that is named already the larger number counts.
    void add(const RoleMinimum& minimum);
    // The ranks of all roles are ranks of the gang.
    void raise_to_roles();
};
BOOST_DESCRIBE_STRUCT(GangSize, (), (ranks, roles))

// What an object says of a gang beside its size.
struct GangNote {
    std::string queue;         // used where it is one of ours and its pods name none
    std::string made_in_turn;  // see PodFacts::made_in_turn
    // The size is counted from what makes the pods: what the pods say themselves goes before it.
    bool is_derived = false;
    [[nodiscard]] bool says_nothing() const { return *this == GangNote{}; }
    friend bool operator==(const GangNote&, const GangNote&) = default;
};
BOOST_DESCRIBE_STRUCT(GangNote, (), (queue, made_in_turn, is_derived))

}  // namespace gpuctl
