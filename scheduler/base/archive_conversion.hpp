#pragma once
// Reads bytes of one layout as values of another, by the rules of archive_layout.hpp.

#include <memory>
#include <string>
#include <string_view>

#include "scheduler/base/archive_layout.hpp"

namespace gpuctl {

// Immutable and cheap to copy. It is made once for a file and run for each record of the file.
class Conversion {
public:
    // `wanted` is the layout of a type. The Error names the first member that cannot be read.
    static Result<Conversion> between(const Layout& written, const Layout& wanted);

    // True if the layouts are equal: bytes can be read as they are.
    [[nodiscard]] bool is_identity() const;
    // Converts one value and appends it to `out`. False if `bytes` are not exactly one value of
    // `written`, or hold an enumerator that no longer exists.
    [[nodiscard]] bool run(std::string_view bytes, std::string& out) const;

private:
    struct Step;
    class Builder;
    class Runner;
    explicit Conversion(std::shared_ptr<const Step> root) : root_(std::move(root)) {}

    std::shared_ptr<const Step> root_;
};

}  // namespace gpuctl
