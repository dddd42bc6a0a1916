#include "scheduler/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace gpuctl {

void check_failed(std::string_view expression, std::string_view explanation,
                  std::source_location where) {
    std::fprintf(stderr, "gpuctl: CHECK failed at %s:%u (%s): %.*s: %.*s\n", where.file_name(),
                 static_cast<unsigned>(where.line()), where.function_name(),
                 static_cast<int>(expression.size()), expression.data(),
                 static_cast<int>(explanation.size()), explanation.data());
    std::abort();
}

}  // namespace gpuctl
