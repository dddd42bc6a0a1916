#include "k8s/watch/watch_decoder.hpp"

#include <algorithm>
#include <cstring>

#include "k8s/json/json_text.hpp"

namespace gpuctl::k8s {

namespace {

bool blank(std::string_view text) { return text.find_first_not_of(" \r\t") == text.npos; }

std::optional<WatchType> watch_type(std::string_view name) {
    if (name == "ADDED") return WatchType::added;
    if (name == "MODIFIED") return WatchType::modified;
    if (name == "DELETED") return WatchType::deleted;
    if (name == "BOOKMARK") return WatchType::bookmark;
    if (name == "ERROR") return WatchType::error;
    return std::nullopt;
}

// The form that every API server sends, recognised without walking the object: type first, object
// last.
std::optional<WatchFrame> usual_form(std::string_view line) {
    constexpr std::string_view head = R"({"type":")";
    constexpr std::string_view middle = R"(","object":)";
    if (!line.starts_with(head)) return std::nullopt;
    const std::size_t type_end = line.find('"', head.size());
    if (type_end == line.npos || line.substr(type_end, middle.size()) != middle) {
        return std::nullopt;
    }
    const auto type = watch_type(line.substr(head.size(), type_end - head.size()));
    const std::size_t from = type_end + middle.size();
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (!type || line.size() < from + 3 || line[from] != '{' || !line.ends_with("}}")) {
        return std::nullopt;
    }
    return WatchFrame{*type, line.substr(from, line.size() - from - 1)};
}

Result<WatchFrame> parse_frame(std::string_view line) {
    if (const auto frame = usual_form(line)) return *frame;
    const auto name = json_string_member(line, "type");
    const auto object = json_member(line, "object");
    const auto type = name ? watch_type(*name) : std::nullopt;
    if (!type || !object || !object->starts_with('{')) {
        return make_error(ErrorCode::ProtocolError,
                          "read a watch: a frame of " + std::to_string(line.size()) +
                              " bytes is not a watch event; listing again");
    }
    return WatchFrame{*type, *object};
}

}  // namespace

WatchDecoder::WatchDecoder(std::size_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}

Result<std::optional<WatchFrame>> WatchDecoder::next() {
    if (consumed_ == buffer_.size() || consumed_ > kCompactAt) {
        buffer_.erase(0, consumed_);
        searched_ -= consumed_;
        consumed_ = 0;
    }
    for (;;) {
        const std::size_t newline = buffer_.find('\n', searched_);
        const std::size_t end = newline == buffer_.npos ? buffer_.size() : newline;
        if (end - consumed_ > frame_bytes_max_) {
            return make_error(ErrorCode::ProtocolError, "read a watch: a frame is longer than " +
                                                            std::to_string(frame_bytes_max_) +
                                                            " bytes; listing again");
        }
        if (newline == buffer_.npos) {
            searched_ = buffer_.size();
            return std::optional<WatchFrame>{};
        }
        const std::string_view line{buffer_.data() + consumed_, end - consumed_};
        consumed_ = searched_ = newline + 1;
        if (blank(line)) continue;
        auto frame = parse_frame(line);
        if (!frame) return frame.error();
        return std::optional<WatchFrame>{*frame};
    }
}

}  // namespace gpuctl::k8s
