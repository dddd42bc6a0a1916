#include "aio/process_user.hpp"

#include <unistd.h>

#include <cerrno>

namespace gpuctl::aio {

std::string permission_advice(int error_number) {
    if (error_number != EACCES && error_number != EPERM) return "";
    return "; this process runs as user " + std::to_string(::geteuid()) + " and group " +
           std::to_string(::getegid()) +
           ": grant access to one of them (in a pod, securityContext.fsGroup gives a volume to the "
           "group, if its driver supports that)";
}

}  // namespace gpuctl::aio
