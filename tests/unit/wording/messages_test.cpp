// docs/messages.md shows each fact as the code words it. A changed sentence changes the page, too.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "scheduler/base/error_code.hpp"
#include "wording/wording.hpp"

namespace gpuctl {
namespace {

using namespace fact;

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file{path};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// With one blank between words.
std::string on_one_line(const std::string& text) {
    std::istringstream words{text};
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    return joined;
}

std::string page() { return on_one_line(content_of(GPUCTL_SOURCE_DIR "/docs/messages.md")); }

// The string literals of a source file, adjacent ones joined as the compiler joins them.
std::vector<std::string> literals_of(const std::string& source) {
    std::vector<std::string> found;
    bool is_adjacent = false;
    for (std::size_t at = 0; at < source.size(); ++at) {
        const std::string_view rest = std::string_view{source}.substr(at);
        if (rest.starts_with("//") || rest.starts_with("#include")) {
            at = std::min(source.find('\n', at), source.size());
            continue;
        }
        if (source[at] != '"') {
            is_adjacent = is_adjacent && std::isspace(static_cast<unsigned char>(source[at])) != 0;
            continue;
        }
        if (!is_adjacent) found.emplace_back();
        for (++at; at < source.size() && source[at] != '"'; ++at) {
            if (source[at] == '\\') ++at;
            found.back() += source[at];
        }
        is_adjacent = true;
    }
    return found;
}

// The words of a literal, without the marks that join it to its neighbours.
std::string words_of(const std::string& literal) {
    constexpr const char* kMarks = " ;,:()\"";
    const std::size_t first = literal.find_first_not_of(kMarks);
    if (first == std::string::npos) return "";
    return on_one_line(literal.substr(first, literal.find_last_not_of(kMarks) - first + 1));
}

constexpr const char* kGpu = "nvidia.com/gpu";
const LimitHolder kQueue{.queue = "llm", .tenant = "", .pool = "gpu"};
const LimitHolder kSubQueues{.queue = "team", .tenant = "", .pool = "gpu"};
const LimitHolder kLab{.queue = "lab", .tenant = "", .pool = "gpu"};
const LimitHolder kPool{.queue = "", .tenant = "", .pool = "gpu"};

LimitReached limit(LimitHolder holder, LimitRule rule, const char* model = "") {
    return {.holder = std::move(holder),
            .rule = rule,
            .unit = LimitUnit::gpus,
            .model = model,
            .limit = 16'000,
            .held = 12'000,
            .needed = 8'000,
            .nominated = {},
            .leaves_other_models = false};
}

Amount amount(ResourceKind kind, const char* resource, std::int64_t value) {
    return {kind, resource, value, false};
}

std::vector<Fact> held_back() {
    return {Waits{WaitsFor::cluster_read},
            Waits{WaitsFor::leadership},
            Waits{WaitsFor::turn},
            Waits{WaitsFor::other_ranks},
            Waits{WaitsFor::rollback},
            PoolUnknown{"moon", {"default", "training"}},
            QueueUnknown{"lunch", "default", {"lab", "prod"}},
            QueueHoldsQueues{"team", "default", {"lab", "prod"}},
            PodsGated{2},
            RoomNominated{whole_gpus(8), {"node-3"}, 1, {"b/x-0", "b/x-1"}, 2, Duration{30'000}},
            RoomNominated{whole_gpus(8), {"node-3"}, 1, {}, 0, Duration{30'000}},
            PodBoundElsewhere{"x"},
            PodGone{"x"},
            BindRefused{"x", "admission webhook denied it", Duration{30'000}},
            BindBackoff{2, "timeout", Duration{1'000}},
            QueueIgnored{"gold", "default", false},
            PodsMissing{PodsMissingCause::suspended, ""},
            PodsMissing{PodsMissingCause::last_pod_failed, ""},
            PodsMissing{PodsMissingCause::unknown, ""},
            GangSizeUnknown{"g", false, ""},
            GangSizeUnknown{"g", true, ""},
            GangIncomplete{4, 3, {{"leader", 1, 0}}, {}, ""},
            RanksNotMade{},
            ControllerFails{""},
            GangRepair{Duration{300'000}, {}},
            GangRepair{{}, Duration{600'000}}};
}

std::vector<Fact> of_limits() {
    LimitReached jobs = limit(kLab, LimitRule::jobs_at_once);
    jobs.unit = LimitUnit::jobs;
    jobs.limit = jobs.held = 1;
    LimitReached per_job = limit(kLab, LimitRule::gpus_per_job);
    per_job.limit = 2'000;
    per_job.held = 0;
    per_job.needed = 3'000;
    LimitReached growth = limit(kPool, LimitRule::reserved_for_growth);
    growth.limit = 14'000;
    growth.needed = 4'000;
    return {limit(kQueue, LimitRule::maximum),
            limit(kQueue, LimitRule::guarantee_and_borrowing),
            limit(kSubQueues, LimitRule::reserved_for_siblings),
            jobs,
            per_job,
            growth,
            limit(kPool, LimitRule::reserved_for_queues, "A100"),
            limit({.queue = "", .tenant = "team-a", .pool = ""}, LimitRule::tenant_maximum),
            limit({.queue = "", .tenant = "team-a", .pool = "gpu"}, LimitRule::pool_quota)};
}

std::vector<Fact> of_room() {
    const UsableNodes all{"default", 3, 3};
    const Amount cpu = amount(ResourceKind::cpu, "", 64'000);
    const Amount gpus = amount(ResourceKind::gpu, kGpu, 8'000);
    const Amount port = amount(ResourceKind::host_port, "2222/TCP", 1);
    return {Request{kGpu, 8'000, 3},
            Request{kGpu, 500, 1},
            Request{"", 0, 2},
            PoolEmpty{"default"},
            GpusShort{{"training", 8, 8}, kGpu, 4'000, 64'000, 2'000, false, false, {3, 0, 0, {}}},
            GpusShort{{"default", 3, 4}, kGpu, 0, 24'000, 0, false, true, {1, 0, 0, {}}},
            ResourceShort{all, cpu, 32'000, {gpus}, {1, 0, 0, {}}},
            AlsoShort{amount(ResourceKind::cpu, "", 32'000), 2'000},
            HostPortTaken{all, port, 2, 0, {gpus}, {1, 0, 0, {}}},
            MixShort{{6'000, 3, {4'000, 1'000, 1'000}}, "default", 6'000, 8'000},
            MixTogether{{6'000, 3, {4'000, 1'000, 1'000}}},
            NamedNodeMissing{"", "b", 0},
            OtherPools{"test", {{"dev", 1, "dev-0"}}}};
}

std::vector<Fact> of_order() {
    return {ShortJobsFirst{25, "gpu", Duration{3'600'000}, Duration::seconds(187'200)},
            HeadOfLine{Duration{300'000}},
            HasReservation{Duration{3'600'000}},
            NodesKeptForHead{"team-a/wide", Duration{300'000}},
            DelaysReservation{"team-a/wide", Duration{3'600'000}, Duration{10'800'000}},
            HeadUnderLimit{Duration{300'000}, {}},
            LimitReservedForHead{{.queue = "c", .tenant = "", .pool = "gpu"}, "team-a/first"},
            LimitReserved{kLab, "team-a/wide", {}, Duration{3'600'000}, Duration{10'800'000}},
            PreemptsNothing{8'000}};
}

std::vector<Fact> of_sizes() {
    return {ElasticSize{4, 2, 8, 17}, SizeChangedLast{cause::RoomIsIdle{}},
            SizeWaitsForRoom{2},      SizeStays{SizeFixed::at_maximum},
            GrowthAhead{6, 30, {}},   GrowthWithoutRoom{"gpu", 5'000, 8'000},
            GrowthUndecided{true},    GrowthUndecided{false}};
}

TEST(Messages, the_page_shows_the_sentences_of_the_code) {
    const std::string shown = page();
    ASSERT_NE(shown, "");
    for (const auto& facts : {held_back(), of_limits(), of_room(), of_order(), of_sizes()}) {
        for (const Fact& fact : facts) {
            std::string sentence = wording::text({fact});
            sentence.erase(0, sentence.find_first_not_of(" ,;:"));  // its separator
            EXPECT_NE(shown.find(sentence), std::string::npos) << sentence;
        }
    }
}

TEST(Messages, the_page_shows_why_a_job_was_stopped_or_resized) {
    using namespace cause;
    const auto minutes = [](std::int64_t count) { return Duration::seconds(60 * count); };
    const std::vector<Cause> causes = {
        HigherPriority{{"team-a", "prod"}},
        Reclaimed{"prod", {"team-a", "own"}},
        BlocksGuarantee{"prod", "a", {{ResourceKind::cpu, "cpu"}}, {"team-a", "own"}},
        ShorterJob{{"team-a", "short"}, minutes(10), minutes(180)},
        NearWaitTarget{{"team-a", "late"}, minutes(10), minutes(30)},
        MustStartNow{{"team-a", "long"}, minutes(33)},
        DueEarlier{{"team-a", "due"}},
        GangLacksRanks{minutes(10), {"team-a", "next"}},
        GangRestarts{minutes(10)},
        NodeUnhealthy{"a", "XID 79"},
        WindowCloses{"rack-7", false, false},
        ShrunkFor{{"team-a", "x"}},
        StartsWithAllRanks{},
        RoomIsIdle{},
        NoIdleRoom{},
        GainsLess{},
        Gain{4, 8, false, 17, minutes(22)},
        OtherGainsMore{2, {"team-a", "x"}, {2, 4, false, 19, {}}},
        NodeDrained{"a"}};
    EXPECT_EQ(causes.size(), std::variant_size_v<Cause> - 1) << "each but the sentence";
    const std::string shown = page();
    for (const Cause& cause : causes) {
        const std::string sentence = wording::cause_text(cause);
        EXPECT_NE(shown.find("| " + sentence + " |"), std::string::npos) << sentence;
    }
    EXPECT_NE(shown.find("| " + wording::rollback_text() + " |"), std::string::npos);
}

TEST(Messages, the_page_shows_what_would_help) {
    const change::RaisedLimit maximum{{.queue = "dev", .tenant = "", .pool = ""},
                                      LimitRule::maximum,
                                      LimitUnit::gpus,
                                      "",
                                      10'000,
                                      4'000};
    change::RaisedLimit jobs = maximum;
    jobs.rule = LimitRule::jobs_at_once;
    jobs.unit = LimitUnit::jobs;
    jobs.to = 4;
    jobs.from = 1;
    ChangeEffect some{change::OtherPool{"other"}};
    some.pods_waiting = 3;
    some.pods_started = 2;
    const ChangeEffect moves{change::JobsMove{{{{"team-a", "goes"}, whole_gpus(2), {"b"}, {"a"}}},
                                              std::int64_t{21} * 60'000}};
    const std::vector<ChangeEffect> all = {
        {change::FewerGpus{kGpu, whole_gpus(6), 8, true}},
        {change::HigherLimits{{maximum, jobs}}},
        {change::JobEnds{{}, {"team-a", "small"}, whole_gpus(2)}},
        {change::MoreNodes{{}, 3, "a", TopologyLevel::rack}},
        some,
        moves};
    const std::string shown = page();
    for (const ChangeEffect& effect : all) {
        const std::string sentence = wording::sentence(effect);
        EXPECT_NE(shown.find("| " + sentence + " |"), std::string::npos) << sentence;
    }
}

Refusal too_low(fact::LimitHolder holder, std::int64_t most) {
    refusal::LimitTooLow low;
    low.pods = 2;
    low.each = 4'000;
    low.most = most;
    low.holder = std::move(holder);
    return {ErrorCode::QuotaExceeded, std::move(low)};
}

TEST(Messages, the_page_shows_why_a_job_is_refused) {
    const auto resources = [](std::int64_t gpus, std::int64_t cores, std::int64_t gib) {
        Resources out;
        out.cpu = CpuMilli{cores * 1'000};
        out.memory = Bytes{gib << 30};
        out.gpus = {{kGpu, whole_gpus(gpus), {}}};
        return out;
    };
    Refusal lent = too_low({.queue = "r/x", .tenant = "", .pool = "default"}, 5'000);
    auto& low = std::get<refusal::LimitTooLow>(lent.what);
    low.is_lending = true;
    low.lender = "r";
    low.reserved = whole_gpus(3);
    low.reserved_of = whole_gpus(8);
    const std::vector<Refusal> all = {
        too_low({.queue = "dev", .tenant = "", .pool = "default"}, 6'000),
        lent,
        {ErrorCode::NeverFits,
         refusal::NodesTooSmall{
             {3, resources(4, 8, 16)}, "default", "a", resources(8, 64, 512), 2}},
        {ErrorCode::NeverFits,
         refusal::NoGpuModel{{1, resources(1, 1, 1)}, "default", {"H100"}, {"A100", "V100"}, ""}}};
    const std::string shown = page();
    for (const Refusal& refusal : all) {
        const std::string sentence = wording::error_of(refusal).message;
        EXPECT_NE(shown.find("| " + sentence + " |"), std::string::npos) << sentence;
    }
}

TEST(Messages, the_page_shows_why_pods_stay) {
    const std::string shown = page();
    const std::map<NotEvicted, Duration> rests = {
        {NotEvicted::evicted_often, Duration{1'200'000}},
        {NotEvicted::in_protected_run_time, Duration{300'000}},
        {NotEvicted::refused_before, Duration{60'000}}};
    for (int turn = 0; turn <= static_cast<int>(NotEvicted::ends_last); ++turn) {
        PodsNotEvicted kept{Holders::lower_priority,
                            amount(ResourceKind::gpu, kGpu, 8'000),
                            static_cast<NotEvicted>(turn),
                            {},
                            "team-a/wide"};
        if (rests.contains(kept.why)) kept.rest = rests.at(kept.why);
        const std::string sentence = wording::text({kept});
        const std::string reason = sentence.substr(sentence.find(" that ") + 6);
        EXPECT_NE(shown.find("`" + reason + "`"), std::string::npos) << reason;
    }
}

TEST(Messages, the_page_shows_which_pods_stay) {
    const std::string shown = page();
    for (int turn = 0; turn <= static_cast<int>(Holders::due_later); ++turn) {
        PodsNotEvicted kept;
        kept.holders = static_cast<Holders>(turn);
        kept.held = amount(ResourceKind::gpu, kGpu, 8'000);
        if (kept.holders == Holders::over_guarantee) kept.held.amount = 4'000;
        if (kept.holders == Holders::on_nodes_with_free_gpus) {
            kept.held = amount(ResourceKind::cpu, "cpu", 4'000);
        }
        kept.why = NotEvicted::no_controller;
        const std::string sentence = wording::text({kept});
        const std::string holders = sentence.substr(0, sentence.find(" no controller"));
        EXPECT_NE(shown.find("| " + holders + " *reason* |"), std::string::npos) << holders;
        kept.why = NotEvicted::not_stated;
        const bool is_by_run_time =
            kept.holders == Holders::more_remaining_work || kept.holders == Holders::due_later;
        EXPECT_EQ(wording::text({kept}).ends_with(": set preemptible: true on them"),
                  is_by_run_time);
    }
}

// A sentence that the page lacks fails here: each piece of text of the code with two words or more
// is on the page.
TEST(Messages, the_page_has_all_words_of_the_code) {
    const std::string shown = page();
    std::size_t count = 0;
    for (const auto& file :
         std::filesystem::directory_iterator{GPUCTL_SOURCE_DIR "/wording/english"}) {
        if (file.path().extension() != ".cpp") continue;
        for (const std::string& literal : literals_of(content_of(file.path()))) {
            const std::string words = words_of(literal);
            if (words.find(' ') == std::string::npos) continue;
            ++count;
            EXPECT_NE(shown.find(words), std::string::npos)
                << file.path().filename() << ": " << words;
        }
    }
    EXPECT_GT(count, 150U) << "the files are read";
}

TEST(Messages, the_page_has_every_error_code) {
    const std::string shown = page();
    for (const std::string_view name : kErrorCodeNames) {
        EXPECT_NE(shown.find("`" + std::string{name} + "`"), std::string::npos) << name;
    }
}

TEST(Messages, the_page_has_every_reason) {
    const std::string shown = page();
    for (const ReasonRow& row : kReasons) {
        if (row.reason == Reason::none) continue;
        EXPECT_NE(shown.find("`" + std::string{row.label} + "`"), std::string::npos) << row.label;
    }
}

}  // namespace
}  // namespace gpuctl
