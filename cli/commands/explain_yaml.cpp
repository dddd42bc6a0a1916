#include <iostream>

#include "cli/commands/commands.hpp"
#include "wire/job/job_keys.hpp"

namespace gpuctl::cli {

aio::Task<int> run_explain_yaml(Connection&, ExplainYamlOptions options) {
    const Result<std::string> text = wire::explain_job_key(options.key);
    if (!text) co_return report(text.error(), Format::table);
    std::cout << *text;
    co_return 0;
}

}  // namespace gpuctl::cli
