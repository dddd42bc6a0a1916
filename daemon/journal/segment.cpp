#include "daemon/journal/segment.hpp"

namespace gpuctl::journal {

Result<SegmentFile> create_segment(Disk& disk, const std::string& directory, const Header& header) {
    SegmentFile segment;
    segment.path = directory + "/" + segment_name(header.sequence);
    const int number = disk.create_new(segment.path);
    if (number < 0) return disk_error("create", segment.path, number);
    segment.file = std::make_shared<File>(disk, number);
    // The header is on disk before the layout, and that before any record (HeadReading).
    for (const std::string& payload :
         {encode_header(kJournalMagic, header), encode_layout(kJournalMagic)}) {
        std::string frame;
        append_frame(frame, payload);
        const Result<void> written = write_all(disk, *segment.file, segment.path, frame);
        if (!written) return written.error();
        const int synced = disk.sync_data(number);
        if (synced < 0) return disk_error("fdatasync", segment.path, synced);
        segment.bytes += frame.size();
    }
    const Result<void> listed = sync_directory(disk, directory);
    if (!listed) return listed.error();
    return segment;
}

Result<void> seal_segment(Disk& disk, SegmentFile& segment, Sequence next) {
    const int number = segment.file->number();
    if (const int synced = disk.sync_data(number); synced < 0) {
        return disk_error("fdatasync", segment.path, synced);
    }
    std::string payload;
    encode_seal(payload, segment.bytes, next);
    std::string bytes;
    append_frame(bytes, payload);
    const Result<void> written = write_all(disk, *segment.file, segment.path, bytes);
    if (!written) return written;
    segment.bytes += bytes.size();
    if (const int synced = disk.sync_data(number); synced < 0) {
        return disk_error("fdatasync", segment.path, synced);
    }
    return {};
}

Result<SegmentFile> roll_segment(Disk& disk, SegmentFile& old, const std::string& directory,
                                 const Header& header) {
    const Result<void> sealed = seal_segment(disk, old, header.sequence);
    if (!sealed) return sealed.error();
    return create_segment(disk, directory, header);
}

}  // namespace gpuctl::journal
