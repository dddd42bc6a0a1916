#pragma once
// Leader election as Kubernetes' own components do it: one Lease object, compare-and-swap by
// resourceVersion, and only the local monotonic clock for durations. LeaseMachine is the pure part:
// its inputs are the time and the server's answers, its output is the next request.
//
//   following ──no holder, no renewal for a lease duration, or the holder is provably dead
//             ──> leading
//   leading   ──no renewal succeeded for renew_deadline, or another process holds it──> following
//
// Each term of leadership has a number, the epoch: the Lease's leaseTransitions, raised with every
// change of holder, also when the same process acquires its own expired lease again. The epoch
// never decreases within a process, even when the object is deleted.
//
// A process that finds no object creates one and leads; but the object may have been deleted under
// a leader that has not noticed yet. Such a term may write only when that leader would have
// stopped: one fence time after the object was created.
//
// A holder that has not renewed since the last read, or that is present at the first read of this
// process, may be dead: the machine then requests a check whether that can be proved
// (lease_holder.hpp). A leader that renews is not checked.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aio/deadline.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::k8s {

struct LeaseSettings {
    std::string namespace_name;
    std::string name = "gpuctld";
    std::string identity;  // lease_holder.hpp
    std::chrono::milliseconds duration{15'000};
    std::chrono::milliseconds renew_deadline{10'000};
    std::chrono::milliseconds retry_period{2'000};

    // Writes stop this long after the last successful renewal was sent: 8 s of 15 s.
    [[nodiscard]] std::chrono::milliseconds fence() const { return duration * 8 / 15; }
    // The writes of a deposed leader are over this long after we acquired: 5 s of 15 s. Also the
    // deadline of every fenced write.
    [[nodiscard]] std::chrono::milliseconds write_timeout() const { return duration / 3; }
};
// duration > renew_deadline > 1.2 x retry_period, or a sentence.
Result<void> validate(const LeaseSettings& settings);

struct LeaseRecord {
    std::string holder;  // empty: released
    std::int64_t duration_seconds = 0;
    std::string acquire_time;  // MicroTime text
    std::string renew_time;
    std::int64_t transitions = 0;
    std::string resource_version;
    friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
    // Released by a leader whose writes had ended; an edit that empties the holder looks different.
    [[nodiscard]] bool is_released() const { return holder.empty() && duration_seconds == 1; }
};

Result<LeaseRecord> parse_lease(std::string_view object);
std::string lease_body(const LeaseSettings& settings, const LeaseRecord& record);

class LeaseMachine {
public:
    using Time = aio::Clock::time_point;

    explicit LeaseMachine(LeaseSettings settings) : settings_(std::move(settings)) {}

    // `ask`: whether record.holder is provably dead.
    enum class Send : std::uint8_t { nothing, read, create, update, ask };
    struct Step {
        Send send = Send::nothing;
        LeaseRecord record;  // for create, update and ask
    };

    // A round: begin(), then one of the on_*() for each answer, until a Step says `nothing`.
    // `wall_us` only fills the times that users read; no decision depends on it.
    Step begin(Time now, std::int64_t wall_us);
    Step on_read(std::optional<LeaseRecord> found, Time now, std::int64_t wall_us);
    Step on_asked(bool is_dead, Time now, std::int64_t wall_us);
    // `sent_at`: when the write was sent, not answered: the lease counts from then.
    void on_written(LeaseRecord stored, Time sent_at, Time now);
    // The write was refused or its outcome is unknown: read before writing again.
    Step on_write_failed(bool conflict, Time now);
    void on_read_failed(Time now);

    // Ends the term when no renewal succeeded for renew_deadline. Call before any query.
    void expire(Time now);
    [[nodiscard]] bool leading() const { return leading_; }
    [[nodiscard]] Epoch epoch() const { return epoch_; }
    [[nodiscard]] bool may_write(Time now) const {
        return leading_ && now >= writes_from_ && now - renewed_sent_at_ < settings_.fence();
    }
    // Of this term, if it began without an object; else a time long past.
    [[nodiscard]] Time writes_from() const { return writes_from_; }
    // How the previous term ended, which decides how long its writes may still be in flight.
    enum class Before : std::uint8_t { unknown, died, released };
    [[nodiscard]] Before before() const { return before_; }
    // True for the first term ever: there are no earlier writes to wait for.
    void write_at_once() { writes_from_ = Time::min(); }
    [[nodiscard]] Time renewed_at() const { return renewed_sent_at_; }
    [[nodiscard]] const std::string& holder() const { return observed_.holder; }

    // The record that releases the lease, when it is ours; the term ends with this call.
    std::optional<LeaseRecord> release(Time now, std::int64_t wall_us);

private:
    // Whether the record differs from the one read last.
    bool observe(const LeaseRecord& record, Time now);
    void step_down();
    [[nodiscard]] LeaseRecord claim(std::int64_t wall_us) const;

    LeaseSettings settings_;
    LeaseRecord observed_;
    Time observed_at_{};
    bool have_observed_ = false;
    std::int64_t transitions_most_ = 0;  // the highest ever read
    bool must_read_ = true;              // the stored resourceVersion may be outdated
    bool fast_path_used_ = false;        // in this round
    bool creating_ = false;              // in this round
    Before found_ = Before::unknown;     // in this round
    Before before_ = Before::unknown;    // this term
    bool leading_ = false;
    Epoch epoch_{};
    Time writes_from_ = Time::min();
    Time renewed_sent_at_{};
};

}  // namespace gpuctl::k8s
