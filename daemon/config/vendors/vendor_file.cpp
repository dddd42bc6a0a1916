#include "daemon/config/vendors/vendor_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "policy_document/refusal.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {
namespace {

enum class Form : std::uint8_t {
    text,
    list,
    amounts  // {name: quantity}
};

struct VendorKey {
    std::string_view name;
    Form form;
    std::string_view GpuVendor::* member;
    std::string_view meaning;
};

constexpr auto kVendorKeys = std::to_array<VendorKey>({
    {"name", Form::text, &GpuVendor::alias, "as in a job's gpu: 1(amd)"},
    {"aliases", Form::list, &GpuVendor::other_aliases, "further names, as in 1(rocm)"},
    {"resource", Form::text, &GpuVendor::resource, "of a whole device"},
    {"otherResources", Form::list, &GpuVendor::other_resources,
     "further resources that are whole devices"},
    {"modelLabel", Form::text, &GpuVendor::model_label, "node label with the model"},
    {"modelPrefixes", Form::list, &GpuVendor::model_prefixes,
     "models that begin like this are of this vendor"},
    {"visibleDevicesVariable", Form::text, &GpuVendor::visible_devices_environment,
     "container variable with the devices that the runtime shows"},
    {"noDevices", Form::text, &GpuVendor::no_devices, "its value that hides all devices"},
    {"sharedResource", Form::text, &GpuVendor::shared_resource, "one share of a device"},
    {"memoryResources", Form::amounts, &GpuVendor::memory_resources,
     "of plugins that share devices: memory, and what one of it is; * is a model"},
    {"memoryPercentResources", Form::list, &GpuVendor::memory_percent_resources,
     "percent of a device's memory"},
    {"coreResources", Form::list, &GpuVendor::core_resources, "percent of a device's compute"},
    {"shareCountResources", Form::list, &GpuVendor::share_count_resources,
     "number of devices to share"},
    {"deviceVariables", Form::list, &GpuVendor::device_environment,
     "variables that choose devices: a job may not set them"},
    {"utilizationMetric", Form::text, &GpuVendor::utilization_metric,
     "of the vendor's exporter, in percent of a device"},
});

// Calls `visit` with each word.
template <typename Visit>
void each_word(std::string_view words, Visit visit) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        visit(words.substr(0, end));
        words.remove_prefix(std::min(end + 1, words.size()));
    }
}

std::string shown_value(Form form, std::string_view value) {
    if (form == Form::text) return std::string{value};
    std::string text;
    each_word(value, [&](std::string_view word) {
        text += text.empty() ? "" : ", ";
        const std::size_t sign = word.find('=');
        text += word.substr(0, sign);
        if (sign != std::string_view::npos) text += ": " + std::string{word.substr(sign + 1)};
    });
    return form == Form::list ? "[" + text + "]" : "{" + text + "}";
}

void append(std::string& words, const std::string& word, const wire::Field& field) {
    if (word.find_first_of(" =") != std::string::npos) {
        field.error("\"" + word.substr(0, 60) + "\" must be one word, without spaces and \"=\"");
    }
    words += (words.empty() ? "" : " ") + word;
}

// The words of one key.
std::string read_value(const VendorKey& key, const wire::Field& field) {
    std::string words;
    switch (key.form) {
        case Form::text:
            if (const auto word = field.word()) append(words, *word, field);
            break;
        case Form::list:
            for (const std::string& word : field.words()) append(words, word, field);
            break;
        case Form::amounts:
            if (!field.is_map()) break;
            for (const auto& [name, value] : field.json().items()) {
                const wire::Field one{field.document(), &value,
                                      wire::pointer_to(field.pointer(), name), field.problems()};
                append(words, name, one);
                if (const auto amount = one.word()) words += "=" + *amount;
            }
            break;
    }
    return words;
}

GpuVendor read_vendor(const wire::Field& entry, std::deque<std::string>& texts) {
    GpuVendor vendor;
    wire::Fields fields{entry};
    for (const VendorKey& key : kVendorKeys) {
        const bool is_required = key.name == "name" || key.name == "resource";
        const wire::Field field = is_required ? fields.require(key.name) : fields.find(key.name);
        vendor.*key.member = texts.emplace_back(read_value(key, field));
    }
    fields.report_unknown(true);
    return vendor;
}

}  // namespace

std::string print_vendors(const GpuVendorTable& table) {
    std::string text =
        "# The table of GPU vendors, as `gpuctld --print-vendors` writes it. A copy of this file\n"
        "# replaces the built-in table (names.vendorsFile of gpuctld.yaml). The first vendor is "
        "the\n"
        "# one of a job that names none.\n#\n";
    for (const VendorKey& key : kVendorKeys) {
        std::string name{key.name};
        name.resize(24, ' ');
        text += "# " + name + std::string{key.meaning} + "\n";
    }
    text +=
        "\n# Variables that load code into every process: a job may not set them.\n"
        "loaderVariables: " +
        shown_value(Form::list, table.loader_environment) + "\nvendors:\n";
    for (const GpuVendor& vendor : table.vendors) {
        std::string start = "  - ";
        for (const VendorKey& key : kVendorKeys) {
            const std::string_view value = vendor.*key.member;
            if (value.empty()) continue;
            text += start + std::string{key.name} + ": " + shown_value(key.form, value) + "\n";
            start = "    ";
        }
    }
    return text;
}

Result<GpuVendorTable> read_vendors(std::string_view yaml, const std::string& file,
                                    std::deque<std::string>& texts) {
    Result<wire::Document> document = one_document(yaml, file);
    if (!document) return document.error();
    wire::Problems problems;
    GpuVendorTable table;
    wire::Fields fields{wire::Field{*document, &document->root, "", problems}};
    std::string loaders;
    const wire::Field loader_list = fields.find("loaderVariables");
    for (const std::string& word : loader_list.words()) append(loaders, word, loader_list);
    table.loader_environment = texts.emplace_back(std::move(loaders));
    const wire::Field vendors = fields.require("vendors");
    for (const wire::Field& entry : vendors.elements()) {
        table.vendors.push_back(read_vendor(entry, texts));
    }
    fields.report_unknown(true);
    if (problems.errors.empty()) {
        if (const std::string problem = problem_with(table); !problem.empty()) {
            vendors.error(problem);
        }
    }
    if (problems.errors.empty()) return table;
    problems.sort();
    return refused(file, std::move(problems.errors), {});
}

Result<void> use_vendors_file_once(const std::string& path) {
    static bool is_decided = false;
    static std::deque<std::string> texts;
    if (is_decided) return {};
    if (path.empty()) {
        is_decided = true;
        return {};
    }
    const std::string what = "names.vendorsFile: read the table of GPU vendors " + path + ": ";
    std::error_code problem;
    if (!std::filesystem::is_regular_file(path, problem)) {
        return invalid(what + "it is not a regular file; check the path");
    }
    std::ifstream file{path, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (!file) return invalid(what + "it cannot be read; check its permissions");
    Result<GpuVendorTable> table = read_vendors(text, path, texts);
    if (!table) return table.error();
    use_gpu_vendors(std::move(*table));
    is_decided = true;
    return {};
}

}  // namespace gpuctl::config
