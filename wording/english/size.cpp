// Why an elastic job has the ranks that it has, and what keeps it from growing.

#include "scheduler/model/amount_text.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

std::string after_colon(const CauseBox& why) { return why ? ": " + words_of(*why) : ""; }

std::string limit_text(const fact::Limit& limit) {
    return std::visit([](const auto& one) { return words(one); }, limit);
}

}  // namespace

std::string words(const fact::ElasticSize& fact) {
    const std::string least = std::to_string(fact.ranks_min);
    const std::string text = "it has " + amounts::ranks_text(fact.ranks) + " (minimum " + least +
                             ", maximum " + std::to_string(fact.ranks_max) + ")";
    if (fact.speed_tenths == 0) return text;
    return text + ", " + times_as_fast(fact.speed_tenths) + " as with " + least;
}

std::string words(const fact::SizeShrinks& fact) {
    return ", and releases its other ranks" + after_colon(fact.why);
}

std::string words(const fact::SizeGrows& fact) {
    return ", growing to " + std::to_string(fact.ranks) + after_colon(fact.why);
}

std::string words(const fact::SizeWaitsForRoom& fact) {
    return ", and " + amounts::count(fact.ranks, "more rank waits", "more ranks wait") +
           " for terminating pods";
}

std::string words(const fact::SizeChangedLast& fact) {
    return " (last change: " + words_of(fact.why) + ")";
}

std::string words(const fact::SizeStays& fact) {
    switch (fact.why) {
        case fact::SizeFixed::some_ended:
            return ", and is not resized: some ranks have ended";
        case fact::SizeFixed::at_maximum:
            return ", its maximum";
        case fact::SizeFixed::no_faster:
            return ", and would be no faster with more";
    }
    return "";
}

std::string words(const fact::GrowthAhead& fact) {
    std::string text = "; it would grow to " + std::to_string(fact.ranks);
    if (fact.speed_tenths > 0) text += ", " + times_as_fast(fact.speed_tenths);
    if (fact.ended_by.empty()) return text;
    return text + " and no further (" + limit_text(fact.ended_by.front()) + ")";
}

std::string words(const fact::GrowthStopped& fact) { return ": " + limit_text(fact.by); }

std::string words(const fact::GrowthWithoutRoom& fact) {
    return ": pool " + fact.pool + " has " + amounts::gpus(fact.gpus_free) +
           (fact.gpus_free == kGpuMilliPerGpu ? " usable GPU" : " usable GPUs") +
           " free, no node has room for a rank of " + amounts::gpus_noun(fact.gpus_each);
}

std::string words(const fact::GrowthDelayed& fact) {
    return ", in " + span(fact.until) + " at the earliest";
}

std::string words(const fact::GrowthUndecided& fact) {
    return fact.is_by_speedup ? ", if it gains from them and no other job gains more"
                              : " when idle room is not reserved for a waiting job";
}

}  // namespace gpuctl::wording::english
