#include "daemon/journal/records.hpp"

#include <cstdio>

#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/state/image/upgrades.hpp"

namespace gpuctl::journal {
namespace {

// Computed once: the layouts of types do not change while a program runs.
const Layout& wanted_layout(RecordKind kind) {
    static const Layout input = layout_of<Input>();
    static const Layout image = layout_of<StateImage>();
    return kind == RecordKind::input ? input : image;
}

}  // namespace

const WrittenLayout& current_layout(RecordKind kind) {
    static const WrittenLayout input{kInputVersion, to_text(wanted_layout(RecordKind::input))};
    static const WrittenLayout image{kImageVersion, to_text(wanted_layout(RecordKind::image))};
    return kind == RecordKind::input ? input : image;
}

std::string layout_name(RecordKind kind, const WrittenLayout& layout) {
    char hash[9];
    std::snprintf(hash, sizeof hash, "%08x",
                  static_cast<unsigned>(hash64(layout.text) & 0xffff'ffffU));
    return (kind == RecordKind::input ? "inputs " : "state ") + std::to_string(layout.version) +
           ", " + hash;
}

Result<Records> Records::of(RecordKind kind, const WrittenLayout& written) {
    const WrittenLayout& current = current_layout(kind);
    const char* what = kind == RecordKind::input ? "inputs" : "state";
    if (written.version > current.version) {
        return make_error(ErrorCode::JournalFailed,
                          "was written by a newer gpuctld (version " +
                              std::to_string(written.version) + " of its " + what +
                              ", and this one reads versions up to " +
                              std::to_string(current.version) +
                              "); run the newer gpuctld, or choose another journal.directory");
    }
    if (written.version == current.version && written.text == current.text) {
        return Records{written.version, nullptr};
    }
    const std::optional<Layout> layout = parse_layout(written.text);
    if (!layout) {
        return make_error(ErrorCode::JournalDamaged, "does not say how its records are laid out");
    }
    Result<Conversion> conversion = Conversion::between(*layout, wanted_layout(kind));
    if (!conversion) {
        return make_error(ErrorCode::JournalFailed,
                          "was written by another build of gpuctld, and this one cannot " +
                              conversion.error().message +
                              "; it is not damaged: run that build, or choose another "
                              "journal.directory");
    }
    return Records{written.version, std::make_shared<const Conversion>(std::move(*conversion))};
}

bool Records::are_current() const { return conversion_ == nullptr; }

bool Records::decode(std::string_view bytes, Input& input) const {
    if (are_current()) return from_archive(bytes, input);
    std::string converted;
    if (!conversion_->run(bytes, converted) || !from_archive(converted, input)) return false;
    upgrade(input, version_);
    return true;
}

std::optional<std::string> Records::decode_image(std::string_view bytes) const {
    if (are_current()) return std::string{bytes};
    std::string converted;
    StateImage image;
    if (!conversion_->run(bytes, converted) || !from_archive(converted, image)) return std::nullopt;
    upgrade(image, version_);
    return to_archive(image);
}

}  // namespace gpuctl::journal
