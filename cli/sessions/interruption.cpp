#include <unistd.h>

#include <array>
#include <csignal>

#include "cli/sessions/cp_parts.hpp"

namespace gpuctl::cli {

namespace {

constexpr std::array<int, 3> kEndingSignals{SIGINT, SIGTERM, SIGHUP};
constexpr int kSignalExitBase = 128;  // exit codes of shells

volatile std::sig_atomic_t caught_signal = 0;

void note_signal(int signal) {
    if (caught_signal != 0) _exit(kSignalExitBase + signal);
    caught_signal = signal;
}

}  // namespace

Interruption::Interruption() {
    for (const int signal : kEndingSignals) std::signal(signal, note_signal);
}

Interruption::~Interruption() {
    for (const int signal : kEndingSignals) std::signal(signal, SIG_DFL);
}

int Interruption::caught() { return caught_signal; }

}  // namespace gpuctl::cli
