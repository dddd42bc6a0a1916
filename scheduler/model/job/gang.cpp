#include "scheduler/model/job/gang.hpp"

#include <algorithm>

namespace gpuctl {

void GangSize::add(const RoleMinimum& minimum) {
    const auto at = std::lower_bound(
        roles.begin(), roles.end(), minimum.role,
        [](const RoleMinimum& one, const std::string& role) { return one.role < role; });
    if (at == roles.end() || at->role != minimum.role) {
        roles.insert(at, minimum);
    } else {
        at->ranks = std::max(at->ranks, minimum.ranks);
    }
}

void GangSize::raise_to_roles() {
    constexpr std::int64_t kMost = 1'000'000;
    std::int64_t sum = 0;
    for (const RoleMinimum& role : roles) sum += role.ranks;
    ranks = static_cast<std::int32_t>(std::max<std::int64_t>(ranks, std::min(sum, kMost)));
}

}  // namespace gpuctl
