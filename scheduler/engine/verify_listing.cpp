#include "scheduler/engine/verify_listing.hpp"

#include <algorithm>
#include <tuple>

#include "scheduler/engine/view_parts.hpp"

namespace gpuctl {
namespace {

class Check {
public:
    Check(Listing& listing, std::uint64_t turn)
        : listing_(listing), state_(listing.state()), turn_(turn) {}

    std::vector<std::string> run() {
        check_entries();
        check_positions();
        check_pools();
        check_reasons();
        check_pages();
        return std::move(found_);
    }

private:
    void fail(std::string what) { found_.push_back(std::move(what)); }

    // Checks that every job has an entry that equals its rows, in order, and that the sums are
    // those of all entries.
    void check_entries() {
        if (const std::string wrong = listing_.index().check(); !wrong.empty()) fail(wrong);
        ListingNames names = listing_.names();
        EntryReader reader;
        JobSums sums;
        const auto compare_entries = [&](const JobEntry& fresh, const JobEntry* known) {
            sums.add(fresh);
            if (known == nullptr) {
                fail("job " + to_string(fresh.key) + " is not in the index");
            } else if (*known != fresh) {
                fail("job " + to_string(fresh.key) + " is another one in the index");
            } else {
                rows_.push_back(known);
            }
        };
        for (const auto& [key, id] : state_.jobs.jobs_by_key()) {
            compare_entries(reader.read(state_, id, names), listing_.index().find(id));
        }
        const auto& summaries = state_.jobs.finished_jobs().by_key();
        for (const auto& [key, job] : summaries) {
            compare_entries(EntryReader::read(job, names), listing_.index().find_summary(key));
        }
        if (listing_.index().size() != state_.jobs.jobs_by_key().size() + summaries.size()) {
            fail("the index has jobs that are gone");
        }
        if (!sums.is_equal(listing_.jobs())) fail("the sums over jobs are wrong");
        std::sort(rows_.begin(), rows_.end(), [](const JobEntry* a, const JobEntry* b) {
            return std::tuple{a->key.namespace_name, std::string{a->shown_name()}, a->key.name} <
                   std::tuple{b->key.namespace_name, std::string{b->shown_name()}, b->key.name};
        });
    }

    void check_positions() {
        const view_parts::Positions positions = view_parts::positions(state_);
        for (const auto& [key, id] : state_.jobs.jobs_by_key()) {
            const auto known = positions.find(id);
            const std::int64_t right = known == positions.end() ? 0 : known->second;
            const std::int64_t listed = listing_.position_of(id);
            if (listed == right) continue;
            fail("job " + to_string(key) + " is said to be at place " + std::to_string(listed) +
                 " of its queue and is at " + std::to_string(right));
        }
    }

    void check_pools() {
        for (std::uint32_t slot = 0; slot < state_.nodes.node_slots(); ++slot) {
            fresh_.put(NodeId{slot}, glance_at(state_, NodeId{slot}));
        }
        for (const auto& [name, id] : state_.tree.pools_by_name()) {
            if (listing_.pools().of(id) != fresh_.of(id)) fail("the sums of pool " + name);
        }
        const auto gpus = [](const PoolView& of) {
            return std::tuple{
                of.gpus_total,  of.gpus_used,    of.gpus_free,    of.gpus_free_largest_on_a_node,
                of.gpus_excess, of.nodes_excess, of.nodes_closed, of.gpu_models,
                of.nodes};
        };
        const std::vector<PoolView> by_hand = list_pools(state_);
        const std::vector<PoolView> from_sums = list_pools(listing_);
        for (std::size_t i = 0; i < std::max(by_hand.size(), from_sums.size()); ++i) {
            if (i >= by_hand.size() || i >= from_sums.size()) return fail("there are other pools");
            const PoolView& a = by_hand[i];
            const PoolView& b = from_sums[i];
            if (gpus(a) != gpus(b) || !(a.gpus == b.gpus)) fail("the GPUs of pool " + a.name);
            for (std::size_t n = 0; n < std::max(a.queues.size(), b.queues.size()); ++n) {
                if (n >= a.queues.size() || n >= b.queues.size()) {
                    return fail("pool " + a.name + " has other queues");
                }
                compare(a.queues[n], b.queues[n]);
            }
        }
    }

    void compare(const QueueView& a, const QueueView& b) {
        const auto work = [](const QueueView& of) {
            return std::tuple{of.name,         of.held,         of.nominated,
                              of.jobs_waiting, of.jobs_running, of.gpus_waiting};
        };
        if (work(a) != work(b)) fail("what waits and runs in queue " + a.name);
    }

    // Checks that the queue book counts all jobs that wait in queues by the reason of their class.
    void check_reasons() {
        std::size_t waiting = 0;
        for (const auto& [key, id] : state_.jobs.jobs_by_key()) {
            if (state_.job(id).waiting.in_class.exists()) ++waiting;
        }
        std::size_t counted = 0;
        for (const std::uint64_t of : state_.waiting.book().jobs_by_reason()) counted += of;
        if (counted != waiting) fail("the jobs that wait by reason are not those that wait");
    }

    // Checks one page of all jobs, and one page of each of several selections.
    void check_pages() {
        check_page({});
        for (std::size_t i = 0; i < std::min<std::size_t>(rows_.size(), 4); ++i) {
            const JobEntry* entry = rows_[(turn_ * 13 + i * 7) % rows_.size()];
            const ListingNames& names = listing_.names();
            JobSelection selection;
            selection.by_pod = turn_ % 2 == 0;
            if (turn_ % 3 != 0) selection.pool = names.names.name(entry->pool);
            if (turn_ % 5 < 2) selection.queue = names.names.name(entry->queue);
            if (turn_ % 4 == 1) selection.namespace_name = entry->key.namespace_name;
            if (turn_ % 2 == 1) selection.status = std::string{to_string(entry->status)};
            if (turn_ % 7 == 3) selection.kind = entry->kind;
            selection.made_elsewhere = turn_ % 7 == 5 && !entry->kind;
            ++turn_;
            check_page(selection);
        }
    }

    struct Row {
        const JobEntry* job = nullptr;
        std::uint32_t number = 0;  // index among the selected rows of the job
        friend bool operator==(const Row&, const Row&) = default;
    };
    [[nodiscard]] std::vector<Row> by_hand(const JobSelection& selection) const {
        std::vector<Row> out;
        const ListingNames& names = listing_.names();
        for (const JobEntry* entry : rows_) {
            const bool is_in =
                (!selection.namespace_name ||
                 *selection.namespace_name == entry->key.namespace_name) &&
                (!selection.pool || *selection.pool == names.names.name(entry->pool)) &&
                (!selection.queue || *selection.queue == names.names.name(entry->queue)) &&
                (!selection.kind || entry->kind == selection.kind) &&
                (!selection.made_elsewhere || !entry->kind);
            if (!is_in) continue;
            const std::vector<PodId>& pods =
                entry->summary == nullptr ? state_.job(entry->job).pods : no_pods_;
            const bool is_wanted =
                !selection.status || same_without_case(*selection.status, to_string(entry->status));
            std::uint32_t count = 0;
            if (selection.by_pod && !pods.empty()) {
                for (const PodId pod : pods) {
                    if (JobIndex::is_selected(*entry, state_.pod(pod).facts, selection)) ++count;
                }
            } else if (is_wanted) {
                count = 1;
            }
            for (std::uint32_t i = 0; i < count; ++i) out.push_back({entry, i});
        }
        return out;
    }
    void check_page(const JobSelection& selection) {
        const std::vector<Row> all = by_hand(selection);
        const std::uint64_t first = all.empty() ? 0 : turn_ * 7 % (all.size() + 1);
        constexpr std::uint64_t count = 3;
        listing_.read_page(selection, first, count, page_);
        std::vector<Row> listed;
        for (const JobIndex::Rows& rows : page_.rows) {
            for (std::uint32_t i = 0; i < rows.count; ++i)
                listed.push_back({rows.job, rows.first + i});
        }
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        const auto left = static_cast<std::uint64_t>(all.end() - begin);
        const std::vector<Row> right{begin,
                                     begin + static_cast<std::ptrdiff_t>(std::min(count, left))};
        if (page_.total != all.size()) {
            fail("a list says " + std::to_string(page_.total) + " of " +
                 std::to_string(all.size()) + " rows");
        }
        if (listed != right) fail("a page has other rows than the list from there on");
    }

    Listing& listing_;
    const ClusterState& state_;
    std::vector<const JobEntry*> rows_;
    std::vector<PodId> no_pods_;
    PoolSums fresh_;
    JobIndex::Page page_;
    std::uint64_t turn_;
    std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> verify_listing(Listing& listing, std::uint64_t turn) {
    return Check{listing, turn}.run();
}

}  // namespace gpuctl
