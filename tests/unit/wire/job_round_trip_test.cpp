// What encode_job writes, decode_job reads back as the same job: through JSON and through YAML.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "scheduler/model/gpu/gpu_string.hpp"
#include "unit/wire/support.hpp"
#include "wire/job/job_document.hpp"

namespace gpuctl::wire {
namespace {

std::string label(std::size_t length_max) {
    const auto characters = rc::gen::elementOf(std::string{"abcxyz019-"});
    std::string text = "a" + *rc::gen::container<std::string>(characters);
    if (text.size() > length_max) text.resize(length_max);
    if (text.back() == '-') text.back() = 'z';
    return text;
}

std::string any_text() {
    return *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string{"abcXYZ019 -_:#,[]{}'\"\\/&*!|>%@`~?.\n\t"}));
}

std::string any_path() {
    return *rc::gen::container<std::string>(rc::gen::elementOf(std::string{"abcXYZ019-_./?=&%~"}));
}

std::vector<std::string> texts() {
    std::vector<std::string> result;
    const int size = *rc::gen::inRange(0, 4);
    for (int i = 0; i < size; ++i) result.push_back(any_text());
    return result;
}

GpuRequest any_gpu() {
    const std::string text = *rc::gen::element<std::string>(
        "0", "1", "8", "2(V100)", "4(npu)", "1(amd,W7900)", "1(MI300X)", "3(mig-1g.10gb)",
        "2(vgpu)", "0.5(T4)", "8Gi,0.6(A100)");
    return parse_gpu_string(text).value();
}

TopologyRules any_topology(JobKind kind) {
    const auto level = [] { return static_cast<TopologyLevel>(*rc::gen::inRange(0, 5)); };
    TopologyRules rules{level(), level(), level()};
    if (kind != JobKind::training) rules.required = TopologyLevel::none;
    return problem_with(rules).empty() ? rules : TopologyRules{};
}

Duration any_duration() { return Duration{*rc::gen::inRange<std::int64_t>(0, 1'000'000'000)}; }

// Elastic, by that many ranks; with a speedup every other time.
void fill_sizes(JobSpec& spec, std::int32_t more) {
    spec.replicas_max += more;
    if (more == 0 || *rc::gen::arbitrary<bool>()) return;
    spec.speeds.push_back({spec.replicas_min, kSpeedOfOne});
    for (std::int32_t ranks = spec.replicas_min + 1; ranks <= spec.replicas_max; ++ranks) {
        if (*rc::gen::arbitrary<bool>()) {
            spec.speeds.push_back({ranks, *rc::gen::inRange(1, 1'000'001)});
        }
    }
}

void fill_ranks(JobSpec& spec) {
    if (spec.kind == JobKind::training) {
        spec.replicas_min = spec.replicas_max = *rc::gen::inRange(1, 10);
        fill_sizes(spec, *rc::gen::inRange(0, 10));
        return;
    }
    spec.service.port = *rc::gen::inRange(1, 65536);
    spec.service.target_port = *rc::gen::inRange(0, 65536);
    spec.service.protocol = *rc::gen::element<std::string>("TCP", "UDP", "SCTP");
    spec.service.type = *rc::gen::element<std::string>("NodePort", "ClusterIP", "LoadBalancer");
    spec.service.timeout = any_duration();
    if (spec.kind != JobKind::notebook) {
        spec.service.replicas = *rc::gen::inRange(0, 10);
        if (*rc::gen::arbitrary<bool>()) spec.service.health_check = "/" + any_path();
    }
    spec.replicas_min = spec.replicas_max = spec.service.replicas;
}

void fill_storage(JobSpec& spec) {
    std::set<std::string> paths;
    const int workdirs = *rc::gen::inRange(0, 4);
    for (int i = 0; i < workdirs; ++i) paths.insert("/" + label(20) + "/" + label(20));
    spec.workdirs.assign(paths.begin(), paths.end());
    std::set<std::string> names;
    const int claims = *rc::gen::inRange(0, 3);
    for (int i = 0; i < claims; ++i) names.insert(label(20));
    for (const std::string& name : names) {
        spec.claims.push_back({name, "/" + label(30),
                               Bytes{*rc::gen::inRange<std::int64_t>(1, 1ll << 50)},
                               *rc::gen::element<std::string>("", "fast", "a.b-c")});
    }
}

void fill_extras(JobSpec& spec) {
    JobExtras& extras = spec.extras;
    if (*rc::gen::arbitrary<bool>()) extras.labels = {{"team", "a"}, {"example.com/x", ""}};
    if (*rc::gen::arbitrary<bool>()) extras.annotations = {{"example.com/note", any_text()}};
    if (spec.kind == JobKind::training) {
        extras.epochs = *rc::gen::inRange(0, 100);
        extras.batch_size = *rc::gen::inRange(0, 100);
        extras.resume_from_checkpoint = *rc::gen::arbitrary<bool>();
    }
    if (spec.kind != JobKind::inference) return;
    extras.has_autoscaling = *rc::gen::arbitrary<bool>();
    if (extras.has_autoscaling) {
        extras.autoscaling = {*rc::gen::arbitrary<bool>(), *rc::gen::inRange(1, 5),
                              *rc::gen::inRange(5, 10),    *rc::gen::inRange(0, 101),
                              *rc::gen::inRange(0, 101),   *rc::gen::inRange(1, 101)};
    }
    if (*rc::gen::arbitrary<bool>()) {
        extras.model = {"hub", "llama3", *rc::gen::element<std::string>("", "v2"), "gguf",
                        *rc::gen::arbitrary<bool>()};
    }
}

JobSpec any_job() {
    JobSpec spec;
    spec.kind = *rc::gen::element(JobKind::training, JobKind::inference, JobKind::notebook,
                                  JobKind::compute);
    spec.version = *rc::gen::element<std::string>("v0.1", "v1", "1.0", "null", "");
    spec.key = {label(63), label(52)};
    spec.priority = *rc::gen::element(JobPriority::low, JobPriority::medium, JobPriority::high);
    spec.description = any_text();
    spec.queue = *rc::gen::element<std::string>("", "research", "q-1");
    spec.preemptible = *rc::gen::arbitrary<bool>();
    spec.run_time_max = any_duration();
    spec.checkpoint_interval = any_duration();
    spec.restart_cost = any_duration();
    spec.run_time_expected = any_duration();
    if (spec.run_time_max > Duration{}) {
        spec.run_time_expected = std::min(spec.run_time_expected, spec.run_time_max);
    }
    spec.image = *rc::gen::element<std::string>("nginx", "r.example.com/a/b:v1.0@sha256:00", "1");
    const int secrets = *rc::gen::inRange(0, 3);
    for (int i = 0; i < secrets; ++i) spec.image_pull_secrets.push_back(label(30));
    spec.command = texts();
    spec.args = texts();
    std::set<std::string> names;
    for (const std::string& value : texts()) {
        EnvironmentVariable variable{"A_" + std::to_string(names.size()), value, ""};
        if (*rc::gen::inRange(0, 4) == 0) {
            variable.value.clear();
            variable.value_from_json = nlohmann::json{{"fieldRef", {{"fieldPath", value}}}}.dump();
        }
        names.insert(variable.name);
        spec.environment.push_back(std::move(variable));
    }
    spec.pool = *rc::gen::element<std::string>("", "training-pool", "p1");
    spec.gpu = any_gpu();
    spec.gpu_type = spec.gpu.model;
    if (*rc::gen::arbitrary<bool>()) spec.gpu_type += spec.gpu.model.empty() ? "T4" : "-32G";
    if (spec.gpu.mode != GpuMode::fraction) {  // of which it becomes a part
        spec.gpu_share = *rc::gen::element<std::string>("", "2Gi");
    }
    fill_extras(spec);
    spec.cpu = CpuMilli{*rc::gen::inRange<std::int64_t>(1, 100'000'000)};
    spec.memory = Bytes{*rc::gen::inRange<std::int64_t>(1 << 20, 1ll << 50)};
    fill_ranks(spec);
    fill_storage(spec);
    spec.topology = any_topology(spec.kind);
    const bool is_strict = spec.topology.required != TopologyLevel::none ||
                           spec.topology.spread != TopologyLevel::none;
    const bool has_type = spec.gpu.mode != GpuMode::none && !spec.gpu_type.empty();
    if (has_type && !is_strict && *rc::gen::arbitrary<bool>()) {
        spec.gpu_types_next = {spec.gpu_type + "-next", spec.gpu_type + "-last"};
    }
    return spec;
}

void check_read_back(const JobSpec& spec, const Document& document) {
    const auto decoded = decode_job(document, {});
    if (decoded.has_error()) RC_LOG() << joined(decoded.error().details);
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(decoded->spec == spec);
    for (const Detail& warning : decoded->warnings) {
        RC_ASSERT(warning.message.find("unknown") == std::string::npos);
    }
}

RC_GTEST_PROP(JobRoundTrip, a_job_survives_its_canonical_document, ()) {
    const JobSpec spec = any_job();
    const std::string text = encode_job(spec).dump(*rc::gen::element(-1, 2));
    check_read_back(spec, parse_json(text).value());
    check_read_back(spec, parse_yaml(text).value().at(0));
}

TEST(JobRoundTrip, the_canonical_document_keeps_the_documented_order) {
    JobSpec spec;
    spec.kind = JobKind::inference;
    spec.key = {"team-x", "chat-a"};
    spec.image = "repo/img:tag";
    spec.pool = "infer";
    spec.gpu = parse_gpu_string("1(A100)").value();
    spec.gpu_type = "A100";
    spec.cpu = CpuMilli{8000};
    spec.memory = Bytes{32ll << 30};
    spec.service.replicas = spec.replicas_min = spec.replicas_max = 2;
    spec.service.health_check = "/health";
    spec.workdirs = {"/data/models"};
    EXPECT_EQ(encode_job(spec).dump(),
              R"json({"kind":"inference","version":"v0.1",)json"
              R"json("job":{"name":"chat-a","namespace":"team-x","priority":"medium",)json"
              R"json("preemptible":false},"environment":{"image":"repo/img:tag"},)json"
              R"json("service":{"replicas":2,"port":8000,"healthCheck":"/health"},)json"
              R"json("resources":{"pool":"infer","gpu":"1(A100)","gpuType":"A100","cpu":8,)json"
              R"json("memory":"32Gi"},"storage":{"workdirs":[{"path":"/data/models"}]}})json");
}

}  // namespace
}  // namespace gpuctl::wire
