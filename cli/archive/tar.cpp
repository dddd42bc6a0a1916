#include "cli/archive/tar.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace gpuctl::cli {

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kExtensionBytesMax = 64u << 10;
constexpr std::size_t kNameAt = 0;
constexpr std::size_t kNameSize = 100;
constexpr std::size_t kModeAt = 100;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kTimeAt = 136;
constexpr std::size_t kNumberSize = 12;
constexpr std::size_t kSumAt = 148;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kLinkAt = 157;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345;
constexpr std::size_t kPrefixSize = 155;

Error bad_archive(const std::string& what) {
    return make_error(ErrorCode::ProtocolError, "read the archive that tar sent: " + what);
}

std::string_view text_in(std::string_view block, std::size_t at, std::size_t size) {
    const std::string_view field = block.substr(at, size);
    return field.substr(0, std::min(field.find('\0'), field.size()));
}

// Octal digits, or base 256 with the first bit set.
std::optional<std::uint64_t> number_in(std::string_view block, std::size_t at, std::size_t size) {
    const std::string_view field = block.substr(at, size);
    std::uint64_t number = 0;
    if ((static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
        for (std::size_t i = 1; i < field.size(); ++i) {
            if (number >> 55U != 0) return std::nullopt;
            number = number << 8U | static_cast<unsigned char>(field[i]);
        }
        return number;
    }
    for (const char c : field) {
        if (c == '\0' || c == ' ') continue;
        if (c < '0' || c > '7' || number >> 60U != 0) return std::nullopt;
        number = number * 8 + static_cast<std::uint64_t>(c - '0');
    }
    return number;
}

std::uint64_t sum_of(std::string_view block) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
        const bool in_sum = i >= kSumAt && i < kSumAt + 8;
        sum += static_cast<unsigned char>(in_sum ? ' ' : block[i]);
    }
    return sum;
}

void put_number(std::string& block, std::size_t at, std::size_t size, std::uint64_t number) {
    if (number >> (3 * (size - 1)) == 0) {
        for (std::size_t i = size - 1; i-- > 0; number >>= 3U) {
            block[at + i] = static_cast<char>('0' + (number & 7U));
        }
        return;
    }
    for (std::size_t i = size; i-- > 1; number >>= 8U) {
        block[at + i] = static_cast<char>(number & 255U);
    }
    block[at] = static_cast<char>(0x80);
}

std::string header_block(char type, const std::string& name, const TarEntry& entry,
                         std::uint64_t size) {
    std::string block(kBlock, '\0');
    name.copy(block.data() + kNameAt, kNameSize);
    put_number(block, kModeAt, 8, entry.mode);
    put_number(block, kModeAt + 8, 8, 0);
    put_number(block, kModeAt + 16, 8, 0);
    put_number(block, kSizeAt, kNumberSize, size);
    put_number(block, kTimeAt, kNumberSize,
               static_cast<std::uint64_t>(std::max<std::int64_t>(entry.modified, 0)));
    block[kTypeAt] = type;
    entry.link.copy(block.data() + kLinkAt, kNameSize);
    std::memcpy(block.data() + kMagicAt, "ustar  ", 8);
    put_number(block, kSumAt, 7, sum_of(block));
    block[kSumAt + 7] = ' ';
    return block;
}

std::string long_text(char type, const std::string& text) {
    TarEntry empty;
    const std::uint64_t size = text.size() + 1;
    return header_block(type, "././@LongLink", empty, size) + text + '\0' + tar_padding(size);
}

TarKind kind_of_type(char type) {
    switch (type) {
        case '0':
        case '\0':
        case '7':
            return TarKind::file;
        case '1':
            return TarKind::hard_link;
        case '2':
            return TarKind::symbolic_link;
        case '5':
            return TarKind::folder;
        default:
            return TarKind::other;
    }
}

}  // namespace

std::string tar_header(const TarEntry& entry) {
    std::string head;
    std::string name = entry.name;
    if (entry.kind == TarKind::folder && !name.ends_with('/')) name += '/';
    if (entry.link.size() > kNameSize) head += long_text('K', entry.link);
    if (name.size() > kNameSize) head += long_text('L', name);
    constexpr std::array<char, 5> types{'0', '5', '2', '1', '0'};
    const bool is_file = entry.kind == TarKind::file;
    return head + header_block(types[static_cast<std::size_t>(entry.kind)], name, entry,
                               is_file ? entry.size : 0);
}

std::string tar_padding(std::uint64_t size) {
    return std::string((kBlock - size % kBlock) % kBlock, '\0');
}

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

Result<void> TarReader::feed(std::string_view bytes) {
    while (!bytes.empty() && !ended_) {
        if (left_ > 0) {
            const auto count =
                static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
            const std::string_view piece = bytes.substr(0, count);
            if (in_file_) {
                if (Result<void> taken = sink_.bytes(piece); !taken) return taken;
            } else if (collecting_ != 0) {
                collected_ += piece;
            }
            bytes.remove_prefix(count);
            left_ -= count;
            if (left_ > 0) return {};
            if (Result<void> ended = end_data(); !ended) return ended;
            continue;
        }
        if (padding_ > 0) {
            const auto count =
                static_cast<std::size_t>(std::min<std::uint64_t>(padding_, bytes.size()));
            bytes.remove_prefix(count);
            padding_ -= count;
            continue;
        }
        const std::size_t count = std::min(kBlock - block_.size(), bytes.size());
        block_ += bytes.substr(0, count);
        bytes.remove_prefix(count);
        if (block_.size() < kBlock) return {};
        const std::string block = std::exchange(block_, {});
        if (Result<void> read = read_header(block); !read) return read;
    }
    return {};
}

Result<void> TarReader::finish() const {
    const bool inside = left_ > 0 || !block_.empty() || collecting_ != 0;
    if (inside) return bad_archive("it ends in the middle of an entry");
    if (!ended_) return bad_archive("its end is missing");
    return {};
}

Result<void> TarReader::read_header(std::string_view block) {
    if (block.find_first_not_of('\0') == block.npos) {
        ended_ = true;
        return {};
    }
    const std::optional<std::uint64_t> sum = number_in(block, kSumAt, 8);
    if (!sum || *sum != sum_of(block)) return bad_archive("a header has a wrong checksum");
    TarEntry entry;
    const std::optional<std::uint64_t> size = number_in(block, kSizeAt, kNumberSize);
    const std::optional<std::uint64_t> mode = number_in(block, kModeAt, 8);
    const std::optional<std::uint64_t> time = number_in(block, kTimeAt, kNumberSize);
    if (!size || !mode) return bad_archive("a header has an unreadable number");
    entry.size = *size;
    entry.mode = static_cast<std::uint32_t>(*mode & 0777U);
    entry.modified = static_cast<std::int64_t>(time.value_or(0));
    entry.name = text_in(block, kNameAt, kNameSize);
    entry.link = text_in(block, kLinkAt, kNameSize);
    const bool is_posix = block.substr(kMagicAt, 6) == std::string_view("ustar\0", 6);
    const std::string_view prefix = text_in(block, kPrefixAt, kPrefixSize);
    if (is_posix && !prefix.empty()) entry.name = std::string{prefix} + "/" + entry.name;
    return begin_entry(block[kTypeAt], std::move(entry));
}

Result<void> TarReader::begin_entry(char type, TarEntry entry) {
    const bool is_extension = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    if (is_extension) {
        if (entry.size > kExtensionBytesMax) return bad_archive("a name is too long");
        collecting_ = type;
        collected_.clear();
    } else {
        if (!next_name_.empty()) entry.name = std::exchange(next_name_, {});
        if (!next_link_.empty()) entry.link = std::exchange(next_link_, {});
        if (next_size_) entry.size = *next_size_;
        next_size_.reset();
        entry.kind = kind_of_type(type);
        in_file_ = entry.kind == TarKind::file;
        if (Result<void> begun = sink_.begin(entry); !begun) return begun;
    }
    const bool has_data =
        is_extension || entry.kind == TarKind::file || entry.kind == TarKind::other;
    left_ = has_data ? entry.size : 0;
    padding_ = tar_padding(left_).size();
    return left_ == 0 ? end_data() : Result<void>{};
}

Result<void> TarReader::end_data() {
    if (in_file_) {
        in_file_ = false;
        return sink_.end();
    }
    const char type = std::exchange(collecting_, 0);
    const std::string text =
        collected_.substr(0, std::min(collected_.find('\0'), collected_.size()));
    if (type == 'L') next_name_ = text;
    if (type == 'K') next_link_ = text;
    if (type == 'x') read_pax(collected_);
    return {};
}

// Lines of "LENGTH KEY=VALUE\n".
void TarReader::read_pax(std::string_view text) {
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        std::size_t length = 0;
        for (const char c : text.substr(0, std::min(space, text.size()))) {
            if (c < '0' || c > '9' || length > kExtensionBytesMax) return;
            length = length * 10 + static_cast<std::size_t>(c - '0');
        }
        if (space == text.npos || length <= space + 1 || length > text.size()) return;
        std::string_view line = text.substr(space + 1, length - space - 2);
        text.remove_prefix(length);
        const std::size_t equal = line.find('=');
        if (equal == line.npos) continue;
        const std::string_view key = line.substr(0, equal);
        const std::string value{line.substr(equal + 1)};
        if (key == "path") next_name_ = value;
        if (key == "linkpath") next_link_ = value;
        if (key == "size") next_size_ = std::strtoull(value.c_str(), nullptr, 10);
    }
}

Result<std::vector<std::string>> safe_parts(const std::string& name) {
    const auto refuse = [&name](const char* why) {
        return make_error(ErrorCode::BadRequest,
                          "the archive has the name \"" + name + "\", which " + why +
                              "; nothing is written outside the destination");
    };
    if (name.starts_with('/')) return refuse("begins at the root");
    std::vector<std::string> parts;
    std::string part;
    for (const char c : name + '/') {
        if (c != '/') {
            part += c;
            continue;
        }
        if (part == "..") return refuse("leads out of its folder (\"..\")");
        if (!part.empty() && part != ".") parts.push_back(part);
        part.clear();
    }
    return parts;
}

bool link_stays_inside(const std::string& target, std::size_t depth) {
    if (target.empty() || target.starts_with('/')) return false;
    bool went_down = false;
    std::string part;
    for (const char c : target + '/') {
        if (c != '/') {
            part += c;
            continue;
        }
        if (part == "..") {
            if (went_down || depth == 0) return false;
            --depth;
        } else if (!part.empty() && part != ".") {
            went_down = true;
        }
        part.clear();
    }
    return true;
}

}  // namespace gpuctl::cli
