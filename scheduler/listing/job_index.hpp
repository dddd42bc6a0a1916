#pragma once
// All jobs in the order of lists (namespace, shown name, key), with counts of rows. A page at any
// position of any selection costs what it returns and one look at the counts of the pieces of the
// order. Rows before the page are not visited.
//
//   pieces of up to kPieceMax jobs, in order:              [a a b c] [d d e] [f g g h] ...
//   for each recent selection, its rows in each piece:      3         0       4        ...
//
// A change of a job marks its piece; a selection counts marked pieces again when it is used next.
// So changes cost the same for any number of selections, and any combination of filters has its own
// counts. The namespace is not part of a selection's counts, because its jobs are contiguous.
//
// Owner, thread: the Listing's. At most kSelectionsMax selections are kept; the least recently used
// one is dropped.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/listing/job_entry.hpp"

namespace gpuctl {

// The filter of a list; absent members do not filter.
struct JobSelection {
    std::optional<std::string> namespace_name;
    std::optional<std::string> pool;
    std::optional<std::string> queue;
    std::optional<JobKind> kind;
    bool made_elsewhere = false;  // only pods of Kubernetes users, which have no kind
    // status of the job; by pod: phase or waiting reason of the pod
    std::optional<std::string> status;
    bool by_pod = false;  // one row per pod; else one per job
};

class JobIndex {
public:
    static constexpr std::size_t kPieceMax = 128;
    static constexpr std::size_t kSelectionsMax = 64;

    JobIndex() = default;
    JobIndex(const JobIndex&) = delete;
    JobIndex& operator=(const JobIndex&) = delete;

    void put(JobEntry entry);  // replaces the entry of this job or summary
    void remove(JobId job);
    void remove_summary(const ObjectKey& job);
    void clear();
    // Adds all entries at once, in any order, at the initial load.
    void fill(std::vector<JobEntry> entries);

    [[nodiscard]] const JobEntry* find(JobId job) const;  // null: none
    [[nodiscard]] const JobEntry* find_summary(const ObjectKey& job) const;
    [[nodiscard]] std::size_t size() const { return size_; }

    // Rows of one job: `count` rows from the selected row `first` on.
    struct Rows {
        const JobEntry* job = nullptr;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };
    struct Page {
        std::uint64_t total = 0;
        std::vector<Rows> rows;
    };
    // Writes to `page`, whose memory is reused. Entries stay valid until the next change.
    void read_page(const JobSelection& selection, const ListingNames& names, std::uint64_t first,
                   std::uint64_t count, Page& page);
    // Whether the selection contains this pod of a job. The selection must be by pod and have a
    // status.
    [[nodiscard]] static bool is_selected(const JobEntry& job, const PodFacts& pod,
                                          const JobSelection& selection);

    // Reads the jobs with this shown name; an empty namespace means any.
    void read_named(std::string_view namespace_name, std::string_view shown,
                    std::vector<const JobEntry*>& out) const;
    // Visits the namespaces of the jobs, in order.
    template <typename Visit>
    void visit_namespaces(Visit visit) const;
    // Visits all entries, in order.
    template <typename Visit>
    void visit(Visit visit) const {
        for (const auto& piece : pieces_) {
            for (const auto& entry : piece->jobs) visit(*entry);
        }
    }
    // Empty if the pieces are consistent; otherwise a description of the inconsistency.
    [[nodiscard]] std::string check() const;

private:
    using Entry = std::unique_ptr<JobEntry>;
    struct Piece {
        std::size_t at = 0;  // index in the pieces
        std::vector<Entry> jobs;
    };
    // The position of a job's entry. The entry of a summary is found by its place in the order.
    struct Slot {
        JobEntry* entry = nullptr;
        Piece* piece = nullptr;
    };
    struct Query {
        NameId pool;  // none: any
        NameId queue;
        WordId status;
        std::int8_t kind = kAnyKind;
        bool by_pod = false;
        friend bool operator==(const Query&, const Query&) = default;
    };
    static constexpr std::int8_t kAnyKind = -1;
    static constexpr std::int8_t kNoKind = -2;
    struct Counts {
        Query query;
        std::uint64_t layout = 0;
        std::uint64_t change = 0;
        std::uint64_t used = 0;
        std::vector<std::uint32_t> rows;  // by piece
        std::uint64_t total = 0;
    };
    struct Place {
        std::size_t piece = 0;
        std::size_t job = 0;
    };

    static std::uint32_t rows_in(const JobEntry& entry, const Query& query);
    // Translates names to numbers. False: no job can match the selection.
    static bool compile(const JobSelection& selection, const ListingNames& names, Query& query);
    const Counts& count(const Query& query);
    void count_piece(Counts& counts, std::size_t piece) const;
    [[nodiscard]] std::uint64_t rows_before(const Counts& counts, Place place) const;
    // The position of the first job that is not before the key.
    [[nodiscard]] Place lower_bound(std::string_view namespace_name, std::string_view shown,
                                    std::string_view key) const;
    [[nodiscard]] Place end() const { return {pieces_.size(), 0}; }
    [[nodiscard]] const JobEntry* at(Place place) const;  // null: the end
    [[nodiscard]] Place namespace_end(std::string_view namespace_name) const;
    [[nodiscard]] Place next(Place place) const;
    [[nodiscard]] Place place_of_summary(const ObjectKey& job) const;  // the end if there is none
    void insert(Entry entry);
    Entry take_out(Piece& piece, std::size_t job);
    Entry take_out(JobId job);
    Slot& slot_of(JobId job);
    void lies_in(JobEntry& entry, Piece& piece);
    void unite(Piece& piece);
    void renumber(std::size_t from);
    void note_layout();

    std::vector<Slot> slots_;  // by JobId
    std::vector<std::unique_ptr<Piece>> pieces_;
    std::vector<std::uint64_t> changed_;  // by piece: the last change of one of its jobs
    std::uint64_t change_ = 1;            // increases with every change
    std::uint64_t layout_ = 1;            // increases when pieces are added or removed
    std::uint64_t asked_ = 0;
    std::size_t size_ = 0;
    std::vector<std::unique_ptr<Counts>> counts_;
};

template <typename Visit>
void JobIndex::visit_namespaces(Visit visit) const {
    Place place;
    while (const JobEntry* first = at(place)) {
        visit(first->key.namespace_name);
        place = namespace_end(first->key.namespace_name);
    }
}

}  // namespace gpuctl
