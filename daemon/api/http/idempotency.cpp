#include "daemon/api/http/idempotency.hpp"

#include <charconv>

#include "scheduler/base/hash.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

void IdempotencyKeys::recover(const ClusterState& state) {
    const auto recover_key = [this](const ObjectKey& job, const std::string& stored) {
        const std::size_t mark = stored.rfind('#');
        if (mark == stored.npos) return;
        const std::string key = stored.substr(0, mark);
        Entry entry;
        entry.job = job;
        std::from_chars(stored.data() + mark + 1, stored.data() + stored.size(),
                        entry.request_hash);
        if (entries_.emplace(key, entry).second) order_.emplace_back(aio::Clock::now(), key);
    };
    for (const auto& [job, id] : state.jobs.jobs_by_key()) {
        const Boxed<JobRecord>& record = state.job(id).record;
        if (record) recover_key(job, record->idempotency_key);
    }
    for (const auto& [job, summary] : state.jobs.finished_jobs().by_key()) {
        recover_key(job, summary.idempotency_key);
    }
}

KeyState IdempotencyKeys::claim(const std::string& key, std::string_view request) {
    forget_old();
    const std::uint64_t hash = hash64(request);
    const auto [found, is_new] = entries_.try_emplace(key);
    Entry& entry = found->second;
    if (is_new) {
        entry.request_hash = hash;
        entry.in_work = true;
        order_.emplace_back(aio::Clock::now(), key);
        return KeyIsNew{};
    }
    if (entry.request_hash != hash) return KeyRequestDiffers{};
    if (entry.in_work) return KeyInWork{};
    if (entry.answer.empty()) return KeyOfJob{entry.job};
    return KeyAnswered{entry.answer};
}

void IdempotencyKeys::answered(const std::string& key, std::string answer) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    found->second.in_work = false;
    found->second.answer = std::move(answer);
}

void IdempotencyKeys::unconfirmed(const std::string& key) { answered(key, ""); }

void IdempotencyKeys::belongs_to(const std::string& key, const ObjectKey& job) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) found->second.job = job;
}

std::string IdempotencyKeys::journal_form(const std::string& key, std::string_view request) {
    return key + "#" + std::to_string(hash64(request));
}

void IdempotencyKeys::released(const std::string& key) {
    entries_.erase(key);
    std::erase_if(order_, [&](const auto& entry) { return entry.second == key; });
}

void IdempotencyKeys::forget_old() {
    const aio::Clock::time_point oldest = aio::Clock::now() - kIdempotencyKeptFor;
    while (!order_.empty() &&
           (order_.front().first < oldest || order_.size() >= kIdempotencyKeysMax)) {
        entries_.erase(order_.front().second);
        order_.pop_front();
    }
}

}  // namespace gpuctl::api
