#include "sim/pod_factory.hpp"

#include "scheduler/model/job/job_pods.hpp"
#include "sim/draw.hpp"

namespace gpuctl::sim {

namespace {

// Kubernetes' alphabet for generated names, without vowels.
std::string name_suffix(Rng& rng, int length) {
    constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";
    std::string suffix;
    for (int i = 0; i < length; ++i) suffix += alphabet[rng.below(alphabet.size())];
    return suffix;
}

std::string uuid(Rng& rng) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 32; ++i) {
        if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
        std::uint64_t digit = rng.below(16);
        if (i == 12) digit = 4;                // version
        if (i == 16) digit = 8 | (digit & 3);  // variant
        text += digits[digit];
    }
    return text;
}

std::string pod_name(const JobRecord& job, std::int32_t ordinal, Rng& rng) {
    const std::string& name = job.spec.key.name;
    switch (job.spec.kind) {
        case JobKind::training:
            return name + "-" + std::to_string(ordinal) + "-" + name_suffix(rng, 5);
        case JobKind::notebook:
            return name + "-0";
        case JobKind::inference:
        case JobKind::compute:
            break;
    }
    Rng replica_set = draw(0, job.uid, "replica set");
    const std::string middle = name_suffix(replica_set, 10);
    return name + "-" + middle + "-" + name_suffix(rng, 5);
}

}  // namespace

PodFacts make_pod(const JobRecord& job, std::int32_t ordinal, Instant now, std::uint64_t salt,
                  const Settings& settings) {
    const JobSpec& spec = job.spec;
    const std::string subject = job.uid + "/" + std::to_string(ordinal) + "/" +
                                std::to_string(now.ms()) + "/" + std::to_string(salt);
    Rng rng = draw(settings.seed, subject, "identity");
    PodFacts pod = pod_of(spec, ordinal, now, settings.label_prefix);
    pod.uid = uuid(rng);
    pod.key.name = pod_name(job, ordinal, rng);
    return pod;
}

}  // namespace gpuctl::sim
