#include "daemon/journal/reader.hpp"

#include <algorithm>

namespace gpuctl::journal {

namespace {

// The bytes that a search for witnesses may checksum before the file counts as damaged.
constexpr std::uint64_t kSearchBytesMax = 4ull << 30;

struct Segment {
    std::uint64_t good_bytes = 0;
    bool has_head = false;
    bool sealed = false;
    Sequence next_sequence{};
};

// The greatest `durable` of any record after `from`, or nullopt when the search was too long.
std::optional<std::uint64_t> greatest_witness(std::string_view bytes, std::size_t from) {
    std::uint64_t greatest = 0;
    std::uint64_t searched = 0;
    for (std::size_t at = from; at + kFrameHeadBytes < bytes.size();) {
        const std::string_view rest = bytes.substr(at);
        const auto kind = static_cast<std::uint8_t>(rest[kFrameHeadBytes]);
        if (kind > 1) {
            ++at;
            continue;
        }
        const std::optional<std::string_view> payload = read_frame(rest);
        const std::optional<std::uint64_t> witness =
            payload ? decode_witness(*payload) : std::optional<std::uint64_t>{};
        if (witness) {
            greatest = std::max(greatest, *witness);
            at += frame_bytes(*payload);
            continue;
        }
        const std::size_t length =
            static_cast<std::uint8_t>(rest[0]) |
            static_cast<std::size_t>(static_cast<std::uint8_t>(rest[1])) << 8 |
            static_cast<std::size_t>(static_cast<std::uint8_t>(rest[2])) << 16 |
            static_cast<std::size_t>(static_cast<std::uint8_t>(rest[3])) << 24;
        if (length <= rest.size()) searched += length;
        if (searched > kSearchBytesMax) return std::nullopt;
        ++at;
    }
    return greatest;
}

class Reading {
public:
    Reading(Disk& disk, const std::string& directory, const Identity& expected,
            const Visitor& visitor)
        : disk_(disk), directory_(directory), expected_(expected), visitor_(visitor) {}

    Result<Contents> run() {
        std::vector<std::string> names;
        const int failure = disk_.list(directory_, names);
        if (failure < 0) return disk_error("list", directory_, failure);
        std::vector<Sequence> segments;
        std::vector<Sequence> snapshots;
        for (const std::string& name : names) {
            if (const auto first = parse_segment_name(name)) segments.push_back(*first);
            if (const auto next = parse_snapshot_name(name)) snapshots.push_back(*next);
            if (name.ends_with(".tmp")) contents_.obsolete.push_back(name);
        }
        std::sort(segments.begin(), segments.end());
        std::sort(snapshots.begin(), snapshots.end());
        if (!snapshots.empty()) {
            const Result<void> read = read_snapshot(snapshots.back());
            if (!read) return read.error();
            snapshots.pop_back();
            for (const Sequence old : snapshots) leave_behind(kSnapshotMagic, snapshot_name(old));
        }
        for (std::size_t i = 0; i < segments.size(); ++i) {
            const bool is_last = i + 1 == segments.size();
            if (!is_last && segments[i + 1] <= contents_.next_sequence) {
                leave_behind(kJournalMagic, segment_name(segments[i]));
                continue;
            }
            const Result<void> read = read_segment(segments[i], is_last);
            if (!read) return read.error();
        }
        contents_.doubt = doubt();
        return contents_;
    }

private:
    // A file that no start needs. One of an older layout is not removed: a start that was killed
    // during an upgrade leaves such files.
    void leave_behind(std::string_view magic, const std::string& name) {
        const Result<std::string> bytes = read_whole(disk_, directory_ + "/" + name);
        const Result<HeadReading> reading =
            bytes ? read_head(magic, *bytes) : Result<HeadReading>{HeadReading{}};
        if (!reading || !reading->head || !record_layout(name, *reading->head)) {
            contents_.obsolete.push_back(name);
        }
    }

    bool record_layout(const std::string& name, const Head& head) {
        if (head.is_current) return false;
        contents_.outdated.push_back(name);
        contents_.outdated_layout = head.layout;
        return true;
    }

    // A stop can leave either, and so can a user or a broken disk: they cannot be distinguished.
    [[nodiscard]] std::string doubt() const {
        if (!contents_.torn_file.empty() && contents_.torn_bytes == 0) {
            return "journal file " + contents_.torn_file + " is empty";
        }
        const bool has_begun = !contents_.identity.mode.empty();
        if (has_begun && contents_.last_segment.empty() && contents_.torn_file.empty()) {
            return "no journal file follows the snapshot of input " +
                   to_string(contents_.next_sequence);
        }
        return {};
    }

    Result<void> check_identity(const std::string& path, const Header& header) {
        Identity& found = contents_.identity;
        if (found.mode.empty()) found = {header.mode, header.cluster_id};
        const auto mismatch = [&](const std::string& what, const std::string& theirs,
                                  const std::string& ours) {
            return make_error(ErrorCode::JournalFailed,
                              "journal file " + path + " belongs to " + what + " " + theirs +
                                  ", not " + ours +
                                  "; give each cluster a journal.directory of its own");
        };
        for (const Identity* other : {&expected_, static_cast<const Identity*>(&found)}) {
            if (!other->mode.empty() && other->mode != header.mode) {
                return mismatch("cluster mode", header.mode, other->mode);
            }
            if (!other->cluster_id.empty() && other->cluster_id != header.cluster_id) {
                return mismatch("cluster", header.cluster_id, other->cluster_id);
            }
        }
        return {};
    }

    // No head: its checksum is wrong.
    Result<HeadReading> head_of(const std::string& path, std::string_view magic,
                                std::string_view bytes, Sequence named) {
        Result<HeadReading> reading = read_head(magic, bytes);
        if (!reading) {
            return make_error(reading.error().code,
                              "journal file " + path + " " + reading.error().message);
        }
        if (!reading->head) return reading;
        const Header& header = reading->head->header;
        if (header.sequence != named) return damage(path, 0, "its name and its header differ");
        const Result<void> ours = check_identity(path, header);
        if (!ours) return ours.error();
        return reading;
    }

    Result<void> read_snapshot(Sequence next) {
        const std::string name = snapshot_name(next);
        const std::string path = directory_ + "/" + name;
        const Result<std::string> bytes = read_whole(disk_, path);
        if (!bytes) return bytes.error();
        const Result<HeadReading> reading = head_of(path, kSnapshotMagic, *bytes, next);
        if (!reading) return reading.error();
        if (!reading->head) {
            return damage(path, 0, "the checksum of its header does not match");
        }
        const Head& head = *reading->head;
        const auto body = read_frame(std::string_view{*bytes}.substr(head.bytes));
        if (!body || head.bytes + frame_bytes(*body) != bytes->size()) {
            return damage(path, head.bytes, "the checksum of the state in it does not match");
        }
        const std::optional<std::string> image = head.records.decode_image(*body);
        if (!image) return damage(path, head.bytes, "the state in it does not decode");
        record_layout(name, head);
        contents_.next_sequence = next;
        const Result<void> taken = visitor_.on_snapshot(*image);
        if (!taken) return damage(path, head.bytes, taken.error().message);
        return {};
    }

    Result<void> read_segment(Sequence first, bool is_last) {
        const std::string name = segment_name(first);
        const std::string path = directory_ + "/" + name;
        const Result<std::string> bytes = read_whole(disk_, path);
        if (!bytes) return bytes.error();
        if (first > contents_.next_sequence) {
            return damage(
                path, 0,
                "the inputs from " + to_string(contents_.next_sequence) + " up to it are missing");
        }
        const Result<Segment> segment = scan(path, *bytes, first, is_last);
        if (!segment) return segment.error();
        if (!segment->has_head) {
            contents_.torn_file = name;
            contents_.torn_bytes = bytes->size();
            return {};
        }
        contents_.next_sequence = std::max(contents_.next_sequence, segment->next_sequence);
        contents_.last_segment = name;
        contents_.last_segment_bytes = segment->good_bytes;
        contents_.last_segment_sealed = segment->sealed;
        contents_.torn_bytes = bytes->size() - segment->good_bytes;
        return {};
    }

    Result<Segment> scan(const std::string& path, std::string_view bytes, Sequence first,
                         bool is_last) {
        Segment segment;
        std::uint64_t durable = 0;
        const Result<HeadReading> reading = head_of(path, kJournalMagic, bytes, first);
        if (!reading) return reading.error();
        if (const std::optional<Head>& head = reading->head) {
            record_layout(segment_name(first), *head);
            segment.has_head = true;
            segment.good_bytes = head->bytes;
            segment.next_sequence = first;
            while (segment.good_bytes < bytes.size() && !segment.sealed) {
                const auto payload = read_frame(bytes.substr(segment.good_bytes));
                auto record =
                    payload ? decode_record(*payload, head->records) : std::optional<Record>{};
                if (!record || !accept_record(*record, segment)) break;
                durable = std::max(durable, record->durable_bytes);
                segment.good_bytes += frame_bytes(*payload);
            }
        }
        const bool is_whole = segment.good_bytes == bytes.size() && segment.has_head;
        if (is_whole && (is_last || segment.sealed)) return segment;
        if (is_whole) return damage(path, bytes.size(), "it has no seal at its end");

        const std::size_t bad_at = segment.good_bytes;
        const std::string what = segment.has_head
                                     ? "the record of input " + to_string(segment.next_sequence) +
                                           " differs from what was written"
                                     : "the checksum of its header does not match";
        if (!is_last || (!segment.has_head && bytes.size() > reading->bytes_max)) {
            return damage(path, bad_at, what);
        }
        const std::optional<std::uint64_t> witness = greatest_witness(bytes, bad_at);
        if (!witness) return damage(path, bad_at, what + ", and too many bytes follow to check it");
        if (bad_at < std::max(durable, *witness)) {
            return damage(path, bad_at, what + ", though it was on disk");
        }
        return segment;
    }

    // False when the record does not belong in this file.
    bool accept_record(const Record& record, Segment& segment) {
        if (const auto* seal = std::get_if<Seal>(&record.content)) {
            if (seal->next_sequence != segment.next_sequence) return false;
            segment.sealed = true;
            return true;
        }
        const Input& input = std::get<Input>(record.content);
        if (input.sequence != segment.next_sequence) return false;
        segment.next_sequence = next_after(input.sequence);
        if (input.sequence >= contents_.next_sequence) {
            ++contents_.inputs;
            visitor_.on_input(input);
        }
        return true;
    }

    Disk& disk_;
    const std::string& directory_;
    const Identity& expected_;
    const Visitor& visitor_;
    Contents contents_;
};

}  // namespace

Result<Contents> read_journal(Disk& disk, const std::string& directory, const Identity& expected,
                              const Visitor& visitor) {
    return Reading{disk, directory, expected, visitor}.run();
}

}  // namespace gpuctl::journal
