#pragma once
// Where adapters put what happened. Bounded: false means full, and the adapter must keep the
// event's truth elsewhere (a watch relists, an outcome is offered again after the queue drained).

#include "scheduler/model/event.hpp"

namespace gpuctl::ports {

class EventSink {
public:
    virtual ~EventSink() = default;
    [[nodiscard]] virtual bool offer(Event event) = 0;  // loop thread
};

}  // namespace gpuctl::ports
