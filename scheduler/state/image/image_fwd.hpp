#pragma once

namespace gpuctl {
struct StateImage;
struct JobImage;
struct UsageImage;
}  // namespace gpuctl
