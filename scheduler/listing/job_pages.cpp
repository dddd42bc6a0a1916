// Finds pages of a selection by the counts of rows in each piece.

#include <algorithm>
#include <utility>

#include "scheduler/base/ascii.hpp"
#include "scheduler/listing/job_index.hpp"

namespace gpuctl {

bool JobIndex::compile(const JobSelection& selection, const ListingNames& names, Query& query) {
    query.by_pod = selection.by_pod;
    if (selection.made_elsewhere) query.kind = kNoKind;
    if (selection.kind) {
        if (selection.made_elsewhere) return false;
        query.kind = static_cast<std::int8_t>(*selection.kind);
    }
    if (selection.pool) {
        query.pool = names.names.find(*selection.pool);
        if (!query.pool.exists()) return false;
    }
    if (selection.queue) {
        query.queue = names.names.find(*selection.queue);
        if (!query.queue.exists()) return false;
    }
    if (selection.status) {
        query.status = names.statuses.find(*selection.status);
        if (!query.status.exists()) return false;
    }
    return true;
}

std::uint32_t JobIndex::rows_in(const JobEntry& entry, const Query& query) {
    if (query.pool.exists() && entry.pool != query.pool) return 0;
    if (query.queue.exists() && entry.queue != query.queue) return 0;
    if (query.kind != kAnyKind) {
        const auto kind = entry.kind ? static_cast<std::int8_t>(*entry.kind) : kNoKind;
        if (kind != query.kind) return 0;
    }
    if (!query.status.exists() || entry.status_word == query.status) {
        return query.by_pod ? entry.rows : 1;
    }
    if (!query.by_pod) return 0;
    std::uint32_t rows = 0;
    for (const PodsAlike& alike : entry.pods) {
        if (alike.status == query.status || alike.phase == query.status) rows += alike.count;
    }
    return rows;
}

bool JobIndex::is_selected(const JobEntry& job, const PodFacts& pod,
                           const JobSelection& selection) {
    if (!selection.status) return true;
    const std::string_view wanted = *selection.status;
    return same_without_case(wanted, to_string(job.status)) ||
           same_without_case(wanted, pod_status(pod)) ||
           same_without_case(wanted, to_string(pod.phase));
}

void JobIndex::count_piece(Counts& counts, std::size_t piece) const {
    std::uint32_t rows = 0;
    for (const Entry& entry : pieces_[piece]->jobs) rows += rows_in(*entry, counts.query);
    counts.total += rows;
    counts.total -= std::exchange(counts.rows[piece], rows);
}

const JobIndex::Counts& JobIndex::count(const Query& query) {
    auto known = std::find_if(counts_.begin(), counts_.end(),
                              [&](const auto& one) { return one->query == query; });
    if (known == counts_.end()) {
        if (counts_.size() < kSelectionsMax) {
            counts_.push_back(std::make_unique<Counts>());
            known = std::prev(counts_.end());
        } else {
            known =
                std::min_element(counts_.begin(), counts_.end(),
                                 [](const auto& a, const auto& b) { return a->used < b->used; });
            **known = Counts{};
        }
        (*known)->query = query;
    }
    Counts& counts = **known;
    counts.used = ++asked_;
    if (counts.change == change_) return counts;
    if (counts.layout != layout_) {
        counts.rows.assign(pieces_.size(), 0);
        counts.total = 0;
        for (std::size_t i = 0; i < pieces_.size(); ++i) count_piece(counts, i);
    } else {
        for (std::size_t i = 0; i < changed_.size(); ++i) {
            if (changed_[i] > counts.change) count_piece(counts, i);
        }
    }
    counts.layout = layout_;
    counts.change = change_;
    return counts;
}

std::uint64_t JobIndex::rows_before(const Counts& counts, Place place) const {
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < place.piece; ++i) rows += counts.rows[i];
    for (std::size_t i = 0; i < place.job; ++i) {
        rows += rows_in(*pieces_[place.piece]->jobs[i], counts.query);
    }
    return rows;
}

void JobIndex::read_page(const JobSelection& selection, const ListingNames& names,
                         std::uint64_t first, std::uint64_t count, Page& page) {
    page.total = 0;
    page.rows.clear();
    Query query;
    if (!compile(selection, names, query)) return;
    const Counts& counts = this->count(query);
    std::uint64_t begin = 0;
    std::uint64_t end = counts.total;
    if (selection.namespace_name) {
        begin = rows_before(counts, lower_bound(*selection.namespace_name, "", ""));
        end = rows_before(counts, namespace_end(*selection.namespace_name));
    }
    page.total = end - begin;
    if (first >= page.total) return;
    std::uint64_t left = std::min(count, page.total - first);
    std::uint64_t skip = begin + first;
    for (std::size_t i = 0; i < pieces_.size() && left > 0; ++i) {
        if (counts.rows[i] <= skip) {
            skip -= counts.rows[i];
            continue;
        }
        for (const Entry& entry : pieces_[i]->jobs) {
            const std::uint64_t rows = rows_in(*entry, query);
            if (rows <= skip) {
                skip -= rows;
                continue;
            }
            const std::uint64_t taken = std::min(left, rows - skip);
            page.rows.push_back(
                {entry.get(), static_cast<std::uint32_t>(skip), static_cast<std::uint32_t>(taken)});
            skip = 0;
            left -= taken;
            if (left == 0) break;
        }
    }
}

}  // namespace gpuctl
