#include "daemon/app/state_directory.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "aio/process_user.hpp"

namespace gpuctl::app {
namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
    return value == nullptr ? "" : value;
}

std::string default_directory() {
    // systemd gives a colon-separated list when several are configured; the first one is used.
    if (const std::string given = environment("STATE_DIRECTORY"); !given.empty()) {
        return given.substr(0, given.find(':'));
    }
    if (const std::string given = environment("XDG_STATE_HOME"); !given.empty()) {
        return given + "/gpuctl";
    }
    if (const std::string home = environment("HOME"); !home.empty()) {
        return home + "/.local/state/gpuctl";
    }
    return "";
}

}  // namespace

Result<std::string> resolve_state_directory(const std::string& configured) {
    const std::string directory = configured.empty() ? default_directory() : configured;
    if (directory.empty()) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "the journal has no directory: neither journal.directory nor "
                          "$STATE_DIRECTORY, $XDG_STATE_HOME or $HOME is set; set one of them");
    }
    namespace fs = std::filesystem;
    std::error_code failure;
    const bool existed = fs::is_directory(directory, failure);
    fs::create_directories(directory, failure);
    if (!failure && !existed) fs::permissions(directory, fs::perms::owner_all, failure);
    if (failure) {
        return make_error(ErrorCode::InvalidConfiguration,
                          "create the journal's directory " + directory + ": " + failure.message() +
                              aio::permission_advice(failure.value()) +
                              "; choose another with journal.directory");
    }
    return directory;
}

std::string journal_folder(const std::string& state_directory, const std::string& mode,
                           const std::string& cluster_id) {
    return state_directory + "/" + (cluster_id.empty() ? mode : mode + "-" + cluster_id);
}

}  // namespace gpuctl::app
