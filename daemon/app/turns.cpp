#include "daemon/app/turns.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>

namespace gpuctl::app {

void observe_turns(aio::Loop& loop, metrics::Recorder& recorder) {
    // Names of work are few and never move, so they are found by address.
    using Cells = std::unordered_map<const char*, metrics::Histogram*>;
    loop.observe_turns([&recorder, cells = std::make_shared<Cells>()](std::string_view work,
                                                                      aio::Clock::duration took) {
        metrics::Histogram*& cell = (*cells)[work.data()];
        if (cell == nullptr) {
            cell = &recorder.histogram(metrics::Metric::loop_turn, {std::string{work}});
        }
        cell->observe(std::chrono::duration<double>(took).count());
    });
}

}  // namespace gpuctl::app
