#pragma once
// The disk calls of the journal, as an interface, so that a test can fail each call in turn. Calls
// return the result of the system call, or -errno.
//
// Thread: sync_data() is called on the pool while the loop thread makes other calls.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuctl::journal {

class Disk {
public:
    virtual ~Disk() = default;
    virtual int open_read(const std::string& path) = 0;
    virtual int open_append(const std::string& path) = 0;     // must exist
    virtual int create_new(const std::string& path) = 0;      // mode 0600, must not exist
    virtual int open_or_create(const std::string& path) = 0;  // mode 0600
    virtual int make_directory(const std::string& path) = 0;  // mode 0700
    virtual int open_directory(const std::string& path) = 0;
    virtual int lock_exclusively(int file) = 0;  // does not wait; -EWOULDBLOCK when held
    virtual ssize_t read(int file, char* into, std::size_t bytes_max) = 0;
    virtual ssize_t write(int file, const char* from, std::size_t bytes) = 0;
    virtual int truncate(int file, std::int64_t bytes) = 0;
    virtual int sync_data(int file) = 0;
    virtual int sync(int file) = 0;
    virtual int close(int file) = 0;
    virtual int rename(const std::string& from, const std::string& to) = 0;
    virtual int remove(const std::string& path) = 0;
    virtual int list(const std::string& directory, std::vector<std::string>& names) = 0;
};

Disk& real_disk();

}  // namespace gpuctl::journal
