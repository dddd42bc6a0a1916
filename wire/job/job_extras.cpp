// What a job document states and the engine does not read: labels, annotations, autoscaling, model
// and output (scheduler/model/job/job_extras.hpp).

#include <algorithm>

#include "scheduler/model/job/job_spec.hpp"
#include "text/characters.hpp"
#include "wire/job/job_rules.hpp"
#include "wire/job/job_sections.hpp"

namespace gpuctl::wire {
namespace {

constexpr std::size_t kLabelsMax = 64;
constexpr std::size_t kAnnotationBytesMax = 32u << 10;  // of all together; the API server has 256Ki

// Keys that gpuctl and controllers set, by their whole name.
constexpr std::string_view kOwnNames[] = {"app", "job-name", "controller-uid", "pod-template-hash",
                                          "controller-revision-hash"};
// Known keys of applications, which users set.
constexpr std::string_view kUserNames[] = {"app.kubernetes.io/version", "app.kubernetes.io/part-of",
                                           "app.kubernetes.io/instance"};

bool is_domain_or_below(std::string_view domain, std::string_view of) {
    return domain == of || (domain.size() > of.size() && domain.ends_with(of) &&
                            domain[domain.size() - of.size() - 1] == '.');
}

std::string problem_with_meta_key(const std::string& key, const std::string& own_prefix) {
    const std::size_t slash = key.find('/');
    const std::string prefix = slash == std::string::npos ? "" : key.substr(0, slash);
    const std::string name = slash == std::string::npos ? key : key.substr(slash + 1);
    if (slash != std::string::npos) {
        if (std::string problem = problem_with_subdomain(prefix); !problem.empty()) {
            return "has a prefix that " + problem;
        }
    }
    if (std::string problem = problem_with_label_value(name); !problem.empty()) {
        return "has a name that " + problem;
    }
    const auto is_listed = [&](std::span<const std::string_view> list) {
        return std::find(list.begin(), list.end(), key) != list.end();
    };
    if (is_listed(kUserNames)) return "";
    const std::string remedy = "; use a domain of your own, such as example.com/" + name;
    if (is_listed(kOwnNames)) return "is set by gpuctl or by Kubernetes" + remedy;
    if (prefix == own_prefix || prefix == "g8s.host" || prefix == "gpuctl") {
        return "has the prefix of gpuctl, which is reserved" + remedy;
    }
    if (is_domain_or_below(prefix, "kubernetes.io") || is_domain_or_below(prefix, "k8s.io")) {
        return "has a prefix of Kubernetes, which is reserved" + remedy;
    }
    return "";
}

// {KEY: text}; numbers and booleans as they are written.
void read_meta(JobReader& reader, const Field& section, bool is_labels,
               std::map<std::string, std::string>& into) {
    if (!section || !section.is_map()) return;
    const std::string one = is_labels ? "the label " : "the annotation ";
    std::size_t bytes = 0;
    for (const auto& [key, value] : section.json().items()) {
        const Field field{section.document(), &value, pointer_to(section.pointer(), key),
                          section.problems()};
        const std::string problem = reader.options.was_accepted
                                        ? ""
                                        : problem_with_meta_key(key, reader.options.label_prefix);
        if (!problem.empty()) {
            field.error(one + "\"" + key.substr(0, 80) + "\" " + problem);
            continue;
        }
        const auto text = is_labels ? field.word(Empty::is_value) : field.script();
        if (field.is_null() || !text) continue;
        if (is_labels && !text->empty()) {
            if (const std::string wrong = problem_with_label_value(*text); !wrong.empty()) {
                field.error("the value \"" + text->substr(0, 80) + "\" of the label " + key + " " +
                            wrong);
                continue;
            }
        }
        bytes += key.size() + text->size();
        into[key] = *text;
    }
    if (is_labels && into.size() > kLabelsMax) {
        section.error("job.labels has " + std::to_string(into.size()) + " labels; at most " +
                      std::to_string(kLabelsMax) + " are allowed");
    }
    if (bytes > kAnnotationBytesMax) {
        section.error(std::string{is_labels ? "job.labels" : "job.annotations"} + " has " +
                      std::to_string(bytes) + " bytes; at most " +
                      std::to_string(kAnnotationBytesMax) + " are allowed");
    }
}

// One of "cpu:50%,mem:50%,gpu=50%"; false when it is none.
bool read_target(std::string_view part, Autoscaling& into) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const std::size_t sign = part.find_first_of(":=");
    if (sign == std::string_view::npos || !part.ends_with('%')) return false;
    const std::string_view name = part.substr(0, sign);
    const std::string_view number = part.substr(sign + 1, part.size() - sign - 2);
    if (number.empty() || number.size() > 3) return false;
    std::int32_t percent = 0;
    for (const char c : number) {
        if (c < '0' || c > '9') return false;
        percent = percent * 10 + (c - '0');
    }
    if (percent < 1 || percent > 100) return false;
    std::int32_t* target = name == "cpu"                       ? &into.cpu_percent
                           : name == "mem" || name == "memory" ? &into.gpu_memory_percent
                           : name == "gpu"                     ? &into.gpu_percent
                                                               : nullptr;
    if (target == nullptr || *target != 0) return false;
    *target = percent;
    return true;
}

void read_targets(const Field& field, Autoscaling& into) {
    const auto text = field.word();
    if (!text) return;
    std::string_view rest = *text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find_first_of(",;"), rest.size());
        if (!read_target(rest.substr(0, end), into)) {
            return field.error(
                "autoscaling.targets must be like \"cpu:50%,mem:50%,gpu:70%\", each "
                "once and from 1% to 100%, not \"" +
                text->substr(0, 60) + "\"");
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

std::int32_t percent_of(Fields& fields, std::string_view path) {
    return static_cast<std::int32_t>(read_integer_key(fields, path).value_or(0));
}

}  // namespace

void read_job_extras(JobReader& reader, Fields& job) {
    JobExtras& extras = reader.spec.extras;
    read_meta(reader, find_key(job, "job.labels"), true, extras.labels);
    read_meta(reader, find_key(job, "job.annotations"), false, extras.annotations);
    extras.epochs = read_integer_key(job, "job.epochs").value_or(0);
    extras.batch_size = read_integer_key(job, "job.batchSize").value_or(0);
}

void read_autoscaling(JobReader& reader, const Field& section) {
    if (!is_for_this_kind(reader, section, "autoscaling")) return;
    Autoscaling& scaling = reader.spec.extras.autoscaling;
    Fields fields{section};
    scaling.enabled = find_key(fields, "autoscaling.enabled").boolean().value_or(false);
    scaling.replicas_min = static_cast<std::int32_t>(
        read_integer_key(fields, "autoscaling.minReplicas").value_or(scaling.replicas_min));
    scaling.replicas_max = static_cast<std::int32_t>(
        read_integer_key(fields, "autoscaling.maxReplicas").value_or(scaling.replicas_max));
    scaling.gpu_percent = percent_of(fields, "autoscaling.targetGpuUtilization");
    scaling.gpu_memory_percent = percent_of(fields, "autoscaling.targetMemoryUtilization");
    scaling.cpu_percent = percent_of(fields, "autoscaling.targetCpuUtilization");
    const Field targets = find_key(fields, "autoscaling.targets");
    if (targets &&
        (scaling.gpu_percent != 0 || scaling.gpu_memory_percent != 0 || scaling.cpu_percent != 0)) {
        targets.error("autoscaling.targets and a target...Utilization say the same; give one");
    } else {
        read_targets(targets, scaling);
    }
    if (scaling.gpu_percent == 0 && scaling.gpu_memory_percent == 0 && scaling.cpu_percent == 0) {
        scaling.gpu_percent = 70;
    }
    reader.finish(fields);
    if (!section.json().is_object()) return;
    if (scaling.replicas_min > scaling.replicas_max) {
        section.error("autoscaling.minReplicas " + std::to_string(scaling.replicas_min) +
                      " is more than autoscaling.maxReplicas " +
                      std::to_string(scaling.replicas_max));
    }
    reader.spec.extras.has_autoscaling = true;
    if (scaling.enabled) {
        section.warning(
            "autoscaling is stored with the job and not acted on yet: the job keeps "
            "service.replicas");
    }
}

void read_model(JobReader& reader, const Field& section) {
    if (!is_for_this_kind(reader, section, "model")) return;
    ModelSource& model = reader.spec.extras.model;
    Fields fields{section};
    const auto text = [&](const char* path, std::string standard) {
        return find_key(fields, path).word(Empty::is_warned).value_or(std::move(standard));
    };
    model.source = text("model.source", "model-registry");
    model.name = find_key(fields, "model.name").word().value_or("");
    model.version = text("model.version", "");
    model.format = text("model.format", "safetensors");
    model.cache = find_key(fields, "model.cache").boolean().value_or(true);
    reader.finish(fields);
    if (section.json().is_object()) {
        section.warning("model is stored with the job and not acted on yet");
    }
}

void read_output(JobReader& reader, const Field& section) {
    if (!is_for_this_kind(reader, section, "output")) return;
    Fields fields{section};
    reader.spec.extras.resume_from_checkpoint =
        find_key(fields, "output.resumeFromCheckpoint").boolean().value_or(false);
    reader.finish(fields);
    if (reader.spec.extras.resume_from_checkpoint) {
        section.warning("output.resumeFromCheckpoint is stored with the job and not acted on yet");
    }
}

}  // namespace gpuctl::wire
