#pragma once
// What the informer remembers of each object: enough to tell a change from a repeat, and after a
// relist what is missing. No I/O.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "k8s/informer.hpp"

namespace gpuctl::k8s {

class InformerStore {
public:
    explicit InformerStore(InformerHandler& handler, Informer::Figures& figures)
        : handler_(handler), figures_(figures) {}

    // From here on every object not seen before end_list() is gone.
    void begin_list() {
        ++generation_;
        seen_ = 0;
    }
    // An object as a list or an ADDED or MODIFIED event shows it; tells the handler what is new.
    // False: the handler has no room; what was not told stays to be told by the next list.
    [[nodiscard]] bool saw(const ObjectIdentity& identity, std::string_view object);
    [[nodiscard]] bool saw_delete(const ObjectIdentity& identity, std::string_view last_state);
    // Infers the deletes that were missed (C28).
    [[nodiscard]] bool end_list();

    [[nodiscard]] std::size_t size() const { return known_.size(); }

private:
    struct Known {
        std::string uid;
        std::string resource_version;  // empty: the handler does not have this state
        std::uint64_t generation = 0;
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };

    std::string_view key_of(const ObjectIdentity& identity);
    using Objects = std::unordered_map<std::string, Known, TextHash, std::equal_to<>>;
    void forget(Objects::iterator object);

    InformerHandler& handler_;
    Informer::Figures& figures_;
    Objects known_;
    std::uint64_t generation_ = 1;
    std::size_t seen_ = 0;  // of `known_`, since begin_list()
    std::string key_;       // reused: no allocation per event
};

}  // namespace gpuctl::k8s
