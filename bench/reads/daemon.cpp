#include "bench/reads/daemon.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "bench/reads/http_load.hpp"

namespace gpuctl::bench {
namespace {

[[noreturn]] void become(const std::string& program, const std::string& directory) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string log = directory + "/gpuctld.log";
    const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(output, 1);
    ::dup2(output, 2);
    const std::string config = directory + "/gpuctld.yaml";
    ::execl(program.c_str(), program.c_str(), "--config", config.c_str(), nullptr);
    std::perror("exec");
    std::_Exit(1);
}

}  // namespace

DaemonProcess::DaemonProcess(const std::string& program, const std::string& directory,
                             std::uint16_t port, std::chrono::seconds patience)
    : port_(port) {
    const auto begin = std::chrono::steady_clock::now();
    process_ = ::fork();
    if (process_ == 0) become(program, directory);
    for (;;) {
        int status = 0;
        fetch(port, "/readyz", status);
        const auto waited = std::chrono::steady_clock::now() - begin;
        started_in_s_ = std::chrono::duration<double>(waited).count();
        if (status == 200) return;
        if (waited > patience || ::waitpid(process_, nullptr, WNOHANG) == process_) {
            std::fprintf(stderr, "gpuctld did not become ready in %.0f s; see %s/gpuctld.log\n",
                         started_in_s_, directory.c_str());
            std::exit(1);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
}

DaemonProcess::~DaemonProcess() {
    ::kill(process_, SIGKILL);  // its journal is not needed any more
    ::waitpid(process_, nullptr, 0);
}

void DaemonProcess::send(int signal) const { ::kill(process_, signal); }

double DaemonProcess::loop_cpu_us() const {
    const std::string id = std::to_string(process_);
    std::ifstream file{"/proc/" + id + "/task/" + id + "/schedstat"};
    double ns = 0;
    file >> ns;
    return ns / 1'000;
}

double DaemonProcess::peak_mib() const {
    std::ifstream file{"/proc/" + std::to_string(process_) + "/status"};
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1'024;
    }
    return 0;
}

}  // namespace gpuctl::bench
