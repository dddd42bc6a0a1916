#pragma once
// Runs LeaseMachine against the API server on the lease's own connection, and is the write fence of
// the client.
//
// Thread: the loop's. run() runs in a TaskGroup; release() is for a clean stop, after all writes in
// flight have ended.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "k8s/client/client.hpp"
#include "k8s/lease/lease.hpp"
#include "k8s/lease/lease_holder.hpp"

namespace gpuctl::k8s {

class LeaseKeeper : public WriteFence {
public:
    // Called on every change: (true, epoch) begins a term, (false, epoch) ends it.
    using OnChange = std::function<void(bool leading, Epoch epoch)>;

    LeaseKeeper(aio::Loop& loop, Client& client, LeaseSettings settings, OnChange on_change,
                std::uint64_t seed);
    ~LeaseKeeper() override;

    aio::Task<void> run();
    // Releases the lease so that the next candidate need not wait; the term ends at once.
    aio::Task<Result<void>> release(aio::Deadline deadline);

    [[nodiscard]] bool may_write(Epoch epoch) const override;
    // Of a term that began without a Lease object: LeaseMachine.
    [[nodiscard]] aio::Clock::time_point writes_from() const;
    void write_at_once();
    // How the previous term ended: LeaseMachine.
    [[nodiscard]] LeaseMachine::Before before() const;
    // Waits for the end of the first round; false at the deadline.
    aio::Task<bool> first_round(aio::Deadline deadline);

    struct View {
        bool leading = false;
        Epoch epoch{};
        std::string identity;  // ours
        std::string holder;    // as last read; empty: none
        aio::Clock::time_point renewed_at{};
        std::uint64_t terms = 0;
        std::uint64_t renewals = 0;
        std::uint64_t failures = 0;
        std::uint64_t rounds = 0;
        std::string last_error;  // of the rounds since the last success
        std::optional<aio::Clock::time_point> failing_since;
    };
    [[nodiscard]] View view() const;

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::k8s
