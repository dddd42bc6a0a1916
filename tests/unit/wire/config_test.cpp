#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "daemon/config/load.hpp"
#include "scheduler/base/ascii.hpp"
#include "unit/wire/support.hpp"

namespace gpuctl::config {
namespace {

using wire::read_source;

Config loaded(const std::string& yaml, const std::map<std::string, std::string>& environment = {}) {
    const auto config = parse(yaml, "test.yaml", environment);
    EXPECT_TRUE(config.has_value()) << config.error().message;
    return config.has_value() ? *config : Config{};
}

std::string refusal(const std::string& yaml,
                    const std::map<std::string, std::string>& environment = {}) {
    const auto config = parse(yaml, "test.yaml", environment);
    if (config.has_value()) return "accepted";
    EXPECT_EQ(config.error().code, ErrorCode::InvalidConfiguration);
    return config.error().message;
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(ShippedConfiguration, shows_every_key_with_its_default_and_is_what_print_config_prints) {
    const std::string shipped = read_source("config/gpuctld.yaml");
    EXPECT_EQ(shipped, print_config(Config{}))
        << "a key was added or changed: write print_config(Config{}) to config/gpuctld.yaml";
    const auto config = parse(shipped, "config/gpuctld.yaml");
    ASSERT_TRUE(config.has_value()) << config.error().message;
    EXPECT_EQ(print_config(*config), print_config(Config{}));
    EXPECT_FALSE(check_reloadable(Config{}, *config).has_error());
    EXPECT_FALSE(check_safe(*config).has_error());
    for (const KeyDescription& key : describe_keys()) {
        const std::string name = key.path.substr(key.path.rfind('.') + 1);
        EXPECT_TRUE(holds(shipped, name + ":")) << key.path;
        EXPECT_TRUE(holds(shipped, "# " + key.meaning)) << key.path;
        EXPECT_FALSE(key.meaning.empty()) << key.path;
    }
}

TEST(ShippedConfiguration, an_empty_file_means_the_defaults) {
    for (const char* text : {"", "# nothing\n", "server:\n", "{}"}) {
        EXPECT_EQ(print_config(loaded(text)), print_config(Config{})) << text;
    }
}

constexpr const char* kManyKeys = R"(
server:
  address: 0.0.0.0
  port: 9000
  tls: {certificateFile: /c, keyFile: /k, clientCaFile: /ca}
  tokensFile: /t
  metricsRequireToken: true
  shutdownTimeout: 1m
cluster:
  mode: kubernetes
  kubernetes:
    kubeconfig: /kube
    context: c
    schedulerName: other
    lease: {enabled: false, namespace: n, name: l, duration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
    bindTimeout: 2s
    events: off
    hostPathRoots: [/data, /home]
    podDefaults:
      - {runAsNonRoot: true, seccompProfile: RuntimeDefault}
      - pool: p
        serviceAccountName: trainer
        runAsUser: 1000
        runAsGroup: 1001
        fsGroup: 1002
        tolerations: [{key: dedicated, value: gpu, effect: NoSchedule}]
        environment: {NCCL_SOCKET_IFNAME: eth0}
policy:
  pools:
    - name: p
      description: d
      queues:
        - {name: a, priority: 5, weight: 2, guaranteed: 1.5, maximum: 8}
        - {name: b}
      preemption: {victims: preemptible}
  tenants:
    - {name: t, weight: 3, gpuMaximum: 4, cpuMaximum: 500m, memoryMaximum: 1Ti, queue: a}
  defaultTenantWeight: 7
  defaultTenantGpuMaximum: 9
expert:
  scheduling:
    podsReservedPerNode: 1
    backoffInitial: 2s
    backoffMaximum: 3m
    gangBindDeadline: 40s
    planAttemptsMax: 99
  server: {connectionsMax: 10, bodyBytesMax: 512Ki, logStreamsMax: 11, requestTimeout: 31s,
           sessionsMax: 12, sessionsPerCallerMax: 4, sessionIdle: 5m, sessionLongest: 2h}
  kubernetes: {bindsInFlightMax: 8, conditionsPerSecond: 3, successEventsPerSecond: 1, failureEventsPerSecond: 2}
  journal: {segmentBytesMax: 1Mi, snapshotEveryInputs: 5, queueMax: 100}
  logs: {ringLinesPerSubscriber: 1, historyLinesPerPod: 2, lineBytesMax: 4Ki, pingInterval: 5s}
  metrics: {tenantLabelsMax: 3}
journal: {directory: /j}
logging: {level: debug, format: json}
names: {labelPrefix: gpu.example.com}
)";

TEST(Configuration, every_key_arrives_where_it_belongs) {
    const Config config = loaded(kManyKeys);
    EXPECT_EQ(config.server.address, "0.0.0.0");
    EXPECT_EQ(config.server.port, 9000);
    ASSERT_TRUE(config.server.tls);
    EXPECT_EQ(config.server.tls->client_ca_file, "/ca");
    EXPECT_EQ(config.server.body_bytes_max, 512u << 10);
    EXPECT_EQ(config.server.shutdown_timeout, seconds{60});
    EXPECT_EQ(config.server.sessions_max, 12U);
    EXPECT_EQ(config.server.sessions_per_caller_max, 4U);
    EXPECT_EQ(config.server.session_idle, seconds{300});
    EXPECT_EQ(config.server.session_longest, seconds{7200});
    EXPECT_EQ(config.cluster.mode, ClusterMode::kubernetes);
    EXPECT_EQ(config.cluster.kubernetes.scheduler_name, "other");
    EXPECT_FALSE(config.cluster.kubernetes.lease.enabled);
    EXPECT_EQ(config.cluster.kubernetes.lease.retry_period, milliseconds{500});
    EXPECT_EQ(config.cluster.kubernetes.events, KubernetesEvents::off);
    EXPECT_EQ(config.cluster.kubernetes.host_path_roots,
              (std::vector<std::string>{"/data", "/home"}));
    ASSERT_EQ(config.cluster.kubernetes.pod_defaults.size(), 2u);
    EXPECT_TRUE(config.cluster.kubernetes.pod_defaults[0].run_as_non_root);
    EXPECT_EQ(config.cluster.kubernetes.pod_defaults[0].seccomp_profile, "RuntimeDefault");
    const PodDefaults& defaults = config.cluster.kubernetes.pod_defaults[1];
    EXPECT_EQ(defaults.pool, "p");
    EXPECT_EQ(defaults.service_account, "trainer");
    EXPECT_EQ(defaults.run_as_user, 1000);
    EXPECT_EQ(defaults.run_as_group, 1001);
    EXPECT_EQ(defaults.fs_group, 1002);
    ASSERT_EQ(defaults.tolerations.size(), 1u);
    EXPECT_EQ(defaults.tolerations[0].key, "dedicated");
    EXPECT_EQ(defaults.environment.at("NCCL_SOCKET_IFNAME"), "eth0");
    ASSERT_EQ(config.policy.pools.size(), 1u);
    const QueuePolicy a{"a", 5, 2, GpuMilli{1500}, whole_gpus(8)};
    EXPECT_EQ(config.policy.pools[0].queues[0], a);
    EXPECT_EQ(config.policy.pools[0].preemption.victims, PreemptionVictims::preemptible);
    EXPECT_EQ(PreemptionPolicy{}.victims, PreemptionVictims::lower_priority);
    EXPECT_EQ(config.policy.pools[0].queues[1], (QueuePolicy{"b", 0, 1, {}, {}}));
    const TenantPolicy t{"t", 3, whole_gpus(4), CpuMilli{500}, Bytes{1ll << 40}, "a"};
    EXPECT_EQ(config.policy.tenants, std::vector<TenantPolicy>{t});
    EXPECT_EQ(config.policy.default_tenant_gpu_maximum, whole_gpus(9));
    EXPECT_EQ(config.policy.backoff_maximum, Duration{180'000});
    EXPECT_EQ(config.journal.segment_bytes_max, 1u << 20);
    EXPECT_EQ(config.logs.ping_interval, seconds{5});
    EXPECT_EQ(config.logging.level, "debug");
    EXPECT_EQ(config.names.label_prefix, "gpu.example.com");

    // The printed text reads back as the same configuration: printing knows every key, too.
    const std::string printed = print_config(config);
    EXPECT_EQ(print_config(loaded(printed)), printed);
    EXPECT_EQ(loaded(printed).policy, config.policy);
    EXPECT_TRUE(holds(printed, "events: \"off\"")) << "older YAML reads off as false";
    EXPECT_TRUE(holds(printed, "labelPrefix: gpu.example.com"));
    EXPECT_FALSE(check_safe(config).has_error());
}

TEST(Configuration, unknown_keys_are_errors_with_place_and_nearest_name) {
    EXPECT_EQ(refusal("server:\n  prot: 80\n"),
              "test.yaml:2:3: unknown key \"prot\"; did you mean port?");
    EXPECT_EQ(refusal("sevrer: {}\n"),
              "test.yaml:1:1: unknown key \"sevrer\"; did you mean server?");
    EXPECT_EQ(refusal("policy:\n  pools:\n    - name: a\n      queues:\n        - {nam: x}\n"),
              "test.yaml:5:11: policy.pools.0.queues.0.name is missing (and 1 more)");
    EXPECT_TRUE(holds(refusal("zzz: 1\n"), "test.yaml:1:1: unknown key \"zzz\""));
}

// A configuration, and what its refusal says.
constexpr std::pair<const char*, const char*> kWrong[] = {
    {"server: 5", "test.yaml:1:1: server must be a map of keys and values, not a whole number"},
    {"server: {port: eighty}",
     "server.port must be a whole number from 0 to 65535, not \"eighty\""},
    {"server: {port: 65536}", "server.port must be from 0 to 65535, not 65536"},
    {"server: {port: -1}", "server.port must be from 0 to 65535"},
    {"server: {address: example.com}", "\"example.com\" is not an IP address"},
    {"server: {tls: {certificateFile: /c}}", "server.tls needs keyFile"},
    {"server: {metricsRequireToken: yes}",
     "server.metricsRequireToken must be true or false, not \"yes\""},
    {"expert: {server: {bodyBytesMax: lots}}",
     "expert.server.bodyBytesMax must be a size such as 64Mi"},
    {"expert: {server: {bodyBytesMax: 1Gi}}",
     "expert.server.bodyBytesMax must be from 1Ki to 1Mi, not 1Gi"},
    {"expert: {server: {requestTimeout: 30}}", "expert.server.requestTimeout must be a duration"},
    {"expert: {server: {requestTimeout: 1500ms}}",
     "expert.server.requestTimeout must be whole seconds"},
    {"expert: {server: {requestTimeout: 0s}}",
     "expert.server.requestTimeout must be from 1s to 1h, not 0s"},
    {"cluster: {mode: k8s}", "cluster.mode must be one of embedded, kubernetes, not \"k8s\""},
    {"cluster: {kubernetes: {context: a}}",
     "cluster.kubernetes is given, but cluster.mode is embedded"},
    {"cluster: {mode: kubernetes, embedded: {seed: 1}}",
     "cluster.embedded is given, but cluster.mode is kubernetes"},
    {"cluster: {mode: kubernetes, kubernetes: {lease: {duration: 5s}}}",
     "must be longer than lease.renewDeadline"},
    {"cluster: {mode: kubernetes, kubernetes: {lease: {retryPeriod: 10s}}}",
     "must be longer than lease.retryPeriod"},
    {"cluster: {mode: kubernetes, kubernetes: {bindTimeout: 6s}}",
     "bindTimeout 6s must not be longer than"},
    {"cluster: {mode: kubernetes, kubernetes: {podDefaults: [{seccompProfile: None}]}}",
     "must be RuntimeDefault or Unconfined, not \"None\""},
    {"cluster: {mode: kubernetes, kubernetes: {podDefaults: [{}, {runAsUser: 5}]}}",
     "two entries are for every pool"},
    {"cluster: {mode: kubernetes, kubernetes: {podDefaults: [{pool: a}, {pool: a}]}}",
     "pool a is given twice"},
    {"cluster: {mode: kubernetes, kubernetes: {podDefaults: [{runAsNonRoot: true, runAsUser: 0}]}}",
     "which is root"},
    {"cluster: {mode: kubernetes, kubernetes: {podDefaults: [{tolerations: [{effect: No}]}]}}",
     "must be NoSchedule, PreferNoSchedule or NoExecute, not"},
    {"cluster: {mode: kubernetes, kubernetes: {podDefaults: [{environment: {1A: x}}]}}",
     "the variable name \"1A\""},
    {"cluster: {embedded: {hostPathRoots: [data]}}", "must be absolute"},
    {"cluster: {mode: kubernetes, kubernetes: {hostPathRoots: [data]}}",
     "\"data\" must be absolute"},
    {"cluster: {mode: kubernetes, kubernetes: {hostPathRoots: /data}}",
     "hostPathRoots must be a list"},
    {"cluster: {embedded: {nodes: []}}", "embedded.nodes is empty"},
    {"cluster: {embedded: {nodes: [{count: 2}]}}", "cluster.embedded.nodes.0.name is missing"},
    {"cluster: {embedded: {nodes: [{name: a}, {name: a}]}}", "the node group a is given twice"},
    {"cluster: {embedded: {nodes: [{name: a, gpus: 1, gpuResource: x/y}]}}",
     "not a resource of a known GPU vendor"},
    {"cluster: {embedded: {nodes: [{name: A_B}]}}", "\"A_B\" has a 'A' in it"},
    {"cluster: {embedded: {nodes: [{name: a, gpus: 1, gpuModel: H100-80GB, migSlices: "
     "[1g.5gb]}]}}",
     "H100-80GB has no MIG profile 1g.5gb; the nearest are 1g.10gb"},
    {"cluster: {embedded: {nodes: [{name: a, gpus: 1, gpuModel: H100-80GB, migSlices: "
     "[4g.40gb, 2g.20gb, 2g.20gb]}]}}",
     "4g.40gb, 2g.20gb, 2g.20gb do not fit on one GPU of model H100-80GB together"},
    {"cluster: {embedded: {nodes: [{name: a, gpus: 1, gpuModel: T4, migSlices: [1g.5gb]}]}}",
     "has no known MIG profiles"},
    {"cluster: {embedded: {nodes: [{name: a, gpus: 1, gpuModel: A30, migSlices: [1g.6gb], "
     "gpuReplicas: 2}]}}",
     "either partitioned (migSlices) or shared"},
    {"policy: {pools: [{name: a, queues: [{name: q, weight: 0}]}]}", "weight must be from 1 to"},
    {"policy: {pools: [{name: a, queues: [{name: q, guaranteed: 9, maximum: 8}]}]}",
     "queue q is guaranteed 9 GPUs, more than its maximum 8"},
    {"policy: {pools: [{name: a, queues: [{name: q, guaranteed: -1}]}]}",
     "must be a number of GPUs, 0 or more"},
    {"policy: {pools: [{name: a, queues: [{name: q}, {name: q}]}]}", "the queue q is given twice"},
    {"policy: {pools: [{name: a}, {name: a}]}", "the pool a is given twice"},
    {"policy: {tenants: [{name: t}, {name: t}]}", "the tenant t is given twice"},
    {"policy: {pools: [{name: a, queues: [{name: research}]}], tenants: [{name: t, queue: "
     "reserach}]}",
     "no pool has the queue reserach of tenant t; did you mean research?"},
    {"policy: {pools: [~]}", "policy.pools.0 must be a map of keys and values, not empty"},
    {"policy: {tenants: [~]}", "policy.tenants.0 must be a map of keys and values"},
    {"policy: {maintenance: [~]}", "policy.maintenance.0 must be a map of keys and values"},
    {"policy: {tenants: [{name: t, pools: [~]}]}", "policy.tenants.0.pools.0 must be a map"},
    {"expert: {scheduling: {backoffInitial: 2m}}", "backoffInitial is longer than"},
    {"logging: {level: loud}", "logging.level must be one of debug, info, warn, error"},
    {"names: {labelPrefix: Runwhere}", "names.labelPrefix \"Runwhere\" has a 'R' in it"},
    {"names: {labelPrefix: local}", "must be a domain such as runwhere.ai"},
    {"[1, 2]", "a configuration must be a map of sections, not a list"},
    {"a: 1\n---\nb: 2\n", "contains 2 documents"},
    {"server: {port: 1, port: 2}",
     "test.yaml:1:19: the key \"port\" is already given at line 1, column 10"},
    {"server:\n\tport: 1\n", "test.yaml:2:1: a TAB cannot indent YAML; use spaces"},
};

TEST(Configuration, wrong_types_and_impossible_values_are_errors_with_their_place) {
    for (const auto& [yaml, expected] : kWrong) {
        const std::string message = refusal(yaml);
        EXPECT_TRUE(holds(message, expected)) << yaml << "\n -> " << message;
        EXPECT_EQ(message.rfind("test.yaml", 0), 0u) << message;
    }
}

TEST(Configuration, the_environment_wins_over_the_file) {
    const Config config =
        loaded("server: {port: 1}\n", {{"GPUCTLD_SERVER_PORT", "9000"},
                                       {"GPUCTLD_SERVER_TOKENS_FILE", "/t"},
                                       {"GPUCTLD_CLUSTER_MODE", "kubernetes"},
                                       {"GPUCTLD_CLUSTER_KUBERNETES_LEASE_ENABLED", "false"},
                                       {"GPUCTLD_CLUSTER_KUBERNETES_HOST_PATH_ROOTS", "[/a, /b]"},
                                       {"GPUCTLD_CONFIG", "/etc/x"},
                                       {"PATH", "/bin"}});
    EXPECT_EQ(config.server.port, 9000);
    EXPECT_EQ(config.server.tokens_file, "/t");
    EXPECT_FALSE(config.cluster.kubernetes.lease.enabled);
    EXPECT_EQ(config.cluster.kubernetes.host_path_roots, (std::vector<std::string>{"/a", "/b"}));
    EXPECT_EQ(refusal("", {{"GPUCTLD_SERVER_PROT", "1"}}),
              "environment variable GPUCTLD_SERVER_PROT is not a key of gpuctld.yaml; did you mean "
              "GPUCTLD_SERVER_PORT?");
    EXPECT_EQ(
        refusal("", {{"GPUCTLD_SERVER_PORT", "x"}}),
        "environment variable GPUCTLD_SERVER_PORT: server.port must be a whole number from 0 to "
        "65535, not \"x\"");
    EXPECT_TRUE(
        holds(refusal("server: 5\n", {{"GPUCTLD_SERVER_PORT", "1"}}), "GPUCTLD_SERVER_PORT"));
}

// k8s.io/kubernetes/pkg/kubelet/envvars: what each container gets for a Service with these ports.
void add_service(std::map<std::string, std::string>& environment, const std::string& prefix,
                 const std::string& address, const std::string& in_url) {
    environment[prefix + "_SERVICE_HOST"] = address;
    environment[prefix + "_SERVICE_PORT"] = "443";
    environment[prefix + "_SERVICE_PORT_HTTPS"] = "443";
    environment[prefix + "_SERVICE_PORT_HTTP_METRICS"] = "9090";
    environment[prefix + "_PORT"] = "tcp://" + in_url + ":443";
    for (const std::string port : {"443_TCP", "9090_TCP", "53_UDP", "7_SCTP"}) {
        const std::string number = port.substr(0, port.find('_'));
        std::string protocol = port.substr(port.find('_') + 1);
        for (char& c : protocol) c = lower_case(c);
        const std::string name = prefix + "_PORT_" + port;
        environment[name] = protocol + "://" + in_url + ":" + number;
        environment[name + "_PROTO"] = protocol;
        environment[name + "_PORT"] = number;
        environment[name + "_ADDR"] = address;
    }
}

TEST(Configuration, variables_of_services_with_our_name_are_no_keys_and_do_no_harm) {
    std::map<std::string, std::string> environment{{"GPUCTLD_JOURNAL_DIRECTORY", "/var/x"}};
    add_service(environment, "GPUCTLD", "10.0.0.7", "10.0.0.7");
    add_service(environment, "GPUCTLD_METRICS", "fd00::7", "[fd00::7]");
    add_service(environment, "GPUCTLD_SERVICE_PORT_OF_OURS", "10.0.0.8", "10.0.0.8");
    const std::size_t links = environment.size() - 1;
    const Config config = loaded("", environment);
    EXPECT_EQ(config.journal.directory, "/var/x");
    EXPECT_EQ(config.server.port, Config{}.server.port);
    EXPECT_EQ(config.service_links.size(), links);
}

TEST(Configuration, a_service_that_gives_the_variable_of_a_key_does_not_set_it) {
    std::map<std::string, std::string> environment;
    add_service(environment, "GPUCTLD_SERVER", "10.0.0.7", "10.0.0.7");
    EXPECT_EQ(loaded("server: {port: 9000}\n", environment).server.port, 9000);
    EXPECT_EQ(loaded("", {{"GPUCTLD_SERVER_PORT", "9000"}}).server.port, 9000);
}

TEST(Configuration, variables_of_linked_containers_do_no_harm) {
    const Config config = loaded("", {{"GPUCTLD_PORT", "tcp://172.17.0.5:8000"},
                                      {"GPUCTLD_PORT_8000_TCP", "tcp://172.17.0.5:8000"},
                                      {"GPUCTLD_NAME", "/web/gpuctld"},
                                      {"GPUCTLD_ENV_PATH", "/usr/bin"}});
    EXPECT_EQ(config.service_links.size(), 4u);
}

TEST(Configuration, a_mistyped_variable_is_an_error_also_where_it_looks_like_a_service) {
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {"GPUCTLD_SERVER_PRT", "9000"},
             {"GPUCTLD_SERVR_PORT", "9000"},
             {"GPUCTLD_SERVICE_PORT", "9000"},  // without GPUCTLD_SERVICE_HOST
             {"GPUCTLD_PORT", "9000"},
             {"GPUCTLD_PORT", "tcp://:x"},
             {"GPUCTLD_SERVICE_HOST", "10.0.0.7"},
             {"GPUCTLD_JOURNAL_NAME", "/x"},
             {"GPUCTLD_SERVER_ADRESS", "tcp://10.0.0.7:443"}}) {
        EXPECT_TRUE(holds(refusal("", {{name, value}}), name + " is not a key")) << name;
    }
    std::map<std::string, std::string> environment{{"GPUCTLD_SERVER_PRT", "9000"}};
    add_service(environment, "GPUCTLD", "10.0.0.7", "10.0.0.7");
    EXPECT_EQ(refusal("", environment),
              "environment variable GPUCTLD_SERVER_PRT is not a key of gpuctld.yaml; did you mean "
              "GPUCTLD_SERVER_PORT?");
}

TEST(Configuration, the_pod_of_gpuctld_comes_from_the_downward_api_as_a_whole) {
    const std::string prefix = "GPUCTLD_CLUSTER_KUBERNETES_POD_";
    std::map<std::string, std::string> environment{
        {"GPUCTLD_CLUSTER_MODE", "kubernetes"},
        {prefix + "NAMESPACE", "gpuctl-system"},
        {prefix + "NAME", "gpuctld-7c9d5b-x2x4z"},
        {prefix + "UID", "3f6d2a1c-0b1e-4c5d-9e8f-112233445566"},
        {prefix + "CONTAINER", "gpuctld"}};
    const OwnPod pod = loaded("", environment).cluster.kubernetes.pod;
    EXPECT_EQ(pod.namespace_name, "gpuctl-system");
    EXPECT_EQ(pod.name, "gpuctld-7c9d5b-x2x4z");
    EXPECT_EQ(pod.uid, "3f6d2a1c-0b1e-4c5d-9e8f-112233445566");
    EXPECT_EQ(pod.container, "gpuctld");
    EXPECT_EQ(loaded("cluster: {mode: kubernetes}").cluster.kubernetes.pod.uid, "");
    environment[prefix + "UID"] = "a_b";
    EXPECT_TRUE(holds(refusal("", environment), "\"a_b\"")) << refusal("", environment);
    environment.erase(prefix + "UID");
    EXPECT_TRUE(
        holds(refusal("", environment), "pod.uid is missing: the four keys of pod go together"))
        << refusal("", environment);
}

TEST(Configuration, environment_names_are_distinct) {
    std::set<std::string> names;
    for (const KeyDescription& key : describe_keys()) {
        if (key.environment.empty()) continue;
        EXPECT_TRUE(names.insert(key.environment).second) << key.environment;
    }
    EXPECT_TRUE(names.count("GPUCTLD_SERVER_TLS_CERTIFICATE_FILE") == 1);
}

TEST(Configuration, files_are_read_with_a_bound_and_missing_ones_are_named) {
    EXPECT_EQ(print_config(load_file(wire::source_path("config/gpuctld.yaml")).value()),
              print_config(Config{}));
    const auto missing = load_file("/nonexistent/gpuctld.yaml");
    ASSERT_TRUE(missing.has_error());
    EXPECT_EQ(missing.error().code, ErrorCode::InvalidConfiguration);
    EXPECT_TRUE(holds(missing.error().message, "/nonexistent/gpuctld.yaml: cannot be opened"));
    EXPECT_TRUE(load_file("/").has_error());
    const auto endless = load_file("/dev/zero");
    ASSERT_TRUE(endless.has_error());
    EXPECT_TRUE(holds(endless.error().message, "is larger than the 1048576 bytes allowed"))
        << endless.error().message;
}

TEST(SafeConfiguration, other_addresses_need_tls_and_tokens_in_every_combination) {
    for (const char* address : {"127.0.0.1", "127.8.9.1", "::1", "localhost", "0.0.0.0",
                                "::", "10.0.0.1", "2001:db8::1", "::ffff:127.0.0.1"}) {
        for (const bool tls : {false, true}) {
            for (const bool tokens : {false, true}) {
                Config config;
                config.server.address = address;
                if (tls) config.server.tls = TlsFiles{"/c", "/k", ""};
                if (tokens) config.server.tokens_file = "/t";
                const std::string text = address;
                const bool loopback = text.rfind("127.", 0) == 0 || text == "::1" ||
                                      text == "localhost" || text == "::ffff:127.0.0.1";
                const auto safe = check_safe(config);
                EXPECT_EQ(safe.has_value(), loopback || (tls && tokens))
                    << address << " tls " << tls << " tokens " << tokens;
                if (safe.has_value()) continue;
                EXPECT_EQ(holds(safe.error().message, "certificateFile"), !tls);
                EXPECT_EQ(holds(safe.error().message, "tokensFile"), !tokens);
            }
        }
    }
    Config config;
    config.server.address = "example.com";
    EXPECT_TRUE(check_safe(config).has_error());
}

TEST(Safety, an_unsafe_address_is_reported_with_its_place) {
    const auto config =
        parse("logging: {level: info}\nserver:\n  address: 0.0.0.0\n", "a.yaml", {});
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(check_safe(*config).error().message.rfind("a.yaml:3:3: server.address 0.0.0.0", 0),
              0u)
        << check_safe(*config).error().message;
    const auto set = parse("", "a.yaml", {{"GPUCTLD_SERVER_ADDRESS", "0.0.0.0"}});
    ASSERT_TRUE(set.has_value());
    EXPECT_EQ(
        check_safe(*set).error().message.rfind("environment variable GPUCTLD_SERVER_ADDRESS: ", 0),
        0u)
        << check_safe(*set).error().message;
    EXPECT_EQ(parse("- a\n", "a.yaml", {}).error().message.rfind("a.yaml:1:1: ", 0), 0u)
        << parse("- a\n", "a.yaml", {}).error().message;
}

TEST(Reload, applies_policy_tokens_certificates_and_level_and_names_everything_else) {
    const Config running;
    Config wanted;
    wanted.policy.pools.push_back({"p", "", {}, {}});
    wanted.server.tls = TlsFiles{"/c", "/k", ""};
    wanted.server.tokens_file = "/t";
    wanted.logging.level = "debug";
    EXPECT_FALSE(check_reloadable(running, wanted).has_error());
    wanted.server.port = 9;
    wanted.cluster.embedded.nodes[0].gpus = 4;
    wanted.cluster.embedded.nodes.pop_back();
    const auto refused = check_reloadable(running, wanted);
    ASSERT_TRUE(refused.has_error());
    const std::string details = wire::joined(refused.error().details);
    EXPECT_TRUE(holds(details, "server.port cannot change from 8000 to 9")) << details;
    EXPECT_TRUE(holds(details, "cluster.embedded.nodes[0].gpus cannot change from 8 to 4"));
    EXPECT_TRUE(
        holds(details, "cluster.embedded.nodes[4].name cannot change from spare to nothing"));
    EXPECT_FALSE(holds(details, "policy"));
}

}  // namespace
}  // namespace gpuctl::config
