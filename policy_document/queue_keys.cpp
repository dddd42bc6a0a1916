#include "policy_document/queue_keys.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "policy_document/tables.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::config {
namespace {

constexpr std::string_view kQueues = "queues";

wire::Field member(const wire::Field& field, std::string_view key) {
    wire::Fields fields{field};
    return fields.find(key);
}

class TreeReader {
public:
    explicit TreeReader(PoolPolicy& pool) : pool_(pool) {}

    // Appends the queues of a list, each before its sub-queues; returns the sum of their
    // guarantees.
    GpuMilli read(const wire::Field& list, const std::string& parent, int depth) {
        GpuMilli sum;
        if (!list || !list.is_list()) return sum;
        for (const wire::Field& element : list.elements()) sum += read_one(element, parent, depth);
        return sum;
    }

private:
    GpuMilli read_one(const wire::Field& field, const std::string& parent, int depth) {
        const std::size_t position = pool_.queues.size();
        pool_.queues.emplace_back();
        read_struct(field, pool_.queues.back());
        QueuePolicy& queue = pool_.queues.back();
        queue.parent = parent;
        const std::string name = queue.name;
        if (!has_own_name(field, name)) {
            pool_.queues.resize(position);  // a walk of the tree by name would not end
            return {};
        }
        if (!field.is_map()) return queue.guaranteed;
        check_maximum(queue, field);
        check_model_maxima(queue, member(field, "models"));
        check_budget(queue, member(field, "budget"));
        const wire::Field below = member(field, kQueues);
        if (below && depth + 1 == kQueueDepthMaximum) {
            below.error("queue " + name + " is " + std::to_string(depth) +
                        " levels deep and can have no sub-queues: at most " +
                        std::to_string(kQueueDepthMaximum) + " levels are allowed");
            return queue.guaranteed;
        }
        const GpuMilli sub_guarantees = read(below, name, depth + 1);
        QueuePolicy& own = pool_.queues[position];  // the list may have moved
        if (below && name == kDefaultQueue) {
            below.error(
                "the queue default takes jobs that name no queue; it can have no sub-queues");
        }
        const GpuMilli least = std::max(sub_guarantees, guaranteed_of_models(own));
        if (!member(field, "guaranteed")) {
            own.guaranteed = least;
            if (least > GpuMilli{}) check(own, field);  // with its guarantee known
        } else if (sub_guarantees > own.guaranteed) {
            below.error("the sub-queues of " + name + " are guaranteed " +
                        format_gpus(sub_guarantees) + " GPUs together, more than its own " +
                        format_gpus(own.guaranteed));
        } else if (least > own.guaranteed) {
            member(field, "models")
                .error("queue " + name + " is guaranteed " + format_gpus(least) +
                       " GPUs of these models together, more than the " +
                       format_gpus(own.guaranteed) + " that it is guaranteed of all models");
        }
        check_models(own, below);
        check_children_maxima(own, below);
        if (own.lending_limit && *own.lending_limit > own.guaranteed) {
            member(field, "lendingLimit")
                .error("queue " + name + " cannot lend " + format_gpus(*own.lending_limit) +
                       " GPUs: it is guaranteed " + format_gpus(own.guaranteed));
        }
        return std::max(own.guaranteed, least);
    }

    bool has_own_name(const wire::Field& field, const std::string& name) {
        if (name.empty()) {  // a missing name was reported where it was read
            if (const wire::Field given = member(field, "name")) {
                given.error("a queue needs a name");
            }
            return false;
        }
        if (names_.insert(name).second) return true;
        field.error("the queue " + name + " is given twice in pool " + pool_.name +
                    "; names are unique in their pool, at every depth");
        return false;
    }

    // A queue can hold no more than its parents: a higher maximum has no effect.
    void check_maximum(const QueuePolicy& queue, const wire::Field& field) {
        if (!queue.maximum) return;
        for (const QueuePolicy* above = find(queue.parent); above != nullptr;
             above = find(above->parent)) {
            if (!above->maximum || *queue.maximum <= *above->maximum) continue;
            return member(field, "maximum")
                .error("queue " + queue.name + " may hold " + format_gpus(*queue.maximum) +
                       " GPUs at most, more than the " + format_gpus(*above->maximum) +
                       " of the queue " + above->name + " above it");
        }
    }

    void check_model_maxima(const QueuePolicy& queue, const wire::Field& models) {
        for (const ModelLimit& own : queue.models) {
            for (const QueuePolicy* above = find(queue.parent); own.maximum && above != nullptr;
                 above = find(above->parent)) {
                const std::optional<GpuMilli> most = maximum_of(*above, own.model);
                if (!most || *own.maximum <= *most) continue;
                return models.error("queue " + queue.name + " may hold " +
                                    format_gpus(*own.maximum) + " GPUs of model " + own.model +
                                    " at most, more than the " + format_gpus(*most) +
                                    " of the queue " + above->name + " above it");
            }
        }
    }

    // For equal periods, a queue's budget is limited by those of its parents, including what they
    // may carry over.
    void check_budget(const QueuePolicy& queue, const wire::Field& field) {
        for (const QueuePolicy* above = find(queue.parent); queue.budget && above != nullptr;
             above = find(above->parent)) {
            if (!above->budget || above->budget->period != queue.budget->period ||
                above->budget->anchor != queue.budget->anchor) {
                continue;
            }
            const GpuTime most = above->budget->amount + above->budget->carry_over;
            if (queue.budget->amount <= most) continue;
            return field.error("queue " + queue.name + " may use " +
                               exact_gpu_hours(queue.budget->amount) +
                               " GPU-hours in a period, more than the " + exact_gpu_hours(most) +
                               " of the queue " + above->name + " above it");
        }
    }

    static std::optional<GpuMilli> maximum_of(const QueuePolicy& queue, std::string_view model) {
        const auto is_it = [&](const ModelLimit& of) { return same_gpu_model(of.model, model); };
        const auto found = std::find_if(queue.models.begin(), queue.models.end(), is_it);
        return found == queue.models.end() ? std::nullopt : found->maximum;
    }

    [[nodiscard]] const QueuePolicy* find(const std::string& name) const {
        const auto is_it = [&](const QueuePolicy& queue) { return queue.name == name; };
        const auto found = std::find_if(pool_.queues.begin(), pool_.queues.end(), is_it);
        return name.empty() || found == pool_.queues.end() ? nullptr : &*found;
    }

    static GpuMilli guaranteed_of_models(const QueuePolicy& queue) {
        GpuMilli sum;
        for (const ModelLimit& model : queue.models) sum += model.guaranteed;
        return sum;
    }

    // The smaller of a queue's own maximum and the sum of its sub-queues'; absent: no maximum, if
    // one of them has none.
    template <typename Own>
    [[nodiscard]] std::optional<GpuMilli> most(const QueuePolicy& queue, Own own) const {
        const std::optional<GpuMilli> its = own(queue);
        const std::optional<GpuMilli> below = most_below(queue, own);
        return its && below ? std::min(*its, *below) : (its ? its : below);
    }
    template <typename Own>
    [[nodiscard]] std::optional<GpuMilli> most_below(const QueuePolicy& queue, Own own) const {
        std::optional<GpuMilli> sum;
        for (const QueuePolicy& child : pool_.queues) {
            if (child.parent != queue.name) continue;
            const std::optional<GpuMilli> its = most(child, own);
            if (!its) return std::nullopt;
            sum = sum.value_or(GpuMilli{}) + *its;
        }
        return sum;
    }

    // The most it may hold at once: its maximum and what it may borrow.
    static std::optional<GpuMilli> cap_of(const QueuePolicy& queue) {
        if (!queue.borrowing_limit) return queue.maximum;
        const GpuMilli borrowed = queue.guaranteed + *queue.borrowing_limit;
        return queue.maximum ? std::min(*queue.maximum, borrowed) : borrowed;
    }

    // Only its sub-queues hold GPUs: a guarantee above what they may hold would never be used.
    void check_children_maxima(const QueuePolicy& queue, const wire::Field& below) {
        const std::optional<GpuMilli> all = most_below(queue, cap_of);
        if (all && queue.guaranteed > *all) {
            below.error("the sub-queues of " + queue.name + " may hold " + format_gpus(*all) +
                        " GPUs together at most, less than the " + format_gpus(queue.guaranteed) +
                        " that it is guaranteed");
        }
        for (const ModelLimit& model : queue.models) {
            const std::optional<GpuMilli> of_it = most_below(
                queue, [&](const QueuePolicy& one) { return maximum_of(one, model.model); });
            if (!of_it || model.guaranteed <= *of_it) continue;
            below.error("the sub-queues of " + queue.name + " may hold " + format_gpus(*of_it) +
                        " GPUs of model " + model.model + " together at most, less than the " +
                        format_gpus(model.guaranteed) + " that it is guaranteed of it");
        }
    }

    // Guaranteed of the model: to the queue or, if more, to its sub-queues together.
    [[nodiscard]] GpuMilli guarantee_of(const QueuePolicy& queue, std::string_view model) const {
        GpuMilli own;
        for (const ModelLimit& of : queue.models) {
            if (same_gpu_model(of.model, model)) own = of.guaranteed;
        }
        return std::max(own, guaranteed_below(queue, model));
    }
    [[nodiscard]] GpuMilli guaranteed_below(const QueuePolicy& queue,
                                            std::string_view model) const {
        GpuMilli sum;
        for (const QueuePolicy& child : pool_.queues) {
            if (child.parent == queue.name) sum += guarantee_of(child, model);
        }
        return sum;
    }

    // Guarantees of a model to sub-queues, at any depth, must not exceed the queue's own.
    void check_models(const QueuePolicy& queue, const wire::Field& below) {
        for (const ModelLimit& own : queue.models) {
            const GpuMilli together = guaranteed_below(queue, own.model);
            if (together <= own.guaranteed) continue;
            below.error("the sub-queues of " + queue.name + " are guaranteed " +
                        format_gpus(together) + " GPUs of model " + own.model +
                        " together, more than its own " + format_gpus(own.guaranteed));
        }
    }

    PoolPolicy& pool_;
    std::set<std::string> names_;
};

std::vector<std::vector<Shown>> show_below(const std::vector<QueuePolicy>& queues,
                                           const std::string& parent) {
    std::vector<std::vector<Shown>> items;
    for (const QueuePolicy& queue : queues) {
        if (queue.parent != parent) continue;
        std::vector<Shown> shown = show_struct(queue);
        for (Shown& key : shown) {
            if (key.name != kQueues) continue;
            key.items = show_below(queues, queue.name);
            key.absent = key.items.empty();
        }
        items.push_back(std::move(shown));
    }
    return items;
}

}  // namespace

std::vector<std::pair<std::string_view, QueueOrder>> queue_orders() {
    return {{"FAIR_SHARE", QueueOrder::fair_share},
            {"FIFO", QueueOrder::fifo},
            {"PRIORITY", QueueOrder::priority},
            {"CAPACITY", QueueOrder::capacity},
            {"SHORTEST", QueueOrder::shortest}};
}

Key<QueuePolicy> sub_queues() {
    return {kQueues,
            "sub-queues, each with the same keys; a queue with sub-queues takes no jobs itself",
            false,
            [](const wire::Field& field, QueuePolicy&) {
                if (field.is_null()) report_nothing_in(field);
            },
            [](const QueuePolicy&, Shown& shown) {
                shown.form = Shown::Form::list;
                shown.absent = true;
            }};
}

Key<PoolPolicy> queue_tree(std::string_view meaning) {
    return {kQueues, meaning, false,
            [](const wire::Field& field, PoolPolicy& pool) {
                if (field.is_null()) return report_nothing_in(field);
                pool.queues.clear();
                (void)TreeReader{pool}.read(field, "", 0);
            },
            [](const PoolPolicy& pool, Shown& shown) {
                shown.form = Shown::Form::list;
                shown.absent = pool.queues.empty();
                shown.items = show_below(shown.absent ? example_queues() : pool.queues, "");
            }};
}

Key<PoolPolicy> reserve() {
    return {"reserve",
            "GPUs reserved for services and additional ranks of elastic jobs: a number, or a part "
            "such as 10%",
            false,
            [](const wire::Field& field, PoolPolicy& pool) {
                const auto written = field.word();
                if (!written) return;
                if (!written->ends_with('%')) {
                    const auto milli = read_thousandths(field, "GPUs");
                    if (milli) pool.reserve_gpus = GpuMilli{*milli};
                    return;
                }
                std::int32_t percent = 0;
                const char* const end = written->data() + written->size() - 1;
                const auto [stop, problem] = std::from_chars(written->data(), end, percent);
                if (problem != std::errc{} || stop != end || percent < 0 || percent > 90) {
                    return field.error(
                        "must be from 0% to 90% in whole per cent, or a number of GPUs, not \"" +
                        *written + "\"");
                }
                pool.reserve_percent = percent;
            },
            [](const PoolPolicy& pool, Shown& shown) {
                shown.value = pool.reserve_percent > 0
                                  ? yaml_text(std::to_string(pool.reserve_percent) + "%")
                                  : format_gpus(pool.reserve_gpus);
            }};
}

std::vector<QueuePolicy> example_queues() {
    QueuePolicy research{"research", 0, 2, whole_gpus(8), whole_gpus(24)};
    QueuePolicy llm{"llm", 0, 1, whole_gpus(4), whole_gpus(16), "research"};
    llm.order = QueueOrder::priority;
    llm.lending_limit = whole_gpus(2);
    return {research, llm};
}

}  // namespace gpuctl::config
