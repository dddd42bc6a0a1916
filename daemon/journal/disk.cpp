#include "daemon/journal/disk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace gpuctl::journal {

namespace {

template <typename T>
T or_errno(T result) {
    return result < 0 ? static_cast<T>(-errno) : result;
}

class RealDisk final : public Disk {
public:
    int open_read(const std::string& path) override {
        return or_errno(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    }
    int open_append(const std::string& path) override {
        return or_errno(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    }
    int create_new(const std::string& path) override {
        return or_errno(
            ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    }
    int open_or_create(const std::string& path) override {
        return or_errno(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    }
    int make_directory(const std::string& path) override {
        return or_errno(::mkdir(path.c_str(), 0700));
    }
    int open_directory(const std::string& path) override {
        return or_errno(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    int lock_exclusively(int file) override { return or_errno(::flock(file, LOCK_EX | LOCK_NB)); }
    ssize_t read(int file, char* into, std::size_t bytes_max) override {
        return or_errno(::read(file, into, bytes_max));
    }
    ssize_t write(int file, const char* from, std::size_t bytes) override {
        return or_errno(::write(file, from, bytes));
    }
    int truncate(int file, std::int64_t bytes) override {
        return or_errno(::ftruncate(file, bytes));
    }
    int sync_data(int file) override { return or_errno(::fdatasync(file)); }
    int sync(int file) override { return or_errno(::fsync(file)); }
    int close(int file) override { return or_errno(::close(file)); }
    int rename(const std::string& from, const std::string& to) override {
        return or_errno(::rename(from.c_str(), to.c_str()));
    }
    int remove(const std::string& path) override { return or_errno(::unlink(path.c_str())); }
    int list(const std::string& directory, std::vector<std::string>& names) override {
        DIR* handle = ::opendir(directory.c_str());
        if (handle == nullptr) return -errno;
        errno = 0;
        while (const dirent* entry = ::readdir(handle)) {
            const std::string name = entry->d_name;
            if (name != "." && name != "..") names.push_back(name);
        }
        const int failure = errno;
        ::closedir(handle);
        std::sort(names.begin(), names.end());
        return -failure;
    }
};

}  // namespace

Disk& real_disk() {
    static RealDisk disk;
    return disk;
}

}  // namespace gpuctl::journal
