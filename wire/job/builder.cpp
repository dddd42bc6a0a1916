#include "wire/job/builder.hpp"

#include <algorithm>
#include <utility>

namespace gpuctl::wire {

using nlohmann::json;

void Builder::count(const Size& size, Position at) {
    nodes_ += size.nodes;
    text_bytes_ += size.text_bytes;
    if (nodes_ > limits_.nodes_max) {
        throw DocumentProblem{at, "the document has more than " +
                                      std::to_string(limits_.nodes_max) +
                                      " values with its aliases expanded"};
    }
    if (text_bytes_ > limits_.bytes_max) {
        throw DocumentProblem{at, "the document's text is longer than " +
                                      std::to_string(limits_.bytes_max) +
                                      " bytes with its aliases expanded"};
    }
    if (frames_.size() + size.depth > limits_.depth_max) {
        throw DocumentProblem{at, "the document is nested deeper than " +
                                      std::to_string(limits_.depth_max) + " levels"};
    }
}

std::string Builder::child_pointer() const {
    if (frames_.empty()) return "";
    const Frame& frame = frames_.back();
    if (frame.value.is_object()) return pointer_to(frame.pointer, *frame.key);
    return pointer_to(frame.pointer, frame.value.size());
}

void Builder::open(json value, Position at, std::size_t anchor) {
    count({1, 1, 0}, at);
    Frame frame;
    frame.pointer = child_pointer();
    frame.value = std::move(value);
    frame.anchor = anchor;
    if (frames_.empty() || !frames_.back().value.is_object()) {
        places_.try_emplace(frame.pointer, Place{frame.pointer, at.line, at.column});
    }
    frames_.push_back(std::move(frame));
}

void Builder::begin_map(Position at, std::size_t anchor) {
    if (expects_key()) throw DocumentProblem{at, "a key must be text, not a map"};
    open(json::object(), at, anchor);
}

void Builder::begin_list(Position at, std::size_t anchor) {
    if (expects_key()) throw DocumentProblem{at, "a key must be text, not a list"};
    open(json::array(), at, anchor);
}

bool Builder::expects_key() const {
    return !frames_.empty() && frames_.back().value.is_object() && !frames_.back().key;
}

void Builder::key(std::string name, Position at, bool merge) {
    Frame& frame = frames_.back();
    const auto [it, fresh] = frame.keys.try_emplace(name, at);
    if (!fresh) {
        throw DocumentProblem{at,
                              "the key \"" + name + "\" is already given at line " +
                                  std::to_string(it->second.line) + ", column " +
                                  std::to_string(it->second.column),
                              pointer_to(frame.pointer, name)};
    }
    count({0, 0, name.size()}, at);
    frame.text_bytes += name.size();
    frame.merging = merge;
    frame.key = std::move(name);
    if (!merge) {
        const std::string pointer = child_pointer();
        places_.try_emplace(pointer, Place{pointer, at.line, at.column});
    }
}

void Builder::value(json value, std::string written, Position at, std::size_t anchor) {
    const Size size{1, 0, value.is_string() ? value.get_ref<const std::string&>().size() : 0};
    count(size, at);
    const std::string pointer = child_pointer();
    if (frames_.empty() || !frames_.back().value.is_object()) {
        places_.try_emplace(pointer, Place{pointer, at.line, at.column});
    }
    if (!value.is_string()) written_.insert_or_assign(pointer, std::move(written));
    if (invisible_next_)
        invisible_.insert_or_assign(pointer, *std::exchange(invisible_next_, std::nullopt));
    if (anchor != 0) anchored_.insert_or_assign(anchor, Anchored{value, 1, 0, size.text_bytes});
    add(std::move(value), size, at);
}

void Builder::alias(std::size_t anchor, Position at) {
    if (++aliases_ > limits_.aliases_max) {
        throw DocumentProblem{
            at, "the document uses more than " + std::to_string(limits_.aliases_max) + " aliases"};
    }
    const auto it = anchored_.find(anchor);
    if (it == anchored_.end())
        throw DocumentProblem{at, "this alias refers to a value that contains it"};
    const Anchored& source = it->second;
    const Size size{source.nodes, source.depth, source.text_bytes};
    // Counted before it is copied: a few lines of aliases must not expand to gigabytes.
    count(size, at);
    if (expects_key()) throw DocumentProblem{at, "an alias cannot be a key"};
    add(source.value, size, at);
}

void Builder::add(json value, const Size& size, Position at) {
    if (frames_.empty()) {
        root_ = std::move(value);
        return;
    }
    Frame& frame = frames_.back();
    frame.nodes += size.nodes;
    frame.depth = std::max(frame.depth, size.depth + 1);
    frame.text_bytes += size.text_bytes;
    if (frame.value.is_array()) {
        frame.value.push_back(std::move(value));
        return;
    }
    if (!frame.merging) {
        frame.value.emplace(std::move(*frame.key), std::move(value));
        frame.key.reset();
        return;
    }
    frame.key.reset();
    frame.merging = false;
    if (value.is_object()) {
        frame.merges.push_back(std::move(value));
        return;
    }
    const bool maps = value.is_array() && std::all_of(value.begin(), value.end(),
                                                      [](const json& v) { return v.is_object(); });
    if (!maps) throw DocumentProblem{at, "the merge key << takes a map or a list of maps"};
    for (json& one : value) frame.merges.push_back(std::move(one));
}

// YAML's merge key: members the map itself does not have; the first source wins.
void Builder::merge_into(Frame& frame) {
    for (json& source : frame.merges) {
        for (auto& [name, member] : source.items()) frame.value.emplace(name, member);
    }
}

void Builder::end() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    merge_into(frame);
    const Size size{frame.nodes, frame.depth, frame.text_bytes};
    if (frame.anchor != 0) {
        anchored_.insert_or_assign(frame.anchor,
                                   Anchored{frame.value, size.nodes, size.depth, size.text_bytes});
    }
    add(std::move(frame.value), size, {});
}

Document Builder::finish() {
    Document document;
    document.root = root_ ? std::move(*root_) : json(nullptr);
    document.places = std::move(places_);
    document.written = std::move(written_);
    document.invisible = std::move(invisible_);
    return document;
}

Position position_at(std::string_view text, std::size_t offset) {
    offset = std::min(offset, text.size());
    Position position{1, 1};
    for (std::size_t i = 0; i < offset; ++i) {
        if (text[i] == '\n') {
            ++position.line;
            position.column = 1;
        } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
            ++position.column;
        }
    }
    return position;
}

std::string number_out_of_range(std::string_view written) {
    return "the number " + std::string{written.substr(0, 40)} +
           " is out of range: numbers have at most 64 bits (write text that looks like a number in "
           "quotes)";
}

namespace {

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7f || (byte < 0x20 && c != '\n' && c != '\t' && c != '\r');
}

// The first invisible character that is worth a warning even in a script, else the first of all.
std::optional<text::Invisible> first_to_report(std::string_view value) {
    if (auto found = text::first_invisible(value, text::Where::script)) return found;
    return text::first_invisible(value);
}

}  // namespace

void check_controls(std::string_view value, Position at) {
    const auto* found = std::find_if(value.begin(), value.end(), is_control);
    if (found == value.end()) return;
    const auto character = text::first_invisible({found, 1});
    throw DocumentProblem{
        at, "this text contains " + to_string(*character) + ", which is not allowed in a document"};
}

Position locate_invisible(const text::Invisible& character, std::string_view source, Position at) {
    const std::size_t found = source.find(character.bytes_of);
    const bool is_quoted = source.starts_with('"');
    const bool is_escaped =
        is_quoted && source.substr(0, std::min(found, source.size())).find('\\') != source.npos;
    if (found == source.npos || is_escaped) return at;
    const Position step = position_at(source, found);
    return step.line > 1 ? Position{at.line + step.line - 1, step.column}
                         : Position{at.line, at.column + step.column - 1};
}

void check_key(std::string_view key, std::string_view source, Position at) {
    const auto found = text::first_invisible(key);
    if (!found) return;
    throw DocumentProblem{locate_invisible(*found, source, at),
                          "this key contains " + to_string(*found) + "; remove it"};
}

void report_invisible(Builder& builder, std::string_view value, std::string_view source,
                      Position at) {
    const auto found = first_to_report(value);
    if (!found) return;
    // Written as an escape it does not occur in the text, and the search must not scan the whole
    // document.
    const std::string_view near = source.substr(0, 256 + value.size() * 8);
    builder.mark_invisible(found->code, locate_invisible(*found, near, at));
}

void check_text(std::string_view text, const DocumentLimits& limits) {
    if (text.size() > limits.bytes_max) {
        throw DocumentProblem{{},
                              "it has " + std::to_string(text.size()) + " bytes, more than the " +
                                  std::to_string(limits.bytes_max) + " allowed"};
    }
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
        throw DocumentProblem{{1, 1}, "this is UTF-16 text; save it as UTF-8"};
    }
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = text::decode_utf8(text, at).bytes;
        if (length == 0) throw DocumentProblem{position_at(text, at), "this is not UTF-8 text"};
        if (length == 1 && is_control(text[at]))
            check_controls(text.substr(at, 1), position_at(text, at));
        at += length;
    }
}

Error error_of(const DocumentProblem& problem, ErrorCode code, std::string_view what) {
    std::string message = "cannot read the " + std::string{what} + " document: ";
    if (problem.at.line > 0) {
        message += "line " + std::to_string(problem.at.line) + ", column " +
                   std::to_string(problem.at.column) + ": ";
    }
    Error error = make_error(code, message + problem.message);
    error.details.push_back(
        {{problem.pointer, problem.at.line, problem.at.column}, problem.message});
    return error;
}

}  // namespace gpuctl::wire
