#pragma once
// Frames, headers and records of format.md: bytes <-> values; does not access files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/journal/records.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::journal {

inline constexpr std::uint64_t kFormatVersion = 3;
inline constexpr std::size_t kFrameHeadBytes = 8;
inline constexpr std::size_t kPayloadBytesMax = 1u << 30;
inline constexpr std::string_view kJournalMagic = "GPUCTLJ\n";
inline constexpr std::string_view kSnapshotMagic = "GPUCTLS\n";

void append_frame(std::string& out, std::string_view payload);
// The frame header for a payload that is too large to be copied.
void append_frame_head(std::string& out, std::string_view payload);

// The payload of the frame at the start of `bytes`, or nullopt when the frame is not valid.
std::optional<std::string_view> read_frame(std::string_view bytes);
inline std::size_t frame_bytes(std::string_view payload) {
    return kFrameHeadBytes + payload.size();
}

struct Header {
    std::string mode;
    std::string cluster_id;
    Sequence sequence{};  // journal: first input; snapshot: next input
};
// The head of a file: its header, and the layout of the records behind it, a frame each.
struct Head {
    Header header;
    Records records;
    std::size_t bytes = 0;    // of both frames
    bool is_current = false;  // as this build writes it
    std::string layout;       // "format 3, inputs 1, 8f14e45f": distinguishes builds
};
std::string encode_header(std::string_view magic, const Header& header);
std::string encode_layout(std::string_view magic);

// A file with a bad frame in its head has no head. If it is longer than `bytes_max` it was not torn
// there: each frame of a head is on disk before what follows it is written.
struct HeadReading {
    std::optional<Head> head;
    std::size_t bytes_max = 0;
};
// The Error is a sentence without the file's name: unknown format, newer, not convertible.
Result<HeadReading> read_head(std::string_view magic, std::string_view bytes);

struct Seal {
    Sequence next_sequence{};
};

struct Record {
    std::uint64_t durable_bytes = 0;
    std::variant<Input, Seal> content;
};
// Appends the payload to `out`, without building a Record.
void encode_input(std::string& out, std::uint64_t durable_bytes, const Input& input);
void encode_seal(std::string& out, std::uint64_t durable_bytes, Sequence next_sequence);
std::optional<Record> decode_record(std::string_view payload, const Records& records);
// The number of bytes of its segment that were on disk when the record was written, of any layout.
std::optional<std::uint64_t> decode_witness(std::string_view payload);

inline Sequence next_after(Sequence sequence) {
    return Sequence{static_cast<std::uint64_t>(sequence) + 1};
}
inline std::string to_string(Sequence sequence) {
    return std::to_string(static_cast<std::uint64_t>(sequence));
}

}  // namespace gpuctl::journal
