// DeepSpeed configurations that a training job may name without bringing them along: ds_config.json
// (ZeRO-2) and zero3_config.json (ZeRO-3 with optimizer states in the host's memory). A job that
// names one gets a ConfigMap mounted at kFolder, and a link in its working directory unless a file
// of that name is there.

#include <algorithm>

#include "k8s/workload/workload_parts.hpp"

namespace gpuctl::k8s {

namespace {

constexpr const char* kFolder = "/etc/gpuctl/deepspeed";
constexpr const char* kVolume = "deepspeed";

struct Template {
    std::string_view name;
    std::string_view text;
};

// "auto": the trainer (Hugging Face, LLaMA-Factory) fills in the job's own value.
constexpr Template kTemplates[] = {{"ds_config.json", R"({
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto",
  "zero_allow_untested_optimizer": true,
  "bf16": {"enabled": "auto"},
  "fp16": {"enabled": "auto"},
  "zero_optimization": {
    "stage": 2,
    "allgather_partitions": true,
    "allgather_bucket_size": 500000000,
    "overlap_comm": true,
    "reduce_scatter": true,
    "reduce_bucket_size": 500000000,
    "contiguous_gradients": true
  }
}
)"},
                                   {"zero3_config.json", R"({
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto",
  "zero_allow_untested_optimizer": true,
  "bf16": {"enabled": "auto"},
  "fp16": {"enabled": "auto"},
  "zero_optimization": {
    "stage": 3,
    "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "overlap_comm": true,
    "contiguous_gradients": true,
    "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto",
    "stage3_param_persistence_threshold": "auto",
    "stage3_gather_16bit_weights_on_model_save": true
  }
}
)"}};

// "--deepspeed ds_config.json", "--deepspeed=ds_config.json", "./ds_config.json", also inside the
// text of a shell. A path with a folder names a file of the user's.
bool names_file(std::string_view text, std::string_view file) {
    constexpr std::string_view between = " \t\n='\",;";
    for (std::size_t at = text.find(file); at != text.npos; at = text.find(file, at + 1)) {
        const std::size_t end = at + file.size();
        if (end < text.size() && between.find(text[end]) == between.npos) continue;
        std::size_t begin = at;
        if (begin >= 2 && text.substr(begin - 2, 2) == "./") begin -= 2;
        if (begin == 0 || between.find(text[begin - 1]) != between.npos) return true;
    }
    return false;
}

std::vector<Template> templates_of(const JobSpec& spec) {
    std::vector<Template> named;
    if (!is_gang(spec)) return named;
    for (const Template& one : kTemplates) {
        const auto is_named = [&one](const std::string& word) {
            return names_file(word, one.name);
        };
        if (std::any_of(spec.command.begin(), spec.command.end(), is_named) ||
            std::any_of(spec.args.begin(), spec.args.end(), is_named)) {
            named.push_back(one);
        }
    }
    return named;
}

std::string config_map_name(const JobSpec& spec) { return spec.key.name + "-deepspeed"; }

}  // namespace

bool needs_config_map(const JobSpec& spec) { return !templates_of(spec).empty(); }

std::string config_map_body(const JobRecord& job, const WorkloadSettings& settings,
                            std::string_view owner_uid) {
    Json data = Json::object();
    for (const Template& one : templates_of(job.spec)) data[std::string{one.name}] = one.text;
    const Json body = {
        {"apiVersion", "v1"},
        {"kind", "ConfigMap"},
        {"metadata", owned_metadata(job, settings, config_map_name(job.spec), owner_uid)},
        {"data", std::move(data)}};
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_deepspeed_files(const JobSpec& spec, Mounts& mounts) {
    if (!needs_config_map(spec)) return;
    mounts.volumes.push_back({{"name", kVolume}, {"configMap", {{"name", config_map_name(spec)}}}});
    mounts.mounts.push_back({{"name", kVolume}, {"mountPath", kFolder}, {"readOnly", true}});
}

// The working directory is the image's and known only there. Without a command the image's own
// entry point runs, which cannot be wrapped; its arguments can name the file in kFolder.
void offer_deepspeed_files(const JobSpec& spec, Json& container) {
    const std::vector<Template> templates = templates_of(spec);
    if (templates.empty() || spec.command.empty()) return;
    std::string script = "for f in";
    for (const Template& one : templates) script += " " + std::string{one.name};
    script += R"(; do [ -e "$f" ] || ln -s )" + std::string{kFolder} +
              R"(/"$f" "$f" || true; done; exec "$@")";
    Json command = Json::array({"sh", "-c", std::move(script), "gpuctl"});
    for (const std::string& word : spec.command) command.push_back(word);
    container["command"] = std::move(command);
}

}  // namespace gpuctl::k8s
