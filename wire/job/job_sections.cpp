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
            return 61;  // less for ten or more ranks, see check_rank_names()
        case JobKind::inference:
        case JobKind::compute:
            return 59;
        case JobKind::notebook:
            return 52;
    }
    return 52;
}

void read_priority(JobReader& reader, const Field& field) {
    const auto text = field.word();
    if (!text) return;
    for (const JobPriority priority : {JobPriority::low, JobPriority::medium, JobPriority::high}) {
        if (lower_case(*text) == to_string(priority)) {
            reader.spec.priority = priority;
            return;
        }
    }
    field.error("job.priority must be high, medium or low, not \"" + *text + "\"");
}

std::string checked_label(const Field& field, const char* name) {
    const auto text = field.word(Empty::is_warned);
    if (!text) return "";
    if (const std::string problem = problem_with_label(*text); !problem.empty()) {
        field.error(std::string{name} + " \"" + *text + "\" " + problem);
    }
    return *text;
}

void read_cpu(JobReader& reader, const Field& field) {
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

void read_memory(JobReader& reader, const Field& field) {
    const auto text = field.word();
    if (!text) return;
    const auto memory = read_bytes(*text);
    if (!memory) {
        field.error("resources.memory must be a quantity such as 32Gi or 500M, not \"" + *text +
                    "\"");
    } else if (memory->value() < kMemoryBytesMin) {
        field.error("resources.memory is " + std::to_string(memory->value()) +
                    " bytes, less than 1Mi; is a unit such as Gi missing?");
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

void warn_unused(const Field& field, std::string_view name) {
    if (field) field.warning(std::string{name} + " is accepted, but not used yet");
}

namespace {

// The cost of preempting the job and starting it again.
void read_checkpoint(JobReader& reader, const Field& section) {
    if (!section) return;
    Fields fields{section};
    reader.spec.checkpoint_interval = fields.find("interval").duration().value_or(Duration{});
    reader.spec.restart_cost = fields.find("restartCost").duration().value_or(Duration{});
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
    const Field name = fields.require("name");
    if (const auto text = name.word()) {
        spec.key.name = *text;
        const std::string problem = problem_with_name(*text, name_length_max(spec.kind));
        if (!problem.empty()) name.error("job.name \"" + *text + "\" " + problem);
    }
    const Field name_space = fields.find("namespace");
    spec.key.namespace_name = checked_label(name_space, "job.namespace");
    if (spec.key.namespace_name.empty()) {
        spec.key.namespace_name = reader.options.default_namespace;
    }
    read_priority(reader, fields.find("priority"));
    const Field description = fields.find("description");
    spec.description = description.text().value_or("");
    if (spec.description.size() > kDescriptionBytesMax) {
        description.error("job.description is longer than " + std::to_string(kDescriptionBytesMax) +
                          " bytes");
    }
    spec.queue = checked_label(fields.find("queue"), "job.queue");
    spec.preemptible =
        fields.find("preemptible").boolean().value_or(spec.priority == JobPriority::low);
    read_run_times(reader, fields.find("maxRunTime"), fields.find("expectedRunTime"));
    read_checkpoint(reader, fields.find("checkpoint"));
    for (const char* key : {"epochs", "batchSize"}) {
        const Field field = fields.find(key);
        if (field.integer(1, INT32_MAX)) warn_unused(field, std::string{"job."} + key);
    }
    reader.finish(fields);
}

Field node_count_of(const Field& resources) {
    if (!resources || !resources.json().is_object()) return {};
    return Fields{resources}.find({"nodeCount", "node_count"});
}

void read_resources(JobReader& reader, const Field& section) {
    JobSpec& spec = reader.spec;
    Fields fields{section};
    const Field pool = fields.find("pool");
    spec.pool = checked_label(pool, "resources.pool");
    if (spec.pool == "default-pool" || spec.pool == kDefaultPool) spec.pool.clear();
    read_gpus(reader, fields);
    read_cpu(reader, fields.require("cpu"));
    read_memory(reader, fields.require("memory"));
    const Field nodes = fields.find({"nodeCount", "node_count"});
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
    const Field replicas = fields.find("replicas");
    const auto count = replicas.integer(0, kReplicasMax);
    if (notebook && count && *count != 1) {
        replicas.error("service.replicas of a notebook is always 1");
    } else if (count) {
        service.replicas = static_cast<std::int32_t>(*count);
    }
    // A service without a port keeps the kind's default.
    service.port = static_cast<std::int32_t>(
        fields.find("port").integer(1, 65535).value_or(notebook ? 8888 : 8000));
    service.target_port =
        static_cast<std::int32_t>(fields.find("targetPort").integer(1, 65535).value_or(0));
    const auto choose = [&](const char* key, std::string& value,
                            std::initializer_list<const char*> choices) {
        const Field field = fields.find(key);
        const auto text = field.word();
        if (!text) return;
        for (const char* choice : choices) {
            if (lower_case(*text) == lower_case(choice)) return void(value = choice);
        }
        std::string list;
        for (const char* choice : choices) list += (list.empty() ? "" : ", ") + std::string{choice};
        field.error("service." + std::string{key} + " must be one of " + list + ", not \"" + *text +
                    "\"");
    };
    choose("protocol", service.protocol, {"TCP", "UDP", "SCTP"});
    choose("type", service.type, {"NodePort", "ClusterIP", "LoadBalancer"});
    const Field health = fields.find("healthCheck");
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
    service.timeout = fields.find("timeout").duration().value_or(Duration{});
    reader.finish(fields);
}

}  // namespace gpuctl::wire
