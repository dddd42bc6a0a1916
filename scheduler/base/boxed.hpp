#pragma once
// An optional whose value is on the heap: for large and mostly absent members of rows and variants.
// It is a value: copies are deep, and comparison compares the contents.

#include <memory>
#include <utility>

namespace gpuctl {

template <typename T>
class Boxed {
public:
    using value_type = T;

    Boxed() = default;
    Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: a value is one
    Boxed(const Boxed& other)
        : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
    Boxed(Boxed&&) noexcept = default;
    Boxed& operator=(const Boxed& other) {
        if (this != &other) *this = Boxed{other};
        return *this;
    }
    Boxed& operator=(Boxed&&) noexcept = default;
    ~Boxed() = default;

    [[nodiscard]] bool has_value() const { return value_ != nullptr; }
    explicit operator bool() const { return has_value(); }
    // There must be a value.
    [[nodiscard]] const T& operator*() const { return *value_; }
    [[nodiscard]] T& operator*() { return *value_; }
    const T* operator->() const { return value_.get(); }
    T* operator->() { return value_.get(); }

    void reset() { value_.reset(); }
    T& emplace() {
        value_ = std::make_unique<T>();
        return *value_;
    }

    friend bool operator==(const Boxed& left, const Boxed& right) {
        return left.has_value() == right.has_value() && (!left || *left == *right);
    }

private:
    std::unique_ptr<T> value_;
};

}  // namespace gpuctl
