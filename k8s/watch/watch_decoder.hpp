#pragma once
// Incremental decoders for API server streams. Both read chunks as they arrive, store at most one
// incomplete object, and return the raw text of each object, so that only the consumer parses it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/client/api_status.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::k8s {

inline constexpr std::size_t kCompactAt = 256u
                                          << 10;  // consumed bytes stay in the buffer until then

enum class WatchType : std::uint8_t { added, modified, deleted, bookmark, error };

struct WatchFrame {
    WatchType type = WatchType::added;
    std::string_view object;  // valid until the next call
};

// Newline-delimited {"type":...,"object":{...}} frames, which may span or share chunks.
class WatchDecoder {
public:
    explicit WatchDecoder(std::size_t frame_bytes_max = 16u << 20);

    // The buffer to append received bytes to, without a copy of each chunk.
    std::string& buffer() { return buffer_; }
    // The next complete frame; nullopt: more bytes are needed. After an error the stream is lost.
    Result<std::optional<WatchFrame>> next();
    // Bytes of an incomplete frame: not empty at the end of a stream means it was cut.
    [[nodiscard]] std::size_t bytes_pending() const { return buffer_.size() - consumed_; }

private:
    std::string buffer_;
    std::size_t consumed_ = 0;
    std::size_t searched_ = 0;
    std::size_t frame_bytes_max_;
};

// One LIST body: returns the elements of `items` one by one and stores the list's metadata. Only
// the element being received is in memory.
class ListDecoder {
public:
    explicit ListDecoder(std::size_t object_bytes_max = 16u << 20);

    std::string& buffer() { return buffer_; }
    Result<std::optional<std::string_view>> next();

    [[nodiscard]] bool complete() const { return state_ == State::done; }
    // Once complete.
    [[nodiscard]] const std::string& resource_version() const { return resource_version_; }
    [[nodiscard]] const std::string& continue_token() const { return continue_token_; }
    [[nodiscard]] bool has_items() const { return saw_items_; }

private:
    // begin -> key <-> value, key -> items -> key, key -> done: before the {, before a member's
    // name, inside a member's value, inside the items array, after the }.
    enum class State : std::uint8_t { begin, key, value, items, done };
    enum class Progress : std::uint8_t { advanced, need_more, element };

    Result<Progress> step();
    Result<Progress> step_key();
    Result<Progress> step_value();
    Result<Progress> step_items();
    // Skips separators between tokens; false when the buffer ends first.
    bool to_token();
    void take_metadata(std::string_view value);

    // The value that begins at at_, walked so far; each byte is scanned once.
    struct Walk {
        std::size_t offset = 0;  // from at_
        int depth = 0;
        bool in_string = false;
        bool escaped = false;
    };
    // Its length once it is complete.
    std::optional<std::size_t> value_length();

    std::string buffer_;
    std::size_t at_ = 0;  // everything before is consumed
    State state_ = State::begin;
    Walk walk_;
    std::string key_;
    std::size_t element_from_ = 0;
    std::size_t element_length_ = 0;
    bool saw_items_ = false;
    std::size_t object_bytes_max_;
    std::string resource_version_;
    std::string continue_token_;
};

}  // namespace gpuctl::k8s
