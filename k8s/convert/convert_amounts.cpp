#include "k8s/convert/convert_amounts.hpp"

#include <algorithm>

#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::k8s {

namespace {

// Far above every limit, and far below overflow when a few hundred containers are summed.
constexpr std::int64_t kAmountMax = std::int64_t{1} << 50;

// "500m", "4", "2Gi" make up nearly every quantity; the general grammar is model/quantity's.
std::optional<std::int64_t> read_quantity(std::string_view text, int decimals) {
    if (!text.empty() && text.size() <= 12) {
        std::int64_t value = 0;
        std::size_t i = 0;
        for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
            value = value * 10 + (text[i] - '0');
        }
        if (i == text.size()) return decimals == 3 ? value * 1000 : value;
        if (i > 0 && decimals == 3 && text.substr(i) == "m") return value;
    }
    return parse_quantity(text, decimals);
}

}  // namespace

std::int64_t& Amounts::slot(std::string_view resource) {
    for (Entry& entry : entries_) {
        if (entry.resource == resource) return entry.value;
    }
    return entries_.emplace_back(Entry{resource, 0}).value;
}

void Amounts::set(std::string_view resource, std::int64_t value) {
    slot(resource) = std::clamp<std::int64_t>(value, 0, kAmountMax);
}

void Amounts::add(const Amounts& other) {
    for (const Entry& entry : other) {
        std::int64_t& sum = slot(entry.resource);
        sum = std::min(sum + entry.value, kAmountMax);
    }
}

void Amounts::raise_to(const Amounts& other) {
    for (const Entry& entry : other) {
        std::int64_t& largest = slot(entry.resource);
        largest = std::max(largest, entry.value);
    }
}

Amounts read_amounts(JsonCursor& cursor, bool& unreadable) {
    Amounts amounts;
    cursor.object([&](std::string_view resource) {
        const std::string_view text = cursor.scalar();
        const auto value = read_quantity(text, resource == "cpu" ? 3 : 0);
        if (!value) unreadable = true;
        amounts.set(resource, value.value_or(kAmountMax));
    });
    return amounts;
}

Resources to_resources(const Amounts& amounts, std::int64_t slack) {
    const auto limited = [slack](std::int64_t value, std::int64_t limit) {
        return std::min(value, limit - slack);
    };
    Resources resources;
    for (const Amounts::Entry& entry : amounts) {
        if (entry.resource == "cpu") {
            resources.cpu = CpuMilli{limited(entry.value, AmountLimits::kCpuMilli)};
        } else if (entry.resource == "memory") {
            resources.memory = Bytes{limited(entry.value, AmountLimits::kBytesOrCount)};
        } else if (entry.resource == "pods") {
            resources.pods = limited(entry.value, AmountLimits::kGpus);
        } else if (entry.value == 0) {
            continue;
        } else if (is_gpu_resource(entry.resource)) {
            resources.gpus.push_back({std::string(entry.resource),
                                      whole_gpus(limited(entry.value, AmountLimits::kGpus))});
        } else {
            resources.extended.push_back(
                {std::string(entry.resource), limited(entry.value, AmountLimits::kBytesOrCount)});
        }
    }
    std::sort(resources.gpus.begin(), resources.gpus.end());
    std::sort(resources.extended.begin(), resources.extended.end());
    return resources;
}

}  // namespace gpuctl::k8s
