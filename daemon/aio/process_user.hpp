#pragma once
// What helps when a file or folder may not be read or written: the message of the system names
// neither the user that was refused nor the way to let it in.

#include <string>

namespace gpuctl::aio {

// "; gpuctld runs as user 65532 and group 65532 ..." for EACCES and EPERM; else nothing.
std::string permission_advice(int error_number);

}  // namespace gpuctl::aio
