#include "bench/simulate/runner.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>

#include "bench/simulate/open_seeds.hpp"
#include "scheduler/base/hash.hpp"

namespace gpuctl::bench {
namespace {

// A run that takes longer than this does not terminate.
constexpr unsigned kSeedDeadlineS = 120;
constexpr unsigned kWorkersMax = 64;

// Results of a worker, also after its crash. Plain data in shared memory.
struct Slot {
    sim::Probes probes;
    sim::ChangeProbes changes;
    std::uint64_t seeds = 0;
    std::uint64_t seeds_twice = 0;
    std::uint64_t history = 0;
    std::uint64_t decisions = 0;
    std::uint64_t seed = 0;  // in progress; 0: none
    volatile std::uint64_t step = 0;
    bool failed = false;
    std::uint64_t failed_seed = 0;
    std::uint64_t failed_step = 0;
    char id[8] = "";
    char what[512] = "";
};

struct Shared {
    std::atomic<std::uint64_t> next = 0;
    std::atomic<bool> stop = false;
    Slot slots[kWorkersMax];
};

// One number per seed, shared with the workers; empty unless requested.
class SharedNumbers {
public:
    explicit SharedNumbers(std::size_t count) : bytes_(count * sizeof(std::uint64_t)) {
        if (count == 0) return;
        void* memory =
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc{};
        numbers_ = {static_cast<std::uint64_t*>(memory), count};
    }
    ~SharedNumbers() {
        if (!numbers_.empty()) munmap(numbers_.data(), bytes_);
    }
    SharedNumbers(const SharedNumbers&) = delete;
    SharedNumbers& operator=(const SharedNumbers&) = delete;

    [[nodiscard]] std::span<std::uint64_t> all() const { return numbers_; }

private:
    std::size_t bytes_;
    std::span<std::uint64_t> numbers_;
};

void record_failure(Slot& slot, const Violation& violation) {
    slot.failed = true;
    slot.failed_seed = slot.seed;
    slot.failed_step = slot.step;
    std::snprintf(slot.id, sizeof slot.id, "%s", violation.id.c_str());
    std::snprintf(slot.what, sizeof slot.what, "%s", violation.what.c_str());
}

void run_seed(const RunOptions& options, Slot& slot, std::span<std::uint64_t> decisions) {
    const sim::SimulatedRun run =
        sim::simulate_seed(slot.seed, options.actions, &slot.step, {}, options.kind);
    slot.probes += run.probes;
    slot.changes += run.changes;
    ++slot.seeds;
    slot.history += hash64(std::to_string(run.history_hash), slot.seed);
    slot.decisions += hash64(std::to_string(run.decision_hash), slot.seed);
    if (!decisions.empty()) decisions[slot.seed - options.first] = run.decision_hash;
    if (!run.violations.empty()) {
        slot.step = run.violation_step;
        // Steps after the violation do not count.
        slot.probes.steps -= run.probes.steps - run.violation_step;
        return record_failure(slot, run.violations.front());
    }
    if (options.twice_every == 0 || slot.seed % options.twice_every != 0) return;
    ++slot.seeds_twice;
    const sim::SimulatedRun again =
        sim::simulate_seed(slot.seed, options.actions, nullptr, {}, options.kind);
    if (again.history_hash != run.history_hash) {
        record_failure(slot, {"I13", "the same seed gave another run the second time"});
    }
}

// Simulates seeds until they are used up or a seed of this worker failed.
[[noreturn]] void work(const RunOptions& options, Shared& shared, Slot& slot,
                       std::span<std::uint64_t> decisions) {
    while (!shared.stop) {
        slot.seed = shared.next.fetch_add(1);
        if (slot.seed > options.last) break;
        if (options.skip_open && is_known_open(slot.seed)) continue;
        slot.step = 0;
        alarm(kSeedDeadlineS);
        run_seed(options, slot, decisions);
        if (!slot.failed) continue;
        if (options.stop_at_first) shared.stop = true;
        break;
    }
    slot.seed = 0;
    _exit(0);
}

// Adds the results of the slot's worker and clears the slot.
void collect(Slot& slot, int status, RunReport& report) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        const char* why = signal == SIGALRM ? "it did not terminate" : strsignal(signal);
        record_failure(slot, {"CRASH", std::string{"the process died: "} + why});
        slot.probes.steps += slot.step;  // the crashed worker could not add them
    }
    report.probes += slot.probes;
    report.changes += slot.changes;
    report.seeds += slot.seeds;
    report.seeds_twice += slot.seeds_twice;
    report.history += slot.history;
    report.decisions += slot.decisions;
    if (slot.failed) {
        report.failures.push_back({slot.failed_seed, slot.failed_step, slot.id, slot.what});
    }
    slot = Slot{};
}

// Failures are printed at once, because a long run may continue for hours.
void print_failure(const Failure& failure) {
    std::fprintf(stderr, "violation of %s, seed %llu, step %llu: %s\n", failure.id.c_str(),
                 static_cast<unsigned long long>(failure.seed),
                 static_cast<unsigned long long>(failure.step), failure.what.c_str());
}

}  // namespace

RunReport run_seeds(const RunOptions& options) {
    const auto began = std::chrono::steady_clock::now();
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    auto& shared = *new (memory) Shared{};
    shared.next = options.first;
    const SharedNumbers decisions{
        options.list_decisions ? static_cast<std::size_t>(options.last - options.first + 1) : 0};
    RunReport report;
    std::vector<pid_t> workers(std::clamp(options.jobs, 1U, kWorkersMax));
    const auto start = [&](std::size_t number) {
        std::fflush(nullptr);
        workers[number] = fork();
        if (workers[number] == 0) {
            work(options, shared, shared.slots[number], decisions.all());
        }
    };
    for (std::size_t i = 0; i < workers.size(); ++i) start(i);
    for (;;) {
        int status = 0;
        const pid_t ended = wait(&status);
        if (ended < 0) break;
        const auto number = static_cast<std::size_t>(
            std::find(workers.begin(), workers.end(), ended) - workers.begin());
        if (number == workers.size()) continue;
        const std::size_t known = report.failures.size();
        collect(shared.slots[number], status, report);
        if (!options.stop_at_first && report.failures.size() > known)
            print_failure(report.failures.back());
        if (!report.failures.empty() && options.stop_at_first) shared.stop = true;
        if (!shared.stop && shared.next <= options.last) start(number);
    }
    munmap(memory, sizeof(Shared));
    report.decisions_by_seed.assign(decisions.all().begin(), decisions.all().end());
    std::sort(report.failures.begin(), report.failures.end(),
              [](const Failure& a, const Failure& b) { return a.seed < b.seed; });
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return report;
}

}  // namespace gpuctl::bench
