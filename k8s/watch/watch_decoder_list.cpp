#include "k8s/json/json_text.hpp"
#include "k8s/watch/watch_decoder.hpp"

namespace gpuctl::k8s {

namespace {

Error malformed(std::string_view where) {
    return make_error(
        ErrorCode::ProtocolError,
        "read a list: the answer is not a list of objects (" + std::string{where} + ")");
}

bool ends_scalar(char c) {
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

ListDecoder::ListDecoder(std::size_t object_bytes_max) : object_bytes_max_(object_bytes_max) {}

Result<std::optional<std::string_view>> ListDecoder::next() {
    if (at_ == buffer_.size() || at_ > kCompactAt) {
        buffer_.erase(0, at_);
        at_ = 0;
    }
    for (;;) {
        auto progress = step();
        if (!progress) return progress.error();
        if (*progress == Progress::element) {
            return std::optional{std::string_view{buffer_}.substr(element_from_, element_length_)};
        }
        if (*progress == Progress::need_more) {
            if (state_ != State::done && buffer_.size() - at_ > object_bytes_max_) {
                return malformed("one value is longer than " + std::to_string(object_bytes_max_) +
                                 " bytes");
            }
            return std::optional<std::string_view>{};
        }
    }
}

Result<ListDecoder::Progress> ListDecoder::step() {
    if (!to_token()) return Progress::need_more;
    switch (state_) {
        case State::begin:
            if (buffer_[at_] != '{') return malformed("it does not begin with {");
            ++at_;
            state_ = State::key;
            return Progress::advanced;
        case State::key:
            return step_key();
        case State::value:
            return step_value();
        case State::items:
            return step_items();
        case State::done:
            return malformed("text follows its end");
    }
    return malformed("internal state");
}

bool ListDecoder::to_token() {
    if (walk_.offset > 0) return true;  // inside a value
    while (at_ < buffer_.size()) {
        const char c = buffer_[at_];
        const bool separator = c == ',' && (state_ == State::key || state_ == State::items);
        if (!separator && c != ' ' && c != '\n' && c != '\r' && c != '\t') return true;
        ++at_;
    }
    return false;
}

Result<ListDecoder::Progress> ListDecoder::step_key() {
    if (buffer_[at_] == '}') {
        ++at_;
        state_ = State::done;
        return Progress::advanced;
    }
    if (buffer_[at_] != '"') return malformed("a member's name is missing");
    // Names and colons are short: scanning them again after a cut costs little.
    const std::size_t end = json_value_end(buffer_, at_);
    if (end == std::string::npos) return Progress::need_more;
    const std::size_t colon = buffer_.find_first_not_of(" \n\r\t", end);
    if (colon == std::string::npos) return Progress::need_more;
    if (buffer_[colon] != ':') return malformed("a member has no value");
    const std::size_t value = buffer_.find_first_not_of(" \n\r\t", colon + 1);
    if (value == std::string::npos) return Progress::need_more;
    key_ = buffer_.substr(at_ + 1, end - at_ - 2);
    if (key_ == "items" && buffer_[value] == '[') {
        saw_items_ = true;
        state_ = State::items;
        at_ = value + 1;
    } else {
        state_ = State::value;
        at_ = value;
    }
    return Progress::advanced;
}

Result<ListDecoder::Progress> ListDecoder::step_value() {
    const auto length = value_length();
    if (!length) return Progress::need_more;
    if (*length == 0) return malformed("a member has no value");
    const auto value = std::string_view{buffer_}.substr(at_, *length);
    if (key_ == "metadata") take_metadata(value);
    if (key_ == "items" && value == "null") saw_items_ = true;
    at_ += *length;
    walk_ = {};
    state_ = State::key;
    return Progress::advanced;
}

Result<ListDecoder::Progress> ListDecoder::step_items() {
    if (walk_.offset == 0 && buffer_[at_] == ']') {
        ++at_;
        state_ = State::key;
        return Progress::advanced;
    }
    if (buffer_[at_] != '{') return malformed("an item is not an object");
    const auto length = value_length();
    if (!length) return Progress::need_more;
    element_from_ = at_;
    element_length_ = *length;
    at_ += *length;
    walk_ = {};
    return Progress::element;
}

void ListDecoder::take_metadata(std::string_view value) {
    resource_version_ = json_string_member(value, "resourceVersion").value_or("");
    continue_token_ = json_string_member(value, "continue").value_or("");
}

std::optional<std::size_t> ListDecoder::value_length() {
    std::size_t at = at_ + walk_.offset;
    for (; at < buffer_.size(); ++at) {
        const char c = buffer_[at];
        if (walk_.in_string) {
            if (walk_.escaped) {
                walk_.escaped = false;
            } else if (c == '\\') {
                walk_.escaped = true;
            } else if (c == '"') {
                walk_.in_string = false;
                if (walk_.depth == 0) return at + 1 - at_;
            }
        } else if (c == '"') {
            walk_.in_string = true;
        } else if (c == '{' || c == '[') {
            ++walk_.depth;
        } else if (walk_.depth == 0 && ends_scalar(c)) {
            return at - at_;
        } else if (c == '}' || c == ']') {
            if (--walk_.depth == 0) return at + 1 - at_;
        }
    }
    walk_.offset = at - at_;
    return std::nullopt;
}

}  // namespace gpuctl::k8s
