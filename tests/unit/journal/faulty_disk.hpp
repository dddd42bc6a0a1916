#pragma once
// The real disk, except that the N-th call fails, and that a power cut can be simulated: every file
// loses its unsynced bytes, a file whose folder was not synced after its creation is gone, and a
// rename without such a sync did not happen.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/journal/disk.hpp"

namespace gpuctl::journal {

class FaultyDisk final : public Disk {
public:
    // `fails_at` counts from 1; 0: never. `forever`: every later call fails, too.
    FaultyDisk(std::uint64_t fails_at, int error, bool forever)
        : fails_at_(fails_at), error_(error), forever_(forever) {}

    [[nodiscard]] std::uint64_t calls() const { return calls_; }

    void cut_power() {
        for (const std::string& path : unlisted_) ::unlink(path.c_str());
        for (auto one = renamed_.rbegin(); one != renamed_.rend(); ++one) {
            if (::rename(one->second.c_str(), one->first.c_str()) != 0) std::abort();
        }
        for (const auto& [path, bytes] : replaced_) {
            std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
        }
        for (const auto& [path, bytes] : durable_) {
            struct stat status{};
            if (::stat(path.c_str(), &status) == 0 && status.st_size > bytes) {
                if (::truncate(path.c_str(), bytes) != 0) std::abort();
            }
        }
    }

    int open_read(const std::string& path) override {
        return fails() ? -error_ : real_disk().open_read(path);
    }
    int open_append(const std::string& path) override {
        return fails() ? -error_ : opened(path, real_disk().open_append(path));
    }
    int create_new(const std::string& path) override {
        if (fails()) return -error_;
        const int file = opened(path, real_disk().create_new(path));
        const std::scoped_lock guard{mutex_};
        if (file >= 0) unlisted_.insert(path);
        if (file >= 0) durable_[path] = 0;
        return file;
    }
    int open_or_create(const std::string& path) override {
        return fails() ? -error_ : real_disk().open_or_create(path);
    }
    int make_directory(const std::string& path) override {
        return fails() ? -error_ : real_disk().make_directory(path);
    }
    int open_directory(const std::string& path) override {
        return fails() ? -error_ : opened(path, real_disk().open_directory(path));
    }
    int lock_exclusively(int file) override {
        return fails() ? -error_ : real_disk().lock_exclusively(file);
    }
    ssize_t read(int file, char* into, std::size_t bytes_max) override {
        return fails() ? -error_ : real_disk().read(file, into, bytes_max);
    }
    ssize_t write(int file, const char* from, std::size_t bytes) override {
        if (!fails()) return real_disk().write(file, from, bytes);
        if (bytes > 1) real_disk().write(file, from, bytes / 2);  // half of it was written
        return -error_;
    }
    int truncate(int file, std::int64_t bytes) override {
        return fails() ? -error_ : real_disk().truncate(file, bytes);
    }
    int sync_data(int file) override { return synced(file, fails()); }
    int sync(int file) override {
        const int result = fails() ? -error_ : real_disk().sync(file);
        const std::scoped_lock guard{mutex_};
        if (result == 0) {
            unlisted_.clear();
            renamed_.clear();
            replaced_.clear();
        }
        return result;
    }
    int close(int file) override {
        const std::scoped_lock guard{mutex_};
        paths_.erase(file);
        return real_disk().close(file);
    }
    int rename(const std::string& from, const std::string& to) override {
        if (fails()) return -error_;
        const std::scoped_lock guard{mutex_};
        if (const auto found = durable_.find(from); found != durable_.end()) {
            durable_[to] = found->second;
            durable_.erase(found);
        }
        std::ifstream before{to, std::ios::binary};
        if (before) replaced_[to] = {std::istreambuf_iterator<char>{before}, {}};
        if (unlisted_.erase(from) > 0) {
            unlisted_.insert(to);
        } else {
            renamed_.emplace_back(from, to);
        }
        return real_disk().rename(from, to);
    }
    int remove(const std::string& path) override {
        return fails() ? -error_ : real_disk().remove(path);
    }
    int list(const std::string& directory, std::vector<std::string>& names) override {
        return fails() ? -error_ : real_disk().list(directory, names);
    }

private:
    bool fails() {
        const std::scoped_lock guard{mutex_};
        ++calls_;
        if (fails_at_ == 0) return false;
        return calls_ == fails_at_ || (forever_ && calls_ > fails_at_);
    }
    int opened(const std::string& path, int file) {
        const std::scoped_lock guard{mutex_};
        if (file >= 0) paths_[file] = path;
        return file;
    }
    int synced(int file, bool failing) {
        struct stat status{};
        ::fstat(file, &status);
        const std::scoped_lock guard{mutex_};
        if (failing) return -error_;  // the dirty pages are dropped and never reported again
        durable_[paths_[file]] = status.st_size;
        return 0;
    }

    std::uint64_t fails_at_;
    int error_;
    bool forever_;
    std::mutex mutex_;
    std::uint64_t calls_ = 0;
    std::map<int, std::string> paths_;
    std::map<std::string, std::int64_t> durable_;
    std::set<std::string> unlisted_;
    std::vector<std::pair<std::string, std::string>> renamed_;  // from, to; no folder synced since
    std::map<std::string, std::string> replaced_;               // the content before a rename
};

}  // namespace gpuctl::journal
