#pragma once
// Leadership as Kubernetes' own components do it (A1): one Lease object, compare-and-swap by
// resourceVersion, and the local monotonic clock as the only judge of time (M18). LeaseMachine is
// the pure part: it is told the time and what the server answered, and says what to send next.
//
//   following ──nobody holds it, its holder was not heard of for a lease duration, or it is
//               provably dead──> leading
//   leading   ──no renewal succeeded for renew_deadline, or another holds it──> following
//
// Each time of leading has a number, the epoch: the Lease's leaseTransitions, raised with every
// change of hands, also when the same process takes its own expired lease again. It never goes back
// in the life of a process, whatever becomes of the object.
//
// Who finds no object makes one, and leads; but the object may have been deleted under a leader
// that has not noticed yet. So a term that begins like that may write only when such a leader would
// have stopped: a fence after the object was made.
//
// A holder that was not heard of since the last look, or that is there when this process looks for
// the first time, may be dead: whether that can be proved is asked (lease_holder.hpp). A leader
// that renews is not asked about.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/aio/deadline.hpp"
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

    // A2(a): writes stop this long after the last successful renewal was sent: 8 s of 15 s.
    [[nodiscard]] std::chrono::milliseconds fence() const { return duration * 8 / 15; }
    // A2(b): a deposed leader's writes are over this long after we acquired: 5 s of 15 s. Also the
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
    // Given away by a leader whose writes had ended; an edit that empties the holder looks
    // different.
    [[nodiscard]] bool is_released() const { return holder.empty() && duration_seconds == 1; }
};

Result<LeaseRecord> parse_lease(std::string_view object);
std::string lease_body(const LeaseSettings& settings, const LeaseRecord& record);
// 2026-11-21T03:04:05.000006Z
std::string micro_time(std::int64_t microseconds_since_1970);

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
    // `wall_us` only fills the times that others read; no decision depends on it.
    Step begin(Time now, std::int64_t wall_us);
    Step on_read(std::optional<LeaseRecord> found, Time now, std::int64_t wall_us);
    Step on_asked(bool is_dead, Time now, std::int64_t wall_us);
    // `sent_at`: when the write was sent, not answered: the lease counts from there (A2).
    void on_written(LeaseRecord stored, Time sent_at, Time now);
    // The write was refused or its fate is unknown: read before writing again.
    Step on_write_failed(bool conflict, Time now);
    void on_read_failed(Time now);

    // Ends the term when renewals stalled for renew_deadline. Call before anything that asks.
    void expire(Time now);
    [[nodiscard]] bool leading() const { return leading_; }
    [[nodiscard]] Epoch epoch() const { return epoch_; }
    [[nodiscard]] bool may_write(Time now) const {
        return leading_ && now >= writes_from_ && now - renewed_sent_at_ < settings_.fence();
    }
    // Of this term, if it began without an object; else long ago.
    [[nodiscard]] Time writes_from() const { return writes_from_; }
    // How the term before this one ended, which says how long its writes may still be under way.
    enum class Before : std::uint8_t { unknown, died, released };
    [[nodiscard]] Before before() const { return before_; }
    // There is nobody whose writes would have to be waited for: the first term there ever was.
    void write_at_once() { writes_from_ = Time::min(); }
    [[nodiscard]] Time renewed_at() const { return renewed_sent_at_; }
    [[nodiscard]] const std::string& holder() const { return observed_.holder; }

    // The record that gives the lease away, when it is ours; the term ends with this call.
    std::optional<LeaseRecord> release(Time now, std::int64_t wall_us);

private:
    // Whether the record is another one than that seen last.
    bool observe(const LeaseRecord& record, Time now);
    void step_down();
    [[nodiscard]] LeaseRecord claim(std::int64_t wall_us) const;

    LeaseSettings settings_;
    LeaseRecord observed_;
    Time observed_at_{};
    bool have_observed_ = false;
    std::int64_t transitions_most_ = 0;  // ever seen
    bool must_read_ = true;              // the remembered resourceVersion is not to be trusted
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
