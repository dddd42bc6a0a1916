// Past usage of queues and namespaces, and their dominant shares.

#include <algorithm>

#include "scheduler/base/wide.hpp"
#include "sim/swarm/reference/reference_model.hpp"

namespace gpuctl::sim {

std::int64_t ReferenceModel::share(const QueueName& queue, const std::string& tenant_name,
                                   const Amounts& held) const {
    const Amounts all = offered(queue.pool);
    const auto found = used_.find({queue, tenant_name});
    const Used used = found == used_.end() ? Used{} : found->second;
    const std::int64_t has[] = {held.gpus, held.cpu, held.memory >> 20};
    const std::int64_t of[] = {all.gpus, all.cpu, all.memory >> 20};
    Wide most = 0;
    for (int i = 0; i < 3; ++i) {
        if (of[i] <= 0) continue;
        most = std::max(most, (static_cast<Wide>(has[i]) * 1024 + used.mean[i]) * 1'000'000'000 /
                                  (static_cast<Wide>(of[i]) * 1024));
    }
    return static_cast<std::int64_t>(most);
}

std::int64_t ReferenceModel::share_in_this_tick(const QueueName& queue,
                                                const std::string& tenant_name) const {
    const auto found = used_.find({queue, tenant_name});
    if (policy.usage_half_life <= Duration{} || found == used_.end()) return 0;
    const Amounts all = offered(queue.pool);
    const std::int64_t of[] = {all.gpus, all.cpu, all.memory >> 20};
    const std::int64_t tick = policy.usage_half_life.ms() / 16 + 1;
    Wide most = 0;
    for (int i = 0; i < 3; ++i) {
        if (of[i] <= 0) continue;
        const Wide sum = found->second.sum[i];
        most = std::max(most, sum * 1'000'000'000 / (static_cast<Wide>(of[i]) * tick));
    }
    return static_cast<std::int64_t>(most);
}

void ReferenceModel::change_half_life(Duration before) {
    if (policy.usage_half_life == before) return;
    for (auto& [key, used] : used_) {
        for (std::int64_t& sum : used.sum) sum = 0;
        if (policy.usage_half_life > Duration{}) continue;
        for (std::int64_t& mean : used.mean) mean = 0;
    }
}

// What is held now has been held since the last input. Adds the time up to each tick's end and
// closes the tick.
void ReferenceModel::advance_time(Instant until) {
    if (policy.usage_half_life <= Duration{} || until == now) return;
    const std::int64_t tick = policy.usage_half_life.ms() / 16 + 1;
    std::map<std::pair<QueueName, std::string>, Amounts> held;
    for (const auto& [uid, pod] : pods) {
        if (!pod.holds() || !exists(queue_of(pod.facts))) continue;
        const Amounts amounts = amounts_of(pod.facts.request);
        const std::vector<QueueName> of = chain(queue_of(pod.facts));
        held[{of.front(), pod.facts.key.namespace_name}].add(amounts);
        for (const QueueName& queue : of) held[{queue, ""}].add(amounts);
    }
    for (const auto& [key, amounts] : held) used_[key];
    for (auto& [key, used] : used_) {
        const auto found = held.find(key);
        const Amounts now_held = found == held.end() ? Amounts{} : found->second;
        const std::int64_t amounts[] = {now_held.gpus, now_held.cpu, now_held.memory >> 20};
        for (int i = 0; i < 3; ++i) {
            std::int64_t at = now.ms();
            while (at < until.ms()) {
                const std::int64_t end = std::min(until.ms(), (at / tick + 1) * tick);
                used.sum[i] += amounts[i] * (end - at);
                at = end;
                if (at % tick != 0) continue;
                const auto of_tick =
                    static_cast<std::int64_t>(static_cast<Wide>(used.sum[i]) * 1024 / tick);
                const Wide mean = static_cast<Wide>(used.mean[i]) * 4'112'874'773 +
                                  static_cast<Wide>(of_tick) * ((1LL << 32) - 4'112'874'773);
                used.mean[i] = static_cast<std::int64_t>(mean >> 32);
                used.sum[i] = 0;
                // Nothing is held and no usage is left: further ticks change nothing.
                if (used.mean[i] == 0 && amounts[i] == 0) break;
            }
        }
    }
}

}  // namespace gpuctl::sim
