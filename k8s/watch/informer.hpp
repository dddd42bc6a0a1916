#pragma once
// Reports every object of one resource to one handler: a consistent list, then a watch from its
// version, for ever, as client-go's reflector does. Survives expiry (410), cut and silent streams,
// and missed deletes.
//
//   listing ──complete──> watching ──end of timeoutSeconds──> watching (last version)
//      ^  \ failure: backoff   │  \ cut, 429, refused: backoff ──> watching (last version)
//      │   └──────────────┐    │
//      └── 410, garbage, handler full, request_relist() ◄┘
//
// Memory: one entry (key, uid, resourceVersion) per object, and the object being received; objects
// themselves belong to the handler. Thread: the loop's; the handler is called on it and must not
// block. Cancellation: through the TaskGroup that run() was spawned in.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "k8s/client/client.hpp"
#include "k8s/client/retry.hpp"
#include "k8s/json/json_text.hpp"

namespace gpuctl::k8s {

enum class Change : std::uint8_t { added, modified };

class InformerHandler {
public:
    virtual ~InformerHandler() = default;

    // An object is new, or its resourceVersion changed. `object` is raw JSON, valid during the
    // call. Objects of a list have no kind and apiVersion. False: the handler is full; the informer
    // forgets that it reported the object and reports it again after a relist.
    [[nodiscard]] virtual bool on_object(Change change, const ObjectIdentity& identity,
                                         std::string_view object) = 0;
    // This incarnation is gone. `last_state` is empty when the delete was missed and inferred from
    // a relist, and may be outdated when a selector is used. False: the handler is full; reported
    // again after a relist.
    [[nodiscard]] virtual bool on_deleted(const ObjectIdentity& identity,
                                          std::string_view last_state) = 0;
    // Everything that existed is reported; an object that was not reported does not exist. Called
    // after the first list and after each relist.
    virtual void on_synced() = 0;
};

struct InformerSettings {
    std::string path;            // /api/v1/pods
    std::string field_selector;  // as in spec.schedulerName=gpuctl; encoded by the informer
    std::string label_selector;
    bool optional = false;   // a resource that may not exist: 404 counts as an empty list
    bool watch_list = true;  // try sendInitialEvents first, fall back on 400/422
    int page_limit = 500;
    std::chrono::milliseconds start_delay_max{0};    // random: spreads first lists and relists
    std::chrono::milliseconds page_timeout{30'000};  // between bytes of a page
    std::chrono::milliseconds watch_seconds_min{300'000};  // timeoutSeconds uniform in [min, 2 min)
    std::chrono::milliseconds silence_max{180'000};        // no byte of a watch: reconnect
    std::chrono::milliseconds short_watch{
        1'000};  // a watch that ends sooner without an event is an error
    std::chrono::milliseconds optional_retry{60'000};
    Backoff::Settings backoff;
    std::uint64_t seed = 1;
};

class Informer {
public:
    // `client` and `handler` outlive run().
    Informer(aio::Loop& loop, Client& client, InformerSettings settings, InformerHandler& handler);
    ~Informer();
    Informer(const Informer&) = delete;
    Informer& operator=(const Informer&) = delete;

    // Until cancelled; spawn it in a TaskGroup.
    aio::Task<void> run();

    // Lists again, consistently, as a new leader must. on_synced() is called at the end.
    void request_relist();

    // Ends a backoff early: the server answers again.
    void try_now();

    struct Figures {
        bool synced = false;   // the first list is complete
        bool healthy = false;  // listing or watching without an error since the last attempt
        std::size_t objects = 0;
        std::uint64_t lists = 0;
        std::uint64_t relists_expired = 0;  // because of 410
        std::uint64_t watch_errors = 0;
        std::uint64_t silences = 0;  // the silence limit was reached
        std::uint64_t events = 0;
        std::uint64_t events_unchanged = 0;  // dropped: version already known
        std::uint64_t deletes_inferred = 0;
        std::uint64_t handler_full = 0;
        std::string resource_version;
        std::string last_error;
    };
    [[nodiscard]] const Figures& figures() const;

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::k8s
