#include "scheduler/base/planted.hpp"

#include <string>

#ifdef GPUCTL_PLANTED

namespace gpuctl {
namespace {

PlantedBug chosen = PlantedBug::none;

}  // namespace

bool planted(PlantedBug bug) { return chosen == bug; }

bool plant(std::string_view name) {
    PlantedBug bug = PlantedBug::none;
    if (!boost::describe::enum_from_string(std::string{name}.c_str(), bug)) return false;
    chosen = bug;
    return true;
}

}  // namespace gpuctl

#endif
