#include "policy_document/objects/object_readers.hpp"

#include <algorithm>

#include "policy_document/check_parts.hpp"
#include "policy_document/keys.hpp"
#include "policy_document/tables.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "wire/job/job_rules.hpp"

namespace gpuctl::config {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kJobsMaximum = 1'000'000;
constexpr std::int64_t kPodsMaximum = 10'000'000;
constexpr std::size_t kNodesPerPoolMax = 10'000;
constexpr std::string_view kOldDefaultPool = "default-pool";

std::string pool_name(std::string name) {
    return name.empty() || name == kOldDefaultPool ? std::string{kDefaultPool} : name;
}

// The maps of a document: `header` has the name, `body` the rest; in flat documents both are the
// document itself.
class Parts {
public:
    Parts(const ObjectSource& source, std::initializer_list<std::string_view> headers)
        : source_(source), root_(source.root()) {
        (void)root_.find("kind");
        (void)root_.find("version");
        for (const std::string_view name : headers) {
            const wire::Field found = root_.find(name);
            if (!found || !found.json().is_object()) continue;
            header_.emplace(found);
            break;
        }
        if (!header_) {
            const wire::Field old = root_.find("metadata");
            if (old && old.is_map()) header_.emplace(old);
        }
        const wire::Field spec = root_.find("spec");
        if (spec && spec.is_map()) spec_.emplace(spec);
    }
    [[nodiscard]] bool is_flat() const { return !header_; }
    [[nodiscard]] wire::Fields& header() { return header_ ? *header_ : root_; }
    [[nodiscard]] wire::Fields& root() { return root_; }
    // In the body, which old documents have in `spec`.
    [[nodiscard]] wire::Field find(std::initializer_list<std::string_view> names) {
        const wire::Field found = root_.find(names);
        return !found.is_written() && spec_ ? spec_->find(names) : found;
    }
    [[nodiscard]] bool has_spec() const { return spec_.has_value(); }
    void finish() const {
        root_.report_unknown(source_.strict);
        if (header_) header_->report_unknown(source_.strict);
        if (spec_) spec_->report_unknown(source_.strict);
    }

private:
    ObjectSource source_;
    wire::Fields root_;
    std::optional<wire::Fields> header_;
    std::optional<wire::Fields> spec_;
};

std::string read_name(const wire::Field& field, std::string (*problem)(std::string_view)) {
    const std::string name = field.word().value_or("");
    if (name.empty()) return name;
    if (const std::string wrong = problem(name); !wrong.empty()) {
        field.error("\"" + name + "\" " + wrong);
    }
    return name;
}

std::string read_description(wire::Fields& header) {
    const wire::Field field = header.find("description");
    std::string text = field.text().value_or("");
    if (text.size() > wire::kDescriptionBytesMax) {
        field.error("description has " + std::to_string(text.size()) + " bytes, more than the " +
                    std::to_string(wire::kDescriptionBytesMax) + " allowed");
    }
    return text;
}

std::string read_gpu_type(const wire::Field& field) {
    std::string type = field.word(wire::Empty::is_value).value_or("");
    if (type.empty()) return type;
    if (const std::string wrong = wire::problem_with_label_value(type); !wrong.empty()) {
        field.error("\"" + type + "\" " + wrong);
    }
    return type;
}

void add_node(const wire::Field& field, const std::string& name, const wire::Field& facts,
              bool strict, PoolObject& pool) {
    if (const std::string wrong = wire::problem_with_subdomain(name); !wrong.empty()) {
        return field.error("\"" + name + "\" " + wrong);
    }
    std::string type;
    const bool is_empty = !facts || (facts.json().is_string() && facts.json() == "");
    if (!is_empty && facts.is_map()) {
        wire::Fields fields{facts};
        (void)fields.find("name");
        type = read_gpu_type(fields.find("gpuType"));
        fields.report_unknown(strict);
    }
    if (!pool.nodes.emplace(name, type).second) field.error("node " + name + " is given twice");
}

// A map of names, or a list of names.
void read_nodes(const wire::Field& field, bool strict, PoolObject& pool) {
    if (!field) return;
    if (field.json().size() > kNodesPerPoolMax) {
        return field.error("more than " + std::to_string(kNodesPerPoolMax) + " nodes");
    }
    if (field.json().is_object()) {
        for (const auto& [name, member] : field.json().items()) {
            const wire::Field node{field.document(), &member,
                                   wire::pointer_to(field.pointer(), name), field.problems()};
            add_node(node, name, node, strict, pool);
        }
        return;
    }
    if (!field.json().is_array()) {
        return field.error("must be a map of nodes, such as {host-a: {gpuType: A100-80G}}, or a " +
                           std::string{"list of their names"});
    }
    for (const wire::Field& element : field.elements()) {
        if (element && element.json().is_object()) {
            const wire::Field name = member_of(element, "name");
            if (!name) {
                element.error("a node needs a name");
                continue;
            }
            add_node(element, name.word().value_or(""), element, strict, pool);
        } else if (const auto name = element.word()) {
            add_node(element, *name, wire::Field{}, strict, pool);
        }
    }
}

// One type, or a list or map of types.
void read_gpu_types(const wire::Field& field, PoolObject& pool) {
    if (!field) return;
    if (field.json().is_string()) {
        const std::string type = read_gpu_type(field);
        if (!type.empty()) pool.gpu_types.push_back(type);
    } else if (field.json().is_object()) {
        for (const auto& [type, count] : field.json().items()) pool.gpu_types.push_back(type);
    } else if (field.is_list()) {
        for (const wire::Field& element : field.elements()) {
            pool.gpu_types.push_back(read_gpu_type(element));
        }
    }
}

void read_pool_limits(const wire::Field& field, bool strict, PoolObject& pool) {
    if (!field || !field.is_map()) return;
    wire::Fields fields{field};
    pool.jobs_maximum = fields.find("maxJobs").integer(1, kJobsMaximum);
    if (const wire::Field most = fields.find("maxGpuPerJob")) {
        const auto milli = read_thousandths(most, "GPUs");
        if (milli) pool.gpus_per_job_maximum = GpuMilli{*milli};
    }
    fields.report_unknown(strict);
}

// Whole GPUs; "8" is as good as 8.
std::optional<GpuMilli> read_whole_gpus(const wire::Field& field) {
    if (!field) return std::nullopt;
    const auto written = field.word();
    if (!written) return std::nullopt;
    const auto milli = parse_quantity(*written, 3);
    if (milli && *milli >= 0 && *milli % 1'000 == 0) return GpuMilli{*milli};
    field.error("must be a whole number of GPUs, 0 or more, not \"" + *written + "\"");
    return std::nullopt;
}

// The amounts of one namespace.
void read_amounts(wire::Fields& fields, QuotaObject& quota) {
    if (const wire::Field cpu = fields.find("cpu")) {
        if (const auto milli = read_thousandths(cpu, "cores")) quota.cpu = CpuMilli{*milli};
    }
    if (const wire::Field memory = fields.find("memory")) {
        if (const auto bytes = read_size(memory, 0, INT64_MAX / 4)) quota.memory = Bytes{*bytes};
        if (quota.memory && *quota.memory > Bytes{} && *quota.memory < Bytes{1 << 20}) {
            memory.warning(std::to_string(quota.memory->value()) +
                           " bytes are less than any job requests; is a unit such as Gi missing?");
        }
    }
    quota.gpus = read_whole_gpus(fields.find({"gpu", "nvidia.com/gpu"}));
    quota.pods = fields.find("pods").integer(0, kPodsMaximum);
}

void read_one_quota(const wire::Field& field, const std::string& namespace_name, QuotaObject quota,
                    bool strict, std::vector<QuotaObject>& out) {
    if (const std::string wrong = wire::problem_with_label(namespace_name); !wrong.empty()) {
        return field.error("\"" + namespace_name + "\" " + wrong);
    }
    const bool is_double = std::any_of(out.begin(), out.end(), [&](const QuotaObject& other) {
        return other.namespace_name == namespace_name;
    });
    if (is_double) return field.error("namespace " + namespace_name + " is given twice");
    quota.namespace_name = namespace_name;
    if (field && field.is_map()) {
        wire::Fields fields{field};
        read_amounts(fields, quota);
        fields.report_unknown(strict);
    }
    out.push_back(std::move(quota));
}

struct QueueKeys {
    std::string pool;
    std::string parent;
    QueuePolicy queue;
};

std::vector<Key<QueueKeys>> queue_keys() {
    std::vector<Key<QueueKeys>> table{text("pool", &QueueKeys::pool, "the pool of the queue"),
                                      text("parent", &QueueKeys::parent, "the queue above it")};
    for (const Key<QueuePolicy>& key : keys<QueuePolicy>()) {
        table.push_back(lift(&QueueKeys::queue, key));
    }
    return table;
}

// Where the keys of a queue are: below its header, in `spec`, or in the document itself.
wire::Field place_of_queue(const ObjectSource& source) {
    wire::Fields root{source.root()};
    const wire::Field header = root.find("queue");
    if (header && header.json().is_object()) return header;
    return source.root();
}

}  // namespace

std::vector<PoolObject> read_pools(const ObjectSource& source) {
    PoolObject pool;
    Parts parts{source, {"pool", "resource"}};
    const wire::Field name = parts.header().require("name");
    pool.name = pool_name(read_name(name, wire::problem_with_label));
    pool.description = read_description(parts.header());
    if (!parts.is_flat()) (void)parts.header().find("namespace");
    read_nodes(parts.find({"nodes"}), source.strict, pool);
    read_gpu_types(parts.find({"gpuType", "gpuTypes"}), pool);
    read_pool_limits(parts.find({"quota", "limits"}), source.strict, pool);
    parts.finish();
    return {pool};
}

std::vector<QuotaObject> read_quotas(const ObjectSource& source) {
    std::vector<QuotaObject> out;
    QuotaObject base;
    Parts parts{source, {"quota"}};
    base.name = read_name(parts.header().find("name"), wire::problem_with_subdomain);
    base.description = read_description(parts.header());
    const wire::Field spaces = parts.root().find({"namespace", "namespaces", "users"});
    const wire::Field of_default = parts.root().find("default");
    if (spaces && spaces.json().is_object()) {
        for (const auto& [name, member] : spaces.json().items()) {
            const wire::Field one{source.document, &member,
                                  wire::pointer_to(spaces.pointer(), name), source.problems};
            read_one_quota(one, name, base, source.strict, out);
        }
    } else {
        // Flat, or `metadata: {name, namespace}` and `spec`.
        const wire::Field space = spaces ? spaces : parts.header().find("namespace");
        if (space) {
            base.namespace_name = read_name(space, wire::problem_with_label);
            if (parts.has_spec()) {
                wire::Fields fields{member_of(source.root(), "spec")};
                read_amounts(fields, base);
                for (const char* known : {"cpu", "memory", "gpu", "pods"})
                    (void)parts.find({known});
            } else {
                read_amounts(parts.root(), base);
            }
            out.push_back(base);
        }
    }
    if (of_default.is_written()) {
        read_one_quota(of_default, "default", base, source.strict, out);
    }
    if (base.name.empty() && !parts.is_flat()) (void)parts.header().require("name");
    if (out.empty() && source.problems.errors.empty()) {
        source.root().error(
            "a quota needs a namespace: give `namespace: {team-a: {cpu: 16, "
            "memory: 64Gi, gpu: 8}}` or `default: {...}`");
    }
    parts.finish();
    for (QuotaObject& quota : out) {
        if (quota.name.empty()) quota.name = quota.namespace_name;
    }
    return out;
}

std::vector<QueueObject> read_queues(const ObjectSource& source) {
    const wire::Field place = place_of_queue(source);
    QueueKeys read;
    std::vector<Key<QueueKeys>> table = queue_keys();
    if (place.pointer().empty()) {
        for (const char* known : {"kind", "version"}) {
            table.push_back({known, "", false, [](const wire::Field&, QueueKeys&) {}, {}});
        }
    }
    if (read_keys(place, read, table)) {
        check(read.queue, place);
        if (const wire::Field below = member_of(place, "queues")) {
            below.error(
                "a queue object has no sub-queues; make each of them an object of its own, "
                "with parent: " +
                read.queue.name);
        }
        if (read.queue.name == kDefaultQueue) {
            place.error("every pool has the queue default; choose another name");
        }
        check_label(place, "pool", read.pool);
    }
    QueueObject queue{pool_name(read.pool), std::move(read.queue)};
    queue.queue.parent = read.parent;
    return {std::move(queue)};
}

std::vector<NamespaceObject> read_namespaces(const ObjectSource& source) {
    NamespaceObject out;
    Parts parts{source, {"namespace", "ns"}};
    out.name = read_name(parts.header().require("name"), wire::problem_with_label);
    out.description = read_description(parts.header());
    (void)parts.header().find("labels");
    parts.finish();
    return {out};
}

ordered_json to_json(const PoolObject& pool) {
    ordered_json body{{"kind", "pool"}, {"name", pool.name}};
    if (!pool.description.empty()) body["description"] = pool.description;
    body["nodes"] = ordered_json::object();
    for (const auto& [name, type] : pool.nodes) {
        body["nodes"][name] = ordered_json::object();
        if (!type.empty()) body["nodes"][name]["gpuType"] = type;
    }
    if (!pool.gpu_types.empty()) body["gpuType"] = pool.gpu_types;
    if (pool.jobs_maximum) body["quota"]["maxJobs"] = *pool.jobs_maximum;
    if (pool.gpus_per_job_maximum) {
        body["quota"]["maxGpuPerJob"] = format_gpus(*pool.gpus_per_job_maximum);
    }
    return body;
}

ordered_json to_json(const QuotaObject& quota) {
    ordered_json body{{"kind", "quota"}, {"name", quota.name}};
    if (!quota.description.empty()) body["description"] = quota.description;
    body["namespace"] = quota.namespace_name;
    if (quota.cpu) body["cpu"] = format_cpu(*quota.cpu);
    if (quota.memory) body["memory"] = format_bytes(*quota.memory);
    if (quota.gpus) body["gpu"] = format_gpus(*quota.gpus);
    if (quota.pods) body["pods"] = *quota.pods;
    return body;
}

ordered_json to_json(const NamespaceObject& name_space) {
    ordered_json body{{"kind", "namespace"}, {"name", name_space.name}};
    if (!name_space.description.empty()) body["description"] = name_space.description;
    return body;
}

ordered_json queue_json(const ObjectSource& source, const QueueObject& queue) {
    const wire::Field place = place_of_queue(source);
    ordered_json body{{"kind", "queue"}, {"pool", queue.pool}};
    if (!place || !place.json().is_object()) return body;
    for (const auto& [name, member] : place.json().items()) {
        if (name != "kind" && name != "version" && name != "pool") body[name] = member;
    }
    return body;
}

}  // namespace gpuctl::config
