#pragma once
// MIG: the slices that NVIDIA GPUs can be cut into, and the places of each slice on a GPU (NVIDIA
// Multi-Instance GPU User Guide, "Supported MIG Profiles"; `nvidia-smi mig -lgip -lgipp`). See
// docs/adr/0021.
//
// A GPU has compute slices and memory slices. A slice named 3g.40gb has three compute slices and as
// many consecutive memory slices as make 40 GB. The slice may begin at few places only, so slices
// whose sum fits may still not fit by their places:
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
    std::int32_t memory_slices = 0;    // consecutive memory slices of it
    std::vector<std::int32_t> starts;  // memory slices where it may begin
    bool has_media = false;            // has the media engines; one slice of a GPU can
    std::int32_t gigabytes = 0;        // in its name
};

// GPUs that are cut alike.
struct MigFamily {
    std::string name;  // "H100-80GB"
    std::int32_t compute_slices = 0;
    std::int32_t memory_slices = 0;
    std::vector<MigProfile> profiles;

    [[nodiscard]] const MigProfile* find(std::string_view profile) const;
};

std::span<const MigFamily> mig_families();
// The families that a label may mean: an "A100" has 40 or 80 GB. Empty: no GPU known to be cut.
std::vector<const MigFamily*> mig_families_of(std::string_view gpu_model);

// Digits, "g.", digits, "gb", with the optional prefix "1c." (a compute instance) and the optional
// suffix "+me", "-me", "+me.all" or "+gfx". Resource names have "." for "+".
bool is_mig_profile(std::string_view text);

// Why no GPU of this model ("": of any model) has the profile, with the nearest profiles:
// "H100-80GB has no MIG profile 1g.5gb; the nearest are 1g.10gb, 1g.20gb". Nothing if the model has
// the profile, or if the cuts of the model are unknown.
std::string problem_with_mig(std::string_view profile, std::string_view gpu_model);

// The share of a whole GPU by compute slices. If a name means two sizes (1g.24gb is a seventh of
// one GPU and a quarter of another), the larger.
GpuShare mig_share(std::string_view profile);

// A start for each slice so that all of them fit on one GPU together; nothing if they do not fit.
// Exact: every arrangement is tried.
std::optional<std::vector<std::int32_t>> lay_out(const MigFamily& family,
                                                 const std::vector<const MigProfile*>& slices);

// "1g.5gb" for NVIDIA-A100-SXM4-40GB-MIG-1g.5gb: GPU feature discovery gives this model label to a
// node whose GPUs are all cut alike (MIG strategy "single"), and its device plugin calls each slice
// a GPU. Else empty.
std::string_view mig_profile_in_model(std::string_view gpu_model);

}  // namespace gpuctl
