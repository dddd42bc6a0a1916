#include "scheduler/model/gpu/gpu_string.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl {
namespace {

// What a request says, in one line: mode count/amount vendor model resource.
std::string in_short(const GpuRequest& request) {
    constexpr const char* modes[] = {"none", "exclusive", "fraction", "shared", "mig"};
    std::string text = modes[static_cast<std::size_t>(request.mode)];
    if (request.mode == GpuMode::none) return text;
    text += " " + std::to_string(request.count) + " " + std::to_string(request.amount.value());
    if (request.memory) text += " memory=" + std::to_string(request.memory->value());
    text += " " + request.vendor;
    if (!request.model.empty()) text += "," + request.model;
    if (!request.mig_profile.empty()) text += " profile=" + request.mig_profile;
    if (!request.resource.empty()) text += " " + request.resource;
    return text;
}

struct Accepted {
    const char* text;
    const char* meaning;
    const char* canonical;
};

TEST(GpuString, every_form_of_the_grammar_is_read_and_has_one_canonical_spelling) {
    const Accepted table[] = {
        {"", "none", "0"},
        {"  ", "none", "0"},
        {"0", "none", "0"},
        {"0.0", "none", "0"},
        {"0(V100)", "none", "0"},
        {"1", "exclusive 1 1000 nvidia nvidia.com/gpu", "1"},
        {"2.0", "exclusive 2 2000 nvidia nvidia.com/gpu", "2"},
        {" 2", "exclusive 2 2000 nvidia nvidia.com/gpu", "2"},
        {"2 ", "exclusive 2 2000 nvidia nvidia.com/gpu", "2"},
        {"007", "exclusive 7 7000 nvidia nvidia.com/gpu", "7"},
        {"0.5", "fraction 0 500 nvidia nvidia.com/gpu", "0.5"},
        {".5", "fraction 0 500 nvidia nvidia.com/gpu", "0.5"},
        {"0.250", "fraction 0 250 nvidia nvidia.com/gpu", "0.25"},
        {"0.125000", "fraction 0 125 nvidia nvidia.com/gpu", "0.125"},
        {"-1", "shared 0 0 nvidia", "-1"},
        {"-1(V100)", "shared 0 0 nvidia,V100", "-1(V100)"},
        {"2(V100)", "exclusive 2 2000 nvidia,V100 nvidia.com/gpu", "2(V100)"},
        {"2(v100)", "exclusive 2 2000 nvidia,v100 nvidia.com/gpu", "2(v100)"},
        {"2 (V100)", "exclusive 2 2000 nvidia,V100 nvidia.com/gpu", "2(V100)"},
        {"2（V100）", "exclusive 2 2000 nvidia,V100 nvidia.com/gpu", "2(V100)"},
        {"2 （ V100 ） ", "exclusive 2 2000 nvidia,V100 nvidia.com/gpu", "2(V100)"},
        {"1(nvidia，V100)", "exclusive 1 1000 nvidia,V100 nvidia.com/gpu", "1(V100)"},
        {"1(A100-80G)", "exclusive 1 1000 nvidia,A100-80G nvidia.com/gpu", "1(A100-80G)"},
        {"1(RTX_4090.x)", "exclusive 1 1000 nvidia,RTX_4090.x nvidia.com/gpu", "1(RTX_4090.x)"},
        {"1(4090-24G)", "exclusive 1 1000 nvidia,4090-24G nvidia.com/gpu", "1(4090-24G)"},
        {"1(gpu)", "exclusive 1 1000 nvidia nvidia.com/gpu", "1"},
        {"1(NVIDIA)", "exclusive 1 1000 nvidia nvidia.com/gpu", "1"},
        {"1(npu)", "exclusive 1 1000 ascend huawei.com/Ascend910", "1(ascend)"},
        {"1(dcu)", "exclusive 1 1000 hygon hygon.com/dcu", "1(hygon)"},
        {"2(mlu)", "exclusive 2 2000 cambricon cambricon.com/mlu", "2(cambricon)"},
        {"1(gpu,A100)", "exclusive 1 1000 nvidia,A100 nvidia.com/gpu", "1(A100)"},
        {"1( nvidia , A100 )", "exclusive 1 1000 nvidia,A100 nvidia.com/gpu", "1(A100)"},
        {"1(amd,MI300X)", "exclusive 1 1000 amd,MI300X amd.com/gpu", "1(MI300X)"},
        {"1(MI300X)", "exclusive 1 1000 amd,MI300X amd.com/gpu", "1(MI300X)"},
        {"1(amd,W7900)", "exclusive 1 1000 amd,W7900 amd.com/gpu", "1(amd,W7900)"},
        {"1(Ascend310P)", "exclusive 1 1000 ascend,Ascend310P huawei.com/Ascend310P",
         "1(Ascend310P)"},
        {"1(nvidia,MI300X)", "exclusive 1 1000 nvidia,MI300X nvidia.com/gpu", "1(nvidia,MI300X)"},
        {"0.5(npu)", "fraction 0 500 ascend huawei.com/Ascend910", "0.5(ascend)"},
        {"0.5(V100)", "fraction 0 500 nvidia,V100 nvidia.com/gpu", "0.5(V100)"},
        {"2(vgpu)", "shared 2 2000 nvidia nvidia.com/gpu.shared", "2(vgpu)"},
        {"2(VGPU)", "shared 2 2000 nvidia nvidia.com/gpu.shared", "2(vgpu)"},
        {"0.5(vgpu)", "fraction 0 500 nvidia nvidia.com/gpu", "0.5"},
        {"1(mig-1g.10gb)", "mig 1 1000 nvidia profile=1g.10gb nvidia.com/mig-1g.10gb",
         "1(mig-1g.10gb)"},
        {"3(MIG-3G.40GB)", "mig 3 3000 nvidia profile=3g.40gb nvidia.com/mig-3g.40gb",
         "3(mig-3g.40gb)"},
        {"1(mig-1g.10gb+me)", "mig 1 1000 nvidia profile=1g.10gb+me nvidia.com/mig-1g.10gb.me",
         "1(mig-1g.10gb+me)"},
        {"1(mig-1c.3g.40gb)", "mig 1 1000 nvidia profile=1c.3g.40gb nvidia.com/mig-1c.3g.40gb",
         "1(mig-1c.3g.40gb)"},
        {"1G,0.1", "fraction 0 100 memory=1000000000 nvidia nvidia.com/gpu", "1G,0.1"},
        {"8G,0.5(V100)", "fraction 0 500 memory=8000000000 nvidia,V100 nvidia.com/gpu",
         "8G,0.5(V100)"},
        {"8Gi , 0.5", "fraction 0 500 memory=8589934592 nvidia nvidia.com/gpu", "8Gi,0.5"},
        {"512Mi,0.25", "fraction 0 250 memory=536870912 nvidia nvidia.com/gpu", "512Mi,0.25"},
        {"1.5Gi,0.5", "fraction 0 500 memory=1610612736 nvidia nvidia.com/gpu", "1536Mi,0.5"},
        {"500M,1", "fraction 0 1000 memory=500000000 nvidia nvidia.com/gpu", "500M,1"},
        {"1g，0.5", "fraction 0 500 memory=1000000000 nvidia nvidia.com/gpu", "1G,0.5"},
    };
    for (const Accepted& one : table) {
        const auto parsed = parse_gpu_string(one.text);
        ASSERT_TRUE(parsed.has_value()) << one.text << ": " << parsed.error().message;
        EXPECT_EQ(in_short(*parsed), one.meaning) << one.text;
        EXPECT_EQ(format_gpu_string(*parsed), one.canonical) << one.text;
        EXPECT_EQ(parse_gpu_string(one.canonical).value(), *parsed) << one.text;
    }
}

struct Refused {
    const char* text;
    int position;  // in characters, from 1
};

constexpr Refused kRefused[] = {
    {"abc", 1},
    {"2x", 2},
    {"1()", 3},
    {"1(", 3},
    {"1(V100", 7},
    {"1(T4)(A10)", 6},
    {"1e1", 2},
    {"1.5", 2},
    {"2.25(V100)", 2},
    {"-2", 1},
    {"-1.5", 1},
    {"-", 1},
    {"+1", 1},
    {"--1", 1},
    {"1 0", 3},
    {"1 V100", 3},
    {"(V100)", 1},
    {"1)", 2},
    {"1(V100))", 8},
    {"1(V100)x", 8},
    {"1(,)", 3},
    {"1(nvidia,)", 10},
    {"1(,V100)", 3},
    {"1(a,b,c)", 6},
    {"1(foo,V100)", 3},
    {"1(nvidia,amd)", 10},
    {"1(nvidia,vgpu)", 10},
    {"1(vgpu,V100)", 3},
    {"1(V100 T4)", 8},
    {"1(-V100)", 3},
    {"1(V100-)", 7},
    {"1(V10+0)", 6},
    {"1(V@100)", 4},
    {"0.5(mig-1g.10gb)", 1},
    {"0(mig-1g.10gb)", 1},
    {"1(mig-)", 7},
    {"1(mig-1g)", 7},
    {"1(mig-0g.10gb)", 7},
    {"1(mig-1g.10gbx)", 7},
    {"0(vgpu)", 1},
    {"-1(vgpu)", 1},
    {"1.2.3", 2},
    {"1,5", 2},
    {"0.1234", 6},
    {"0.5.5", 4},
    {"1G", 3},
    {"1G,", 4},
    {"1G,0", 4},
    {"1G,1.5", 4},
    {"0G,0.5", 1},
    {"0.1M,0.5", 1},
    {"1T,0.5", 2},
    {"1GB,0.5", 2},
    {"9999999999", 1},
    {"99999999999999999999", 1},
    {"２", 1},
    {"2（V100", 7},
    {"2（）", 3},
    {"1（V１00）", 4},
    {"1(V100)\xff", 8},
    {"1/2", 2},
    {"50%", 3},
    {"1(\xe4\xb8\xad)", 3},
};

TEST(GpuString, everything_else_is_refused_at_the_first_bad_character) {
    for (const Refused& one : kRefused) {
        const auto parsed = parse_gpu_string(one.text);
        ASSERT_TRUE(parsed.has_error()) << one.text << " was read as " << in_short(*parsed);
        EXPECT_EQ(parsed.error().code, ErrorCode::ValidationFailed);
        ASSERT_EQ(parsed.error().details.size(), 1u) << one.text;
        EXPECT_EQ(parsed.error().details[0].place.column, one.position)
            << one.text << ": " << parsed.error().message;
        const std::string where = "character " + std::to_string(one.position) + " ";
        EXPECT_NE(parsed.error().message.find(where), std::string::npos) << one.text;
    }
    EXPECT_TRUE(parse_gpu_string(std::string(1000, '1')).has_error());
}

TEST(GpuString, a_message_says_what_is_wrong_and_where) {
    EXPECT_EQ(parse_gpu_string("1(V100").error().message,
              "not a GPU request: at character 7 (the end): the bracket is not closed");
    EXPECT_EQ(parse_gpu_string("1.5").error().message,
              "not a GPU request: at character 2 (\".\"): a fraction is only possible below one "
              "GPU; ask for whole GPUs");
}

rc::Gen<GpuRequest> any_request() {
    return rc::gen::exec([] {
        const auto model_character = rc::gen::elementOf(
            std::string{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."});
        const auto edge = rc::gen::elementOf(std::string{"ABCXYZabcxyz019"});
        std::string model;
        if (*rc::gen::arbitrary<bool>()) {
            model = std::string(1, *edge) +
                    *rc::gen::resize(40, rc::gen::container<std::string>(model_character)) +
                    std::string(1, *edge);
            if (find_gpu_vendor(model) != nullptr) model += "1";
        }
        const auto vendors = gpu_vendors();
        const GpuVendor& vendor = vendors[*rc::gen::inRange<std::size_t>(0, vendors.size())];
        const std::string specification =
            "(" + std::string{vendor.alias} + (model.empty() ? "" : "," + model) + ")";
        std::string amount;
        switch (*rc::gen::inRange(0, 5)) {
            case 0:
                amount = std::to_string(*rc::gen::inRange(1, 1'000'000));
                break;
            case 1:
                amount = "0." + std::to_string(*rc::gen::inRange(1, 1000));
                break;
            case 2:
                amount = "-1";
                break;
            case 3:
                amount = std::to_string(*rc::gen::inRange(1, 5000)) +
                         *rc::gen::element<std::string>("G", "Gi", "M", "Mi") + ",0." +
                         std::to_string(*rc::gen::inRange(1, 1000));
                break;
            default:
                return parse_gpu_string("3(mig-2g.20gb)").value();
        }
        const auto request = parse_gpu_string(amount + specification);
        RC_PRE(request.has_value());
        return *request;
    });
}

RC_GTEST_PROP(GpuString, the_canonical_text_reads_back_as_the_same_request, ()) {
    const GpuRequest request = *any_request();
    const std::string text = format_gpu_string(request);
    const auto again = parse_gpu_string(text);
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == request);
    RC_ASSERT(format_gpu_string(*again) == text);
}

RC_GTEST_PROP(GpuString, any_text_gets_an_answer_and_an_accepted_request_is_stable, ()) {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string{"0123456789.,-()GgMmi vVgpu10A\xef\xbc\x88\xff"}));
    const auto parsed = parse_gpu_string(text);
    if (parsed.has_value())
        RC_ASSERT(parse_gpu_string(format_gpu_string(*parsed)).value() == *parsed);
}

}  // namespace
}  // namespace gpuctl
