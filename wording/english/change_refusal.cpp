// Why a change of a job is not accepted: what was tried, to what, and what to do.

#include "wording/change_refusal.hpp"

namespace gpuctl::wording {
namespace {

struct Words {
    ErrorCode code;
    std::string why;
};

Words words_of(const JobUpdated& change, const ChangeRefusal& refusal) {
    switch (refusal.bar) {
        case ChangeBar::none:
        case ChangeBar::unknown:
            return {ErrorCode::JobNotFound, "there is no such job"};
        case ChangeBar::not_made_here:
            return {ErrorCode::Conflict,
                    "it was not created by gpuctl; change the object that created it (kubectl)"};
        case ChangeBar::ended:
            return {ErrorCode::Conflict, "it has ended; delete it, then create it again"};
        case ChangeBar::other_job:
            return {ErrorCode::Conflict,
                    "another job has that name by now; read it again and repeat the change"};
        case ChangeBar::deleting:
            return {ErrorCode::Conflict, "it is being deleted; create it again when it is gone"};
        case ChangeBar::never_made:
            return {ErrorCode::Conflict, "the cluster refused to create it (" + refusal.message +
                                             "); correct that and create it again"};
        case ChangeBar::stale:
            return {ErrorCode::Conflict,
                    "it was changed since it was read: resourceVersion " +
                        std::to_string(change.revision) + " was read, now it is " +
                        std::to_string(refusal.revision) + "; read it again and repeat the change"};
        case ChangeBar::busy:
            return {ErrorCode::Conflict,
                    "its creation or its last change is not carried out yet; repeat it shortly"};
        case ChangeBar::no_replicas:
            return {ErrorCode::ImmutableField,
                    "it has no replicas; only inference and compute jobs can be scaled"};
    }
    return {ErrorCode::Internal, ""};
}

}  // namespace

Error error_of(const JobUpdated& change, const ChangeRefusal& refusal) {
    Words words = words_of(change, refusal);
    return make_error(words.code, std::string{to_string(change.change.kind)} + " job " +
                                      to_string(change.key) + ": " + std::move(words.why));
}

}  // namespace gpuctl::wording
