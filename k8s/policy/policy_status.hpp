#pragma once
// Writes the status of ComputePools and Queues: conditions Accepted and Ready, and figures of a
// pool. Only where it differs from what is there, each object at most every few seconds, and only
// while this daemon leads; so that figures that change all the time do not fill the API server.
//
// Thread: the loop's. Memory: one report for each object.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "k8s/client/client.hpp"
#include "k8s/client/token_bucket.hpp"
#include "k8s/policy/policy_feed.hpp"
#include "k8s/write/paced_writer.hpp"
#include "ports/policy_store.hpp"

namespace gpuctl::k8s {

struct PolicyStatusSettings {
    std::int64_t writes_per_second = 5;
    std::chrono::milliseconds figures_every{10'000};  // of one object
    std::chrono::milliseconds conditions_every{1'000};
};

class PolicyStatusWriter final : public PacedWriter {
public:
    using FeedOf = std::function<const PolicyFeed*(PolicyKind kind)>;

    PolicyStatusWriter(aio::Loop& loop, Client& client, FeedOf feed_of,
                       PolicyStatusSettings settings = {})
        : PacedWriter(loop),
          client_(client),
          feed_of_(std::move(feed_of)),
          settings_(settings),
          bucket_(settings.writes_per_second, settings.writes_per_second) {}

    void report(std::vector<ports::PolicyObjectStatus> all);
    // An object, or what is known of it, changed.
    void look() {
        look_at_ = {};
        wake();
    }

private:
    struct Open {
        const WatchedPolicyObject* object = nullptr;
        PolicyKind kind{};
        nlohmann::json status;
    };
    [[nodiscard]] Time next_at(Time now) const override;
    aio::Task<void> write_next(Time now, Epoch epoch) override;
    // The next object whose status is to be written now; sets when to look again.
    std::optional<Open> next_open(Time now);
    std::optional<Open> open_of(PolicyKind kind, const WatchedPolicyObject& object, Time now);

    Client& client_;
    FeedOf feed_of_;
    PolicyStatusSettings settings_;
    TokenBucket bucket_;
    std::map<std::string, ports::PolicyObjectStatus> reports_;  // by uid
    std::map<std::string, Time> written_at_;                    // by uid
    Time look_at_{};
};

// The status that an object should have; null: nothing is known of it yet. `report` may be null.
nlohmann::json policy_status(PolicyKind kind, const WatchedPolicyObject& object,
                             const ports::PolicyObjectStatus* report, Instant now);
// Whether they say the same, whatever the times of their conditions.
bool is_same_status(const nlohmann::json& a, const nlohmann::json& b);
bool are_same_conditions(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace gpuctl::k8s
