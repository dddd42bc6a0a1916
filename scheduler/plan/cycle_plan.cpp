#include "scheduler/plan/cycle_plan.hpp"

namespace gpuctl {

void CyclePlan::clear() {
    placed.clear();
    evicted.clear();
    resized.clear();
    nominated.clear();
    reserved.clear();
    refused.clear();
    reported.clear();
    effort = {};
}

}  // namespace gpuctl
