#include "scheduler/listing/listing.hpp"

#include <algorithm>

namespace gpuctl {
namespace {

constexpr int kNamePartsMost = 6;

}  // namespace

Listing::Listing(ClusterState& state) : state_(state) {
    state_.jobs.changes(Key<Listing>{}).collect();
    build();
}

void Listing::build() {
    std::vector<JobEntry> entries;
    const auto& summaries = state_.jobs.finished_jobs().by_key();
    entries.reserve(state_.jobs.jobs_by_key().size() + summaries.size());
    for (const auto& [key, id] : state_.jobs.jobs_by_key()) {
        entries.push_back(reader_.read(state_, id, names_));
        sums_.add(entries.back());
        order_.update(state_, id);
    }
    for (const auto& [key, job] : summaries) {
        entries.push_back(EntryReader::read(job, names_));
        sums_.add(entries.back());
        ended_pods_.record_job(job);
    }
    index_.fill(std::move(entries));
    for (std::uint32_t slot = 0; slot < state_.nodes.node_slots(); ++slot) {
        pools_.put(NodeId{slot}, glance_at(state_, NodeId{slot}));
    }
}

void Listing::refresh(std::uint64_t revision) {
    revision_ = revision;
    if (behind() == 0) return;
    StateChanges& changes = state_.jobs.changes(Key<Listing>{});
    changes.jobs().move_into(changed_);
    changed_summaries_.clear();
    changed_summaries_.swap(changes.summaries());
    // A name belongs to a job or to a summary: the old entry is removed before the new one is
    // added.
    const FinishedJobs& finished = state_.jobs.finished_jobs();
    for (const ObjectKey& key : changed_summaries_) {
        if (finished.find(key) == nullptr) update_summary(key);
    }
    for (const JobId id : changed_) update(id);
    for (const ObjectKey& key : changed_summaries_) {
        if (finished.find(key) != nullptr) update_summary(key);
    }
}

void Listing::update(JobId id) {
    order_.update(state_, id);
    const JobRow& row = state_.job(id);
    const JobEntry* known = index_.find(id);
    if (known != nullptr && (!row.live || row.arrival != known->arrival)) {
        sums_.take_out(*known);
        index_.remove(id);
        known = nullptr;
    }
    if (!row.live) return;
    JobEntry entry = reader_.read(state_, id, names_);
    if (known != nullptr) {
        if (*known == entry) return;
        sums_.take_out(*known);
    }
    sums_.add(entry);
    index_.put(std::move(entry));
}

void Listing::update_summary(const ObjectKey& key) {
    const JobEntry* known = index_.find_summary(key);
    if (known != nullptr) sums_.take_out(*known);
    const FinishedJob* job = state_.jobs.finished_jobs().find(key);
    if (job == nullptr) {
        index_.remove_summary(key);
        ended_pods_.forget(key);
        return;
    }
    JobEntry entry = EntryReader::read(*job, names_);
    sums_.add(entry);
    index_.put(std::move(entry));
    ended_pods_.record_job(*job);
}

void Listing::add_with_pod(const ObjectKey& pod, std::vector<const JobEntry*>& out) const {
    if (const PodId id = state_.pods.find_pod(pod); id.exists()) {
        if (const JobEntry* job = index_.find(state_.pod(id).job)) out.push_back(job);
    }
    std::vector<const JobEntry*> called;
    const std::string_view name{pod.name};
    // Finds the length of the job name, without the suffixes that controllers add: ranks, roles,
    // hashes.
    std::size_t end = name.npos;
    for (int parts = 0; parts <= kNamePartsMost; ++parts) {
        index_.read_named(pod.namespace_name, name.substr(0, end), called);
        if (end == 0) break;
        end = name.rfind('-', end == name.npos ? end : end - 1);
        if (end == name.npos) break;
    }
    if (const auto* odd = ended_pods_.jobs_of(pod)) {
        for (const ObjectKey& key : *odd) {
            if (const JobEntry* job = index_.find_summary(key)) called.push_back(job);
        }
    }
    for (const JobEntry* job : called) {
        if (job->summary == nullptr) continue;
        const auto is_it = [&](const EndedPod& one) { return name_of(one, job->key) == name; };
        const std::vector<EndedPod>& ended = job->summary->ended_pods;
        if (std::any_of(ended.begin(), ended.end(), is_it)) out.push_back(job);
    }
}

void Listing::read_with_pod(std::string_view namespace_name, std::string_view pod,
                            std::vector<const JobEntry*>& out) const {
    if (!namespace_name.empty()) {
        return add_with_pod({std::string{namespace_name}, std::string{pod}}, out);
    }
    index_.visit_namespaces(
        [&](const std::string& space) { add_with_pod({space, std::string{pod}}, out); });
}

const PoolSums& Listing::pools() {
    if (!state_.jobs.changes().nodes().empty()) {
        state_.jobs.changes(Key<Listing>{}).nodes().move_into(changed_nodes_);
        for (const NodeId id : changed_nodes_) pools_.put(id, glance_at(state_, id));
    }
    return pools_;
}

std::int64_t Listing::position_of(JobId job) { return order_.position_of(state_, job, revision_); }

std::optional<StartEstimate> Listing::start_of(JobId job) const {
    if (!state_.job(job).waiting.in_class.exists()) return std::nullopt;
    return starts_.of(state_, job);
}

Reason Listing::reason_of(const JobEntry& entry) {
    switch (entry.waits) {
        case WaitKind::in_queue:
        case WaitKind::untried:
            return reasons_.of(state_, entry.job, revision_);
        case WaitKind::held:
            if (!state_.session.synced()) return Reason::not_synced;
            return state_.session.leading() ? entry.held : Reason::not_leader;
        case WaitKind::none:
            break;
    }
    return entry.held;
}

JobSums::ByReason Listing::waiting_by_reason() const {
    JobSums::ByReason out = sums_.lacking_by_reason();
    const auto at = [&out](Reason reason) -> std::int64_t& {
        return out[static_cast<std::size_t>(reason)];
    };
    // reported before any other blocker
    if (!state_.session.synced() || !state_.session.leading()) {
        at(state_.session.synced() ? Reason::not_leader : Reason::not_synced) += sums_.waiting();
    } else {
        const QueueBook::CountByReason& in_queues = state_.waiting.book().jobs_by_reason();
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] += sums_.held_by_reason()[i] + static_cast<std::int64_t>(in_queues[i]);
        }
        const auto untried = in_queues[static_cast<std::size_t>(Reason::none)];
        at(Reason::turn) += static_cast<std::int64_t>(untried);
    }
    at(Reason::none) = 0;
    return out;
}

}  // namespace gpuctl
