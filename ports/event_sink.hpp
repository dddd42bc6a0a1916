#pragma once
// Receives events from adapters. Bounded: false means full, and the adapter must be able to report
// the event later (a watch relists, an outcome is offered again after the queue drained).

#include "scheduler/model/event.hpp"

namespace gpuctl::ports {

class EventSink {
public:
    virtual ~EventSink() = default;
    [[nodiscard]] virtual bool offer(Event event) = 0;  // loop thread
};

}  // namespace gpuctl::ports
