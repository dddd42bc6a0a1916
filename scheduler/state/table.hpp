#pragma once
// Rows that any code may read and that only the owning part may write (ADR 0037). A row consists of
// one small struct for each part. A table hands out `const Row&`, and a reference to one of these
// structs to the part that owns it:
//
//   const JobRow& job = state_.jobs.rows()[id.value()];     // any code
//   GangRow& gang = state_.jobs.rows().gang(id, {});        // in Gangs only
//
// `{}` is the key: Key<Gangs> has a private constructor, and Gangs is its only friend. In other
// code the second line does not compile (tests/arrows). Neither costs anything at run time.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuctl {

// Shows that the caller is a member function of Part.
template <typename Part>
class Key {
    friend Part;
    constexpr Key() {}
};

template <typename Row>
class Table {
public:
    using const_iterator = typename std::vector<Row>::const_iterator;
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    [[nodiscard]] const Row& operator[](std::size_t at) const { return rows_[at]; }
    [[nodiscard]] const_iterator begin() const { return rows_.begin(); }
    [[nodiscard]] const_iterator end() const { return rows_.end(); }

protected:
    std::vector<Row> rows_;
};

}  // namespace gpuctl
