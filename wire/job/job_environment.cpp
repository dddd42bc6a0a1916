// The sections environment and storage: what runs, and the volumes it mounts.

#include <algorithm>
#include <set>

#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/gpu/word_list.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "wire/job/job_rules.hpp"
#include "wire/job/job_sections.hpp"

namespace gpuctl::wire {
namespace {

class Variables {
public:
    Variables(JobReader& reader) : reader_(reader) {}

    void add(const std::string& name, std::string value, const Field& at) {
        add({name, std::move(value), ""}, at);
    }
    void add(EnvironmentVariable variable, const Field& at) {
        if (const std::string problem = problem_with_variable_name(variable.name);
            !problem.empty()) {
            return at.error("the variable name \"" + variable.name + "\" " + problem);
        }
        if (const std::string problem = problem_with_platform(variable.name); !problem.empty()) {
            return at.error("the variable " + variable.name + " " + problem);
        }
        if (!names_.insert(variable.name).second) {
            return at.error("the variable " + variable.name + " is given twice");
        }
        reader_.spec.environment.push_back(std::move(variable));
    }
    // {KEY: value, ...}
    void add_members(const Field& map) {
        for (const auto& [name, value] : map.json().items()) {
            const Field field{map.document(), &value, pointer_to(map.pointer(), name),
                              map.problems()};
            if (value.is_structured()) {
                field.error("the value of " + name + " must be text, not " + kind_of(value));
            } else {
                add(name, value_of(field), field);
            }
        }
    }

    // An empty value is valid for programs, but rarely intended.
    static std::string value_of(const Field& field) {
        if (field.is_null()) {
            field.warning(
                "the variable has no value and will be empty; write \"\" if that is intended");
            return "";
        }
        return field.script().value_or("");
    }

private:
    // A variable that the platform sets, unless the operator allows it in the job's pool.
    [[nodiscard]] std::string problem_with_platform(const std::string& name) const {
        const PlatformVariable what = platform_variable(name);
        if (what == PlatformVariable::none || reader_.options.was_accepted) return "";
        const std::string pool =
            reader_.spec.pool.empty() ? std::string{kDefaultPool} : reader_.spec.pool;
        for (const std::string_view key : {std::string_view{pool}, std::string_view{"*"}}) {
            const auto allowed = reader_.options.variables_allowed.find(std::string{key});
            if (allowed == reader_.options.variables_allowed.end()) continue;
            const auto same = [&](std::string_view word) { return word == name; };
            if (any_word(allowed->second, same)) return "";
        }
        const std::string remedy = "; remove it, or ask the operator to allow it in pool " + pool +
                                   " (names.allowedVariables)";
        if (what == PlatformVariable::loader) {
            return "loads code into every process of the container, and a job may not set it" +
                   remedy;
        }
        return "chooses GPUs, which the platform does: a value of the job could show it GPUs of "
               "other jobs" +
               remedy;
    }

    JobReader& reader_;
    std::set<std::string> names_;
};

// {name: K, value: V} or {name: K, valueFrom: {...}}
void read_named_variable(JobReader& reader, Variables& variables, const Field& entry) {
    Fields fields{entry};
    const Field name = find_key(fields, "environment.env[].name");
    const Field value = find_key(fields, "environment.env[].value");
    const Field source = find_key(fields, "environment.env[].valueFrom");
    reader.finish(fields);
    const auto text = name.word();
    if (!text) return;
    if (value && source) return entry.error(*text + " has both value and valueFrom; give one");
    if (source.is_null() || (source && source.json().empty())) {
        return source.error("valueFrom of " + *text + " is empty; set the source of the value");
    }
    if (!source) {
        return variables.add(*text, value.is_written() ? Variables::value_of(value) : "", name);
    }
    if (!source.is_map()) return;
    variables.add({*text, "", source.json().dump()}, name);
}

void read_variables(JobReader& reader, const Field& section) {
    if (!section) return;
    Variables variables{reader};
    if (section.json().is_object()) return variables.add_members(section);
    for (const Field& entry : section.elements()) {
        if (!entry.is_map()) continue;
        const bool named =
            entry.json().contains("name") &&
            (entry.json().size() == 1 || entry.json().contains("value") ||
             entry.json().contains("valueFrom") || entry.json().contains("value_from"));
        if (named) {
            read_named_variable(reader, variables, entry);
        } else {
            variables.add_members(entry);
        }
    }
}

void read_pull_secrets(JobReader& reader, const Field& field) {
    std::vector<std::string> names;
    if (field && field.json().is_array()) {
        names = field.words();
    } else if (const auto text = field.word()) {
        names.push_back(*text);
    }
    for (const std::string& name : names) {
        if (const std::string problem = problem_with_subdomain(name); !problem.empty()) {
            field.error("environment.imagePullSecret \"" + name + "\" " + problem);
        }
    }
    reader.spec.image_pull_secrets = std::move(names);
}

std::vector<std::string> read_words(const Field& field, const char* name) {
    if (field && field.json().is_string()) {
        field.error(std::string{name} + " must be a list, for example [\"python\", \"train.py\"]");
        return {};
    }
    std::vector<std::string> words = field.scripts();
    if (words.size() > kEntriesMax) {
        field.error(std::string{name} + " has more than " + std::to_string(kEntriesMax) +
                    " entries");
    }
    return words;
}

void read_workdirs(JobReader& reader, const Field& list) {
    for (const Field& entry : list.elements()) {
        Field path = entry;
        if (entry && entry.json().is_object()) {
            Fields fields{entry};
            path = find_key(fields, "storage.workdirs[].path");
            reader.finish(fields);
        }
        const auto text = path.word();
        if (!text) continue;
        if (const std::string problem = problem_with_path(*text); !problem.empty()) {
            path.error("the path \"" + *text + "\" " + problem);
            continue;
        }
        const std::string clean = clean_path(*text);
        if (const auto& roots = reader.options.host_path_roots) {
            if (const std::string problem = problem_with_host_path(clean, *roots);
                !problem.empty()) {
                path.error("the path \"" + *text + "\" " + problem);
                continue;
            }
        }
        auto& workdirs = reader.spec.workdirs;
        if (std::find(workdirs.begin(), workdirs.end(), clean) != workdirs.end()) {
            path.warning("the path \"" + *text + "\" is given twice");
            continue;
        }
        workdirs.push_back(clean);
    }
}

void read_claim(JobReader& reader, const std::string& name, const Field& section) {
    VolumeClaim claim;
    claim.name = name;
    if (const std::string problem = problem_with_label(name); !problem.empty()) {
        section.error("the volume name \"" + name + "\" " + problem);
    }
    Fields fields{section};
    const Field mount = find_key(fields, "storage.NAME.mountPath");
    if (const auto path = mount.word()) {
        if (const std::string problem = problem_with_path(*path); !problem.empty()) {
            mount.error("storage." + name + ".mountPath \"" + *path + "\" " + problem);
        } else {
            claim.mount_path = clean_path(*path);
        }
    }
    const Field size = find_key(fields, "storage.NAME.size");
    if (const auto text = size.word()) {
        const auto bytes = parse_bytes(*text);
        if (!bytes || bytes->value() == 0 || bytes->value() > kClaimBytesMax) {
            size.error("storage." + name + ".size must be a quantity such as 100Gi, not \"" +
                       *text + "\"");
        } else {
            claim.size = *bytes;
        }
    }
    const Field storage_class = find_key(fields, "storage.NAME.storageClass");
    claim.storage_class = storage_class.word(Empty::is_warned).value_or("");
    if (!claim.storage_class.empty()) {
        if (const std::string problem = problem_with_subdomain(claim.storage_class);
            !problem.empty()) {
            storage_class.error("the storage class \"" + claim.storage_class + "\" " + problem);
        }
    }
    reader.finish(fields);
    reader.spec.claims.push_back(std::move(claim));
}

}  // namespace

void read_environment(JobReader& reader, const Field& section) {
    JobSpec& spec = reader.spec;
    Fields fields{section};
    const Field image = find_key(fields, "environment.image");
    if (const auto text = image.word()) {
        const bool spaces = text->find_first_of(" \t\r\n") != std::string::npos;
        if (text->empty() || text->size() > kImageBytesMax || spaces) {
            image.error("environment.image must be an image name such as repository/name:tag");
        }
        spec.image = *text;
    }
    read_pull_secrets(reader, find_key(fields, "environment.imagePullSecret"));
    spec.command = read_words(find_key(fields, "environment.command"), "environment.command");
    spec.args = read_words(find_key(fields, "environment.args"), "environment.args");
    const Field variables = find_key(fields, "environment.env");
    read_variables(reader, variables);
    if (spec.environment.size() > kEntriesMax) {
        variables.error("environment.env has more than " + std::to_string(kEntriesMax) +
                        " variables");
    }
    reader.finish(fields);
}

void read_storage(JobReader& reader, const Field& section) {
    Fields fields{section};
    const Field workdirs = find_key(fields, "storage.workdirs");
    read_workdirs(reader, workdirs);
    fields.report_empty();
    if (reader.spec.workdirs.size() > kEntriesMax) {
        workdirs.error("storage.workdirs has more than " + std::to_string(kEntriesMax) +
                       " entries");
    }
    for (const auto& [name, field] : fields.unknown()) {
        if (field && field.json().is_object()) {
            read_claim(reader, name, field);
            continue;
        }
        Detail detail{field.document().place_of(field.pointer()),
                      "storage." + name +
                          " is neither workdirs nor a volume {mountPath, size, storageClass}"};
        auto& list = reader.options.strict ? field.problems().errors : field.problems().warnings;
        list.push_back(std::move(detail));
    }
}

}  // namespace gpuctl::wire
