#pragma once
// A pull parser over JSON text: walks once, front to back, without building anything. Values that
// are not read are skipped at scanning speed, which is most of a pod (managedFields, env, mounts).
//
//     cursor.object([&](std::string_view key) {
//         if (key == "name") name = cursor.string(); else cursor.skip();
//     });
//
// Total on any input: after the first malformed byte ok() is false and every loop ends. A value of
// another type than expected reads as empty and is skipped. A member callback consumes exactly one
// value. Views stay valid as long as the text and the cursor; the depth of nesting costs stack only
// where the caller descends.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace gpuctl::k8s {

class JsonCursor {
public:
    explicit JsonCursor(std::string_view text)
        : at_(text.data()), end_(text.data() + text.size()) {}

    [[nodiscard]] bool ok() const { return ok_; }

    template <typename Member>
    void object(Member&& member) {
        if (!open('{')) return;
        if (accept('}')) return;
        do {
            const std::string_view key = key_text();
            if (!ok_) return;
            member(key);
        } while (accept(','));
        expect('}');
    }

    template <typename Element>
    void array(Element&& element) {
        if (!open('[')) return;
        if (accept(']')) return;
        do {
            element();
        } while (accept(','));
        expect(']');
    }

    void skip();
    std::string_view string();
    // A string's text, or a number or literal as written: quantities come in both forms.
    std::string_view scalar();
    std::int64_t integer();  // 0 when it is no integer
    bool boolean();
    std::string_view raw();  // the value as written

private:
    bool open(char bracket);  // false: another kind of value, skipped
    bool accept(char token);
    void expect(char token);
    std::string_view key_text();
    std::string_view quoted();
    std::string_view decode(const char* from, const char* to);
    void skip_space();
    void skip_string();
    void skip_nested();
    void fail();

    const char* at_;
    const char* end_;
    bool ok_ = true;
    std::deque<std::string> decoded_;  // strings that held escapes
};

}  // namespace gpuctl::k8s
