// Work on a journal's folder in parallel with the daemon that writes to it: an engine built from
// the files, and the snapshot that replaces them.

#include <optional>

#include "daemon/journal/journal.hpp"
#include "daemon/journal/reader.hpp"
#include "daemon/journal/snapshot_file.hpp"
#include "scheduler/base/check.hpp"

namespace gpuctl::journal {

Result<Engine> rebuild_engine(const JournalPlace& place, Sequence next,
                              const std::atomic<bool>& stop) {
    Engine engine;
    std::optional<Sequence> reached;  // by inputs after the snapshot
    EffectList effects;               // of the past: carried out before
    const auto stopped = [&stop] { return stop.load(std::memory_order_relaxed); };
    const Error stopping = make_error(ErrorCode::ShuttingDown, "copy the state: gpuctld stops");
    Visitor visitor;
    visitor.on_snapshot = [&](const std::string& state) -> Result<void> {
        if (stopped()) return stopping;
        Result<Engine> imported = Engine::import_state(state);
        if (!imported) return imported.error();
        engine = std::move(*imported);
        return {};
    };
    visitor.on_input = [&](const Input& input) {
        if (!reached) reached = input.sequence;
        if (input.sequence >= next || stopped()) return;  // later inputs arrive another way
        effects.clear();
        engine.step(input, effects);
        reached = next_after(input.sequence);
    };
    const Result<Contents> contents =
        read_journal(*place.disk, place.directory, Identity{place.mode, place.cluster_id}, visitor);
    if (stopped()) return stopping;
    if (!contents) return while_doing("copy the state from the journal", contents.error());
    const Sequence end = reached.value_or(contents->next_sequence);
    if (end != next) {
        return make_error(ErrorCode::JournalDamaged,
                          "copy the state from the journal in " + place.directory +
                              ": its files have the state before input " + to_string(end) +
                              ", and that before input " + to_string(next) +
                              " was written to them");
    }
    return engine;
}

Result<void> compact(const JournalPlace& place, const Engine& engine, Sequence next) {
    const Result<void> written = write_snapshot_file(
        *place.disk, place.directory, {place.mode, place.cluster_id, next}, engine.export_state());
    if (!written) return written;
    retire_files_before(*place.disk, place.directory, next, place.past_bytes_max);
    return {};
}

}  // namespace gpuctl::journal
