#include "wire/job/job_sections.hpp"

#include <algorithm>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "wire/job/job_rules.hpp"

namespace gpuctl::wire {
namespace {

// Kubernetes' limit minus the prefixes and suffixes of derived names: "svc-" for a Service, the
// revision hash in a StatefulSet's label, the index of a rank in its host name.
std::size_t name_length_max(JobKind kind) {
    switch (kind) {
        case JobKind::training:
            return 63;  // less with several ranks, see check_rank_names()
        case JobKind::inference:
        case JobKind::compute:
            return 59;
        case JobKind::notebook:
            return 52;
    }
    return 52;
}

std::string checked_label(const Field& field, const char* name) {
    const auto text = field.word(Empty::is_warned);
    if (!text) return "";
    if (const std::string problem = problem_with_label(*text); !problem.empty()) {
        field.error(std::string{name} + " \"" + *text + "\" " + problem);
    }
    return *text;
}

// Reported, where a list or a map is given instead of a number or a text.
bool is_structure(const Field& field, const char* wanted) {
    if (!field || field.json().is_primitive()) return false;
    field.error(std::string{wanted} + ", not " + kind_of(field.json()));
    return true;
}

void read_cpu(JobReader& reader, const Field& field) {
    if (is_structure(field, "resources.cpu must be cores (8, 0.5) or millicores (500m)")) return;
    const auto text = field.word();
    if (!text) return;
    const auto cpu = parse_cpu(*text);
    if (!cpu) {
        field.error("resources.cpu must be cores (8, 0.5) or millicores (500m), not \"" + *text +
                    "\"");
    } else if (cpu->value() == 0 || cpu->value() > kCpuMilliMax) {
        field.error("resources.cpu must be more than 0 and at most 100000 cores, not " + *text);
    } else {
        reader.spec.cpu = *cpu;
    }
}

// "; did you mean 32Gi?" for 32gb, 32 GiB and the like.
std::string meant_bytes(const std::string& text) {
    const std::size_t end = text.find_first_not_of("0123456789.");
    if (end == 0 || end == std::string::npos) return "";
    const std::size_t start = text.find_first_not_of(' ', end);
    if (start == std::string::npos) return "";
    const std::string unit = lower_case(text.substr(start));
    for (const char letter : {'k', 'm', 'g', 't', 'p'}) {
        const std::string one{letter};
        if (unit != one && unit != one + "b" && unit != one + "i" && unit != one + "ib") continue;
        const char upper = static_cast<char>(letter - 'a' + 'A');
        return "; did you mean " + text.substr(0, end) + upper + "i?";
    }
    return "";
}

void read_memory(JobReader& reader, const Field& field) {
    if (is_structure(field, "resources.memory must be a quantity such as 32Gi")) return;
    const auto text = field.word();
    if (!text) return;
    const auto memory = read_bytes(*text);
    if (!memory) {
        field.error("resources.memory must be a quantity such as 32Gi or 500M, not \"" + *text +
                    "\"" + meant_bytes(*text));
    } else if (memory->value() < kMemoryBytesMin) {
        field.error("resources.memory is " + std::to_string(memory->value()) +
                    " bytes, less than 1Mi; is a unit such as Gi missing" +
                    (text->find_first_not_of("0123456789") == std::string::npos
                         ? ", as in " + *text + "Gi?"
                         : "?"));
    } else if (memory->value() > kMemoryBytesMax) {
        field.error("resources.memory must be at most 1Pi, not " + *text);
    } else {
        reader.spec.memory = *memory;
    }
}

}  // namespace

std::optional<Bytes> read_bytes(std::string text) {
    if (text.size() > 2 && (text.back() == 'i' || text.back() == 'I')) {
        text.back() = 'i';
        char& unit = text[text.size() - 2];
        if (unit >= 'a' && unit <= 'z') unit = static_cast<char>(unit - 'a' + 'A');
    }
    return parse_bytes(text);
}

bool is_for_this_kind(const JobReader& reader, const Field& section, std::string_view path) {
    if (!section) return false;
    const JobKinds kinds = find_job_key(path)->kinds;
    if (kinds.has(reader.spec.kind)) return true;
    std::string list;
    for (const JobKind kind :
         {JobKind::training, JobKind::inference, JobKind::notebook, JobKind::compute}) {
        if (kinds.has(kind)) list += (list.empty() ? "" : ", ") + std::string{to_string(kind)};
    }
    section.warning(std::string{path} + " is not used: it is for kind " + list);
    return false;
}

namespace {

// The cost of preempting the job and starting it again.
void read_checkpoint(JobReader& reader, const Field& section) {
    if (!section) return;
    Fields fields{section};
    reader.spec.checkpoint_interval =
        find_key(fields, "job.checkpoint.interval").duration().value_or(Duration{});
    reader.spec.restart_cost =
        find_key(fields, "job.checkpoint.restartCost").duration().value_or(Duration{});
    reader.finish(fields);
}

void read_run_times(JobReader& reader, const Field& limit, const Field& expected) {
    JobSpec& spec = reader.spec;
    const auto span = [](const Field& field, const char* what) {
        const auto given = field.duration();
        if (given && *given <= Duration{})
            field.error(std::string{what} + " must be longer than 0s");
        return given.value_or(Duration{});
    };
    spec.run_time_max = span(limit, "job.maxRunTime");
    spec.run_time_expected = span(expected, "job.expectedRunTime");
    if (spec.run_time_max > Duration{} && spec.run_time_expected > spec.run_time_max) {
        expected.error("job.expectedRunTime is longer than job.maxRunTime, at which it is stopped");
    }
}

}  // namespace

void read_job(JobReader& reader, const Field& section) {
    JobSpec& spec = reader.spec;
    Fields fields{section};
    const Field name = find_key(fields, "job.name");
    if (const auto text = name.word()) {
        spec.key.name = *text;
        const std::string problem = problem_with_name(*text, name_length_max(spec.kind));
        if (!problem.empty()) name.error("job.name \"" + *text + "\" " + problem);
    }
    const Field name_space = find_key(fields, "job.namespace");
    spec.key.namespace_name = checked_label(name_space, "job.namespace");
    if (spec.key.namespace_name.empty()) {
        spec.key.namespace_name = reader.options.default_namespace;
    }
    if (const auto priority = read_choice_key(fields, "job.priority")) {
        for (const JobPriority one : {JobPriority::low, JobPriority::medium, JobPriority::high}) {
            if (*priority == to_string(one)) spec.priority = one;
        }
    }
    const Field description = find_key(fields, "job.description");
    spec.description = description.text().value_or("");
    if (spec.description.size() > kDescriptionBytesMax) {
        description.error("job.description is longer than " + std::to_string(kDescriptionBytesMax) +
                          " bytes");
    }
    spec.queue = checked_label(find_key(fields, "job.queue"), "job.queue");
    spec.preemptible =
        find_key(fields, "job.preemptible").boolean().value_or(spec.priority == JobPriority::low);
    read_run_times(reader, find_key(fields, "job.maxRunTime"),
                   find_key(fields, "job.expectedRunTime"));
    read_checkpoint(reader, find_key(fields, "job.checkpoint"));
    read_job_extras(reader, fields);
    reader.finish(fields);
}

Field node_count_of(const Field& resources) {
    if (!resources || !resources.json().is_object()) return {};
    Fields fields{resources};
    return find_key(fields, "resources.nodeCount");
}

void read_resources(JobReader& reader, const Field& section) {
    JobSpec& spec = reader.spec;
    Fields fields{section};
    const Field pool = find_key(fields, "resources.pool");
    spec.pool = checked_label(pool, "resources.pool");
    if (spec.pool == "default-pool" || spec.pool == kDefaultPool) spec.pool.clear();
    read_gpus(reader, fields);
    read_cpu(reader, find_key(fields, "resources.cpu"));
    read_memory(reader, find_key(fields, "resources.memory"));
    const Field nodes = find_key(fields, "resources.nodeCount");
    const auto count = nodes.integer(1, kReplicasMax);
    if (count && spec.kind == JobKind::training) {
        spec.replicas_min = spec.replicas_max = static_cast<std::int32_t>(*count);
    } else if (count && *count != 1) {
        nodes.error("resources.nodeCount is for training jobs; use service.replicas");
    }
    reader.finish(fields);
}

void read_service(JobReader& reader, const Field& section) {
    JobSpec& spec = reader.spec;
    ServiceSpec& service = spec.service;
    if (spec.kind == JobKind::training) {
        if (section) section.warning("service is not used: a training job has no Service");
        return;
    }
    const bool notebook = spec.kind == JobKind::notebook;
    if (notebook) service.port = 8888;
    if (!section) return;
    Fields fields{section};
    const Field replicas = find_key(fields, "service.replicas");
    const auto count = replicas.integer(0, kReplicasMax);
    if (notebook && count && *count != 1) {
        replicas.error("service.replicas of a notebook is always 1");
    } else if (count) {
        service.replicas = static_cast<std::int32_t>(*count);
    }
    // A service without a port keeps the kind's default.
    service.port = static_cast<std::int32_t>(
        read_integer_key(fields, "service.port").value_or(notebook ? 8888 : 8000));
    service.target_port =
        static_cast<std::int32_t>(read_integer_key(fields, "service.targetPort").value_or(0));
    service.protocol = read_choice_key(fields, "service.protocol").value_or(service.protocol);
    service.type = read_choice_key(fields, "service.type").value_or(service.type);
    const Field health = find_key(fields, "service.healthCheck");
    if (const auto path = health.word(Empty::is_warned)) {
        if (path->front() != '/') {
            health.error("service.healthCheck must be an HTTP path that starts with /, not \"" +
                         *path + "\"");
        }
        if (notebook) {
            health.warning("service.healthCheck is not used: a notebook has no probes");
        } else {
            service.health_check = *path;
        }
    }
    service.timeout = find_key(fields, "service.timeout").duration().value_or(Duration{});
    reader.finish(fields);
}

}  // namespace gpuctl::wire
