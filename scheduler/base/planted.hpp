#pragma once
// Bugs put in on purpose, to see that the tests catch them: a harness that stays green over them
// proves nothing. They exist only in builds with GPUCTL_PLANTED; anywhere else planted() is a
// constant, and the compiler removes what depends on it. Asked only in .cpp files: headers are
// shared with objects that are built without.

#include <boost/describe.hpp>
#include <cstdint>
#include <string_view>

namespace gpuctl {

enum class PlantedBug : std::uint8_t {
    none,
    // After a restart, binds that were never answered are sent again, but take no room.
    forget_assumed_on_recovery
};
BOOST_DESCRIBE_ENUM(PlantedBug, none, forget_assumed_on_recovery)

#ifdef GPUCTL_PLANTED
bool planted(PlantedBug bug);
// By its name; false: there is no such bug.
bool plant(std::string_view name);
#else
constexpr bool planted(PlantedBug) { return false; }
#endif

}  // namespace gpuctl
