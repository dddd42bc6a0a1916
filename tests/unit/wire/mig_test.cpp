// MIG profiles and their placements (docs/adr/0021), against the output of `nvidia-smi mig -lgip
// -lgipp` and against every arrangement checked by hand.

#include "scheduler/model/gpu/mig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl {
namespace {

using Slices = std::vector<const MigProfile*>;

const MigFamily& family(std::string_view name) {
    for (const MigFamily& one : mig_families()) {
        if (one.name == name) return one;
    }
    ADD_FAILURE() << "no family " << name;
    return mig_families().front();
}

std::string names_of(std::string_view model) {
    std::string text;
    for (const MigFamily* one : mig_families_of(model)) {
        text += (text.empty() ? "" : " ") + one->name;
    }
    return text;
}

Slices slices(const MigFamily& of, const std::vector<std::string>& names) {
    Slices out;
    for (const std::string& name : names) out.push_back(of.find(name));
    EXPECT_EQ(std::count(out.begin(), out.end(), nullptr), 0);
    return out;
}

// The count of a profile that fits on an empty GPU.
std::int64_t most_of(const MigFamily& of, const std::string& name) {
    Slices row;
    while (row.size() < 9) {
        row.push_back(of.find(name));
        if (!lay_out(of, row)) return static_cast<std::int64_t>(row.size()) - 1;
    }
    return -1;
}

TEST(Mig, profiles_and_their_numbers_are_those_that_nvidia_smi_prints) {
    const std::map<std::string, std::int64_t> h100 = {
        {"1g.10gb", 7}, {"1g.10gb+me", 1}, {"1g.20gb", 4}, {"2g.20gb", 3},
        {"3g.40gb", 2}, {"4g.40gb", 1},    {"7g.80gb", 1}};
    const std::map<std::string, std::int64_t> a30 = {
        {"1g.6gb", 4}, {"1g.6gb+me", 1}, {"2g.12gb", 2}, {"2g.12gb+me", 1}, {"4g.24gb", 1}};
    const std::map<std::string, std::int64_t> h200 = {
        {"1g.18gb", 7}, {"1g.18gb+me", 1}, {"1g.35gb", 4}, {"2g.35gb", 3},
        {"3g.71gb", 2}, {"4g.71gb", 1},    {"7g.141gb", 1}};
    for (const auto& [name, expected] :
         {std::pair{"H100-80GB", h100}, std::pair{"A30", a30}, std::pair{"H200-141GB", h200}}) {
        const MigFamily& of = family(name);
        EXPECT_EQ(of.profiles.size(), expected.size()) << name;
        for (const auto& [profile, most] : expected) {
            ASSERT_NE(of.find(profile), nullptr) << name << " " << profile;
            EXPECT_EQ(most_of(of, profile), most) << name << " " << profile;
        }
    }
    EXPECT_NE(family("B200-180GB").find("4g.90gb"), nullptr);
    EXPECT_NE(family("A100-40GB").find("1g.5gb"), nullptr);
}

TEST(Mig, a_slice_may_begin_at_few_places_only) {
    const MigFamily& h100 = family("H100-80GB");
    EXPECT_EQ(h100.find("3g.40gb")->starts, (std::vector<std::int32_t>{0, 4}));
    EXPECT_EQ(h100.find("2g.20gb")->starts, (std::vector<std::int32_t>{0, 2, 4}));
    EXPECT_EQ(h100.find("1g.20gb")->starts, (std::vector<std::int32_t>{0, 2, 4, 6}));
    EXPECT_TRUE(lay_out(h100, slices(h100, {"2g.20gb", "2g.20gb", "2g.20gb", "1g.10gb"})));
    EXPECT_TRUE(lay_out(h100, slices(h100, {"3g.40gb", "2g.20gb", "1g.20gb"})));
    // Eight memory slices, and eight are there; but no 2g may begin at 6.
    EXPECT_FALSE(lay_out(h100, slices(h100, {"4g.40gb", "2g.20gb", "2g.20gb"})));
    EXPECT_FALSE(lay_out(h100, slices(h100, {"3g.40gb", "3g.40gb", "1g.10gb"})));
    EXPECT_FALSE(lay_out(h100, slices(h100, {"1g.10gb+me", "1g.10gb+me"})));
    EXPECT_EQ(*lay_out(h100, slices(h100, {"3g.40gb", "4g.40gb"})),
              (std::vector<std::int32_t>{4, 0}));
}

// Every start for every slice, checked memory slice by memory slice.
bool can_lie(const MigFamily& of, const Slices& row) {
    std::vector<std::size_t> at(row.size());
    for (;;) {
        std::vector<int> held(16);
        int media = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            for (std::int32_t k = 0; k < row[i]->memory_slices; ++k) {
                ++held[static_cast<std::size_t>(row[i]->starts[at[i]] + k)];
            }
            media += row[i]->has_media ? 1 : 0;
        }
        const bool overlaps = std::any_of(held.begin(), held.end(), [](int n) { return n > 1; });
        const bool leaves =
            std::any_of(held.begin() + of.memory_slices, held.end(), [](int n) { return n > 0; });
        if (!overlaps && !leaves && media <= 1) return true;
        std::size_t next = 0;
        while (next < row.size() && ++at[next] == row[next]->starts.size()) at[next++] = 0;
        if (next == row.size()) return false;
    }
}

TEST(Mig, a_layout_is_found_exactly_when_some_arrangement_is_possible) {
    int possible = 0;
    int impossible = 0;
    for (const char* name : {"A30", "H100-80GB"}) {
        const MigFamily& of = family(name);
        // Every multiset of up to five profiles: rows that never go down.
        std::vector<std::size_t> pick = {0};
        while (!pick.empty()) {
            Slices row;
            for (const std::size_t i : pick) row.push_back(&of.profiles[i]);
            const auto found = lay_out(of, row);
            const bool can = can_lie(of, row);
            ASSERT_EQ(found.has_value(), can) << name << " " << row.size();
            ++(can ? possible : impossible);
            if (found) {
                std::vector<int> held(16);
                for (std::size_t i = 0; i < row.size(); ++i) {
                    const auto& starts = row[i]->starts;
                    EXPECT_NE(std::find(starts.begin(), starts.end(), (*found)[i]), starts.end());
                    for (std::int32_t k = 0; k < row[i]->memory_slices; ++k) {
                        EXPECT_EQ(++held[static_cast<std::size_t>((*found)[i] + k)], 1);
                    }
                }
            }
            if (pick.size() < 5) {
                pick.push_back(pick.back());
                continue;
            }
            while (!pick.empty() && ++pick.back() == of.profiles.size()) pick.pop_back();
        }
    }
    EXPECT_GT(possible, 100);
    EXPECT_GT(impossible, 100);
}

TEST(Mig, an_unknown_profile_is_reported_with_the_nearest_ones) {
    EXPECT_EQ(problem_with_mig("3g.40gb", ""), "");
    EXPECT_EQ(problem_with_mig("1c.3g.40gb", "H100-80GB"), "");
    EXPECT_EQ(problem_with_mig("1g.10gb.me", "NVIDIA-A100-SXM4-80GB"), "");
    EXPECT_EQ(problem_with_mig("5g.40gb", ""),
              "no GPU has a MIG profile 5g.40gb; the nearest are 4g.40gb, 3g.40gb, 7g.40gb");
    EXPECT_EQ(problem_with_mig("1g.5gb", "NVIDIA-H100-80GB-HBM3"),
              "H100-80GB has no MIG profile 1g.5gb; the nearest are 1g.10gb, 1g.10gb+me, 1g.20gb");
    EXPECT_EQ(problem_with_mig("2g.20gb", "A30"),
              "A30 has no MIG profile 2g.20gb; the nearest are 2g.12gb, 4g.24gb, 2g.12gb+me");
    // The exact A100 model is not given: a profile of either is valid.
    EXPECT_EQ(problem_with_mig("1g.5gb", "A100"), "");
    EXPECT_EQ(problem_with_mig("3g.40gb", "A100"), "");
    // Partitioning of other vendors is not known.
    EXPECT_EQ(problem_with_mig("3g.40gb", "X900"), "");
}

TEST(Mig, a_label_gives_the_family) {
    EXPECT_EQ(names_of("NVIDIA-A100-SXM4-40GB"), "A100-40GB");
    EXPECT_EQ(names_of("a100-80g"), "A100-80GB");
    EXPECT_EQ(names_of("A100"), "A100-40GB A100-80GB");
    EXPECT_EQ(names_of("NVIDIA-H100-NVL"), "H100-94GB");
    EXPECT_EQ(names_of("NVIDIA-GH200-480GB"), "H100-96GB");
    EXPECT_EQ(names_of("NVIDIA-A30"), "A30");
    EXPECT_EQ(names_of("B200"), "B200-180GB");
    EXPECT_EQ(names_of("NVIDIA-RTX-6000-Ada-Generation"), "");
    EXPECT_EQ(names_of("V100-32G"), "");
    EXPECT_EQ(names_of(""), "");
}

TEST(Mig, a_slice_is_a_number_of_sevenths_or_quarters_of_a_gpu) {
    EXPECT_EQ(mig_share("1g.10gb"), (GpuShare{1, 7}));
    EXPECT_EQ(mig_share("1c.3g.40gb"), (GpuShare{3, 7}));
    EXPECT_EQ(mig_share("2g.12gb"), (GpuShare{2, 4}));
    EXPECT_EQ(mig_share("4g.24gb"), (GpuShare{4, 4}));
    EXPECT_EQ(mig_share("1g.24gb"), (GpuShare{1, 4}));   // of two GPUs, the larger part
    EXPECT_EQ(mig_share("3g.999gb"), (GpuShare{3, 7}));  // newer than the table
    const auto of = [](const char* resource, std::int64_t count) {
        return in_whole_gpus(GpuAmount{resource, whole_gpus(count)}).value();
    };
    EXPECT_EQ(of("nvidia.com/mig-1g.6gb", 1), 250);
    EXPECT_EQ(of("nvidia.com/mig-4g.24gb", 2), 2000);
    EXPECT_EQ(of("nvidia.com/mig-1g.10gb", 1), 143);
    EXPECT_EQ(of("nvidia.com/mig-1g.10gb", 7), 1000);
    EXPECT_EQ(of("nvidia.com/mig-7g.80gb", 1), 1000);
    EXPECT_EQ(of("nvidia.com/gpu", 3), 3000);
    EXPECT_EQ(in_whole_gpus({"nvidia.com/gpu.shared", whole_gpus(3), {1, 4}}).value(), 750);
    EXPECT_EQ(in_whole_gpus({"nvidia.com/mig-2g.20gb.shared", whole_gpus(1), {1, 2}}).value(), 143);
}

TEST(Mig, the_model_of_a_uniformly_partitioned_node_names_the_slice) {
    EXPECT_EQ(mig_profile_in_model("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), "1g.5gb");
    EXPECT_EQ(mig_profile_in_model("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me-SHARED"), "1g.10gb.me");
    EXPECT_EQ(mig_profile_in_model("NVIDIA-A100-SXM4-40GB"), "");
    EXPECT_EQ(mig_profile_in_model("NVIDIA-A100-MIG-mixed"), "");
    Resources offered;
    offered.gpus = {{"nvidia.com/gpu", whole_gpus(14)}};
    EXPECT_FALSE(calls_slices_gpus(offered));
    EXPECT_TRUE(wants_whole_gpus(offered));
    name_slices(offered, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb");
    EXPECT_TRUE(calls_slices_gpus(offered));
    EXPECT_FALSE(wants_whole_gpus(offered));
    EXPECT_EQ(gpus_total(offered), whole_gpus(2));
}

}  // namespace
}  // namespace gpuctl
