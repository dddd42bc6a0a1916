#pragma once
// Rows that any code may read and that only the owning part may write (ADR 0037). A row consists of
// one small struct for each part. A table hands out `const Row&`, and a reference to one of these
// structs to the part that owns it:
//
//   const JobRow& job = state_.jobs.rows()[id.value()];     // any code
//   GangRow& gang = state_.jobs.rows().gang(id, {});        // in Gangs only
//
// `{}` is the key: Key<Gangs> has a private constructor, and Gangs is its only friend. In other
// code the second line does not compile. No table can be copied or assigned, and no class can
// derive from one, so that a key is the only way to a row. A function of a part that only one other
// class may call takes the key of that class. tests/arrows has each form that the compiler refuses.
// Nothing of this costs anything at run time.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuctl {

// Shows that the caller is a member function of Part. It cannot be copied: no part keeps the key of
// another one or passes it on.
template <typename Part>
class Key {
public:
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;

private:
    friend Part;
    constexpr Key() {}
};

// The base of the table Derived, which is `final`. Only Derived sees the rows.
template <typename Row, typename Derived>
class Table {
public:
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    using const_iterator = typename std::vector<Row>::const_iterator;
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    [[nodiscard]] const Row& operator[](std::size_t at) const { return rows_[at]; }
    [[nodiscard]] const_iterator begin() const { return rows_.begin(); }
    [[nodiscard]] const_iterator end() const { return rows_.end(); }

private:
    friend Derived;
    Table() = default;
    ~Table() = default;

    std::vector<Row> rows_;
};

}  // namespace gpuctl
