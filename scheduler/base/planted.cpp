#include "scheduler/base/planted.hpp"

#ifdef GPUCTL_PLANTED

namespace gpuctl {
namespace {

PlantedBug chosen = PlantedBug::none;

}  // namespace

bool planted(PlantedBug bug) { return chosen == bug; }

bool plant(std::string_view name) {
    if (name == "none") {
        chosen = PlantedBug::none;
        return true;
    }
    for (const PlantedBugRow& row : kPlantedBugs) {
        if (row.name != name) continue;
        chosen = row.bug;
        return true;
    }
    return false;
}

}  // namespace gpuctl

#endif
