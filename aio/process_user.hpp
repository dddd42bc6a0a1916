#pragma once
// Completes an error about a file or folder that may not be read or written: the system's message
// names neither the refused user nor how to give that user access.

#include <string>

namespace gpuctl::aio {

// "; gpuctld runs as user 65532 and group 65532 ..." for EACCES and EPERM; else nothing.
std::string permission_advice(int error_number);

}  // namespace gpuctl::aio
