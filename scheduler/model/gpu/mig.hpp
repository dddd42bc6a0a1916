#pragma once
// MIG: the slices that NVIDIA GPUs can be partitioned into, and the positions of each slice on a
// GPU (NVIDIA Multi-Instance GPU User Guide, "Supported MIG Profiles"; `nvidia-smi mig -lgip
// -lgipp`). See docs/adr/0021.
//
// A GPU has compute slices and memory slices. A slice named 3g.40gb has three compute slices and as
// many consecutive memory slices as make 40 GB. The slice may begin at a few positions only, so
// slices may not fit together although their sum does:
//
//   memory   0 1 2 3 4 5 6 7
//   3g.40gb  └─────┘ └─────┘     begins at 0 or 4
//   2g.20gb  └─┘ └─┘ └─┘         begins at 0, 2 or 4, never at 6
//   1g.10gb  0 1 2 3 4 5 6

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/model/resources.hpp"

namespace gpuctl {

struct MigProfile {
    std::string name;                  // "3g.40gb", "1g.10gb+me"
    std::int32_t compute_slices = 0;   // of the slice
    std::int32_t memory_slices = 0;    // number of consecutive memory slices
    std::vector<std::int32_t> starts;  // memory slices where it may begin
    bool has_media = false;      // has the media engines; only one slice of a GPU can have them
    std::int32_t gigabytes = 0;  // the memory in its name
};

// GPUs that are partitioned alike.
struct MigFamily {
    std::string name;  // "H100-80GB"
    std::int32_t compute_slices = 0;
    std::int32_t memory_slices = 0;
    std::vector<MigProfile> profiles;

    [[nodiscard]] const MigProfile* find(std::string_view profile) const;
};

std::span<const MigFamily> mig_families();
// The families that a label may mean: an "A100" has 40 or 80 GB. Empty: the GPU is not known to
// support MIG.
std::vector<const MigFamily*> mig_families_of(std::string_view gpu_model);

// True for digits, "g.", digits, "gb", with the optional prefix "1c." (a compute instance) and the
// optional suffix "+me", "-me", "+me.all" or "+gfx". Resource names have "." instead of "+".
bool is_mig_profile(std::string_view text);

// Why no GPU of this model ("": of any model) has the profile, with the nearest profiles:
// "H100-80GB has no MIG profile 1g.5gb; the nearest are 1g.10gb, 1g.20gb". Nothing if the model has
// the profile, or if the profiles of the model are unknown.
std::string problem_with_mig(std::string_view profile, std::string_view gpu_model);

// The share of a whole GPU, by compute slices. If a name means two sizes (1g.24gb is a seventh of
// one GPU and a quarter of another), it is the larger share.
GpuShare mig_share(std::string_view profile);

// A position for each slice so that all of them fit on one GPU together; nothing if they do not
// fit. The result is exact: every arrangement is tried.
std::optional<std::vector<std::int32_t>> lay_out(const MigFamily& family,
                                                 const std::vector<const MigProfile*>& slices);

// For NVIDIA-A100-SXM4-40GB-MIG-1g.5gb the result is "1g.5gb": GPU feature discovery gives this
// model label to a node whose GPUs are all partitioned alike (MIG strategy "single"), and its
// device plugin calls each slice a GPU. For other labels the result is empty.
std::string_view mig_profile_in_model(std::string_view gpu_model);

}  // namespace gpuctl
