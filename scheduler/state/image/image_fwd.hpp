#pragma once

namespace gpuctl {
struct StateImage;
struct JobImage;
struct UsageImage;
struct BudgetImage;
class StateReader;
}  // namespace gpuctl
