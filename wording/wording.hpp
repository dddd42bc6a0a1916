#pragma once
// Texts for users, made from the facts of an explanation (docs/adr/0039). English is the only
// language so far; another language is another folder next to english/.

#include <string>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/explanation/cause.hpp"
#include "scheduler/model/explanation/change_facts.hpp"
#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/model/explanation/refusal_facts.hpp"

namespace gpuctl::wording {

// Facts in their order, each with its own separator.
std::string text(const std::vector<Fact>& facts);

// Why the job waits, with all numbers.
std::string sentence(const Explanation& explanation);

// Why a pod was evicted or a job resized: "preempted by higher-priority job a/b". Empty: there is
// no cause.
std::string cause_text(const CauseBox& why);

// "it would start now in queue dev, and that would preempt team-a/low (4 GPUs)"
std::string sentence(const ChangeEffect& effect);

// Why a job is not accepted.
Error error_of(const Refusal& refusal);

// Why the pods of a half-bound gang are deleted.
std::string rollback_text();

// "0/5 nodes are available: 2 Insufficient nvidia.com/gpu, 3 node(s) were unschedulable.
// <sentence>". The first sentence has the form and the words of kube-scheduler, which tools look
// for.
std::string kubernetes_message(const Explanation& explanation);

}  // namespace gpuctl::wording
