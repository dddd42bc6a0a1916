#pragma once
// Writes objects of the policy through the API server: creates them, patches the version that the
// watch showed, deletes the uid that it showed. Several are first tried as a dry run; what was made
// before a failure is deleted again. A write without an answer is read back from the watch.
//
// Thread: the loop's. Each write ends at its deadline.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "k8s/client/client.hpp"
#include "k8s/policy/policy_feed.hpp"
#include "ports/policy_store.hpp"

namespace gpuctl::k8s {

class PolicyWriter {
public:
    // Null: the kind is not watched, because the cluster does not have it.
    using FeedOf = std::function<const PolicyFeed*(PolicyKind kind)>;
    using Term = std::function<std::optional<Epoch>()>;

    PolicyWriter(Client& client, LabelKeys labels, FeedOf feed_of, Term term)
        : client_(client),
          labels_(std::move(labels)),
          feed_of_(std::move(feed_of)),
          term_(std::move(term)) {}

    aio::Task<Result<std::vector<ports::PolicyObjectWritten>>> write(PolicyObjectsChanged wanted,
                                                                     aio::Deadline deadline);
    [[nodiscard]] bool idle() const { return writing_ == 0; }

private:
    struct Step {
        PolicyKey key;
        std::string document;  // empty: delete it
    };
    using Written = Result<ports::PolicyObjectWritten>;
    static std::vector<Step> steps_of(const PolicyObjectsChanged& wanted);
    aio::Task<Result<std::vector<ports::PolicyObjectWritten>>> write_all(std::vector<Step> steps,
                                                                         aio::Deadline deadline);
    aio::Task<Written> one(Step step, bool dry_run, aio::Deadline deadline);
    aio::Task<Written> create(Step step, bool dry_run, aio::Deadline deadline);
    aio::Task<Written> adopt(Step step, bool dry_run, aio::Deadline deadline);
    aio::Task<Written> change(Step step, bool dry_run, aio::Deadline deadline);
    aio::Task<Written> remove(Step step, bool dry_run, aio::Deadline deadline);
    aio::Task<ApiResult<ApiResponse>> send(ApiCall call, aio::Deadline deadline);
    aio::Task<void> undo(std::vector<ports::PolicyObjectWritten> made, aio::Deadline deadline);
    aio::Task<bool> is_shown(Step step, aio::Deadline deadline);
    [[nodiscard]] const WatchedPolicyObject* find(const PolicyKey& key) const;

    Client& client_;
    LabelKeys labels_;
    FeedOf feed_of_;
    Term term_;
    int writing_ = 0;
};

// What to do where the cluster lacks the kinds of config/crds.yaml.
Error kinds_are_missing(PolicyKind kind);

}  // namespace gpuctl::k8s
