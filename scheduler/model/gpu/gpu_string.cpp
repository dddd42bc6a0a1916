#include "scheduler/model/gpu/gpu_string.hpp"

#include <algorithm>
#include <vector>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/gpu/mig.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kGpuStringLengthMax = 256;
constexpr std::int64_t kCountMax = 1'000'000;
constexpr std::size_t kModelLengthMax = 63;  // the model becomes a label value
constexpr std::string_view kShareWord = "vgpu";
constexpr std::string_view kMigWord = "mig-";
constexpr std::int64_t kMegabyte = 1'000'000;
constexpr std::int64_t kMebibyte = 1 << 20;

// A character as the user sees it: full-width brackets, commas and spaces count as one character
// and are folded to ASCII. Any other character outside ASCII becomes '\x01', which no rule accepts.
struct Characters {
    std::string folded;
    std::vector<std::string> written;
};

Characters fold(std::string_view text) {
    Characters result;
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        std::size_t length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        length = std::min(length, text.size() - i);
        const std::string_view character = text.substr(i, length);
        char folded = '\x01';
        if (length == 1 && byte < 0x80) folded = byte == '\t' ? ' ' : text[i];
        if (character == "\xef\xbc\x88") folded = '(';
        if (character == "\xef\xbc\x89") folded = ')';
        if (character == "\xef\xbc\x8c") folded = ',';
        if (character == "\xe3\x80\x80") folded = ' ';
        result.folded += folded;
        result.written.emplace_back(character);
        i += length;
    }
    return result;
}

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.' || c == '+';
}

class Parser {
public:
    explicit Parser(std::string_view text) : characters_(fold(text)), text_(characters_.folded) {}

    Result<GpuRequest> parse() {
        skip_spaces();
        if (at_end()) return GpuRequest{};
        if (!amount() || !specification()) return *error_;
        finish();
        if (error_) return *error_;
        return request_;
    }

private:
    enum class Form { count, ratio, memory_and_ratio, everything };
    enum class Special { none, share, mig };

    bool at_end() const { return at_ == text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }
    void skip_spaces() {
        while (peek() == ' ') ++at_;
    }

    bool fail(std::size_t position, const std::string& why) {
        const std::string where = "character " + std::to_string(position + 1);
        const std::string what =
            position < text_.size() ? " (\"" + characters_.written[position] + "\")" : " (the end)";
        Error error = make_error(ErrorCode::ValidationFailed,
                                 "not a GPU request: at " + where + what + ": " + why);
        error.details.push_back({{"", 1, static_cast<int>(position + 1)}, why});
        error_ = std::move(error);
        return false;
    }

    // Reads digits with an optional point; empty if there is no digit.
    std::string number() {
        const std::size_t start = at_;
        while (is_digit(peek()) || (peek() == '.' && at_ + 1 < text_.size() &&
                                    is_digit(text_[at_ + 1]) && text_.find('.', start) == at_)) {
            ++at_;
        }
        return text_.substr(start, at_ - start);
    }

    bool amount() {
        amount_at_ = at_;
        if (peek() == '-') return everything();
        const std::string written = number();
        if (written.empty()) {
            return fail(
                at_, "a number of GPUs is expected, for example 2, 0.5, 1(A100) or 1(mig-1g.10gb)");
        }
        if (is_letter(peek())) return memory(written);
        const auto milli = parse_quantity(written, 3);
        if (!milli || *milli > kCountMax * kGpuMilliPerGpu) {
            return fail(amount_at_, "more than " + std::to_string(kCountMax) + " GPUs");
        }
        milli_ = *milli;
        if (!check_thousandths(amount_at_, written)) return false;  // 0.9999 must not count as one
        if (milli_ % kGpuMilliPerGpu == 0) {
            form_ = Form::count;
            return true;
        }
        if (milli_ > kGpuMilliPerGpu) {
            return fail(amount_at_ + written.find('.'),
                        "a fraction is only possible below one GPU; ask for whole GPUs");
        }
        form_ = Form::ratio;
        return true;
    }

    bool check_thousandths(std::size_t start, std::string_view written) {
        const std::size_t point = written.find('.');
        if (point == std::string_view::npos) return true;
        const std::size_t last = written.find_last_not_of('0');
        if (last <= point + 3) return true;
        return fail(start + point + 4, "at most three decimals");
    }

    bool everything() {
        if (text_.substr(at_, 2) != "-1" || (at_ + 2 < text_.size() && is_word(text_[at_ + 2]))) {
            return fail(at_, "the only negative amount is -1 (all GPUs of the node, shared)");
        }
        at_ += 2;
        form_ = Form::everything;
        return true;
    }

    bool memory(const std::string& written) {
        const std::size_t unit_at = at_;
        std::string unit;
        while (is_letter(peek())) unit += text_[at_++];
        unit = lower_case(unit);
        const bool binary = unit == "gi" || unit == "mi";
        if (!binary && unit != "g" && unit != "m") {
            return fail(unit_at, "a number is followed by a unit that is not G, Gi, M or Mi");
        }
        unit[0] = unit[0] == 'g' ? 'G' : 'M';
        const auto bytes = parse_bytes(written + unit);
        const std::int64_t step = binary ? kMebibyte : kMegabyte;
        if (!bytes || bytes->value() == 0 || bytes->value() % step != 0) {
            return fail(amount_at_, "GPU memory is a whole number of M or Mi, at least one");
        }
        request_.memory = *bytes;
        skip_spaces();
        if (peek() != ',') {
            return fail(at_, "GPU memory needs a share of the cores behind it, for example 8G,0.5");
        }
        ++at_;
        skip_spaces();
        const std::size_t ratio_at = at_;
        const std::string ratio = number();
        const auto milli = parse_quantity(ratio, 3);
        if (!milli || *milli == 0 || *milli > kGpuMilliPerGpu) {
            return fail(ratio_at, "the share of the cores is above 0 and at most 1");
        }
        milli_ = *milli;
        form_ = Form::memory_and_ratio;
        return check_thousandths(ratio_at, ratio);
    }

    bool specification() {
        skip_spaces();
        if (at_end()) return true;
        if (peek() != '(') {
            if (is_word(peek())) return fail(at_, "this does not belong to the number before it");
            return fail(at_, "a bracket with a vendor or a model, or nothing, is expected here");
        }
        ++at_;
        std::size_t first_at = 0;
        std::string first;
        if (!word(first_at, first)) return false;
        std::size_t second_at = 0;
        std::string second;
        if (peek() == ',') {
            ++at_;
            if (!word(second_at, second)) return false;
        }
        if (peek() != ')') {
            return fail(at_, at_end()
                                 ? "the bracket is not closed"
                                 : "one word, or vendor and model, is expected in the bracket");
        }
        ++at_;
        skip_spaces();
        if (!at_end()) return fail(at_, "nothing may follow the closing bracket");
        return second.empty() ? one_word(first_at, first)
                              : vendor_and_model(first_at, first, second_at, second);
    }

    bool word(std::size_t& start, std::string& out) {
        skip_spaces();
        start = at_;
        while (is_word(peek())) out += text_[at_++];
        skip_spaces();
        if (out.empty()) {
            return fail(at_, at_end() ? "the bracket is not closed"
                                      : "a vendor, a model, vgpu or mig-<profile> is expected");
        }
        return true;
    }

    bool one_word(std::size_t start, const std::string& text) {
        const std::string key = lower_case(text);
        if (key == kShareWord) {
            special_ = Special::share;
            return true;
        }
        if (key.substr(0, kMigWord.size()) == kMigWord) return mig(start, key);
        if (const GpuVendor* vendor = find_gpu_vendor(text)) {
            request_.vendor = vendor->alias;
            return true;
        }
        request_.vendor = vendor_of_model(text).alias;
        return model(start, text);
    }

    bool vendor_and_model(std::size_t vendor_at, const std::string& vendor_text,
                          std::size_t model_at, const std::string& model_text) {
        const GpuVendor* vendor = find_gpu_vendor(vendor_text);
        if (vendor == nullptr) {
            std::string known;
            for (const GpuVendor& row : gpu_vendors()) {
                known += (known.empty() ? "" : ", ") + std::string{row.alias};
            }
            return fail(vendor_at, "\"" + vendor_text + "\" is not a known vendor (" + known + ")");
        }
        request_.vendor = vendor->alias;
        return model(model_at, model_text);
    }

    bool mig(std::size_t start, const std::string& text) {
        const std::string profile = text.substr(kMigWord.size());
        if (!is_mig_profile(profile)) {
            return fail(start + kMigWord.size(),
                        "a MIG profile looks like 1g.10gb, 3g.40gb or 1g.10gb+me");
        }
        if (const std::string problem = problem_with_mig(profile, ""); !problem.empty()) {
            return fail(start + kMigWord.size(), problem);
        }
        special_ = Special::mig;
        request_.mig_profile = profile;
        return true;
    }

    bool model(std::size_t start, const std::string& text) {
        const std::string key = lower_case(text);
        if (find_gpu_vendor(text) != nullptr || key == kShareWord ||
            key.substr(0, kMigWord.size()) == kMigWord) {
            return fail(start, "a model is expected behind the comma, not \"" + text + "\"");
        }
        if (text.size() > kModelLengthMax) return fail(start, "a model has at most 63 characters");
        if (const std::size_t plus = text.find('+'); plus != std::string::npos) {
            return fail(start + plus, "a model has letters, digits, '-', '_' and '.' only");
        }
        const auto edge = [](char c) { return is_letter(c) || is_digit(c); };
        if (!edge(text.front())) return fail(start, "a model starts with a letter or a digit");
        if (!edge(text.back())) {
            return fail(start + text.size() - 1, "a model ends with a letter or a digit");
        }
        request_.model = text;
        return true;
    }

    // The resource of the vendor that carries this model: huawei.com/Ascend310P for Ascend310P.
    std::string device_resource() const {
        const GpuVendor* vendor = find_gpu_vendor(request_.vendor);
        std::string_view rest = vendor->other_resources;
        while (!rest.empty() && !request_.model.empty()) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            const std::string_view name = rest.substr(0, end);
            if (lower_case(name.substr(name.find('/') + 1)) == lower_case(request_.model)) {
                return std::string{name};
            }
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return std::string{vendor->resource};
    }

    void finish() {
        if (request_.vendor.empty()) request_.vendor = gpu_vendors().front().alias;
        if (special_ == Special::mig) return finish_mig();
        if (special_ == Special::share) return finish_share();
        switch (form_) {
            case Form::count:
                if (milli_ == 0) {
                    request_ = GpuRequest{};
                    return;
                }
                request_.mode = GpuMode::exclusive;
                request_.count = milli_ / kGpuMilliPerGpu;
                break;
            case Form::ratio:
            case Form::memory_and_ratio:
                request_.mode = GpuMode::fraction;
                break;
            case Form::everything:
                request_.mode = GpuMode::shared;  // no device is requested, and no GPU is counted
                return;
        }
        request_.amount = GpuMilli{milli_};
        request_.resource = device_resource();
    }

    void finish_mig() {
        if (form_ != Form::count || milli_ == 0) {
            fail(amount_at_, "MIG slices are counted in whole numbers from 1");
            return;
        }
        request_.mode = GpuMode::mig;
        request_.count = milli_ / kGpuMilliPerGpu;
        request_.amount = GpuMilli{milli_};
        request_.resource = mig_resource(request_.mig_profile);
    }

    void finish_share() {
        if (form_ == Form::ratio || form_ == Form::memory_and_ratio) {
            special_ = Special::none;  // a fraction is always shared, so it has one spelling
            return finish();
        }
        if (form_ == Form::everything || milli_ == 0) {
            fail(amount_at_, "shares are counted in whole numbers from 1, or as a fraction");
            return;
        }
        request_.mode = GpuMode::shared;
        request_.count = milli_ / kGpuMilliPerGpu;
        request_.amount = GpuMilli{milli_};
        request_.resource = gpu_vendors().front().shared_resource;
    }

    Characters characters_;
    const std::string& text_;
    std::size_t at_ = 0;
    std::size_t amount_at_ = 0;
    std::int64_t milli_ = 0;
    Form form_ = Form::count;
    Special special_ = Special::none;
    GpuRequest request_;
    std::optional<Error> error_;
};

std::string format_memory(Bytes memory) {
    const std::int64_t bytes = memory.value();
    if (bytes % (kMebibyte * 1024) == 0) return std::to_string(bytes / kMebibyte / 1024) + "Gi";
    if (bytes % kMebibyte == 0) return std::to_string(bytes / kMebibyte) + "Mi";
    if (bytes % (kMegabyte * 1000) == 0) return std::to_string(bytes / kMegabyte / 1000) + "G";
    return std::to_string(bytes / kMegabyte) + "M";
}

}  // namespace

Result<GpuRequest> parse_gpu_string(std::string_view text) {
    if (text.size() > kGpuStringLengthMax) {
        return make_error(ErrorCode::ValidationFailed,
                          "not a GPU request: longer than 256 characters");
    }
    return Parser{text}.parse();
}

std::string format_gpu_string(const GpuRequest& request) {
    std::string amount;
    std::string specification;
    switch (request.mode) {
        case GpuMode::none:
            return "0";
        case GpuMode::mig:
            return std::to_string(request.count) + "(mig-" + request.mig_profile + ")";
        case GpuMode::shared:
            if (request.count > 0) return std::to_string(request.count) + "(vgpu)";
            amount = "-1";
            break;
        case GpuMode::exclusive:
            amount = std::to_string(request.count);
            break;
        case GpuMode::fraction:
            amount = request.memory ? format_memory(*request.memory) + "," : "";
            amount += format_gpus(request.amount);
            break;
    }
    // The vendor is written only if the model (or its absence) does not imply it.
    const bool implied = vendor_of_model(request.model).alias == request.vendor;
    if (!implied) specification = request.vendor;
    if (!request.model.empty()) specification += (implied ? "" : ",") + request.model;
    return specification.empty() ? amount : amount + "(" + specification + ")";
}

}  // namespace gpuctl
