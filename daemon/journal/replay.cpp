#include <algorithm>
#include <filesystem>
#include <system_error>

#include "daemon/journal/journal.hpp"
#include "daemon/journal/reader.hpp"

namespace gpuctl::journal {
namespace {

namespace fs = std::filesystem;

bool is_segment(const fs::path& path) {
    return path.filename().string().starts_with("journal-") && path.extension() == ".log";
}

// journal.directory holds a folder for each cluster: users often name it instead of one of them.
std::string clusters_below(const std::string& directory) {
    std::string names;
    std::error_code ignored;
    for (const fs::directory_entry& below : fs::directory_iterator{directory, ignored}) {
        const fs::directory_iterator files{below.path(), ignored};
        const bool has_journal = std::any_of(
            begin(files), end(files), [](const auto& file) { return is_segment(file.path()); });
        if (has_journal) names += (names.empty() ? "" : ", ") + below.path().string();
    }
    return names;
}

Error no_journal(const std::string& directory) {
    const std::string below = clusters_below(directory);
    return make_error(ErrorCode::NotFound,
                      "replay " + directory +
                          ": there is no journal in this folder (files named journal-*.log)" +
                          (below.empty() ? "" : "; there is one in " + below));
}

}  // namespace

Result<ReplayReport> replay(const std::string& directory, const ReplayObserver& observer) {
    ReplayReport report;
    Engine engine;
    EffectList effects;
    Visitor visitor;
    visitor.on_snapshot = [&](const std::string& state) -> Result<void> {
        Result<Engine> imported = Engine::import_state(state);
        if (!imported) return imported.error();
        engine = std::move(*imported);
        return {};
    };
    visitor.on_input = [&](const Input& input) {
        effects.clear();
        engine.step(input, effects);
        report.effects += effects.size();
        if (observer) observer(engine, input, effects);
    };
    const Result<Contents> contents = read_journal(real_disk(), directory, Identity{}, visitor);
    if (!contents) return contents.error();
    if (contents->identity.mode.empty()) {
        return no_journal(directory);
    }
    report.inputs = contents->inputs;
    report.last_sequence = Sequence{static_cast<std::uint64_t>(contents->next_sequence) - 1};
    report.state_hash = engine.state_hash();
    report.cluster_id = contents->identity.cluster_id;
    report.mode = contents->identity.mode;
    report.bytes_torn = contents->torn_bytes;
    return report;
}

Result<ReplayReport> replay(const std::string& directory) {
    return replay(directory, ReplayObserver{});
}

Result<std::vector<Input>> read_inputs(const std::string& directory) {
    std::vector<Input> inputs;
    Visitor visitor;
    visitor.on_snapshot = [](const std::string&) -> Result<void> { return {}; };
    visitor.on_input = [&](const Input& input) { inputs.push_back(input); };
    const Result<Contents> contents = read_journal(real_disk(), directory, Identity{}, visitor);
    if (!contents) return contents.error();
    return inputs;
}

}  // namespace gpuctl::journal
