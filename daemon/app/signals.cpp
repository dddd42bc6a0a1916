#include "daemon/app/signals.hpp"

#include <csignal>

namespace gpuctl::app {
namespace {

constexpr int kEndOfWaiting = SIGUSR1;

sigset_t handled_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, kEndOfWaiting}) sigaddset(&signals, signal);
    return signals;
}

}  // namespace

Signals::Signals() {
    const sigset_t signals = handled_signals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // a closed connection is an error code, not an end
}

Signals::~Signals() {
    if (!waiter_.joinable()) return;
    pthread_kill(waiter_.native_handle(), kEndOfWaiting);
    waiter_.join();
}

void Signals::deliver_to(aio::Loop& loop, std::function<void(int)> received) {
    waiter_ = std::thread{[&loop, received = std::move(received)] {
        const sigset_t signals = handled_signals();
        int signal = 0;
        while (sigwait(&signals, &signal) == 0 && signal != kEndOfWaiting) {
            loop.post([received, signal] { received(signal); });
        }
    }};
}

}  // namespace gpuctl::app
