#pragma once
// A set of node slots as a 64-ary tree of bitsets: leaf words and two levels of summaries, enough
// for 262,144 slots with three words read per step. Intersections are iterated, never stored.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <vector>

namespace gpuctl {

class NodeSet {
public:
    static constexpr std::uint32_t kEnd = UINT32_MAX;

    void resize(std::size_t slots) {
        const std::size_t words = (slots + 63) / 64;
        if (words <= leaf_.size()) return;
        leaf_.resize(words);
        middle_.resize((words + 63) / 64);
        top_.resize((middle_.size() + 63) / 64);
    }
    [[nodiscard]] std::size_t words() const { return leaf_.size(); }

    void insert(std::uint32_t slot) noexcept {
        leaf_[slot >> 6] |= bit(slot);
        middle_[slot >> 12] |= bit(slot >> 6);
        top_[slot >> 18] |= bit(slot >> 12);
    }
    void erase(std::uint32_t slot) noexcept {
        if ((leaf_[slot >> 6] &= ~bit(slot)) != 0) return;
        if ((middle_[slot >> 12] &= ~bit(slot >> 6)) != 0) return;
        top_[slot >> 18] &= ~bit(slot >> 12);
    }
    [[nodiscard]] bool contains(std::uint32_t slot) const {
        return (slot >> 6) < leaf_.size() && (leaf_[slot >> 6] & bit(slot)) != 0;
    }
    [[nodiscard]] bool empty() const {
        for (const std::uint64_t word : top_) {
            if (word != 0) return false;
        }
        return true;
    }
    [[nodiscard]] std::uint32_t next(std::uint32_t from) const { return next_common(*this, from); }

    // The lowest slot >= from that is in both sets; kEnd when there is none.
    [[nodiscard]] std::uint32_t next_common(const NodeSet& other, std::uint32_t from) const {
        std::size_t word = from >> 6;
        if (word >= leaf_.size() || word >= other.leaf_.size()) return kEnd;
        if (const std::uint64_t bits = leaf_[word] & other.leaf_[word] & from_bit(from)) {
            return slot_of(word, bits);
        }
        return next_in_words(other, word + 1);
    }

    // The slots that are in both sets, or in one, lowest first: for (const std::uint32_t slot :
    // ...)
    class Slots {
    public:
        Slots(const NodeSet& a, const NodeSet& b) : a_(&a), b_(&b) {}
        [[nodiscard]] Slots begin() const { return *this; }
        [[nodiscard]] std::default_sentinel_t end() const { return {}; }
        std::uint32_t operator*() const { return slot_; }
        Slots& operator++() {
            slot_ = a_->next_common(*b_, slot_ + 1);
            return *this;
        }
        bool operator==(std::default_sentinel_t) const { return slot_ == kEnd; }

    private:
        const NodeSet* a_;
        const NodeSet* b_;
        std::uint32_t slot_ = a_->next_common(*b_, 0);
    };
    [[nodiscard]] Slots common(const NodeSet& other) const { return {*this, other}; }
    [[nodiscard]] Slots begin() const { return common(*this); }
    [[nodiscard]] std::default_sentinel_t end() const { return {}; }

private:
    static constexpr std::uint64_t bit(std::uint32_t position) { return 1ULL << (position & 63); }
    static constexpr std::uint64_t from_bit(std::size_t position) {
        return ~0ULL << (position & 63);
    }
    static std::uint32_t slot_of(std::size_t word, std::uint64_t bits) {
        return static_cast<std::uint32_t>(word * 64) +
               static_cast<std::uint32_t>(std::countr_zero(bits));
    }
    // Two non-empty summaries may meet in an empty word below; the loops then go on.
    [[nodiscard]] std::uint32_t next_in_words(const NodeSet& other, std::size_t word) const {
        const std::size_t middles = std::min(middle_.size(), other.middle_.size());
        std::size_t group = word >> 6;
        std::uint64_t mask = from_bit(word);
        while (group < middles) {
            std::uint64_t live = middle_[group] & other.middle_[group] & mask;
            for (; live != 0; live &= live - 1) {
                const std::size_t candidate =
                    group * 64 + static_cast<std::size_t>(std::countr_zero(live));
                if (const std::uint64_t bits = leaf_[candidate] & other.leaf_[candidate]) {
                    return slot_of(candidate, bits);
                }
            }
            mask = ~0ULL;
            group = next_group(other, group + 1, middles);
        }
        return kEnd;
    }
    [[nodiscard]] std::size_t next_group(const NodeSet& other, std::size_t group,
                                         std::size_t middles) const {
        while (group < middles) {
            const std::uint64_t live = top_[group >> 6] & other.top_[group >> 6] & from_bit(group);
            if (live != 0) {
                return (group & ~std::size_t{63}) +
                       static_cast<std::size_t>(std::countr_zero(live));
            }
            group = (group | 63) + 1;
        }
        return middles;
    }

    std::vector<std::uint64_t> leaf_;
    std::vector<std::uint64_t> middle_;
    std::vector<std::uint64_t> top_;
};

}  // namespace gpuctl
