#pragma once
// The closed set of error codes that users and clients see: `error` in a problem document, the tag
// of a CLI message. The set is stable: a name is never reused with another meaning. wire/problem
// maps each code to an HTTP status and an exit code.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpuctl {

#define GPUCTL_ERROR_CODES(X) \
    X(InvalidYaml)            \
    X(InvalidJson)            \
    X(ValidationFailed)       \
    X(UnsupportedKind)        \
    X(BadRequest)             \
    X(HeaderTooLarge)         \
    X(BodyTooLarge)           \
    X(RequestTimeout)         \
    X(NotFound)               \
    X(MethodNotAllowed)       \
    X(UnsupportedMediaType)   \
    X(JobExists)              \
    X(JobNotFound)            \
    X(JobAmbiguous)           \
    X(ImmutableField)         \
    X(PoolNotFound)           \
    X(PoolEmpty)              \
    X(PoolInUse)              \
    X(QueueNotFound)          \
    X(NodeNotFound)           \
    X(LabelConflict)          \
    X(LabelNotFound)          \
    X(NamespaceNotFound)      \
    X(NamespaceNotManaged)    \
    X(NeverFits)              \
    X(QuotaExceeded)          \
    X(QuotaNotFound)          \
    X(QuotaExists)            \
    X(UseWebSocket)           \
    X(Unauthorized)           \
    X(Forbidden)              \
    X(Conflict)               \
    X(IdempotencyKeyReused)   \
    X(Gone)                   \
    X(ManagedByFile)          \
    X(NotSupportedHere)       \
    X(TooManyRequests)        \
    X(ClusterUnavailable)     \
    X(NotLeader)              \
    X(ShuttingDown)           \
    X(Timeout)                \
    X(Cancelled)              \
    X(UnknownOutcome)         \
    X(Unreachable)            \
    X(TlsFailed)              \
    X(ProtocolError)          \
    X(JournalFailed)          \
    X(JournalDamaged)         \
    X(InvalidConfiguration)   \
    X(Internal)

enum class ErrorCode : std::uint8_t {
#define GPUCTL_AS_ENUMERATOR(name) name,
    GPUCTL_ERROR_CODES(GPUCTL_AS_ENUMERATOR)
#undef GPUCTL_AS_ENUMERATOR
};

inline constexpr auto kErrorCodeNames = std::to_array<std::string_view>({
#define GPUCTL_AS_NAME(name) #name,
    GPUCTL_ERROR_CODES(GPUCTL_AS_NAME)
#undef GPUCTL_AS_NAME
});

constexpr std::string_view to_string(ErrorCode code) {
    return kErrorCodeNames[static_cast<std::size_t>(code)];
}
// The names in layouts of archives.
constexpr std::span<const std::string_view> archive_enumerators(ErrorCode) {
    return kErrorCodeNames;
}

}  // namespace gpuctl
