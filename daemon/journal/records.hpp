#pragma once
// The records of one file, in the layout that its head declares: bytes of an older build are read
// as values of this one (scheduler/state/image/upgrades.hpp).

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/archive_conversion.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::journal {

enum class RecordKind : std::uint8_t { input, image };

// As written in the head of a file.
struct WrittenLayout {
    std::uint64_t version = 0;  // kInputVersion or kImageVersion of the build that wrote it
    std::string text;
};
// "inputs 1, 8f14e45f": distinguishes builds.
std::string layout_name(RecordKind kind, const WrittenLayout& layout);
// The layout of this build.
const WrittenLayout& current_layout(RecordKind kind);

// Files of format 2 have only a hash of the layouts of both kinds. Known are those of builds whose
// journals may still exist.
std::optional<WrittenLayout> layout_of_format_2(RecordKind kind, std::uint64_t hash);

// A value: cheap to copy.
class Records {
public:
    // The Error is the end of a sentence that begins with the name of the file.
    static Result<Records> of(RecordKind kind, const WrittenLayout& written);

    // Whether this build writes the same layout.
    [[nodiscard]] bool are_current() const;
    [[nodiscard]] bool decode(std::string_view bytes, Input& input) const;
    // The engine's state in the form of Engine::import_state().
    [[nodiscard]] std::optional<std::string> decode_image(std::string_view bytes) const;

private:
    Records(std::uint64_t version, std::shared_ptr<const Conversion> conversion)
        : version_(version), conversion_(std::move(conversion)) {}

    std::uint64_t version_;
    std::shared_ptr<const Conversion> conversion_;  // null: bytes are read unchanged
};

}  // namespace gpuctl::journal
