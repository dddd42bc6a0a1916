#include "scheduler/listing/job_index.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "scheduler/base/check.hpp"

namespace gpuctl {
namespace {

using OrderKey = std::tuple<std::string_view, std::string_view, std::string_view>;

OrderKey order_key(const JobEntry& entry) {
    return {entry.key.namespace_name, entry.shown_name(), entry.key.name};
}

bool comes_before(const JobEntry& a, const JobEntry& b) { return order_key(a) < order_key(b); }

}  // namespace

// --- order ---

const JobEntry* JobIndex::find(JobId job) const {
    return job.exists() && job.value() < slots_.size() ? slots_[job.value()].entry : nullptr;
}

const JobEntry* JobIndex::find_summary(const ObjectKey& job) const {
    return at(place_of_summary(job));
}

const JobEntry* JobIndex::at(Place place) const {
    if (place.piece >= pieces_.size()) return nullptr;
    return pieces_[place.piece]->jobs[place.job].get();
}

JobIndex::Place JobIndex::next(Place place) const {
    if (++place.job == pieces_[place.piece]->jobs.size()) place = {place.piece + 1, 0};
    return place;
}

// A job that exists again may be next to the summary of the same name that is about to be removed.
JobIndex::Place JobIndex::place_of_summary(const ObjectKey& job) const {
    const std::size_t colon = job.name.find(':');
    const std::string_view name{job.name};
    const std::string_view shown = colon == name.npos ? name : name.substr(colon + 1);
    Place place = lower_bound(job.namespace_name, shown, name);
    for (const JobEntry* one = at(place); one != nullptr && one->key == job; one = at(place)) {
        if (one->summary != nullptr) return place;
        place = next(place);
    }
    return end();
}

JobIndex::Place JobIndex::lower_bound(std::string_view namespace_name, std::string_view shown,
                                      std::string_view key) const {
    const OrderKey wanted{namespace_name, shown, key};
    const auto piece = std::partition_point(pieces_.begin(), pieces_.end(), [&](const auto& one) {
        return order_key(*one->jobs.back()) < wanted;
    });
    if (piece == pieces_.end()) return end();
    const auto& jobs = (*piece)->jobs;
    const auto job = std::partition_point(
        jobs.begin(), jobs.end(), [&](const Entry& one) { return order_key(*one) < wanted; });
    return {static_cast<std::size_t>(piece - pieces_.begin()),
            static_cast<std::size_t>(job - jobs.begin())};
}

JobIndex::Place JobIndex::namespace_end(std::string_view namespace_name) const {
    const auto is_within = [&](const JobEntry& one) {
        return one.key.namespace_name <= namespace_name;
    };
    const auto piece = std::partition_point(pieces_.begin(), pieces_.end(), [&](const auto& one) {
        return is_within(*one->jobs.back());
    });
    if (piece == pieces_.end()) return end();
    const auto& jobs = (*piece)->jobs;
    const auto job = std::partition_point(jobs.begin(), jobs.end(),
                                          [&](const Entry& one) { return is_within(*one); });
    return {static_cast<std::size_t>(piece - pieces_.begin()),
            static_cast<std::size_t>(job - jobs.begin())};
}

void JobIndex::read_named(std::string_view namespace_name, std::string_view shown,
                          std::vector<const JobEntry*>& out) const {
    const auto add = [&](std::string_view space) {
        Place place = lower_bound(space, shown, "");
        for (const JobEntry* one = at(place); one != nullptr; one = at(place)) {
            if (one->key.namespace_name != space || one->shown_name() != shown) break;
            out.push_back(one);
            place = next(place);
        }
    };
    if (!namespace_name.empty()) return add(namespace_name);
    visit_namespaces([&](const std::string& space) { add(space); });
}

// --- changes ---

void JobIndex::renumber(std::size_t from) {
    for (std::size_t i = from; i < pieces_.size(); ++i) pieces_[i]->at = i;
}

void JobIndex::note_layout() {
    ++layout_;
    ++change_;
}

JobIndex::Slot& JobIndex::slot_of(JobId job) {
    if (slots_.size() <= job.value()) slots_.resize(job.value() + 1);
    return slots_[job.value()];
}

void JobIndex::lies_in(JobEntry& entry, Piece& piece) {
    if (entry.job.exists()) slot_of(entry.job) = {&entry, &piece};
}

void JobIndex::insert(Entry entry) {
    Place place = lower_bound(entry->key.namespace_name, entry->shown_name(), entry->key.name);
    ++size_;
    if (place.piece == pieces_.size()) {  // after all other jobs
        if (pieces_.empty() || pieces_.back()->jobs.size() >= kPieceMax) {
            pieces_.push_back(std::make_unique<Piece>());
            pieces_.back()->at = pieces_.size() - 1;
            changed_.push_back(0);
            note_layout();
        }
        place = {pieces_.size() - 1, pieces_.back()->jobs.size()};
    }
    Piece& piece = *pieces_[place.piece];
    lies_in(*entry, piece);
    piece.jobs.insert(piece.jobs.begin() + static_cast<std::ptrdiff_t>(place.job),
                      std::move(entry));
    changed_[place.piece] = ++change_;
    if (piece.jobs.size() <= kPieceMax) return;
    auto half = std::make_unique<Piece>();
    const auto middle = piece.jobs.begin() + kPieceMax / 2;
    half->jobs.assign(std::make_move_iterator(middle), std::make_move_iterator(piece.jobs.end()));
    piece.jobs.erase(middle, piece.jobs.end());
    for (const Entry& moved : half->jobs) lies_in(*moved, *half);
    const auto behind = static_cast<std::ptrdiff_t>(place.piece) + 1;
    pieces_.insert(pieces_.begin() + behind, std::move(half));
    changed_.insert(changed_.begin() + behind, change_);
    renumber(place.piece + 1);
    note_layout();
}

JobIndex::Entry JobIndex::take_out(Piece& piece, std::size_t job) {
    Entry entry = std::move(piece.jobs[job]);
    piece.jobs.erase(piece.jobs.begin() + static_cast<std::ptrdiff_t>(job));
    --size_;
    if (entry->job.exists()) slots_[entry->job.value()] = {};
    changed_[piece.at] = ++change_;
    unite(piece);
    return entry;
}

JobIndex::Entry JobIndex::take_out(JobId job) {
    const Slot slot = slots_[job.value()];
    const auto& jobs = slot.piece->jobs;
    const auto found = std::find_if(jobs.begin(), jobs.end(),
                                    [&](const Entry& one) { return one.get() == slot.entry; });
    GPUCTL_CHECK(found != jobs.end(), "a job is in its piece of the order");
    return take_out(*slot.piece, static_cast<std::size_t>(found - jobs.begin()));
}

// Merges two pieces that have become small, so that the number of pieces follows the number of
// jobs.
void JobIndex::unite(Piece& piece) {
    std::size_t gone = piece.at;
    if (!piece.jobs.empty()) {
        if (gone + 1 == pieces_.size()) return;
        Piece& next = *pieces_[gone + 1];
        if (piece.jobs.size() + next.jobs.size() > kPieceMax / 2) return;
        for (Entry& moved : next.jobs) {
            lies_in(*moved, piece);
            piece.jobs.push_back(std::move(moved));
        }
        ++gone;
    }
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(gone));
    changed_.erase(changed_.begin() + static_cast<std::ptrdiff_t>(gone));
    renumber(gone);
    note_layout();
}

void JobIndex::put(JobEntry entry) {
    if (!entry.job.exists()) {
        const Place place = place_of_summary(entry.key);
        if (at(place) == nullptr) return insert(std::make_unique<JobEntry>(std::move(entry)));
        *pieces_[place.piece]->jobs[place.job] = std::move(entry);
        changed_[place.piece] = ++change_;
        return;
    }
    const Slot slot = slot_of(entry.job);
    if (slot.entry == nullptr) return insert(std::make_unique<JobEntry>(std::move(entry)));
    if (slot.entry->key != entry.key) {
        Entry moved = take_out(entry.job);
        *moved = std::move(entry);
        return insert(std::move(moved));
    }
    *slot.entry = std::move(entry);
    changed_[slot.piece->at] = ++change_;
}

void JobIndex::remove(JobId job) {
    if (find(job) != nullptr) take_out(job);
}

void JobIndex::remove_summary(const ObjectKey& job) {
    const Place place = place_of_summary(job);
    if (at(place) != nullptr) take_out(*pieces_[place.piece], place.job);
}

void JobIndex::clear() {
    slots_.clear();
    pieces_.clear();
    changed_.clear();
    size_ = 0;
    note_layout();
}

void JobIndex::fill(std::vector<JobEntry> entries) {
    clear();
    std::sort(entries.begin(), entries.end(), comes_before);
    for (JobEntry& entry : entries) {
        // Each piece keeps free space, so that the first insertion does not split it.
        if (pieces_.empty() || pieces_.back()->jobs.size() >= kPieceMax * 3 / 4) {
            pieces_.push_back(std::make_unique<Piece>());
            pieces_.back()->at = pieces_.size() - 1;
            pieces_.back()->jobs.reserve(kPieceMax + 1);
            changed_.push_back(0);
        }
        Piece& piece = *pieces_.back();
        piece.jobs.push_back(std::make_unique<JobEntry>(std::move(entry)));
        lies_in(*piece.jobs.back(), piece);
        ++size_;
    }
    note_layout();
}

std::string JobIndex::check() const {
    const JobEntry* before = nullptr;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const Piece& piece = *pieces_[i];
        if (piece.at != i) return "a piece does not know its place";
        if (piece.jobs.empty() || piece.jobs.size() > kPieceMax) return "a piece is of no size";
        for (const Entry& entry : piece.jobs) {
            ++seen;
            if (before != nullptr && !comes_before(*before, *entry)) {
                return "job " + to_string(entry->key) + " is out of order";
            }
            before = entry.get();
            if (!entry->job.exists()) continue;
            const Slot& slot = slots_[entry->job.value()];
            if (slot.entry != entry.get() || slot.piece != &piece) {
                return "job " + to_string(entry->key) + " is in another piece than it knows";
            }
        }
    }
    return seen == size_ ? "" : "another number of jobs is in the pieces than are known";
}

}  // namespace gpuctl
