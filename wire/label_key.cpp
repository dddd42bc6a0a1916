#include "wire/label_key.hpp"

#include <algorithm>

namespace gpuctl::wire {
namespace {

constexpr std::size_t kNameMax = 63;
constexpr std::size_t kDomainMax = 253;
constexpr std::size_t kShownMax = 80;
constexpr std::string_view kOldDomains[] = {"g8s.host", "gpuctl"};
constexpr std::string_view kReserved[] = {"kubernetes.io", "k8s.io"};

constexpr bool is_lower_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_alphanumeric(char c) { return is_lower_or_digit(c) || is_upper(c); }

// At most 63 of [A-Za-z0-9._-], alphanumeric at both ends.
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kNameMax && is_alphanumeric(text.front()) &&
           is_alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
               return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
           });
}

bool is_domain(std::string_view text) {
    if (text.empty() || text.size() > kDomainMax) return false;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t dot = std::min(rest.find('.'), rest.size());
        const std::string_view part = rest.substr(0, dot);
        const bool is_part = !part.empty() && is_lower_or_digit(part.front()) &&
                             is_lower_or_digit(part.back()) &&
                             std::all_of(part.begin(), part.end(),
                                         [](char c) { return is_lower_or_digit(c) || c == '-'; });
        if (!is_part) return false;
        rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    return text.back() != '.';
}

std::string kebab(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (!is_upper(c)) {
            out += c;
            continue;
        }
        // A word begins: "gpuType", and the last letter of "GPUType"'s first word ends it.
        const bool is_first = i == 0 || !is_alphanumeric(text[i - 1]);
        const bool is_inside = i > 0 && is_upper(text[i - 1]) &&
                               (i + 1 == text.size() || !is_lower_or_digit(text[i + 1]));
        if (!is_first && !is_inside) out += '-';
        out += static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

std::string shown(std::string_view text) {
    return "\"" + std::string{text.substr(0, kShownMax)} + "\"";
}

Error refused(std::string_view written, const std::string& why) {
    return make_error(ErrorCode::ValidationFailed, "label key " + shown(written) + " " + why);
}

}  // namespace

Result<LabelKey> read_label_key(std::string_view written, std::string_view prefix) {
    const std::size_t slash = written.find('/');
    const bool has_domain = slash != written.npos;
    const std::string_view domain = has_domain ? written.substr(0, slash) : std::string_view{};
    const std::string_view name = has_domain ? written.substr(slash + 1) : written;
    if (!is_name(name)) {
        return refused(written,
                       "is not valid: a name has 1 to 63 letters, digits, '-', '_' and '.', with a "
                       "letter or digit at both ends");
    }
    const std::string ours = std::string{prefix} + "/" + kebab(name);
    if (!has_domain) return LabelKey{ours, ""};
    if (domain == prefix) return LabelKey{std::string{written}, ""};
    const auto* old = std::find(std::begin(kOldDomains), std::end(kOldDomains), domain);
    if (old != std::end(kOldDomains)) {
        return LabelKey{ours, "the prefix " + std::string{domain} + " is of an earlier product: " +
                                  std::string{written} + " is written as " + ours};
    }
    if (!is_domain(domain)) {
        return refused(written, "is not valid: before '/' there must be a DNS name, such as " +
                                    std::string{prefix} + " or company.com");
    }
    for (const std::string_view reserved : kReserved) {
        if (domain != reserved && !domain.ends_with("." + std::string{reserved})) continue;
        return refused(written, "is reserved for Kubernetes (" + std::string{domain} + "); use " +
                                    ours + ", or set it with kubectl");
    }
    return LabelKey{std::string{written}, ""};
}

Result<void> check_label_value(std::string_view key, std::string_view value) {
    const std::string label = "the value of label " + std::string{key};
    if (value.empty()) {
        return make_error(ErrorCode::ValidationFailed,
                          label + " is empty; to remove the label, delete it");
    }
    if (is_name(value)) return {};
    return make_error(ErrorCode::ValidationFailed,
                      label + " is " + shown(value) +
                          ": a value has at most 63 letters, digits, '-', '_' and '.', with a "
                          "letter or digit at both ends");
}

}  // namespace gpuctl::wire
