#include "aio/worker.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

namespace gpuctl::aio {
namespace {

// When both threads want the CPU, the loop gets about nine tenths of it.
constexpr int kNice = 10;

}  // namespace

struct Worker::Parts {
    boost::asio::thread_pool thread{1};
};

Worker::Worker(const std::string& name) : parts_(std::make_unique<Parts>()) {
    post([name] {
        ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
        // Linux keeps a nice value per thread. If it cannot be set, the work only competes more
        // with the loop.
        const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
        (void)::setpriority(PRIO_PROCESS, thread, kNice);
    });
}

Worker::~Worker() { parts_->thread.join(); }

void Worker::post(std::function<void()> work) {
    boost::asio::post(parts_->thread, std::move(work));
}

}  // namespace gpuctl::aio
