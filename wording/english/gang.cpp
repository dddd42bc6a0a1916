// What a gang lacks.

#include "scheduler/model/amount_text.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

std::string size_problem(const fact::GangSizeUnknown& fact) {
    if (fact.has_pod_group) return "its PodGroup has no size of at least 1";
    if (fact.gang.empty()) return fact.problem;
    return "there is no PodGroup " + fact.gang + " with a size of at least 1, and " +
           (fact.problem.empty() ? "its pods do not state a size" : fact.problem);
}

// " (role leader: 0 of 1, role worker: 2 of 4)"
std::string roles(const std::vector<fact::RoleCount>& short_of_ranks) {
    std::string text;
    for (const fact::RoleCount& role : short_of_ranks) {
        text += (text.empty() ? " (role " : ", role ") + role.role + ": " +
                std::to_string(role.ranks) + " of " + std::to_string(role.ranks_needed);
    }
    return text.empty() ? text : text + ")";
}

std::string contradiction(const std::vector<std::int64_t>& sizes) {
    if (sizes.size() < 2) return "";
    std::vector<std::string> numbers;
    for (const std::int64_t size : sizes) numbers.push_back(std::to_string(size));
    return "; its pods state different sizes (" + list_of(numbers) + "), the largest one counts";
}

}  // namespace

std::string words(const fact::GangSizeUnknown& fact) {
    return "the size of its gang is unknown: " + size_problem(fact);
}

std::string words(const fact::GangIncomplete& fact) {
    std::string text = "its gang has " + std::to_string(fact.ranks) + " of " +
                       amounts::ranks_text(fact.ranks_needed) + roles(fact.roles) +
                       contradiction(fact.stated);
    if (fact.made_in_turn_by.empty()) return text;
    return text + "; its pods come from " + fact.made_in_turn_by +
           "; no pod of the gang starts before all of them exist";
}

std::string words(const fact::PodsGated& fact) {
    return amounts::count(fact.pods, "pod is", "pods are") + " blocked by scheduling gates";
}

std::string words(const fact::GangHalfBound& fact) {
    return std::to_string(fact.ranks_bound) + " of " + amounts::ranks_text(fact.ranks_needed) +
           " are bound" + roles(fact.roles) + ", the other ranks cannot be bound: ";
}

std::string words(const fact::GangRepair& fact) {
    const std::string when = fact.due_in > Duration{}
                                 ? "; if ranks are still missing in " + span(fact.due_in) + ","
                                 : "; ranks have been missing for " + span(fact.lacked_for) + ":";
    return when + " a job that fits on the room of this gang may preempt it " +
           "(policy.gangRepairDeadline)";
}

std::string words(const fact::RanksNotMade&) {
    return "; its controller has not created the missing pods yet";
}

std::string words(const fact::ControllerFails& fact) {
    return "; its controller cannot create the missing pods: " + fact.message;
}

}  // namespace gpuctl::wording::english
