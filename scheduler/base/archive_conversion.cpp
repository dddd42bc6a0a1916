#include "scheduler/base/archive_conversion.hpp"

#include <algorithm>
#include <limits>

namespace gpuctl {
namespace {

using Kind = Layout::Kind;

std::string_view noun_of(Kind kind) {
    switch (kind) {
        case Kind::boolean:
            return "a boolean";
        case Kind::unsigned_integer:
        case Kind::signed_integer:
            return "a number";
        case Kind::enumeration:
            return "an enumeration";
        case Kind::string:
            return "a string";
        case Kind::list:
            return "a list";
        case Kind::map:
            return "a map";
        case Kind::array:
            return "an array";
        case Kind::optional:
            return "an optional value";
        case Kind::pair:
            return "a pair";
        case Kind::variant:
            return "a variant";
        case Kind::structure:
            return "a structure";
    }
    return "unknown";
}

bool is_integer(Kind kind) {
    return kind == Kind::unsigned_integer || kind == Kind::signed_integer;
}

constexpr std::size_t kGone = std::numeric_limits<std::size_t>::max();

}  // namespace

// How one value of the layout `written` is read, and which value it becomes.
struct Conversion::Step {
    Kind written = Kind::structure;
    Kind wanted = Kind::structure;
    bool is_same = false;  // the bytes are copied
    std::uint64_t length = 0;
    // Structure: one step for each written member, null if the member is dropped. Other kinds: one
    // step for each part.
    std::vector<std::shared_ptr<const Step>> parts;
    std::vector<std::shared_ptr<const Step>> skips;  // structure: how to skip each member
    // Structure: the index of the written member for each wanted member, or kGone. Enumeration: the
    // index of the wanted enumerator for each written enumerator, or kGone. A variant read from
    // something else: the index of its alternative.
    std::vector<std::size_t> from;
    std::vector<std::string> defaults;
};

class Conversion::Builder {
public:
    using StepPointer = std::shared_ptr<const Step>;

    Result<StepPointer> build(const Layout& written, const Layout& wanted,
                              const std::string& path) {
        auto step = std::make_shared<Step>();
        step->written = written.kind;
        step->wanted = wanted.kind;
        step->length = written.length;
        step->is_same = written == wanted;
        if (wanted.kind == Kind::optional && written.kind != Kind::optional) {
            return with_parts(std::move(step), {{&written, &wanted.parts.front()}}, path);
        }
        if (wanted.kind == Kind::variant && written.kind != Kind::variant) {
            const auto like = std::find(wanted.parts.begin(), wanted.parts.end(), written);
            if (like == wanted.parts.end()) {
                return no_reading(path, "it was " + std::string{noun_of(written.kind)} +
                                            " and is a variant without such an alternative now");
            }
            step->from = {static_cast<std::size_t>(like - wanted.parts.begin())};
            return with_parts(std::move(step), {{&written, &*like}}, path);
        }
        const bool are_integers = is_integer(written.kind) && is_integer(wanted.kind);
        if (written.kind != wanted.kind && !are_integers) {
            return no_reading(path, "it was " + std::string{noun_of(written.kind)} + " and is " +
                                        std::string{noun_of(wanted.kind)} + " now");
        }
        switch (written.kind) {
            case Kind::boolean:
            case Kind::unsigned_integer:
            case Kind::signed_integer:
            case Kind::string:
                return StepPointer{std::move(step)};
            case Kind::enumeration:
                for (const std::string& name : written.names) {
                    step->from.push_back(place_of(name, wanted.names));
                }
                return StepPointer{std::move(step)};
            case Kind::structure:
                return structure(std::move(step), written, wanted, path);
            case Kind::array:
                if (written.length != wanted.length) {
                    return no_reading(path, "it had " + std::to_string(written.length) +
                                                " elements and has " +
                                                std::to_string(wanted.length) + " now");
                }
                break;
            case Kind::variant:
                if (written.parts.size() > wanted.parts.size()) {
                    return no_reading(path, "it has alternatives that are not known here");
                }
                break;
            case Kind::list:
            case Kind::map:
            case Kind::optional:
            case Kind::pair:
                break;
        }
        std::vector<std::pair<const Layout*, const Layout*>> pairs;
        for (std::size_t i = 0; i < written.parts.size(); ++i) {
            pairs.emplace_back(&written.parts[i], &wanted.parts[i]);
        }
        return with_parts(std::move(step), pairs, path);
    }

private:
    static std::size_t place_of(const std::string& name, const std::vector<std::string>& names) {
        const auto at = std::find(names.begin(), names.end(), name);
        return at == names.end() ? kGone : static_cast<std::size_t>(at - names.begin());
    }
    static Error no_reading(const std::string& path, const std::string& why) {
        return make_error(ErrorCode::JournalFailed,
                          "read " + (path.empty() ? "the value" : "member " + path) + ": " + why);
    }

    Result<StepPointer> with_parts(std::shared_ptr<Step> step,
                                   const std::vector<std::pair<const Layout*, const Layout*>>& of,
                                   const std::string& path) {
        for (const auto& [written, wanted] : of) {
            Result<StepPointer> part = build(*written, *wanted, path);
            if (!part) return part.error();
            step->parts.push_back(std::move(*part));
        }
        return StepPointer{std::move(step)};
    }

    Result<StepPointer> structure(std::shared_ptr<Step> step, const Layout& written,
                                  const Layout& wanted, const std::string& path) {
        step->parts.resize(written.parts.size());
        for (const Layout& part : written.parts) {
            Result<StepPointer> skip = build(part, part, path);
            if (!skip) return skip.error();
            step->skips.push_back(std::move(*skip));
        }
        if (step->is_same) return StepPointer{std::move(step)};
        step->defaults = wanted.defaults;
        for (std::size_t i = 0; i < wanted.parts.size(); ++i) {
            const std::size_t source = place_of(wanted.names[i], written.names);
            step->from.push_back(source);
            if (source == kGone) continue;
            const std::string& name = wanted.names[i];
            Result<StepPointer> part = build(written.parts[source], wanted.parts[i],
                                             path.empty() ? name : path + '.' + name);
            if (!part) return part.error();
            step->parts[source] = std::move(*part);
        }
        return StepPointer{std::move(step)};
    }
};

class Conversion::Runner {
public:
    explicit Runner(std::string_view bytes) : all_(bytes), reader_(bytes) {}

    [[nodiscard]] bool whole(const Step& step, std::string& out) {
        return convert(step, out) && reader_.at_end();
    }

private:
    [[nodiscard]] std::size_t at() const { return all_.size() - reader_.bytes_left(); }

    std::uint64_t number() {
        std::uint64_t value = 0;
        reader_.read(value);
        return value;
    }
    // Reads the number of elements that follow. Each element takes at least one byte.
    std::uint64_t count() {
        const std::uint64_t count = number();
        if (count > reader_.bytes_left()) is_bad_ = true;
        return is_bad_ ? 0 : count;
    }
    [[nodiscard]] bool ok() const { return !is_bad_ && reader_.ok(); }

    // Skips one written value.
    void skip(const Step& step) {
        if (!ok()) return;
        const auto skip_parts = [&](std::uint64_t times) {
            for (std::uint64_t i = 0; i < times && ok(); ++i) {
                for (const auto& part : step.parts) skip(*part);
            }
        };
        switch (step.written) {
            case Kind::boolean:
            case Kind::unsigned_integer:
            case Kind::signed_integer:
            case Kind::enumeration:
                number();
                return;
            case Kind::string: {
                std::string dropped;
                reader_.read(dropped);
                return;
            }
            case Kind::list:
            case Kind::map:
                return skip_parts(count());
            case Kind::array:
                return skip_parts(step.length);
            case Kind::optional:
                return skip_parts(number() != 0 ? 1 : 0);
            case Kind::pair:
                return skip_parts(1);
            case Kind::variant: {
                const std::uint64_t index = number();
                if (index < step.parts.size()) return skip(*step.parts[index]);
                is_bad_ = true;
                return;
            }
            case Kind::structure:
                for (const auto& part : step.skips) skip(*part);
                return;
        }
    }

    void copy(const Step& step, std::string& out) {
        const std::size_t begin = at();
        skip(step);
        if (ok()) out.append(all_.substr(begin, at() - begin));
    }

    void integer(const Step& step, std::string& out) {
        ArchiveWriter writer{out};
        const bool was_signed = step.written == Kind::signed_integer;
        if (was_signed == (step.wanted == Kind::signed_integer)) return copy(step, out);
        if (was_signed) {
            std::int64_t value = 0;
            reader_.read(value);
            if (value < 0) is_bad_ = true;
            return writer.write(static_cast<std::uint64_t>(value));
        }
        const std::uint64_t value = number();
        if (!std::in_range<std::int64_t>(value)) is_bad_ = true;
        writer.write(static_cast<std::int64_t>(value));
    }

    void enumerator(const Step& step, std::string& out) {
        const std::uint64_t written = number();
        if (written >= step.from.size() || step.from[written] == kGone) {
            is_bad_ = true;
            return;
        }
        ArchiveWriter{out}.raw_varint(step.from[written]);
    }

    void structure(const Step& step, std::string& out) {
        std::vector<std::size_t> begins;
        for (const auto& part : step.skips) {
            begins.push_back(at());
            skip(*part);
        }
        if (!ok()) return;
        begins.push_back(at());
        for (std::size_t i = 0; i < step.from.size(); ++i) {
            const std::size_t source = step.from[i];
            if (source == kGone) {
                out += step.defaults[i];
                continue;
            }
            const std::size_t begin = begins[source];
            Runner member{all_.substr(begin, begins[source + 1] - begin)};
            if (!member.whole(*step.parts[source], out)) is_bad_ = true;
        }
    }

    bool convert(const Step& step, std::string& out) {
        ArchiveWriter writer{out};
        const auto convert_parts = [&](std::uint64_t times) {
            for (std::uint64_t i = 0; i < times && ok(); ++i) {
                for (const auto& part : step.parts) (void)convert(*part, out);
            }
        };
        if (!ok()) return false;
        if (step.is_same) {
            copy(step, out);
        } else if (step.wanted == Kind::optional && step.written != Kind::optional) {
            writer.write(true);
            convert_parts(1);
        } else if (step.wanted == Kind::variant && step.written != Kind::variant) {
            writer.raw_varint(step.from.front());
            convert_parts(1);
        } else {
            switch (step.written) {
                case Kind::boolean:
                case Kind::string:
                    copy(step, out);
                    break;
                case Kind::unsigned_integer:
                case Kind::signed_integer:
                    integer(step, out);
                    break;
                case Kind::enumeration:
                    enumerator(step, out);
                    break;
                case Kind::list:
                case Kind::map: {
                    const std::uint64_t elements = count();
                    writer.raw_varint(elements);
                    convert_parts(elements);
                    break;
                }
                case Kind::array:
                    convert_parts(step.length);
                    break;
                case Kind::optional: {
                    const bool is_present = number() != 0;
                    writer.write(is_present);
                    convert_parts(is_present ? 1 : 0);
                    break;
                }
                case Kind::pair:
                    convert_parts(1);
                    break;
                case Kind::variant: {
                    const std::uint64_t index = number();
                    if (!ok() || index >= step.parts.size()) return false;
                    writer.raw_varint(index);
                    return convert(*step.parts[index], out);
                }
                case Kind::structure:
                    structure(step, out);
                    break;
            }
        }
        return ok();
    }

    std::string_view all_;
    ArchiveReader reader_;
    bool is_bad_ = false;
};

Result<Conversion> Conversion::between(const Layout& written, const Layout& wanted) {
    Result<std::shared_ptr<const Step>> root = Builder{}.build(written, wanted, "");
    if (!root) return root.error();
    return Conversion{std::move(*root)};
}

bool Conversion::is_identity() const { return root_->is_same; }

bool Conversion::run(std::string_view bytes, std::string& out) const {
    return Runner{bytes}.whole(*root_, out);
}

}  // namespace gpuctl
