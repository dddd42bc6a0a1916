#pragma once
// Words as numbers, compared without case: statuses, pools and queues that lists filter by. A word
// is never removed; there are as many words as pools, queues and reasons of kubelets.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "scheduler/base/ascii.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/state/interner.hpp"

namespace gpuctl {

using WordId = DenseId<struct WordTag>;

class Words {
public:
    WordId id_of(std::string_view word) {
        // Most words are already known in the same spelling.
        if (const auto known = as_written_.find(word); known != as_written_.end()) {
            return known->second;
        }
        const WordId next{static_cast<std::uint32_t>(by_lower_case_.size())};
        const WordId id = by_lower_case_.try_emplace(lower_case(word), next).first->second;
        as_written_.emplace(std::string{word}, id);
        return id;
    }
    // None: the word is unknown.
    [[nodiscard]] WordId find(std::string_view word) const {
        const auto known = by_lower_case_.find(lower_case(word));
        return known == by_lower_case_.end() ? WordId::none() : known->second;
    }

private:
    TextMap<WordId> as_written_;
    TextMap<WordId> by_lower_case_;
};

}  // namespace gpuctl
