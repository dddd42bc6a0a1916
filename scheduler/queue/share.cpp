#include "scheduler/queue/share.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"

namespace gpuctl {

std::int64_t dominant_share(const Load& held, const Usage& usage, const Load& whole) {
    __extension__ using Wide = __int128;
    constexpr std::int64_t kShareMaximum = std::int64_t{1} << 52;  // times a weight fits 128 bits
    const UsageAmounts has = amounts_of(held);
    const UsageAmounts of = amounts_of(whole);
    std::int64_t most = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (of[i] == 0 || (i > 0 && planted(PlantedBug::share_of_gpus_only))) continue;
        const Wide counted = static_cast<Wide>(has[i]) * kUsageUnit + usage.mean[i];
        const Wide part = counted * kShareWhole / (static_cast<Wide>(of[i]) * kUsageUnit);
        most = std::max(most, static_cast<std::int64_t>(std::min<Wide>(part, kShareMaximum)));
    }
    return most;
}

}  // namespace gpuctl
