#include "daemon/journal/writer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "daemon/journal/frame.hpp"
#include "daemon/journal/snapshot_file.hpp"
#include "scheduler/base/check.hpp"

namespace gpuctl::journal {

namespace {

std::uint64_t microseconds_since(std::chrono::steady_clock::time_point start) {
    const auto span = std::chrono::steady_clock::now() - start;
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(span).count());
}

}  // namespace

Writer::Writer(aio::Loop& loop, Disk& disk, JournalSettings settings, std::shared_ptr<File> lock,
               Sequence next)
    : loop_(loop),
      disk_(disk),
      settings_(std::move(settings)),
      lock_(std::move(lock)),
      next_(next),
      flushed_(next),
      durable_(next),
      progress_(std::make_shared<Progress>()) {
    progress_->writer = this;
}

Writer::~Writer() { progress_->writer = nullptr; }

Result<void> Writer::broken_now(Error error) {
    error.message += "; the journal accepts no more input until gpuctld is restarted";
    if (!broken_) broken_ = std::move(error);
    answer_waiters();
    return *broken_;
}

Result<void> Writer::check_usable() const {
    if (broken_) return *broken_;
    if (closed_) {
        return make_error(ErrorCode::ShuttingDown,
                          "journal " + settings_.directory + " is closed: gpuctld is stopping");
    }
    return {};
}

// An upgrade writes a snapshot in the layout of this build; only then do the older files move to
// their folder. If it is killed at any point, the next start finds either the old files or the
// snapshot and repeats the rest.
Result<void> Writer::begin(const Engine& engine, const Beginning& beginning) {
    for (const std::string& name : beginning.unwanted) {
        const std::string path = settings_.directory + "/" + name;
        const int failure = disk_.remove(path);
        if (failure < 0 && failure != -ENOENT) return disk_error("remove", path, failure);
    }
    if (beginning.outdated.empty()) {
        return beginning.append_to.empty()
                   ? begin_segment()
                   : continue_segment(beginning.append_to, beginning.append_at);
    }
    const Result<void> made = make_directories(disk_, beginning.keep_in);
    if (!made) return made;
    std::vector<std::string> kept = beginning.outdated;
    // They have the names of the new files. A snapshot with that name is the only copy, so it stays
    // until the new one replaces it; such a segment holds no input.
    if (std::erase(kept, snapshot_name(next_)) > 0) {
        const Result<void> copied = keep_copy(snapshot_name(next_), beginning.keep_in);
        if (!copied) return copied;
    }
    if (std::erase(kept, segment_name(next_)) > 0) {
        const Result<void> moved = move_to_folder(segment_name(next_), beginning.keep_in);
        if (!moved) return moved;
    }
    const Result<void> written =
        write_snapshot_file(disk_, settings_.directory, header_at(next_), engine.export_state());
    if (!written) return written;
    const Result<void> begun = beginning.append_to.empty()
                                   ? begin_segment()
                                   : continue_segment(beginning.append_to, beginning.append_at);
    if (!begun) return begun;
    for (const std::string& name : kept) {
        const Result<void> moved = move_to_folder(name, beginning.keep_in);
        if (!moved) return moved;
    }
    return sync_directory(disk_, settings_.directory);
}

Result<void> Writer::move_to_folder(const std::string& name, const std::string& folder) {
    const std::string path = settings_.directory + "/" + name;
    const int moved = disk_.rename(path, folder + "/" + name);
    if (moved < 0 && moved != -ENOENT) return disk_error("rename", path, moved);
    return sync_directory(disk_, folder);
}

Result<void> Writer::keep_copy(const std::string& name, const std::string& folder) {
    const Result<std::string> bytes = read_whole(disk_, settings_.directory + "/" + name);
    if (!bytes) return bytes.error();
    const std::string path = folder + "/" + name;
    const int stale = disk_.remove(path);
    if (stale < 0 && stale != -ENOENT) return disk_error("remove", path, stale);
    const int number = disk_.create_new(path);
    if (number < 0) return disk_error("create", path, number);
    const File file{disk_, number};
    const Result<void> written = write_all(disk_, file, path, *bytes);
    if (!written) return written;
    const int synced = disk_.sync_data(number);
    if (synced < 0) return disk_error("fdatasync", path, synced);
    return sync_directory(disk_, folder);
}

Header Writer::header_at(Sequence sequence) const {
    return {settings_.mode, settings_.cluster_id, sequence};
}

Result<void> Writer::begin_segment() {
    Result<SegmentFile> segment = create_segment(disk_, settings_.directory, header_at(next_));
    if (!segment) return segment.error();
    take_over(std::move(*segment));
    return {};
}

void Writer::take_over(SegmentFile segment) {
    file_ = std::move(segment.file);
    path_ = std::move(segment.path);
    ++segment_;
    segment_bytes_ = segment_durable_ = segment.bytes;
    segment_has_records_ = false;
    figures_.bytes += segment.bytes;
}

Result<void> Writer::continue_segment(const std::string& path, std::uint64_t bytes) {
    const int number = disk_.open_append(path);
    if (number < 0) return disk_error("open", path, number);
    file_ = std::make_shared<File>(disk_, number);
    // The bytes read back may only be in the page cache: a crash of the daemon alone leaves them
    // there.
    const int synced = disk_.sync_data(number);
    if (synced < 0) return disk_error("fdatasync", path, synced);
    path_ = path;
    ++segment_;
    segment_bytes_ = segment_durable_ = bytes;
    segment_has_records_ = true;
    return {};
}

Result<void> Writer::append(const Input& input) {
    const Result<void> usable = check_usable();
    if (!usable) return usable;
    GPUCTL_CHECK(!rolling_, "nothing is appended while the segment is being rolled");
    GPUCTL_CHECK(input.sequence == next_, "inputs are journaled in order, each once");
    payload_.clear();
    encode_input(payload_, segment_durable_, input);
    if (payload_.size() > kPayloadBytesMax) {
        return make_error(ErrorCode::JournalFailed, "journal input " + to_string(input.sequence) +
                                                        ": it is larger than a gigabyte");
    }
    append_frame(buffer_, payload_);
    next_ = next_after(next_);
    ++figures_.records;
    return {};
}

Result<void> Writer::flush() {
    const Result<void> usable = check_usable();
    if (!usable) return usable;
    if (buffer_.empty()) return {};
    const Result<void> written = write_all(disk_, *file_, path_, buffer_);
    if (!written) return broken_now(written.error());
    segment_bytes_ += buffer_.size();
    segment_has_records_ = true;
    figures_.bytes += buffer_.size();
    buffer_.clear();
    flushed_ = next_;
    return {};
}

bool Writer::is_segment_full() const {
    return segment_has_records_ && segment_bytes_ >= settings_.segment_bytes_max;
}

void Writer::sync(std::function<void(Result<void>)> done) {
    const Result<void> usable = check_usable();
    if (!usable) return loop_.post([done = std::move(done), usable] { done(usable); });
    waiters_.push_back({flushed_, std::move(done)});
    if (flushed_ <= durable_) return answer_waiters();
    if (!sync_in_flight_ && !rolling_) start_sync();  // a roll syncs, too
}

void Writer::start_sync() {
    sync_in_flight_ = true;
    loop_.offload([progress = progress_, file = file_, loop = &loop_, disk = &disk_,
                   until = flushed_, segment = segment_, bytes = segment_bytes_]() mutable {
        const auto start = std::chrono::steady_clock::now();
        const int result = disk->sync_data(file->number());
        const std::uint64_t took_us = microseconds_since(start);
        file.reset();  // after the answer the disk may be unmounted
        loop->post([progress, until, segment, bytes, result, took_us] {
            if (progress->writer == nullptr) return;
            progress->writer->sync_ended(until, segment, bytes, result, took_us);
        });
    });
}

void Writer::sync_ended(Sequence until, std::uint64_t segment, std::uint64_t bytes, int result,
                        std::uint64_t took_us) {
    sync_in_flight_ = false;
    ++figures_.syncs;
    figures_.sync_us_total += took_us;
    if (result < 0) {
        broken_now(disk_error("fdatasync", settings_.directory, result));
        return;
    }
    durable_ = std::max(durable_, until);
    if (segment == segment_) segment_durable_ = std::max(segment_durable_, bytes);
    answer_waiters();
    const bool more = !waiters_.empty();
    if (more && !broken_ && !closed_ && !sync_in_flight_ && !rolling_) start_sync();
}

// Answers are posted to the loop: no caller is called back inside its own call.
void Writer::answer_waiters() {
    const auto answered = [this](const Waiter& waiter) {
        return broken_.has_value() || closed_ || waiter.until <= durable_;
    };
    for (Waiter& waiter : waiters_) {
        if (!answered(waiter)) continue;
        const bool is_durable = waiter.until <= durable_;
        Result<void> result = is_durable ? Result<void>{} : check_usable();
        loop_.post([done = std::move(waiter.done), result = std::move(result)] { done(result); });
    }
    std::erase_if(waiters_, answered);
}

Result<void> Writer::sync_here() {
    const auto start = std::chrono::steady_clock::now();
    const int result = disk_.sync_data(file_->number());
    if (result < 0) return broken_now(disk_error("fdatasync", path_, result));
    ++figures_.syncs;
    figures_.sync_us_total += microseconds_since(start);
    durable_ = flushed_;
    segment_durable_ = segment_bytes_;
    answer_waiters();
    return {};
}

SegmentFile Writer::segment() const { return {file_, path_, segment_bytes_}; }

// No appends until it has ended: the pool owns the segment.
void Writer::roll(std::function<void(Result<void>)> done) {
    const Result<void> usable = check_usable();
    if (!usable) return loop_.post([done = std::move(done), usable] { done(usable); });
    GPUCTL_CHECK(!rolling_ && buffer_.empty(), "a segment is rolled once, behind a flush");
    if (!segment_has_records_) return loop_.post([done = std::move(done)] { done({}); });
    rolling_ = true;
    // The lock is held until the last write has ended, even if the writer is destroyed.
    loop_.offload([progress = progress_, loop = &loop_, disk = &disk_, lock = lock_,
                   old = segment(), directory = settings_.directory, header = header_at(next_),
                   done = std::move(done)]() mutable {
        auto rolled =
            std::make_shared<Result<SegmentFile>>(roll_segment(*disk, old, directory, header));
        old.file.reset();
        lock.reset();
        loop->post([progress, rolled = std::move(rolled), done = std::move(done)] {
            if (progress->writer == nullptr) return;
            done(progress->writer->roll_ended(std::move(*rolled)));
        });
    });
}

Result<void> Writer::roll_ended(Result<SegmentFile> segment) {
    rolling_ = false;
    if (!segment) return broken_now(segment.error());
    const Result<void> usable = check_usable();
    if (!usable) return usable;  // closed or broken meanwhile
    figures_.syncs += 2;
    durable_ = flushed_;
    take_over(std::move(*segment));
    answer_waiters();
    return {};
}

Result<void> Writer::write_snapshot(const Engine& engine, Sequence next) {
    const Result<void> flushed = flush();
    if (!flushed) return flushed;
    GPUCTL_CHECK(next == next_, "a snapshot is taken behind the last journaled input");
    // Inputs first: a snapshot must never include inputs that the journal does not have.
    const Result<void> durable = sync_here();
    if (!durable) return durable;
    // Without the snapshot all inputs are still in the segments: the journal continues.
    const Result<void> written =
        write_snapshot_file(disk_, settings_.directory, header_at(next), engine.export_state());
    if (!written) return written;
    if (segment_has_records_) {
        SegmentFile old = segment();
        const Result<void> rolled =
            roll_ended(roll_segment(disk_, old, settings_.directory, header_at(next)));
        if (!rolled) return rolled;
    }
    retire_files_before(disk_, settings_.directory, next, settings_.past_bytes_max);
    return {};
}

Result<void> Writer::close() {
    if (closed_) return {};
    if (rolling_) {
        closed_ = true;
        return make_error(ErrorCode::JournalFailed,
                          "close journal " + settings_.directory +
                              ": its disk has not answered yet, so the end is not sealed");
    }
    Result<void> sealed = flush();
    if (sealed) {
        SegmentFile last = segment();
        sealed = seal_segment(disk_, last, next_);
        if (sealed) durable_ = flushed_;
        if (!sealed) sealed = broken_now(sealed.error());
    }
    closed_ = true;
    answer_waiters();
    file_.reset();
    lock_.reset();
    return sealed;
}

JournalPlace Writer::place() const {
    return {
        &disk_, settings_.directory, settings_.mode, settings_.cluster_id, settings_.past_bytes_max,
        lock_};
}

Journal::Figures Writer::figures() const { return figures_; }

}  // namespace gpuctl::journal
