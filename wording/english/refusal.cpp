// Why a job is refused at submission.

#include "scheduler/model/amount_text.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

using amounts::gpus;

std::string either_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " or ") + name;
    return text;
}

std::string resources(const Resources& of) {
    std::string text;
    for (const GpuAmount& gpu : of.gpus) {
        text += gpus(gpu.amount.value()) + " " + gpu.resource + ", ";
    }
    return text + amounts::amount_text(ResourceKind::cpu, "", of.cpu.value()) + ", " +
           amounts::amount_text(ResourceKind::memory, "", of.memory.value());
}

std::string requested(const refusal::Request& request) {
    const std::string each = resources(request.each);
    return "the job requests " +
           (request.pods == 1 ? each : amounts::ranks_text(request.pods) + " of " + each + " each");
}

std::string limit_holder(const refusal::LimitTooLow& refusal) {
    const fact::LimitHolder& holder = refusal.holder;
    if (refusal.is_lending) {
        return "queue " + holder.queue + ", outside the " + gpus(refusal.reserved.value()) +
               " of " + gpus(refusal.reserved_of.value()) + " GPUs that queues of " +
               (refusal.lender.empty() ? "pool " + holder.pool : "queue " + refusal.lender) +
               " do not lend,";
    }
    if (!holder.queue.empty() || !holder.tenant.empty()) {
        return (refusal.is_per_job ? "a job of " : "") + holder_of(holder);
    }
    if (holder.pool.empty()) return "a namespace";
    return "jobs outside the reserve of " + gpus(refusal.reserved.value()) + " GPUs of " +
           holder_of(holder);
}

}  // namespace

std::string words(const refusal::PoolWithoutNodes& refusal) {
    return "pool " + refusal.pool + " has no node";
}

std::string words(const refusal::LimitTooLow& refusal) {
    const bool is_gpus = refusal.unit == fact::LimitUnit::gpus;
    return "the job requests " + amounts::count(refusal.pods, "pod", "pods") + " of " +
           amounts::limit_amount_noun(refusal.unit, refusal.each) + "; " + limit_holder(refusal) +
           " may hold at most " +
           (is_gpus ? amounts::limit_amount(refusal.unit, refusal.most)
                    : amounts::limit_amount_noun(refusal.unit, refusal.most)) +
           (refusal.model.empty() ? "" : " of model " + refusal.model);
}

std::string words(const refusal::NoGpuModel& refusal) {
    // A node offers MIG slices as whole GPUs only if all its GPUs are cut alike (strategy
    // "single").
    const std::string hint =
        refusal.mig_profile.empty()
            ? ""
            : "; to use a MIG slice, request gpu: \"1(mig-" + refusal.mig_profile + ")\"";
    return requested(refusal.request) + "; no node of pool " + refusal.pool + " has " +
           (refusal.wanted.empty() ? "whole GPUs" : "a GPU of model " + either_of(refusal.wanted)) +
           "; existing models: " + list_of(refusal.existing) + hint;
}

std::string words(const refusal::NodesTooSmall& refusal) {
    const std::string room =
        refusal.room > 0
            ? "; the pool has room for " + std::to_string(refusal.room) + " even when empty"
            : "";
    return requested(refusal.request) + "; the largest node of pool " + refusal.pool + " (" +
           refusal.node + ") has " + resources(refusal.offered) + room;
}

std::string words(const refusal::TopologyTooNarrow& refusal) {
    std::string text = requested(refusal.request);
    if (refusal.apart != TopologyLevel::none) {
        text += ", no two in one " + std::string{to_string(refusal.apart)};
    }
    if (refusal.together != TopologyLevel::none) {
        const std::string level{to_string(refusal.together)};
        text += ", within one " + level;
        if (!refusal.roomiest.empty()) {
            text += "; " + level + " " + refusal.roomiest + " has most room";
        }
    }
    return text + "; pool " + refusal.pool +
           (refusal.request.pods == 1 ? " has no such node"
                                      : " has room for " + std::to_string(refusal.room)) +
           " even when empty";
}

std::string words_of(const Refusal& refusal) {
    return std::visit([](const auto& one) { return words(one); }, refusal.what);
}

}  // namespace gpuctl::wording::english
