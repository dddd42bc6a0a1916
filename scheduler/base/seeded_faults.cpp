#include "scheduler/base/seeded_faults.hpp"

#ifdef GPUCTL_SEEDED_FAULTS

namespace gpuctl {
namespace {

SeededFault chosen = SeededFault::none;

}  // namespace

bool has_fault(SeededFault fault) { return chosen == fault; }

bool select_fault(std::string_view name) {
    if (name == "none") {
        chosen = SeededFault::none;
        return true;
    }
    for (const SeededFaultRow& row : kSeededFaults) {
        if (row.name != name) continue;
        chosen = row.fault;
        return true;
    }
    return false;
}

}  // namespace gpuctl

#endif
