#include "k8s/policy/pool_labels.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "aio/loop.hpp"
#include "k8s/cluster/node_feed.hpp"
#include "k8s/json/object_time.hpp"

namespace gpuctl::k8s {
namespace {

using nlohmann::json;

std::string label_value(const WatchedNode& node, const std::string& key) {
    const auto found = node.labels.find(key);
    return found == node.labels.end() ? std::string{} : found->second;
}

}  // namespace

std::optional<NodeChange> label_change(const std::string& name, const WatchedNode& node,
                                       const ports::NodeMembership* member,
                                       const LabelKeys& labels) {
    const std::string pool_key = labels.text(OwnKey::pool);
    const std::string source_key = labels.prefix() + kPoolSourceSuffix;
    NodeChange change;
    change.node = name;
    change.uid = node.uid;
    change.overwrite = true;
    if (member == nullptr) {
        if (label_value(node, source_key) != kPoolSource) return std::nullopt;
        change.remove = {pool_key, source_key};
        return change;
    }
    std::map<std::string, std::string> wanted{{pool_key, member->pool}, {source_key, kPoolSource}};
    if (!member->gpu_model.empty()) wanted[labels.text(OwnKey::gpu_type)] = member->gpu_model;
    for (const auto& [key, value] : wanted) {
        if (label_value(node, key) != value) change.set[key] = value;
    }
    if (change.set.empty()) return std::nullopt;
    return change;
}

PoolLabels::PoolLabels(aio::Loop& loop, aio::TaskGroup& group, Client& client, Find find,
                       PoolLabelsSettings settings)
    : PacedWriter(loop),
      group_(group),
      client_(client),
      find_(std::move(find)),
      settings_(std::move(settings)),
      writer_(group, client, find_, [this](NodeChangeOutcome outcome) {
          const auto found = due_.find(outcome.node);
          if (found == due_.end()) return;
          found->second.is_running = false;
          wake();
      }) {}

void PoolLabels::assign(const ports::NodeMemberships& all) {
    const ports::NodeMemberships before = memberships_.value_or(ports::NodeMemberships{});
    memberships_ = all;
    const auto expect_change = [this](const std::string& name) {
        due_[name].at = {};  // a change that users made is no fight
        due_[name].written_at = {};
        look(name);
    };
    for (const auto& [name, member] : all) {
        const auto had = before.find(name);
        if (had == before.end() || had->second != member) expect_change(name);
    }
    for (const auto& [name, member] : before) {
        if (!all.contains(name)) expect_change(name);
    }
}

void PoolLabels::look(const std::string& node) {
    due_[node].is_due = true;
    wake();
}

PoolLabels::Time PoolLabels::next_at(Time) const {
    if (!memberships_) return Time::max();
    Time next = Time::max();
    for (const auto& [name, due] : due_) {
        if (due.is_due && !due.is_running) next = std::min(next, due.at);
    }
    return next;
}

std::optional<NodeChange> PoolLabels::change_of(const std::string& name,
                                                const WatchedNode& node) const {
    const auto member = memberships_->find(name);
    return label_change(name, node, member == memberships_->end() ? nullptr : &member->second,
                        settings_.labels);
}

// Sends at most one change; those that are as they should be are only forgotten.
aio::Task<void> PoolLabels::write_next(Time now, Epoch epoch) {
    for (auto next = due_.begin(); next != due_.end();) {
        Due& due = next->second;
        if (!due.is_due || due.is_running || due.at > now) {
            ++next;
            continue;
        }
        const std::optional<WatchedNode> node = find_(next->first);
        const std::optional<NodeChange> change =
            node ? change_of(next->first, *node) : std::nullopt;
        if (!change) {
            due.is_due = false;
            const bool is_calm = now - due.written_at > settings_.calm;
            next = is_calm ? due_.erase(next) : std::next(next);
            continue;
        }
        due.pause = now - due.written_at > settings_.calm
                        ? settings_.again_first
                        : std::min(due.pause * 2, settings_.again_max);
        due.written_at = now;
        due.at = now + due.pause;
        due.is_running = true;  // and due: it is looked at again afterwards
        report(next->first, *node, epoch);
        ChangeNode order;
        order.epoch = epoch;
        order.change = *change;
        writer_.change(std::move(order));
        co_return;
    }
}

void PoolLabels::report(const std::string& name, const WatchedNode& node, Epoch epoch) {
    const auto member = memberships_->find(name);
    if (member == memberships_->end()) return;
    const std::string key = settings_.labels.text(OwnKey::pool);
    const std::string had = label_value(node, key);
    const bool was_ours =
        label_value(node, settings_.labels.prefix() + kPoolSourceSuffix) == kPoolSource;
    const std::string& pool = member->second.pool;
    if (had == pool || (had.empty() && !was_ours)) return;
    if (settings_.on_restored) settings_.on_restored(name, had, pool);
    std::string note =
        "the label " + key + " was " + (had.empty() ? "removed" : "\"" + had + "\"") + "; it is " +
        pool + " again, because ComputePool " + pool + " names this node: change spec.nodes there";
    group_.spawn("event of node", post_event(name, node.uid, std::move(note), epoch));
}

// Best effort.
aio::Task<void> PoolLabels::post_event(std::string name, std::string uid, std::string note,
                                       Epoch epoch) {
    const std::int64_t now = aio::Loop::wall_ms();
    const json body{
        {"apiVersion", "events.k8s.io/v1"},
        {"kind", "Event"},
        {"metadata",
         {{"name", name + ".pool." + std::to_string(now) + "." + std::to_string(++events_)},
          {"namespace", "default"}}},
        {"eventTime", format_micro_time(Instant{now})},
        {"reportingController", "gpuctl"},
        {"reportingInstance", settings_.instance},
        {"action", "Label"},
        {"reason", "PoolLabelRestored"},
        {"type", "Warning"},
        {"note", note},
        {"regarding", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", name}, {"uid", uid}}}};
    ApiCall call;
    call.method = "POST";
    call.path = "/apis/events.k8s.io/v1/namespaces/default/events";
    call.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
    call.fenced_by = epoch;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    (void)co_await client_.call(std::move(call), deadline);
}

}  // namespace gpuctl::k8s
