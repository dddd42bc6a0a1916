#include "daemon/journal/writer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "daemon/journal/frame.hpp"
#include "daemon/journal/past.hpp"
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
    error.message += "; the journal takes nothing more until gpuctld is restarted";
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

// An upgrade is a snapshot in the layout of this build; only then do the files of the older one go
// to their folder. Killed at any point, the next start finds either the old files or the snapshot
// and does the rest again.
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
    // Under the names that the new files need. A snapshot there is all that there is, and so stays
    // until the new one takes its place; such a segment holds no input.
    if (std::erase(kept, snapshot_name(next_)) > 0) {
        const Result<void> copied = keep_copy(snapshot_name(next_), beginning.keep_in);
        if (!copied) return copied;
    }
    if (std::erase(kept, segment_name(next_)) > 0) {
        const Result<void> moved = keep(segment_name(next_), beginning.keep_in);
        if (!moved) return moved;
    }
    const Result<void> written = write_snapshot_file(engine, next_);
    if (!written) return written;
    const Result<void> begun = beginning.append_to.empty()
                                   ? begin_segment()
                                   : continue_segment(beginning.append_to, beginning.append_at);
    if (!begun) return begun;
    for (const std::string& name : kept) {
        const Result<void> moved = keep(name, beginning.keep_in);
        if (!moved) return moved;
    }
    return sync_directory(disk_, settings_.directory);
}

Result<void> Writer::keep(const std::string& name, const std::string& folder) {
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

Result<void> Writer::begin_segment() {
    const std::string path = settings_.directory + "/" + segment_name(next_);
    const int number = disk_.create_new(path);
    if (number < 0) return disk_error("create", path, number);
    auto file = std::make_shared<File>(disk_, number);
    // The header is on disk before the layout, and that before any record (HeadReading).
    std::string header;
    append_frame(header,
                 encode_header(kJournalMagic, {settings_.mode, settings_.cluster_id, next_}));
    std::string layout;
    append_frame(layout, encode_layout(kJournalMagic));
    for (const std::string* frame : {&header, &layout}) {
        const Result<void> written = write_all(disk_, *file, path, *frame);
        if (!written) return written;
        const int synced = disk_.sync_data(number);
        if (synced < 0) return disk_error("fdatasync", path, synced);
    }
    const Result<void> listed = sync_directory(disk_, settings_.directory);
    if (!listed) return listed;
    file_ = std::move(file);
    path_ = path;
    ++segment_;
    segment_bytes_ = segment_durable_ = header.size() + layout.size();
    segment_has_records_ = false;
    figures_.bytes += segment_bytes_;
    return {};
}

Result<void> Writer::continue_segment(const std::string& path, std::uint64_t bytes) {
    const int number = disk_.open_append(path);
    if (number < 0) return disk_error("open", path, number);
    file_ = std::make_shared<File>(disk_, number);
    // What was read back may only be in the page cache: a crash of the daemon alone leaves it
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
    return segment_bytes_ >= settings_.segment_bytes_max ? roll() : Result<void>{};
}

void Writer::sync(std::function<void(Result<void>)> done) {
    const Result<void> usable = check_usable();
    if (!usable) return loop_.post([done = std::move(done), usable] { done(usable); });
    waiters_.push_back({flushed_, std::move(done)});
    if (flushed_ <= durable_) return answer_waiters();
    if (!sync_in_flight_) start_sync();
}

void Writer::start_sync() {
    sync_in_flight_ = true;
    loop_.offload([progress = progress_, file = file_, loop = &loop_, disk = &disk_,
                   until = flushed_, segment = segment_, bytes = segment_bytes_]() mutable {
        const auto start = std::chrono::steady_clock::now();
        const int result = disk->sync_data(file->number());
        const std::uint64_t took_us = microseconds_since(start);
        file.reset();  // whoever hears the answer may take the disk away
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
    if (more && !broken_ && !closed_ && !sync_in_flight_) start_sync();
}

// Answers come through the loop: nobody is called back from inside his own call.
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

// The seal vouches for all before it, which must be on disk when it is written.
Result<void> Writer::seal() {
    const Result<void> before = sync_here();
    if (!before) return before;
    payload_.clear();
    encode_seal(payload_, segment_durable_, next_);
    std::string bytes;
    append_frame(bytes, payload_);
    const Result<void> written = write_all(disk_, *file_, path_, bytes);
    if (!written) return broken_now(written.error());
    segment_bytes_ += bytes.size();
    figures_.bytes += bytes.size();
    return sync_here();
}

Result<void> Writer::roll() {
    const Result<void> sealed = seal();
    if (!sealed) return sealed;
    const Result<void> begun = begin_segment();
    if (!begun) return broken_now(begun.error());
    return {};
}

Result<void> Writer::write_snapshot(const Engine& engine, Sequence next) {
    const Result<void> flushed = flush();
    if (!flushed) return flushed;
    GPUCTL_CHECK(next == next_, "a snapshot is taken behind the last journaled input");
    // Inputs first: a snapshot must never know more than the journal it follows.
    const Result<void> durable = sync_here();
    if (!durable) return durable;
    // Without the snapshot everything is still in the segments: not the end of the journal.
    const Result<void> written = write_snapshot_file(engine, next);
    if (!written) return written;
    if (segment_has_records_) {
        const Result<void> rolled = roll();
        if (!rolled) return rolled;
    }
    drop_older_than(next);
    return {};
}

Result<void> Writer::write_snapshot_file(const Engine& engine, Sequence next) {
    const std::string path = settings_.directory + "/" + snapshot_name(next);
    const std::string unfinished = path + ".tmp";
    const int stale = disk_.remove(unfinished);
    if (stale < 0 && stale != -ENOENT) return disk_error("remove", unfinished, stale);
    const int number = disk_.create_new(unfinished);
    if (number < 0) return disk_error("create", unfinished, number);
    const File file{disk_, number};
    std::string bytes;
    append_frame(bytes,
                 encode_header(kSnapshotMagic, {settings_.mode, settings_.cluster_id, next}));
    append_frame(bytes, encode_layout(kSnapshotMagic));
    append_frame(bytes, engine.export_state());
    const Result<void> written = write_all(disk_, file, unfinished, bytes);
    if (!written) return written;
    const int synced = disk_.sync_data(number);
    if (synced < 0) return disk_error("fdatasync", unfinished, synced);
    const int renamed = disk_.rename(unfinished, path);
    if (renamed < 0) return disk_error("rename", unfinished, renamed);
    return sync_directory(disk_, settings_.directory);
}

// What cannot be moved or removed now is obsolete and goes at the next start.
void Writer::drop_older_than(Sequence next) {
    std::vector<std::string> names;
    std::vector<std::string> older;
    if (disk_.list(settings_.directory, names) < 0) return;
    for (const std::string& name : names) {
        const auto first = parse_segment_name(name);
        const auto snapshot = parse_snapshot_name(name);
        const bool is_older = (first && *first < next) || (snapshot && *snapshot < next);
        if (is_older) older.push_back(name);
    }
    move_to_past(disk_, settings_.directory, older, settings_.past_bytes_max);
}

Result<void> Writer::close() {
    if (closed_) return {};
    const Result<void> flushed = flush();
    Result<void> sealed = flushed ? seal() : flushed;
    closed_ = true;
    answer_waiters();
    file_.reset();
    lock_.reset();
    return sealed;
}

Journal::Figures Writer::figures() const { return figures_; }

}  // namespace gpuctl::journal
