#pragma once
// Fills the gauges that describe the engine's state, on scrape. The only place that reads state for
// metrics; events are counted where they happen.

#include "daemon/api/sessions/session_table.hpp"
#include "daemon/core/engine_loop.hpp"
#include "daemon/journal/journal.hpp"
#include "metrics/recorder.hpp"

namespace gpuctl::app {

// `tenants_max`: the number of namespaces with a label of their own, by name; the rest is "other".
void fill_state_gauges(metrics::Recorder& recorder, core::EngineLoop& engine,
                       std::size_t tenants_max);
void fill_session_figures(metrics::Recorder& recorder, const api::SessionTable::Figures& figures);
void fill_journal_figures(metrics::Recorder& recorder, const journal::Journal::Figures& figures);

}  // namespace gpuctl::app
