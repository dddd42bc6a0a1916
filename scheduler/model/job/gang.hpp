#pragma once
// The number of ranks that make a gang complete (docs/adr/0026).

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

// The number of ranks of a gang, in total and for each named role, sorted by name.
struct GangSize {
    std::int32_t ranks = 0;  // 0: not stated
    std::vector<RoleMinimum> roles;
    friend bool operator==(const GangSize&, const GangSize&) = default;

    // If the role is present already, the larger number counts.
    void add(const RoleMinimum& minimum);
    // Raises the number of ranks to the sum over the roles.
    void raise_to_roles();
};
BOOST_DESCRIBE_STRUCT(GangSize, (), (ranks, roles))

// What an object states about a gang in addition to its size.
struct GangNote {
    std::string queue;         // used if the queue exists and the pods of the gang name none
    std::string made_in_turn;  // see PodFacts::made_in_turn
    // The size was counted from the controller of the pods. A size that the pods state has
    // precedence.
    bool is_derived = false;
    [[nodiscard]] bool says_nothing() const { return *this == GangNote{}; }
    friend bool operator==(const GangNote&, const GangNote&) = default;
};
BOOST_DESCRIBE_STRUCT(GangNote, (), (queue, made_in_turn, is_derived))

}  // namespace gpuctl
