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

#include "bench/simulate/open_seeds.hpp"
#include "scheduler/base/hash.hpp"

namespace gpuctl::bench {
namespace {

// A life that takes longer than this does not end.
constexpr unsigned kSeedDeadlineS = 120;
constexpr unsigned kWorkersMax = 64;

// What a worker leaves behind even when it dies. Plain data: it lies in shared memory.
struct Slot {
    sim::Probes probes;
    std::uint64_t seeds = 0;
    std::uint64_t seeds_twice = 0;
    std::uint64_t history = 0;
    std::uint64_t seed = 0;  // under way; 0: none
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

void note_failure(Slot& slot, const Violation& violation) {
    slot.failed = true;
    slot.failed_seed = slot.seed;
    slot.failed_step = slot.step;
    std::snprintf(slot.id, sizeof slot.id, "%s", violation.id.c_str());
    std::snprintf(slot.what, sizeof slot.what, "%s", violation.what.c_str());
}

void live_seed(const RunOptions& options, Slot& slot) {
    const sim::Life life = sim::live_one(slot.seed, options.moments, &slot.step);
    slot.probes += life.probes;
    ++slot.seeds;
    slot.history += hash64(std::to_string(life.history_hash), slot.seed);
    if (!life.violations.empty()) {
        slot.step = life.violation_step;
        // What came after, until the life was broken off, says nothing.
        slot.probes.steps -= life.probes.steps - life.violation_step;
        return note_failure(slot, life.violations.front());
    }
    if (options.twice_every == 0 || slot.seed % options.twice_every != 0) return;
    ++slot.seeds_twice;
    const sim::Life again = sim::live_one(slot.seed, options.moments);
    if (again.history_hash != life.history_hash) {
        note_failure(slot, {"I13", "the same seed lived another life the second time"});
    }
}

// Until the seeds are used up or this worker's seed failed.
[[noreturn]] void work(const RunOptions& options, Shared& shared, Slot& slot) {
    while (!shared.stop) {
        slot.seed = shared.next.fetch_add(1);
        if (slot.seed > options.last) break;
        if (options.skip_open && is_open(slot.seed)) continue;
        slot.step = 0;
        alarm(kSeedDeadlineS);
        live_seed(options, slot);
        if (!slot.failed) continue;
        if (options.stop_at_first) shared.stop = true;
        break;
    }
    slot.seed = 0;
    _exit(0);
}

// What the worker in this slot left; the slot is then free for another.
void collect(Slot& slot, int status, RunReport& report) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        const char* why = signal == SIGALRM ? "it did not come to an end" : strsignal(signal);
        note_failure(slot, {"CRASH", std::string{"the process died: "} + why});
        slot.probes.steps += slot.step;  // it could not say itself
    }
    report.probes += slot.probes;
    report.seeds += slot.seeds;
    report.seeds_twice += slot.seeds_twice;
    report.history += slot.history;
    if (slot.failed) {
        report.failures.push_back({slot.failed_seed, slot.failed_step, slot.id, slot.what});
    }
    slot = Slot{};
}

// A long run is not over yet, and somebody may want to begin looking.
void tell(const Failure& failure) {
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
    RunReport report;
    std::vector<pid_t> workers(std::clamp(options.jobs, 1U, kWorkersMax));
    const auto start = [&](std::size_t number) {
        std::fflush(nullptr);
        workers[number] = fork();
        if (workers[number] == 0) work(options, shared, shared.slots[number]);
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
        if (!options.stop_at_first && report.failures.size() > known) tell(report.failures.back());
        if (!report.failures.empty() && options.stop_at_first) shared.stop = true;
        if (!shared.stop && shared.next <= options.last) start(number);
    }
    munmap(memory, sizeof(Shared));
    std::sort(report.failures.begin(), report.failures.end(),
              [](const Failure& a, const Failure& b) { return a.seed < b.seed; });
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return report;
}

}  // namespace gpuctl::bench
