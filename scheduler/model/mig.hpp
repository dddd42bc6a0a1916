#pragma once
// MIG: the slices that NVIDIA's GPUs can be cut into, and where on a GPU each may lie (NVIDIA's MIG
// user guide, "Supported MIG Profiles"; `nvidia-smi mig -lgip -lgipp`). See docs/adr/0021.
//
// A GPU has compute slices and memory slices. A slice of it, named 3g.40gb, has three of the
// former and as many of the latter, in a row, as make 40 GB. The row may begin at few places only,
// so that slices which fit by their sum need not fit by their places:
//
//   memory   0 1 2 3 4 5 6 7
//   3g.40gb  └─────┘ └─────┘     begins at 0 or 4
//   2g.20gb  └─┘ └─┘ └─┘         begins at 0, 2 or 4, and never at 6
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
    std::int32_t compute_slices = 0;   // it has
    std::int32_t memory_slices = 0;    // it lies on, in a row
    std::vector<std::int32_t> starts;  // on which of them it may begin
    bool has_media = false;            // the media engines, which a GPU gives away once
    std::int32_t gigabytes = 0;        // of its name
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
// What a GPU with this label may be: an "A100" has 40 or 80 GB. Empty: no GPU known to be cut.
std::vector<const MigFamily*> mig_families_of(std::string_view gpu_model);

// Digits, "g.", digits, "gb", with "1c." in front (a part of the slice's compute) and "+me", "-me",
// "+me.all" or "+gfx" behind; "." for "+" as resource names have it.
bool is_mig_profile(std::string_view text);

// Why no GPU of this model, "" for any, has that profile, with the nearest that it has: "H100-80GB
// has no MIG profile 1g.5gb; the nearest are 1g.10gb, 1g.20gb". Nothing when it has, and of a model
// of which it is not known how it is cut.
std::string problem_with_mig(std::string_view profile, std::string_view gpu_model);

// What such a slice is of a whole GPU, by compute slices. Where a name means two sizes (1g.24gb is
// a seventh of one GPU and a quarter of another), the larger.
GpuShare mig_share(std::string_view profile);

// A start for each of these slices so that all lie on one GPU at once; nothing when they cannot.
// Exact: every arrangement is tried.
std::optional<std::vector<std::int32_t>> lay_out(const MigFamily& family,
                                                 const std::vector<const MigProfile*>& slices);

// "1g.5gb" of NVIDIA-A100-SXM4-40GB-MIG-1g.5gb: the model as discovery labels a node whose GPUs are
// all cut alike (strategy single), so that its device plugin calls each slice a GPU. Else empty.
std::string_view mig_profile_in_model(std::string_view gpu_model);

}  // namespace gpuctl
