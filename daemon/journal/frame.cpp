#include "daemon/journal/frame.hpp"

#include "daemon/journal/crc32c.hpp"
#include "scheduler/base/archive_layout.hpp"
#include "scheduler/base/check.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/state/image.hpp"

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

// Of everything in a journal and a snapshot.
std::uint64_t layout() {
    static const std::uint64_t hash =
        hash64(archive_layout<Input>() + archive_layout<StateImage>());
    return hash;
}

}  // namespace

void append_frame(std::string& out, std::string_view payload) {
    GPUCTL_CHECK(!payload.empty() && payload.size() <= kPayloadBytesMax,
                 "a journal record is from one byte to a gigabyte long");
    const std::size_t start = out.size();
    append_u32(out, static_cast<std::uint32_t>(payload.size()));
    const std::uint32_t of_length = crc32c(std::string_view{out}.substr(start, 4));
    append_u32(out, crc32c(payload, of_length));
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
    std::string payload{magic};
    ArchiveWriter writer{payload};
    writer.write(kFormatVersion);
    writer.write(layout());
    writer.write(header.mode);
    writer.write(header.cluster_id);
    writer.write(header.sequence);
    return payload;
}

Result<Header> decode_header(std::string_view magic, std::string_view payload) {
    if (!payload.starts_with(magic)) {
        return make_error(ErrorCode::JournalDamaged, "is not a file of gpuctld's journal");
    }
    ArchiveReader reader{payload.substr(magic.size())};
    std::uint64_t version = 0;
    reader.read(version);
    if (reader.ok() && version > kFormatVersion) {
        return make_error(ErrorCode::JournalFailed,
                          "was written by a newer gpuctld in format " + std::to_string(version) +
                              ", and this one reads formats up to " +
                              std::to_string(kFormatVersion) +
                              "; run the newer gpuctld, or choose another journal.directory");
    }
    std::uint64_t written_layout = 0;
    if (version == kFormatVersion) reader.read(written_layout);
    if (reader.ok() && version > 0 && written_layout != layout()) {
        return make_error(ErrorCode::JournalFailed,
                          "was written by another build of gpuctld, whose records have another "
                          "form (format " +
                              std::to_string(version) +
                              "); it is not damaged: run that build again, or choose another "
                              "journal.directory");
    }
    Header header;
    reader.read(header.mode);
    reader.read(header.cluster_id);
    reader.read(header.sequence);
    if (!reader.ok() || !reader.at_end() || version == 0) {
        return make_error(ErrorCode::JournalDamaged, "has a header that does not decode");
    }
    return header;
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

std::optional<Record> decode_record(std::string_view payload) {
    ArchiveReader reader{payload};
    std::uint64_t kind = 0;
    Record record;
    reader.read(kind);
    reader.read(record.durable_bytes);
    if (kind == kKindInput) {
        reader.read(record.content.emplace<Input>());
    } else if (kind == kKindSeal) {
        reader.read(record.content.emplace<Seal>().next_sequence);
    } else {
        return std::nullopt;
    }
    if (!reader.ok() || !reader.at_end()) return std::nullopt;
    return record;
}

}  // namespace gpuctl::journal
