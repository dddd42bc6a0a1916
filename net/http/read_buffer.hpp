#pragma once
// Bytes read from a socket and not parsed yet; of fixed size. Private to net/.

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace gpuctl::net {

class ReadBuffer {
public:
    explicit ReadBuffer(std::size_t capacity) : data_(new char[capacity]), capacity_(capacity) {}

    [[nodiscard]] std::string_view bytes() const { return {data_.get() + begin_, size()}; }
    [[nodiscard]] std::size_t size() const { return end_ - begin_; }
    [[nodiscard]] bool empty() const { return begin_ == end_; }
    [[nodiscard]] bool full() const { return size() == capacity_; }

    // Room to read into; moves the buffered bytes to the front when the end is reached.
    char* room() {
        if (begin_ > 0 && (empty() || end_ == capacity_)) {
            std::memmove(data_.get(), data_.get() + begin_, size());
            end_ -= begin_;
            begin_ = 0;
        }
        return data_.get() + end_;
    }
    [[nodiscard]] std::size_t room_size() const { return capacity_ - end_; }  // after room()
    void filled(std::size_t count) { end_ += count; }
    void consume(std::size_t count) { begin_ += count; }

private:
    std::unique_ptr<char[]> data_;
    std::size_t capacity_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace gpuctl::net
