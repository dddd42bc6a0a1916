#include "daemon/journal/frame.hpp"

#include "daemon/journal/crc32c.hpp"
#include "scheduler/base/archive.hpp"
#include "scheduler/base/check.hpp"

namespace gpuctl::journal {

namespace {

constexpr std::uint64_t kKindInput = 0;
constexpr std::uint64_t kKindSeal = 1;

void append_u32(std::string& out, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t read_u32(std::string_view bytes) {
    std::uint32_t value = 0;
    for (int i = 3; i >= 0; --i) {
        value = value << 8 | static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(i)]);
    }
    return value;
}

// The maximum of a header.
constexpr std::size_t kHeaderBytesMax = 256;

RecordKind kind_behind(std::string_view magic) {
    return magic == kSnapshotMagic ? RecordKind::image : RecordKind::input;
}

Error bad_header() {
    return make_error(ErrorCode::JournalDamaged, "has a header that does not decode");
}

}  // namespace

void append_frame_head(std::string& out, std::string_view payload) {
    GPUCTL_CHECK(!payload.empty() && payload.size() <= kPayloadBytesMax,
                 "a journal record is from one byte to a gigabyte long");
    const std::size_t start = out.size();
    append_u32(out, static_cast<std::uint32_t>(payload.size()));
    const std::uint32_t of_length = crc32c(std::string_view{out}.substr(start, 4));
    append_u32(out, crc32c(payload, of_length));
}

void append_frame(std::string& out, std::string_view payload) {
    append_frame_head(out, payload);
    out.append(payload);
}

std::optional<std::string_view> read_frame(std::string_view bytes) {
    if (bytes.size() < kFrameHeadBytes) return std::nullopt;
    const std::size_t length = read_u32(bytes);
    if (length == 0 || length > kPayloadBytesMax) return std::nullopt;
    if (length > bytes.size() - kFrameHeadBytes) return std::nullopt;
    const std::string_view payload = bytes.substr(kFrameHeadBytes, length);
    if (crc32c(payload, crc32c(bytes.substr(0, 4))) != read_u32(bytes.substr(4))) {
        return std::nullopt;
    }
    return payload;
}

std::string encode_header(std::string_view magic, const Header& header) {
    const WrittenLayout& layout = current_layout(kind_behind(magic));
    std::string payload{magic};
    ArchiveWriter writer{payload};
    writer.write(kFormatVersion);
    writer.write(layout.version);
    writer.write(static_cast<std::uint64_t>(layout.text.size()));
    writer.write(header.mode);
    writer.write(header.cluster_id);
    writer.write(header.sequence);
    return payload;
}

std::string encode_layout(std::string_view magic) {
    return current_layout(kind_behind(magic)).text;
}

Result<HeadReading> read_head(std::string_view magic, std::string_view bytes) {
    const auto payload = read_frame(bytes);
    if (!payload) return HeadReading{std::nullopt, kHeaderBytesMax};
    if (!payload->starts_with(magic)) {
        return make_error(ErrorCode::JournalDamaged, "is not a file of gpuctld's journal");
    }
    const RecordKind kind = kind_behind(magic);
    ArchiveReader reader{payload->substr(magic.size())};
    std::uint64_t format = 0;
    reader.read(format);
    if (!reader.ok() || format == 0) return bad_header();
    if (format > kFormatVersion) {
        return make_error(ErrorCode::JournalFailed,
                          "was written by a newer gpuctld in format " + std::to_string(format) +
                              ", and this one reads formats up to " +
                              std::to_string(kFormatVersion) +
                              "; run the newer gpuctld, or choose another journal.directory");
    }
    std::optional<WrittenLayout> layout;
    std::uint64_t layout_bytes = 0;
    if (format == 2) {
        std::uint64_t hash = 0;
        reader.read(hash);
        if (reader.ok()) layout = layout_of_format_2(kind, hash);
    } else if (format == kFormatVersion) {
        reader.read(layout.emplace().version);
        reader.read(layout_bytes);
    }
    if (reader.ok() && !layout) {
        return make_error(ErrorCode::JournalFailed,
                          "was written by an early build of gpuctld (format " +
                              std::to_string(format) +
                              ") whose records this build cannot read; it is not damaged: run that "
                              "build, or choose another journal.directory");
    }
    Header header;
    reader.read(header.mode);
    reader.read(header.cluster_id);
    reader.read(header.sequence);
    if (!reader.ok() || !reader.at_end() || layout_bytes > kPayloadBytesMax) return bad_header();

    std::size_t head_bytes = frame_bytes(*payload);
    if (format == kFormatVersion) {
        const auto text = read_frame(bytes.substr(head_bytes));
        head_bytes += kFrameHeadBytes + layout_bytes;
        if (!text || text->size() != layout_bytes) return HeadReading{std::nullopt, head_bytes};
        layout->text = *text;
    }
    Result<Records> records = Records::of(kind, *layout);
    if (!records) return records.error();
    std::string name = "format " + std::to_string(format) + ", " + layout_name(kind, *layout);
    const bool is_current = format == kFormatVersion && records->are_current();
    Head head{std::move(header), std::move(*records), head_bytes, is_current, std::move(name)};
    return HeadReading{std::move(head), head_bytes};
}

void encode_input(std::string& out, std::uint64_t durable_bytes, const Input& input) {
    ArchiveWriter writer{out};
    writer.write(kKindInput);
    writer.write(durable_bytes);
    writer.write(input);
}

void encode_seal(std::string& out, std::uint64_t durable_bytes, Sequence next_sequence) {
    ArchiveWriter writer{out};
    writer.write(kKindSeal);
    writer.write(durable_bytes);
    writer.write(next_sequence);
}

std::optional<Record> decode_record(std::string_view payload, const Records& records) {
    ArchiveReader reader{payload};
    std::uint64_t kind = 0;
    Record record;
    reader.read(kind);
    reader.read(record.durable_bytes);
    if (!reader.ok()) return std::nullopt;
    if (kind == kKindInput) {
        const std::string_view input = payload.substr(payload.size() - reader.bytes_left());
        if (records.decode(input, record.content.emplace<Input>())) return record;
        return std::nullopt;
    }
    if (kind != kKindSeal) return std::nullopt;
    reader.read(record.content.emplace<Seal>().next_sequence);
    if (!reader.ok() || !reader.at_end()) return std::nullopt;
    return record;
}

std::optional<std::uint64_t> decode_witness(std::string_view payload) {
    ArchiveReader reader{payload};
    std::uint64_t kind = 0;
    std::uint64_t durable_bytes = 0;
    reader.read(kind);
    reader.read(durable_bytes);
    if (!reader.ok() || (kind != kKindInput && kind != kKindSeal)) return std::nullopt;
    return durable_bytes;
}

}  // namespace gpuctl::journal
