#pragma once
// Key, uid and resourceVersion of each object: enough to distinguish a change from a repeat, and to
// find missing objects after a relist. No I/O.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "k8s/watch/informer.hpp"

namespace gpuctl::k8s {

class InformerStore {
public:
    explicit InformerStore(InformerHandler& handler, Informer::Figures& figures)
        : handler_(handler), figures_(figures) {}

    // Every object not seen between this call and end_list() is gone.
    void begin_list() {
        ++generation_;
        seen_ = 0;
    }
    // Handles an object of a list or of an ADDED or MODIFIED event; reports a change to the
    // handler. False: the handler is full; the next list reports the object again.
    [[nodiscard]] bool saw(const ObjectIdentity& identity, std::string_view object);
    [[nodiscard]] bool saw_delete(const ObjectIdentity& identity, std::string_view last_state);
    // Infers missed deletes.
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
