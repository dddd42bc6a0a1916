// Why a pod was evicted, and why an elastic job was resized.

#include "scheduler/model/amount_text.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

std::string for_job(const ObjectKey& job) { return "preempted for job " + to_string(job); }

std::string lacked_ranks(const char* what, Duration length) {
    return std::string{what} + " because ranks of its gang had been missing for " + span(length);
}

std::string name_of(const cause::ShortResource& resource) {
    switch (resource.kind) {
        case ResourceKind::cpu:
            return "CPU";
        case ResourceKind::memory:
            return "memory";
        case ResourceKind::pod_slots:
            return "pod slots";
        case ResourceKind::gpu:
        case ResourceKind::gpu_part:
        case ResourceKind::extended:
        case ResourceKind::host_port:
            break;
    }
    return resource.name;
}

}  // namespace

std::string words(const cause::HigherPriority& cause) {
    return "preempted by higher-priority job " + to_string(cause.job);
}

std::string words(const cause::Reclaimed& cause) {
    return "preempted because queue " + cause.queue + " reclaimed GPUs that it had lent, for job " +
           to_string(cause.job);
}

std::string words(const cause::BlocksGuarantee& cause) {
    std::string names;
    for (const cause::ShortResource& resource : cause.resources) {
        names += (names.empty() ? "" : ", ") + name_of(resource);
    }
    return "preempted because queue " + cause.queue + " could not use its guaranteed GPUs: node " +
           cause.node + " had too little " + (names.empty() ? "room" : names) + " for job " +
           to_string(cause.job);
}

std::string words(const cause::ShorterJob& cause) {
    return "preempted for shorter job " + to_string(cause.job) + " (" + span(cause.remaining) +
           " remaining, " + span(cause.remaining_evicted) + " of this job)";
}

std::string words(const cause::NearWaitTarget& cause) {
    return for_job(cause.job) + " (" + span(cause.remaining) +
           " remaining), which nearly reached the wait target of its pool (" +
           span(cause.wait_target) + ")";
}

std::string words(const cause::MustStartNow& cause) {
    return for_job(cause.job) + " (" + span(cause.remaining) +
           " remaining), which would otherwise run alone after all other jobs";
}

std::string words(const cause::DueEarlier& cause) {
    return for_job(cause.job) + ", which is due earlier";
}

std::string words(const cause::GangLacksRanks& cause) {
    return lacked_ranks("preempted", cause.lacked_for) + " and job " + to_string(cause.job) +
           " fits on its room";
}

std::string words(const cause::GangRestarts& cause) {
    return lacked_ranks("evicted", cause.lacked_for) + " and the whole gang fits elsewhere";
}

std::string words(const cause::NodeUnhealthy& cause) {
    return "evicted because node " + cause.node + " is unhealthy (" + cause.message + ")";
}

std::string words(const cause::NodeDrained& cause) {
    return "evicted because node " + cause.node + " is being drained";
}

std::string words(const cause::WindowCloses& cause) {
    return std::string{"evicted for "} + (cause.is_reservation ? "reservation " : "maintenance ") +
           cause.window + (cause.has_begun ? ", which had begun" : ", which was about to begin");
}

std::string words(const cause::ShrunkFor& cause) {
    return "shrunk for waiting job " + to_string(cause.job);
}

std::string words(const cause::StartsWithAllRanks&) {
    return "it waits and may start with all its ranks";
}

std::string words(const cause::RoomIsIdle&) { return "room for more ranks is idle"; }

std::string words(const cause::NoIdleRoom&) { return "there was no idle room for more ranks"; }

std::string words(const cause::GainsLess&) {
    return "with more ranks it would gain less than other jobs, or nothing";
}

std::string words(const cause::Gain& cause) {
    if (cause.is_as_fast) {
        return "with " + amounts::ranks_text(cause.to) + " it is as fast as with " +
               std::to_string(cause.from);
    }
    const std::string text = "from " + std::to_string(cause.from) + " to " +
                             amounts::ranks_text(cause.to) + " it is " +
                             times_as_fast(cause.speed_tenths);
    if (cause.ends_sooner <= Duration{}) return text;
    return text + " and ends " + span(cause.ends_sooner) + " sooner";
}

std::string words(const cause::OtherGainsMore& cause) {
    return "gave " + amounts::ranks_text(cause.ranks) + " because job " + to_string(cause.job) +
           " gains more from them: " + words(cause.gain);
}

std::string words(const std::string& sentence_of_an_older_version) {
    return sentence_of_an_older_version;
}

std::string words_of(const Cause& cause) {
    return std::visit([](const auto& one) { return words(one); }, cause);
}

std::string times_as_fast(std::int64_t tenths) {
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " times as fast";
}

}  // namespace gpuctl::wording::english
