// What a node means by a GPU, and which GPUs a pod requests (docs/adr/0021). With MIG strategy
// single, the device plugin calls each slice nvidia.com/gpu; with time slicing or MPS,
// nvidia.com/gpu.shared is one replica of several. GPU feature discovery writes labels that say so,
// and pods select those labels.

#include <algorithm>
#include <charconv>

#include "k8s/convert/convert_pod_parts.hpp"
#include "scheduler/model/gpu/gpu_memory.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/gpu/mig.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::k8s {
namespace {

constexpr std::string_view kProduct = "nvidia.com/gpu.product";
constexpr std::string_view kReplicas = "nvidia.com/gpu.replicas";
constexpr std::string_view kStrategy = "nvidia.com/mig.strategy";
constexpr std::int32_t kReplicasMost = 1'000;

std::int32_t replicas_of(std::string_view text, std::int32_t otherwise) {
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_read = error == std::errc{} && end == text.data() + text.size();
    return is_read && value >= 1 && value <= kReplicasMost ? value : otherwise;
}

void share_replicas(Resources& resources, std::int32_t replicas) {
    for (GpuAmount& gpus : resources.gpus) {
        const bool is_replica =
            is_shared_resource(gpus.resource) || gpus.resource.ends_with(".shared");
        if (is_replica) gpus.share.of *= replicas;
    }
}

std::string_view selected(const PlacementRules& rules, std::string_view key) {
    for (const auto& [name, value] : rules.node_selector) {
        if (name == key) return value;
    }
    return {};
}

// The values that every term of the required affinity allows for this label; none: any.
std::vector<std::string> required_values(const PlacementRules& rules, std::string_view key) {
    std::vector<std::string> out;
    if (!rules.required_affinity || rules.required_affinity->size() != 1) return out;
    for (const SelectorRequirement& one : rules.required_affinity->front().labels) {
        if (one.key == key && one.op == SelectorOperator::in) out = one.values;
    }
    return out;
}

// The model whose slices the pod selects, if any.
std::string model_of_slices(const PlacementRules& rules) {
    if (!mig_profile_in_model(rules.gpu_model).empty()) return rules.gpu_model;
    const std::string product{selected(rules, kProduct)};
    if (!product.empty()) return product;
    const std::vector<std::string> products = required_values(rules, kProduct);
    const auto is_alike = [&](const std::string& other) {
        return mig_profile_in_model(other) == mig_profile_in_model(products.front());
    };
    const bool is_one =
        !products.empty() && std::all_of(products.begin(), products.end(), is_alike);
    return is_one ? products.front() : "";
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> out;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        std::string_view word = list.substr(0, end);
        while (word.starts_with(' ')) word.remove_prefix(1);
        while (word.ends_with(' ')) word.remove_suffix(1);
        if (!word.empty()) out.emplace_back(word);
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return out;
}

// A user's own pod that requires one of several GPU types, with preferred ones by weight.
std::vector<std::string> by_weight(const SpecParts& spec, const PlacementRules& rules,
                                   const std::string& key) {
    std::vector<std::string> types = required_values(rules, key);
    if (types.size() < 2) return {};
    const auto weight_of = [&](const std::string& type) {
        std::int64_t weight = 0;
        for (const PreferredTerm& preferred : spec.preferred) {
            const SelectorTerm& term = preferred.term;
            const bool is_simple = !term.broken && term.fields.empty() && term.labels.size() == 1 &&
                                   term.labels.front().key == key &&
                                   term.labels.front().op == SelectorOperator::in;
            if (!is_simple) continue;
            const auto& values = term.labels.front().values;
            const bool is_meant = std::find(values.begin(), values.end(), type) != values.end();
            if (is_meant) weight += preferred.weight;
        }
        return weight;
    };
    std::stable_sort(types.begin(), types.end(), [&](const std::string& a, const std::string& b) {
        return weight_of(a) > weight_of(b);
    });
    return types;
}

void list_models(const MetadataParts& metadata, const SpecParts& spec, const LabelKeys& labels,
                 PodFacts& facts) {
    PlacementRules& rules = facts.rules;
    std::vector<std::string> models = split(metadata.gpu_types.text);
    if (models.empty() && rules.gpu_model.empty() && !spec.preferred.empty()) {
        models = by_weight(spec, rules, labels.text(OwnKey::gpu_type));
    }
    if (models.empty() || facts.request.gpus.empty()) return;
    const TopologyRules& wish = rules.topology;
    if (models.size() > 1 &&
        (wish.required != TopologyLevel::none || wish.spread != TopologyLevel::none)) {
        facts.unsupported.push_back("several GPU models (" + labels.text(OwnKey::gpu_type) +
                                    ") together with a required topology or a spread");
        return;
    }
    const auto is_slice = [](const std::string& model) {
        return !mig_profile_in_model(model).empty();
    };
    if (models.size() > 1 && std::any_of(models.begin(), models.end(), is_slice)) {
        facts.unsupported.push_back("slices of GPUs (-MIG-) together with other models in " +
                                    labels.text(OwnKey::gpu_type));
        return;
    }
    rules.gpu_model = models.front();
    rules.gpu_models_next.assign(models.begin() + 1, models.end());
}

std::vector<std::string> models_meant(const PlacementRules& rules) {
    std::vector<std::string> models = rules.gpu_models_next;
    if (!rules.gpu_model.empty()) models.push_back(rules.gpu_model);
    if (!models.empty()) return models;
    if (const std::string_view product = selected(rules, kProduct); !product.empty()) {
        return {std::string{product}};
    }
    return required_values(rules, kProduct);
}

// The GPU memory of the annotation, in thousandths of the required model.
void settle_memory(const MetadataParts& metadata, const LabelKeys& labels, PodFacts& facts) {
    const std::string_view said = metadata.gpu_memory.text;
    if (said.empty()) return;
    std::vector<GpuAmount>& gpus = facts.request.gpus;
    const auto part = std::find_if(gpus.begin(), gpus.end(),
                                   [](const GpuAmount& gpu) { return is_part_of_gpu(gpu.amount); });
    const auto refuse = [&](const std::string& why) {
        facts.unsupported.push_back("the annotation " + labels.text(OwnKey::gpu_memory) +
                                    " with the value " + in_quotes(said) + ": " + why);
    };
    if (part == gpus.end()) return refuse("the pod requests no part of a GPU");
    const auto memory = parse_bytes(said);
    if (!memory || memory->value() <= 0)
        return refuse("it is not an amount of memory such as 20Gi");
    const auto by_memory = part_by_memory(*memory, models_meant(facts.rules));
    if (!by_memory) return refuse(by_memory.error().message);
    if (*by_memory >= whole_gpus(1)) return refuse("that is a whole GPU, which a pod requests");
    part->amount = std::max(part->amount, *by_memory);
}

}  // namespace

void add_gpu_kind(const MetadataParts& metadata, const SpecParts& spec, const LabelKeys& labels,
                  PodFacts& facts) {
    list_models(metadata, spec, labels, facts);
    settle_memory(metadata, labels, facts);
    name_slices(facts.request, model_of_slices(facts.rules));
    share_replicas(facts.request,
                   replicas_of(selected(facts.rules, kReplicas), labels.gpu_replicas()));
    facts.rules.wants_whole_gpus = wants_whole_gpus(facts.request);
}

void convert_gpu_names(const std::map<std::string, std::string>& node_labels,
                       const LabelKeys& labels, Resources& offered) {
    const auto label = [&](std::string_view key) {
        const auto found = node_labels.find(std::string{key});
        return found == node_labels.end() ? std::string_view{} : std::string_view{found->second};
    };
    if (label(kStrategy) == "single") name_slices(offered, label(kProduct));
    share_replicas(offered, replicas_of(label(kReplicas), labels.gpu_replicas()));
}

}  // namespace gpuctl::k8s
