#pragma once
// One binary format for every value type of the model. The journal, snapshots and state hashes use
// it. Integers are LEB128 varints (signed integers zig-zag), strings and vectors are
// length-prefixed, variants carry their index, structs list their members in the order given to
// BOOST_DESCRIBE_STRUCT. Reading is total: any bytes give a value or an Error, and reading never
// takes more memory than the size of the input allows.

#include <array>
#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl {

namespace archive_detail {

template <typename T>
struct is_vector : std::false_type {};
template <typename T>
struct is_vector<std::vector<T>> : std::true_type {};
template <typename>
struct is_array : std::false_type {};
template <typename T, std::size_t N>
struct is_array<std::array<T, N>> : std::true_type {};
template <typename T>
struct is_optional : std::false_type {};
template <typename T>
struct is_optional<std::optional<T>> : std::true_type {};
template <typename T>
struct is_optional<Boxed<T>> : std::true_type {};
template <typename T>
struct is_variant : std::false_type {};
template <typename... T>
struct is_variant<std::variant<T...>> : std::true_type {};
template <typename T>
struct is_pair : std::false_type {};
template <typename A, typename B>
struct is_pair<std::pair<A, B>> : std::true_type {};
template <typename T>
struct is_map : std::false_type {};
template <typename K, typename V>
struct is_map<std::map<K, V>> : std::true_type {};
template <typename T>
struct is_quantity : std::false_type {};
template <typename Tag>
struct is_quantity<Quantity<Tag>> : std::true_type {};
template <typename T>
struct is_dense_id : std::false_type {};
template <typename Tag>
struct is_dense_id<DenseId<Tag>> : std::true_type {};

template <typename T>
using members = boost::describe::describe_members<T, boost::describe::mod_public>;

}  // namespace archive_detail

class ArchiveWriter {
public:
    explicit ArchiveWriter(std::string& out) : out_(out) {}

    void raw_varint(std::uint64_t value) {
        while (value >= 0x80) {
            out_.push_back(static_cast<char>(value | 0x80));
            value >>= 7;
        }
        out_.push_back(static_cast<char>(value));
    }

    template <typename T>
    void write(const T& value) {
        using namespace archive_detail;
        if constexpr (std::is_same_v<T, bool>) {
            raw_varint(value ? 1 : 0);
        } else if constexpr (std::is_enum_v<T>) {
            write(static_cast<std::underlying_type_t<T>>(value));
        } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            const auto wide = static_cast<std::int64_t>(value);
            raw_varint((static_cast<std::uint64_t>(wide) << 1) ^
                       static_cast<std::uint64_t>(wide >> 63));
        } else if constexpr (std::is_integral_v<T>) {
            raw_varint(value);
        } else if constexpr (is_quantity<T>::value || is_dense_id<T>::value) {
            write(value.value());
        } else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) {
            write(value.ms());
        } else if constexpr (std::is_same_v<T, std::string>) {
            raw_varint(value.size());
            out_.append(value);
        } else if constexpr (is_vector<T>::value || is_map<T>::value) {
            raw_varint(value.size());
            for (const auto& element : value) write(element);
        } else if constexpr (is_array<T>::value) {  // the length is part of the type
            for (const auto& element : value) write(element);
        } else if constexpr (is_optional<T>::value) {
            write(value.has_value());
            if (value) write(*value);
        } else if constexpr (is_pair<T>::value) {
            write(value.first);
            write(value.second);
        } else if constexpr (is_variant<T>::value) {
            raw_varint(value.index());
            std::visit([this](const auto& alternative) { this->write(alternative); }, value);
        } else {
            boost::mp11::mp_for_each<members<T>>(
                [&](auto member) { write(value.*member.pointer); });
        }
    }

private:
    std::string& out_;
};

// Reads what ArchiveWriter wrote. After the first malformed byte ok() stays false, and every
// further read leaves its target unchanged.
class ArchiveReader {
public:
    explicit ArchiveReader(std::string_view in) : in_(in) {}

    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] bool at_end() const { return in_.empty(); }
    [[nodiscard]] std::size_t bytes_left() const { return in_.size(); }

    template <typename T>
    void read(T& value) {
        using namespace archive_detail;
        if (!ok_) return;
        if constexpr (std::is_same_v<T, bool>) {
            const std::uint64_t raw = raw_varint();
            if (raw > 1) return fail();
            value = raw == 1;
        } else if constexpr (std::is_enum_v<T>) {
            std::underlying_type_t<T> raw{};
            read(raw);
            if (ok_) value = static_cast<T>(raw);
        } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            const std::uint64_t raw = raw_varint();
            const auto wide = static_cast<std::int64_t>((raw >> 1) ^ (0 - (raw & 1)));
            if (!std::in_range<T>(wide)) return fail();
            value = static_cast<T>(wide);
        } else if constexpr (std::is_integral_v<T>) {
            const std::uint64_t raw = raw_varint();
            if (!std::in_range<T>(raw)) return fail();
            value = static_cast<T>(raw);
        } else if constexpr (is_quantity<T>::value || is_dense_id<T>::value) {
            typename T::value_type raw{};
            read(raw);
            if (ok_) value = T{raw};
        } else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) {
            std::int64_t raw{};
            read(raw);
            if (ok_) value = T{raw};
        } else if constexpr (std::is_same_v<T, std::string>) {
            const std::uint64_t size = raw_varint();
            if (!ok_ || size > in_.size()) return fail();
            value.assign(in_.substr(0, size));
            in_.remove_prefix(size);
        } else if constexpr (is_vector<T>::value) {
            const std::uint64_t size = raw_varint();
            if (!ok_ || size > in_.size()) return fail();  // each element takes at least one byte
            value.clear();
            for (std::uint64_t i = 0; i < size && ok_; ++i) read(value.emplace_back());
        } else if constexpr (is_array<T>::value) {
            for (auto& element : value) read(element);
        } else if constexpr (is_map<T>::value) {
            const std::uint64_t size = raw_varint();
            if (!ok_ || size > in_.size()) return fail();
            value.clear();
            for (std::uint64_t i = 0; i < size && ok_; ++i) {
                typename T::key_type key{};
                typename T::mapped_type mapped{};
                read(key);
                read(mapped);
                if (ok_ && !value.emplace(std::move(key), std::move(mapped)).second) fail();
            }
        } else if constexpr (is_optional<T>::value) {
            bool present = false;
            read(present);
            value.reset();
            if (ok_ && present) read(value.emplace());
        } else if constexpr (is_pair<T>::value) {
            read(value.first);
            read(value.second);
        } else if constexpr (is_variant<T>::value) {
            const std::uint64_t index = raw_varint();
            if (!ok_ || index >= std::variant_size_v<T>) return fail();
            boost::mp11::mp_with_index<std::variant_size_v<T>>(
                static_cast<std::size_t>(index),
                [&](auto alternative) { read(value.template emplace<alternative>()); });
        } else {
            boost::mp11::mp_for_each<members<T>>([&](auto member) { read(value.*member.pointer); });
        }
    }

private:
    void fail() { ok_ = false; }

    std::uint64_t raw_varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (in_.empty()) break;
            const auto byte = static_cast<std::uint8_t>(in_.front());
            in_.remove_prefix(1);
            if (shift == 63 && byte > 1) break;
            value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        fail();
        return 0;
    }

    std::string_view in_;
    bool ok_ = true;
};

template <typename T>
std::string to_archive(const T& value) {
    std::string out;
    ArchiveWriter{out}.write(value);
    return out;
}

// Reads one T. False if the bytes are not exactly one T.
template <typename T>
[[nodiscard]] bool from_archive(std::string_view in, T& value) {
    ArchiveReader reader{in};
    reader.read(value);
    return reader.ok() && reader.at_end();
}

}  // namespace gpuctl
