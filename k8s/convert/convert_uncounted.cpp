// Resources that no node counts, because another component accounts for them. A pod that requests
// one would lack it on every node, and adding nodes would not help: it is held with the resource's
// name.

#include <algorithm>
#include <iterator>
#include <string_view>

#include "k8s/convert/convert_pod_parts.hpp"

namespace gpuctl::k8s {
namespace {

struct Uncounted {
    std::string_view resource;  // ends in '/': a prefix
    std::string_view handed_out_by;
};

constexpr Uncounted kUncounted[] = {
    {"deviceclass.resource.kubernetes.io/",
     "dynamic resource allocation"},  // resource of a DRA DeviceClass
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
        facts.unsupported.push_back("the resource " + asked.resource + " (allocated by " +
                                    std::string{known->handed_out_by} + ")");
    }
}

}  // namespace gpuctl::k8s
