#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/version_number.hpp"

namespace gpuctl::cli {

aio::Task<int> run_version(Connection& connection, VersionOptions options) {
    nlohmann::json versions{{"client", {{"version", kVersion}}}};
    int exit_code = 0;
    if (!options.client_only) {
        Result<Reply> reply = co_await connection.get("/version");
        if (reply) {
            versions["server"] = reply->body;
        } else if (options.format == Format::table) {
            std::cout << "client  gpuctl " << kVersion << '\n';
            co_return report(reply.error(), options.format);
        } else {
            versions["server"] = {{"error", reply.error().message}};
            exit_code = 7;
        }
    }
    if (is_document(options.format)) {
        print_document(std::cout, versions, options.format);
    } else {
        std::cout << "client  gpuctl " << kVersion << '\n';
        if (versions.contains("server")) {
            std::cout << "server  gpuctld " << printable(text_of(versions["server"], "version"))
                      << " at " << connection.options().server << '\n';
        }
    }
    co_return exit_code;
}

}  // namespace gpuctl::cli
