#pragma once
// The words of a GPU model label, as discovery or an operator writes it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl {

// In capitals: "NVIDIA-A100-SXM4-40GB" -> NVIDIA A100 SXM4 40GB.
std::vector<std::string> model_words(std::string_view model);
// "40GB", "100G", "96GIB" -> the number; nothing for any other word.
std::optional<std::int32_t> gigabytes_of(std::string_view word);
// Whether one of the words is in `of`, a list of words separated by spaces.
bool has_any_word(const std::vector<std::string>& words, std::string_view of);

}  // namespace gpuctl
