#pragma once
// All jobs in the order of lists (namespace, the name that people see, key), with counts: the page
// at any place of any selection costs what it returns and one look at the counts of the pieces
// that the order is cut into, never the rows before it.
//
//   pieces of up to kPieceMax jobs, in order:   [a a b c] [d d e] [f g g h] ...
//   for each selection that was asked for lately, rows of each piece that are in it:   3  0  4 ...
//
// A change of a job marks its piece; a selection counts marked pieces again when it is asked for.
// So changes cost the same however many selections there are, and any combination of what a
// selection narrows by has counts of its own. A namespace is no part of that: its jobs lie
// together.
//
// Owner, thread: the Listing's. Selections kept: kSelectionsMax, the one asked for longest ago
// goes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/listing/job_entry.hpp"

namespace gpuctl {

// What a list is narrowed by; what is left out narrows nothing.
struct JobSelection {
    std::optional<std::string> namespace_name;
    std::optional<std::string> pool;
    std::optional<std::string> queue;
    std::optional<JobKind> kind;
    bool made_elsewhere = false;        // only pods of Kubernetes users, which have no kind
    std::optional<std::string> status;  // of the job, or of a pod: its phase or what it says
    bool by_pod = false;                // a row for each pod; else one for each job
};

class JobIndex {
public:
    static constexpr std::size_t kPieceMax = 128;
    static constexpr std::size_t kSelectionsMax = 64;

    JobIndex() = default;
    JobIndex(const JobIndex&) = delete;
    JobIndex& operator=(const JobIndex&) = delete;

    void put(JobEntry entry);  // in the place of what was known of this job, or of this summary
    void remove(JobId job);
    void remove_summary(const ObjectKey& job);
    void clear();
    // All at once, in any order: for the first time.
    void fill(std::vector<JobEntry> entries);

    [[nodiscard]] const JobEntry* find(JobId job) const;  // null: none
    [[nodiscard]] const JobEntry* find_summary(const ObjectKey& job) const;
    [[nodiscard]] std::size_t size() const { return size_; }

    // So many rows of one job, from the `first` of those selected on.
    struct Rows {
        const JobEntry* job = nullptr;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };
    struct Page {
        std::uint64_t total = 0;
        std::vector<Rows> rows;
    };
    // Into `page`, whose memory is used again. Entries stay valid until the next change.
    void read_page(const JobSelection& selection, const ListingNames& names, std::uint64_t first,
                   std::uint64_t count, Page& page);
    // Whether this pod of a job is in it, which may not be asked of one by pod without a status.
    [[nodiscard]] static bool is_selected(const JobEntry& job, const PodFacts& pod,
                                          const JobSelection& selection);

    // Jobs that people know by this name; an empty namespace means any.
    void read_named(std::string_view namespace_name, std::string_view shown,
                    std::vector<const JobEntry*>& out) const;
    // Those that jobs are in, in order.
    template <typename Visit>
    void visit_namespaces(Visit visit) const;
    // Everything, in order.
    template <typename Visit>
    void visit(Visit visit) const {
        for (const auto& piece : pieces_) {
            for (const auto& entry : piece->jobs) visit(*entry);
        }
    }
    // The pieces are as they should be; else what is wrong.
    [[nodiscard]] std::string check() const;

private:
    using Entry = std::unique_ptr<JobEntry>;
    struct Piece {
        std::size_t at = 0;  // among the pieces
        std::vector<Entry> jobs;
    };
    // Where a job's entry is; that of a summary is found by its place in the order.
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
    // False: nothing can be selected by it.
    static bool compile(const JobSelection& selection, const ListingNames& names, Query& query);
    const Counts& count(const Query& query);
    void count_piece(Counts& counts, std::size_t piece) const;
    [[nodiscard]] std::uint64_t rows_before(const Counts& counts, Place place) const;
    // Of the first job that does not come before.
    [[nodiscard]] Place lower_bound(std::string_view namespace_name, std::string_view shown,
                                    std::string_view key) const;
    [[nodiscard]] Place end() const { return {pieces_.size(), 0}; }
    [[nodiscard]] const JobEntry* at(Place place) const;  // null: the end
    [[nodiscard]] Place namespace_end(std::string_view namespace_name) const;
    [[nodiscard]] Place next(Place place) const;
    [[nodiscard]] Place place_of_summary(const ObjectKey& job) const;  // the end: none
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
    std::vector<std::uint64_t> changed_;  // by piece: when one of it changed last
    std::uint64_t change_ = 1;            // moves with every change
    std::uint64_t layout_ = 1;            // moves when pieces come and go
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
