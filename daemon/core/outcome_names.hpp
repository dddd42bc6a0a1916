#pragma once
// Names of effect results in metric labels and log lines.

#include <string_view>

#include "scheduler/model/event.hpp"

namespace gpuctl::core {

constexpr std::string_view name_of(BindResult result) {
    constexpr std::string_view names[] = {"bound", "elsewhere", "gone", "refused", "failed"};
    return names[static_cast<std::size_t>(result)];
}

}  // namespace gpuctl::core
