#pragma once
// From informers to engine events. Each feed remembers a fingerprint of what it told, so that an
// update that changes nothing for us ends here; and each says "no room" to its informer when the
// sink is full, which then tells again after a relist.
//
// Thread: the loop's. Memory: an entry per pod that holds or wants room, per node, per PodGroup,
// and per object of a submitted job.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/aio/signal.hpp"
#include "daemon/aio/task.hpp"
#include "daemon/ports/event_sink.hpp"
#include "k8s/convert_group.hpp"
#include "k8s/convert_pod.hpp"
#include "k8s/convert_workload.hpp"
#include "k8s/event_recorder.hpp"
#include "k8s/informer.hpp"
#include "k8s/labels.hpp"
#include "k8s/status_writer.hpp"
#include "scheduler/model/workload.hpp"

namespace gpuctl::k8s {

// Events that nobody would repeat for us (outcomes, leadership): kept here while the sink is full
// and offered again, in order.
class Outbox {
public:
    explicit Outbox(aio::Loop& loop) : added_(loop) {}

    void attach(ports::EventSink& sink) { sink_ = &sink; }
    void deliver(Event event);
    // False: full, nothing kept.
    [[nodiscard]] bool offer(Event event);
    aio::Task<void> run();  // until cancelled
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

private:
    void flush();

    aio::Signal added_;
    ports::EventSink* sink_ = nullptr;
    std::deque<Event> waiting_;
};

// Counts complete lists, so that a caller can wait for the next one.
class Feed : public InformerHandler {
public:
    using OnSynced = std::function<void()>;

    Feed(Outbox& outbox, OnSynced on_synced) : outbox_(outbox), on_synced_(std::move(on_synced)) {}

    void on_synced() final {
        ++lists_;
        on_synced_();
    }
    [[nodiscard]] std::uint64_t lists() const { return lists_; }

    struct Figures {
        std::uint64_t told = 0;
        std::uint64_t unchanged = 0;
        std::uint64_t unreadable = 0;
    };
    [[nodiscard]] const Figures& figures() const { return figures_; }

protected:
    Outbox& outbox_;
    Figures figures_;

private:
    OnSynced on_synced_;
    std::uint64_t lists_ = 0;
};

// What is written about a pod: told of what the API server has, and of its end.
struct PodNews {
    StatusWriter& conditions;
    EventRecorder& events;
};

class PodFeed : public Feed {
public:
    PodFeed(Outbox& outbox, PodReadSettings settings, PodNews news, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), settings_(std::move(settings)), news_(news) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // Ruling 26: only such pods are made again by somebody.
    [[nodiscard]] bool has_controller(const std::string& uid) const;
    // Was a pod of ours ever seen on a node? Then somebody led before.
    [[nodiscard]] bool has_seen_bound() const { return has_seen_bound_; }

private:
    struct Known {
        std::uint64_t fingerprint = 0;
        bool has_controller = false;
    };
    void report_state(const PodReading& reading);
    void forget(const std::string& uid);

    PodReadSettings settings_;
    PodNews news_;
    std::unordered_map<std::string, Known> pods_;  // by uid
    bool has_seen_bound_ = false;
    std::string scratch_;
};

class NodeFeed : public Feed {
public:
    NodeFeed(Outbox& outbox, LabelKeys labels, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), labels_(std::move(labels)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

private:
    LabelKeys labels_;
    std::unordered_map<std::string, std::uint64_t> nodes_;  // name -> fingerprint
    std::string scratch_;
};

// Of one kind of object, those that we made.
class WorkloadFeed : public Feed {
public:
    WorkloadFeed(Outbox& outbox, LabelKeys labels, ReadSpec read_spec, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)),
          labels_(std::move(labels)),
          read_spec_(std::move(read_spec)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // Of the object that was made for this job; empty: there is none of this kind.
    [[nodiscard]] std::string uid_of(const ObjectKey& job) const;

private:
    bool offer_job(std::string_view object);

    LabelKeys labels_;
    ReadSpec read_spec_;
    std::unordered_map<std::string, WorkloadFacts> workloads_;  // by the object's uid
};

class GangFeed : public Feed {
public:
    GangFeed(Outbox& outbox, GangField field, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), field_(field) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

private:
    GangField field_;
    std::map<ObjectKey, GangSize> gangs_;
};

}  // namespace gpuctl::k8s
