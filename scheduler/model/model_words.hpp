#pragma once
// The words of a GPU model label, as GPU feature discovery or an operator writes it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl {

// The words in capitals: "NVIDIA-A100-SXM4-40GB" -> NVIDIA A100 SXM4 40GB.
std::vector<std::string> model_words(std::string_view model);
// The number in "40GB", "100G" or "96GIB"; nothing for any other word.
std::optional<std::int32_t> gigabytes_of(std::string_view word);
// Whether one of the words is in `of`, a list of words separated by spaces.
bool has_any_word(const std::vector<std::string>& words, std::string_view of);

}  // namespace gpuctl
