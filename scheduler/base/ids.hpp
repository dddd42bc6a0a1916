#pragma once
// Dense identifiers: positions in the arrays of ClusterState, one C++ type per kind, so that a node
// id is never used as a queue id. They never leave the process; interfaces use names and uids.

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace gpuctl {

template <typename Tag>
class DenseId {
public:
    using value_type = std::uint32_t;

    constexpr DenseId() = default;
    explicit constexpr DenseId(value_type value) : value_(value) {}

    static constexpr DenseId none() { return DenseId{}; }

    [[nodiscard]] constexpr value_type value() const { return value_; }
    [[nodiscard]] constexpr bool exists() const { return value_ != kNone; }

    friend constexpr auto operator<=>(DenseId, DenseId) = default;

private:
    static constexpr value_type kNone = std::numeric_limits<value_type>::max();
    value_type value_ = kNone;
};

using NodeId = DenseId<struct NodeTag>;
using PodId = DenseId<struct PodTag>;
using JobId = DenseId<struct JobTag>;
using PoolId = DenseId<struct PoolTag>;
using QueueId = DenseId<struct QueueTag>;
using TenantId = DenseId<struct TenantTag>;
using ShapeId = DenseId<struct ShapeTag>;            // request + rules, shared by equal pods
using DomainId = DenseId<struct DomainTag>;          // a rack, a block, ... by level
using ConstraintId = DenseId<struct ConstraintTag>;  // placement rules, shared by equal pods

// Numbers that leave the process.
enum class Epoch : std::uint64_t {};     // leadership term; fences every remote write
enum class Sequence : std::uint64_t {};  // position of an input in the journal
enum class EffectId : std::uint64_t {};  // pairs an effect with its outcome

}  // namespace gpuctl

template <typename Tag>
struct std::hash<gpuctl::DenseId<Tag>> {
    std::size_t operator()(gpuctl::DenseId<Tag> id) const noexcept {
        return std::hash<std::uint32_t>{}(id.value());
    }
};
