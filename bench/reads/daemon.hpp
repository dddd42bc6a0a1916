#pragma once
// A gpuctld in a process of its own, and its metrics.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace gpuctl::bench {

class DaemonProcess {
public:
    // Starts gpuctld with the configuration `directory`/gpuctld.yaml and waits until it is ready.
    DaemonProcess(const std::string& program, const std::string& directory, std::uint16_t port,
                  std::chrono::seconds patience);
    ~DaemonProcess();
    DaemonProcess(const DaemonProcess&) = delete;
    DaemonProcess& operator=(const DaemonProcess&) = delete;

    void send(int signal) const;
    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] double started_in_s() const { return started_in_s_; }
    // CPU time of the event loop's thread, which is the first thread.
    [[nodiscard]] double loop_cpu_us() const;
    [[nodiscard]] double peak_mib() const;

private:
    pid_t process_ = -1;
    std::uint16_t port_ = 0;
    double started_in_s_ = 0;
};

}  // namespace gpuctl::bench
