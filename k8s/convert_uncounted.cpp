// Resources that no node ever counts, since what hands them out keeps its own books. Of a pod that
// asks for one every node lacks it, and no further node would offer it: it is held by name.

#include <algorithm>
#include <iterator>
#include <string_view>

#include "k8s/convert_pod_parts.hpp"

namespace gpuctl::k8s {
namespace {

struct Uncounted {
    std::string_view resource;  // ends in '/': all that begin so
    std::string_view handed_out_by;
};

constexpr Uncounted kUncounted[] = {
    {"deviceclass.resource.kubernetes.io/", "dynamic resource allocation"},  // S43
    {"nvidia.com/gpumem", "the HAMi scheduler"},
    {"nvidia.com/gpumem-percentage", "the HAMi scheduler"},
    {"nvidia.com/gpucores", "the HAMi scheduler"},
};

}  // namespace

void refuse_uncounted(PodFacts& facts) {
    for (const ExtendedAmount& asked : facts.request.extended) {
        const auto known =
            std::find_if(std::begin(kUncounted), std::end(kUncounted), [&](const Uncounted& one) {
                return one.resource.ends_with('/') ? asked.resource.starts_with(one.resource)
                                                   : asked.resource == one.resource;
            });
        if (known == std::end(kUncounted)) continue;
        facts.unsupported.push_back("the resource " + asked.resource + " (handed out by " +
                                    std::string{known->handed_out_by} + ")");
    }
}

}  // namespace gpuctl::k8s
