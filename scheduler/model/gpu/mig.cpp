#include "scheduler/model/gpu/mig.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/model_words.hpp"

namespace gpuctl {
namespace {

// A profile for GPUs of any memory size: `size` selects one of the sizes of the family.
struct Cut {
    std::int32_t compute = 0;
    std::int32_t memory = 0;
    std::vector<std::int32_t> starts;
    std::size_t size = 0;
    std::string_view suffix = {};
};

const std::vector<Cut>& sevenths() {
    static const std::vector<Cut> cuts = {
        {1, 1, {0, 1, 2, 3, 4, 5, 6}, 0},
        {1, 1, {0, 1, 2, 3, 4, 5, 6}, 0, "+me"},
        {1, 2, {0, 2, 4, 6}, 1},
        {2, 2, {0, 2, 4}, 1},
        {3, 4, {0, 4}, 2},
        {4, 4, {0}, 2},
        {7, 8, {0}, 3},
    };
    return cuts;
}

const std::vector<Cut>& quarters_of_a30() {
    static const std::vector<Cut> cuts = {
        {1, 1, {0, 1, 2, 3}, 0}, {1, 1, {0, 1, 2, 3}, 0, "+me"},
        {2, 2, {0, 2}, 1},       {2, 2, {0, 2}, 1, "+me"},
        {4, 4, {0}, 2},
    };
    return cuts;
}

const std::vector<Cut>& quarters_of_rtx_pro() {
    static const std::vector<Cut> cuts = {
        {1, 1, {0, 1, 2, 3}, 0},         {1, 1, {0, 1, 2, 3}, 0, "+me"},
        {1, 1, {0, 1, 2, 3}, 0, "+gfx"}, {1, 1, {0, 1, 2, 3}, 0, "+me.all"},
        {1, 1, {0, 1, 2, 3}, 0, "-me"},  {2, 2, {0, 2}, 1},
        {2, 2, {0, 2}, 1, "+gfx"},       {2, 2, {0, 2}, 1, "+me.all"},
        {2, 2, {0, 2}, 1, "-me"},        {4, 4, {0}, 2},
        {4, 4, {0}, 2, "+gfx"},
    };
    return cuts;
}

// A row of the table: the words in a model label that identify the family, and the GB of its slices
// from the smallest to the largest. Some families share these words. Then further words of the
// label (`size_words`) distinguish them; a label without any of these words may mean each of the
// families.
struct FamilyRow {
    std::string_view name;
    std::string_view words;
    std::string_view size_words;
    const std::vector<Cut>& (*cuts)();
    std::array<std::int32_t, 4> gigabytes;
};

constexpr auto kFamilyRows = std::to_array<FamilyRow>({
    {"A30", "A30", "", quarters_of_a30, {6, 12, 24}},
    {"A100-40GB", "A100 A800", "40", sevenths, {5, 10, 20, 40}},
    {"A100-80GB", "A100 A800", "80", sevenths, {10, 20, 40, 80}},
    {"H100-80GB", "H100 H800", "80", sevenths, {10, 20, 40, 80}},
    {"H100-94GB", "H100 H800", "94 NVL", sevenths, {12, 24, 47, 94}},
    {"H100-96GB", "H100 H20 GH200", "96 480", sevenths, {12, 24, 48, 96}},
    {"GH200-144GB", "GH200", "144", sevenths, {18, 36, 72, 144}},
    {"H200-141GB", "H200", "", sevenths, {18, 35, 71, 141}},
    {"B200-180GB", "B200", "", sevenths, {23, 45, 90, 180}},
    {"GB200-186GB", "GB200", "", sevenths, {23, 47, 93, 186}},
    {"B300-270GB", "B300", "", sevenths, {34, 67, 135, 269}},
    {"GB300-279GB", "GB300", "", sevenths, {35, 70, 139, 278}},
    {"RTX-PRO-6000", "", "", quarters_of_rtx_pro, {24, 48, 96}},  // "6000" also names an older one
});

std::vector<MigFamily> make_families() {
    std::vector<MigFamily> out;
    for (const FamilyRow& row : kFamilyRows) {
        MigFamily& family = out.emplace_back();
        family.name = row.name;
        for (const Cut& cut : row.cuts()) {
            const std::int32_t gigabytes = row.gigabytes.at(cut.size);
            family.profiles.push_back(
                {std::to_string(cut.compute) + "g." + std::to_string(gigabytes) + "gb" +
                     std::string{cut.suffix},
                 cut.compute, cut.memory, cut.starts, cut.suffix.starts_with("+me"), gigabytes});
            family.compute_slices = std::max(family.compute_slices, cut.compute);
            family.memory_slices = std::max(family.memory_slices, cut.memory);
        }
    }
    return out;
}

// For example "NVIDIA-A100-SXM4-40GB" -> NVIDIA A100 SXM4 40: a number with a unit becomes the
// number.
std::vector<std::string> words_of(std::string_view model) {
    std::vector<std::string> out = model_words(model);
    for (std::string& word : out) {
        if (const auto number = gigabytes_of(word)) word = std::to_string(*number);
    }
    return out;
}

// The name as the table has it: without the part for compute instances, and with "+" where a
// resource name has ".".
std::string canonical(std::string_view profile) {
    std::string out;
    for (const char c : profile) out += lower_case(c);
    const std::size_t compute = out.find("c.");
    if (compute != std::string::npos && compute < out.find('g')) out.erase(0, compute + 2);
    const std::size_t end = out.find("gb");
    if (end != std::string::npos && end + 2 < out.size() && out[end + 2] == '.') out[end + 2] = '+';
    return out;
}

std::int64_t number_before(std::string_view text, char stop) {
    std::int64_t value = 0;
    for (const char c : text) {
        if (!is_digit(c) || value > 10'000) return c == stop ? value : 0;
        value = value * 10 + (c - '0');
    }
    return 0;
}

}  // namespace

const MigProfile* MigFamily::find(std::string_view profile) const {
    const std::string wanted = canonical(profile);
    const auto found = std::find_if(profiles.begin(), profiles.end(),
                                    [&](const MigProfile& one) { return one.name == wanted; });
    return found == profiles.end() ? nullptr : &*found;
}

std::span<const MigFamily> mig_families() {
    static const std::vector<MigFamily> families = make_families();
    return families;
}

std::vector<const MigFamily*> mig_families_of(std::string_view gpu_model) {
    const std::vector<std::string> words = words_of(gpu_model);
    std::vector<const MigFamily*> all;
    std::vector<const MigFamily*> named;
    for (std::size_t i = 0; i < kFamilyRows.size(); ++i) {
        if (!has_any_word(words, kFamilyRows[i].words)) continue;
        all.push_back(&mig_families()[i]);
        if (has_any_word(words, kFamilyRows[i].size_words)) named.push_back(&mig_families()[i]);
    }
    return named.empty() ? all : named;
}

bool is_mig_profile(std::string_view text) {
    const auto number = [&] {
        std::size_t digits = 0;
        while (digits < text.size() && is_digit(text[digits])) ++digits;
        const bool good = digits > 0 && digits <= 4 && text[0] != '0';
        text.remove_prefix(digits);
        return good;
    };
    const auto literal = [&](std::string_view word) {
        if (text.substr(0, word.size()) != word) return false;
        text.remove_prefix(word.size());
        return true;
    };
    if (!number()) return false;
    if (literal("c.") && !number()) return false;
    if (!literal("g.") || !number() || !literal("gb")) return false;
    constexpr std::string_view suffixes[] = {"",        "+me",     ".me",  "-me",
                                             "+me.all", ".me.all", "+gfx", ".gfx"};
    return std::find(std::begin(suffixes), std::end(suffixes), text) != std::end(suffixes);
}

std::string problem_with_mig(std::string_view profile, std::string_view gpu_model) {
    constexpr std::size_t kNearestMost = 3;
    std::vector<const MigFamily*> families = mig_families_of(gpu_model);
    const bool is_any = gpu_model.empty();
    if (is_any) {
        for (const MigFamily& family : mig_families()) families.push_back(&family);
    }
    // The profiles of other vendors' GPUs are unknown.
    if (families.empty()) return problem_with_mig(profile, "");
    const std::string wanted = canonical(profile);
    const std::int64_t compute = number_before(wanted, 'g');
    const std::size_t dot = wanted.find('.');
    const std::int64_t gigabytes =
        dot == std::string::npos ? 0 : number_before(std::string_view{wanted}.substr(dot + 1), 'g');
    std::vector<std::tuple<std::int64_t, std::size_t, std::string>> nearest;
    for (const MigFamily* family : families) {
        for (const MigProfile& one : family->profiles) {
            if (one.name == wanted) return "";
            // A difference in compute slices counts more than a few GB.
            const std::int64_t distance = 4 * std::abs(one.compute_slices - compute) +
                                          2 * std::abs(one.gigabytes - gigabytes);
            nearest.emplace_back(distance, one.name.size(), one.name);
        }
    }
    std::sort(nearest.begin(), nearest.end());
    nearest.erase(std::unique(nearest.begin(), nearest.end()), nearest.end());
    nearest.resize(std::min(nearest.size(), kNearestMost));
    std::string names;
    for (const auto& [distance, length, name] : nearest)
        names += (names.empty() ? "" : ", ") + name;
    std::string subject = is_any ? "no GPU" : "";
    for (const MigFamily* family : families) {
        if (!is_any) subject += (subject.empty() ? "" : " or ") + family->name;
    }
    return subject + " has " + (is_any ? "a" : "no") + " MIG profile " + std::string{profile} +
           "; the nearest are " + names;
}

GpuShare mig_share(std::string_view profile) {
    constexpr std::int32_t kSlices = 7;
    const std::string wanted = canonical(profile);
    GpuShare most{0, 1};
    for (const MigFamily& family : mig_families()) {
        const MigProfile* found = family.find(wanted);
        if (found == nullptr) continue;
        const GpuShare here{found->compute_slices, family.compute_slices};
        if (here.parts * most.of > most.parts * here.of) most = here;
    }
    if (most.parts > 0) return most;
    // The GPU is newer than the table: the name decides.
    const std::int64_t compute = number_before(wanted, 'g');
    if (compute < 1 || compute > kSlices) return {};
    return {static_cast<std::int32_t>(compute), kSlices};
}

namespace {

class Search {
public:
    Search(const MigFamily& family, const std::vector<const MigProfile*>& slices)
        : slices_(slices), starts_(slices.size()), order_(slices.size()) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        // Slices with the fewest places first, so that a dead end is found early.
        std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            return slices[a]->starts.size() < slices[b]->starts.size();
        });
        std::int32_t memory = 0;
        for (const MigProfile* slice : slices) memory += slice->memory_slices;
        is_hopeless_ = memory > family.memory_slices;
    }
    bool run() { return !is_hopeless_ && place(0); }
    [[nodiscard]] const std::vector<std::int32_t>& starts() const { return starts_; }

private:
    bool place(std::size_t next) {
        if (next == order_.size()) return true;
        const MigProfile& slice = *slices_[order_[next]];
        if (slice.has_media && media_taken_) return false;
        for (const std::int32_t start : slice.starts) {
            const std::uint32_t row = ((1U << slice.memory_slices) - 1) << start;
            if ((taken_ & row) != 0) continue;
            const bool media_before = media_taken_;
            taken_ |= row;
            media_taken_ = media_taken_ || slice.has_media;
            starts_[order_[next]] = start;
            if (place(next + 1)) return true;
            taken_ &= ~row;
            media_taken_ = media_before;
        }
        return false;
    }

    const std::vector<const MigProfile*>& slices_;
    std::vector<std::int32_t> starts_;  // by slice
    std::vector<std::size_t> order_;
    std::uint32_t taken_ = 0;  // memory slices, by bit
    bool media_taken_ = false;
    bool is_hopeless_ = false;
};

}  // namespace

std::optional<std::vector<std::int32_t>> lay_out(const MigFamily& family,
                                                 const std::vector<const MigProfile*>& slices) {
    Search search{family, slices};
    if (!search.run()) return std::nullopt;
    return search.starts();
}

std::string_view mig_profile_in_model(std::string_view gpu_model) {
    constexpr std::string_view kMark = "-MIG-";
    constexpr std::string_view kShared = "-SHARED";
    const std::size_t at = gpu_model.rfind(kMark);
    if (at == std::string_view::npos) return {};
    std::string_view profile = gpu_model.substr(at + kMark.size());
    if (profile.ends_with(kShared)) profile.remove_suffix(kShared.size());
    return is_mig_profile(profile) ? profile : std::string_view{};
}

}  // namespace gpuctl
