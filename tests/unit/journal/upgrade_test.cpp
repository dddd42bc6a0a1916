// Journals of older builds stay readable: folders that they left, in tests/fixtures/journals, and
// values with added and removed members.

#include <algorithm>
#include <filesystem>
#include <set>

#include "daemon/journal/files.hpp"
#include "daemon/journal/frame.hpp"
#include "daemon/journal/past.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/engine/views.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/upgrades.hpp"
#include "unit/journal/faulty_disk.hpp"
#include "unit/journal/journal_fixture.hpp"

namespace gpuctl::journal {
namespace {

namespace fs = std::filesystem;

// Layouts grow by a line of tests/golden/layouts.txt: "input 1 5d1c2ab0".
std::string current_line(RecordKind kind) {
    const WrittenLayout& layout = current_layout(kind);
    return (kind == RecordKind::input ? "input " : "image ") + std::to_string(layout.version) +
           " " + std::to_string(hash64(layout.text));
}

TEST(Layouts, a_changed_layout_has_a_version_of_its_own) {
    std::ifstream file{GPUCTL_SOURCE_DIR "/tests/golden/layouts.txt"};
    std::set<std::string> lines;
    std::set<std::string> versions;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        lines.insert(line);
        EXPECT_TRUE(versions.insert(line.substr(0, line.rfind(' '))).second)
            << line << ": this version has another layout already; raise it instead";
    }
    for (const RecordKind kind : {RecordKind::input, RecordKind::image}) {
        EXPECT_TRUE(lines.contains(current_line(kind)))
            << "The layout of " << (kind == RecordKind::input ? "Input" : "StateImage")
            << " has changed. Raise its version in scheduler/state/image/upgrades.hpp, add what "
               "older "
               "journals need to upgrades.cpp, record a folder of the version before under "
               "tests/fixtures/journals, and add this line to tests/golden/layouts.txt:\n"
            << current_line(kind);
    }
}

// --- layouts with added and removed members ---

// Every structure of the layout without its member number `turn` (of as many as it has).
Layout without_a_member(const Layout& layout, std::size_t turn) {
    Layout less = layout;
    less.defaults.clear();
    for (Layout& part : less.parts) part = without_a_member(part, turn);
    if (layout.kind == Layout::Kind::structure && layout.parts.size() > 1) {
        const auto gone = static_cast<std::ptrdiff_t>(turn % layout.parts.size());
        less.parts.erase(less.parts.begin() + gone);
        less.names.erase(less.names.begin() + gone);
        std::reverse(less.parts.begin(), less.parts.end());
        std::reverse(less.names.begin(), less.names.end());
    }
    return less;
}

// Fills every member with something that is not its default.
struct Filler {
    std::uint64_t last = 1;

    template <typename T>
    void fill(T& value) {
        using namespace archive_detail;
        if constexpr (std::is_same_v<T, bool>) {
            value = !value;
        } else if constexpr (std::is_enum_v<T>) {
            value = static_cast<T>(1);
        } else if constexpr (std::is_integral_v<T>) {
            value = static_cast<T>(++last % 100 + 1);
        } else if constexpr (is_quantity<T>::value || is_dense_id<T>::value) {
            value = T{static_cast<typename T::value_type>(++last)};
        } else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) {
            value = T{static_cast<std::int64_t>(++last)};
        } else if constexpr (std::is_same_v<T, std::string>) {
            value = "text " + std::to_string(++last);
        } else if constexpr (is_vector<T>::value) {
            fill(value.emplace_back());
        } else if constexpr (is_optional<T>::value) {
            fill(value.emplace());
        } else if constexpr (is_pair<T>::value) {
            fill(value.first);
            fill(value.second);
        } else if constexpr (is_array<T>::value) {
            for (auto& element : value) fill(element);
        } else if constexpr (is_map<T>::value) {
            typename T::key_type key{};
            fill(key);
            fill(value[key]);
        } else if constexpr (is_variant<T>::value) {
            std::visit([this](auto& alternative) { this->fill(alternative); }, value);
        } else {
            boost::mp11::mp_for_each<members<T>>([&](auto member) { fill(value.*member.pointer); });
        }
    }
};

// Through every layout that lacks a member of each structure and has the rest in another order:
// every value that such a build could write is read back complete.
template <typename T>
void expect_survive_lost_members(const std::vector<T>& values) {
    const Layout layout = layout_of<T>();
    for (std::size_t turn = 0; turn < 64; ++turn) {
        const Layout less = without_a_member(layout, turn);
        const auto there = Conversion::between(layout, less);
        const auto back = Conversion::between(less, layout);
        ASSERT_TRUE(there.has_value() && back.has_value());
        for (const T& value : values) {
            std::string as_less;
            std::string again;
            std::string less_again;
            ASSERT_TRUE(there->run(to_archive(value), as_less)) << turn;
            ASSERT_TRUE(back->run(as_less, again)) << turn;
            T read;
            ASSERT_TRUE(from_archive(again, read)) << turn;
            ASSERT_TRUE(there->run(again, less_again)) << turn;
            EXPECT_EQ(less_again, as_less) << turn;
        }
    }
}

template <typename... Alternatives>
std::vector<Input> filled_inputs(const std::variant<Alternatives...>*) {
    std::vector<Input> inputs;
    const auto add = [&]<typename Alternative>(Alternative alternative) {
        Input input;
        Filler filler;
        filler.fill(input);
        filler.fill(alternative);
        input.event = std::move(alternative);
        inputs.push_back(std::move(input));
    };
    (add(Alternatives{}), ...);
    return inputs;
}

TEST(Layouts, every_input_survives_the_loss_of_any_member) {
    expect_survive_lost_members(filled_inputs(static_cast<const Event*>(nullptr)));
}

TEST(Layouts, a_state_survives_the_loss_of_any_member) {
    StateImage image;
    Filler{}.fill(image);
    expect_survive_lost_members(std::vector{image});
}

// As in version 4, in which each cause was a sentence; what version 6 added is in it, too.
Layout with_sentences(const Layout& layout) {
    if (layout == layout_of<CauseBox>()) return layout_of<std::string>();
    Layout out = layout;
    out.defaults.clear();
    for (Layout& part : out.parts) part = with_sentences(part);
    return out;
}

TEST(Layouts, the_sentences_of_version_4_are_causes) {
    const Layout wanted = layout_of<StateImage>();
    const Layout written = with_sentences(wanted);
    const auto conversion = Conversion::between(written, wanted);
    ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
    StateImage image;
    image.jobs.emplace_back();
    image.churn[{"team-a", "low"}] = {};
    std::string bytes = to_archive(image);  // an absent cause and an empty sentence are one byte
    std::string converted;
    ASSERT_TRUE(conversion->run(bytes, converted));
    ASSERT_TRUE(from_archive(converted, image));
    EXPECT_TRUE(image.jobs.front().elastic.why) << "an empty sentence";
    image.churn.begin()->second.why = Cause{"preempted by higher-priority job team-a/high"};
    upgrade(image, 4);
    EXPECT_FALSE(image.jobs.front().elastic.why);
    ASSERT_TRUE(image.churn.begin()->second.why);
    EXPECT_EQ(std::get<std::string>(*image.churn.begin()->second.why),
              "preempted by higher-priority job team-a/high");
}

// --- folders that older builds left ---

class UpgradeTest : public JournalTest {
protected:
    void lay_out(const std::string& fixture) {
        fs::remove_all(folder);
        fs::create_directories(folder);
        const fs::path from = fs::path{GPUCTL_SOURCE_DIR} / "tests/fixtures/journals" / fixture;
        ASSERT_TRUE(fs::exists(from)) << from;
        fs::copy(from, folder, fs::copy_options::recursive);
    }
    // "name status" of every job.
    static std::set<std::string> jobs_of(const Engine& engine) {
        std::set<std::string> jobs;
        for (const JobView& job : list_jobs(engine.state(), {})) {
            jobs.insert(to_string(job.key) + " " + job.status);
        }
        return jobs;
    }
    std::set<std::string> names(const std::string& directory) const {
        std::set<std::string> found;
        for (const auto& entry : fs::directory_iterator{directory}) {
            if (entry.is_regular_file() && entry.path().filename() != "lock") {
                found.insert(entry.path().filename().string());
            }
        }
        return found;
    }
};

// Embedded, killed with -9: a snapshot, inputs after it, an unsealed end.
const std::set<std::string> kJobsOfFormat2 = {
    "default/data-prep-notebook Running",
    "product/data-prep-notebook Running",
    "default/llama-8b-elastic Running",
    "default/llama3-8b-inference Running",
    "product/llama3-8b-inference Running",
    "default/qwen2-72b-fullft Running",
    "default/qwen2-7b-llamafactory-sft Running",
    "product/qwen2-7b-llamafactory-sft Running",
    "default/rack-local Pending",
    "default/short-one Succeeded",
    "default/test-nginx Running",
    "default/too-large Succeeded",
    "default/urgent Succeeded",
    "default/waits Succeeded",
};

TEST_F(UpgradeTest, a_folder_of_format_2_keeps_its_jobs_and_its_files) {
    lay_out("format-2");
    const std::set<std::string> before = names(folder);
    {
        const auto journal = open();
        ASSERT_TRUE(journal.has_value()) << journal.error().message;
        EXPECT_EQ(jobs_of(recovered.engine), kJobsOfFormat2);
        EXPECT_GT(recovered.inputs_replayed, 0u);
        EXPECT_EQ(recovered.upgraded_from.substr(0, 8), "format 2");
        EXPECT_EQ(names(recovered.kept_in), before);
    }
    // No old file is needed any more.
    const std::uint64_t hash = recovered.engine.state_hash();
    const Sequence next = recovered.next_sequence;
    fs::remove_all(recovered.kept_in);
    const auto again = open();
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(recovered.engine.state_hash(), hash);
    EXPECT_EQ(recovered.next_sequence, next);
    EXPECT_EQ(recovered.upgraded_from, "");
    EXPECT_EQ(recovered.inputs_replayed, 0u);
    EXPECT_EQ(recovered.doubt, "");
}

// Embedded, killed with -9, likewise; the last build without signals of jobs.
const std::set<std::string> kJobsOfState3 = {
    "default/any-of-two Succeeded",
    "default/data-prep-notebook Running",
    "product/data-prep-notebook Running",
    "default/llama-8b-elastic Running",
    "default/llama3-8b-inference Running",
    "product/llama3-8b-inference Running",
    "default/nginx-1 Running",
    "default/nginx-2 Running",
    "default/nginx-3 Running",
    "default/qwen2-7b-llamafactory-sft Succeeded",
    "product/qwen2-7b-llamafactory-sft Succeeded",
    "default/rack-local Succeeded",
};

TEST_F(UpgradeTest, a_folder_of_state_3_keeps_its_jobs_and_can_observe_their_metrics) {
    lay_out("state-3");
    {
        const auto journal = open();
        ASSERT_TRUE(journal.has_value()) << journal.error().message;
    }
    EXPECT_EQ(jobs_of(recovered.engine), kJobsOfState3);
    EXPECT_GT(recovered.inputs_replayed, 0u);
    EXPECT_NE(recovered.upgraded_from, "");
    EXPECT_TRUE(recovered.engine.state().signals.all().empty());
    const ObjectKey job{"default", "nginx-1"};
    const SignalReading reading{2'500, Duration::seconds(60), recovered.engine.state().now()};
    EffectList effects;
    recovered.engine.step(Input{recovered.next_sequence, recovered.engine.state().now(), 1,
                                MetricsObserved{{{job, SignalKind::request_rate, reading}}}},
                          effects);
    EXPECT_EQ(recovered.engine.state().signals.latest(job, SignalKind::request_rate), reading);
}

// Embedded, killed with -9, likewise; the last build without changes of jobs, nodes and policy.
const std::set<std::string> kJobsOfState5 = {
    "default/data-prep-notebook Running",
    "default/llama-8b-elastic Running",
    "default/llama3-8b-inference Running",
    "default/nginx-1 Running",
    "default/nginx-2 Running",
    "default/qwen2-7b-llamafactory-sft Running",
    "default/rack-local Running",
    "default/test-nginx Running",
    "product/data-prep-notebook Running",
    "product/llama3-8b-inference Running",
    "product/qwen2-7b-llamafactory-sft Running",
};

TEST_F(UpgradeTest, a_folder_of_state_5_keeps_its_jobs_and_lets_one_be_paused) {
    lay_out("state-5");
    {
        const auto journal = open();
        ASSERT_TRUE(journal.has_value()) << journal.error().message;
    }
    EXPECT_EQ(jobs_of(recovered.engine), kJobsOfState5);
    EXPECT_GT(recovered.inputs_replayed, 0u);
    EXPECT_NE(recovered.upgraded_from, "");
    const ClusterState& state = recovered.engine.state();
    EXPECT_TRUE(state.policy_objects.by_key().empty());
    EXPECT_TRUE(state.node_changes.open().empty());
    const ObjectKey key{"default", "llama3-8b-inference"};
    const auto jobs = list_jobs(state, {});
    const auto service =
        std::find_if(jobs.begin(), jobs.end(), [&](const JobView& job) { return job.key == key; });
    ASSERT_NE(service, jobs.end());
    JobUpdated pause{key, service->record->uid, 0, {}};
    pause.change.kind = JobChangeKind::pause;
    EffectList effects;
    recovered.engine.step(Input{recovered.next_sequence, state.now(), 1, pause}, effects);
    EXPECT_TRUE(std::any_of(effects.begin(), effects.end(), [](const Effect& effect) {
        return std::holds_alternative<UpdateWorkload>(effect);
    }));
}

TEST_F(UpgradeTest, inputs_written_after_an_upgrade_are_replayed_after_it) {
    lay_out("format-2");
    auto journal = open();
    ASSERT_TRUE(journal.has_value());
    const auto first = static_cast<std::uint64_t>(recovered.next_sequence);
    fill(**journal, first, first + 5, 2);
    journal->reset();
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.inputs_replayed, 6u);
}

TEST_F(UpgradeTest, the_past_of_an_older_build_can_be_read) {
    lay_out("format-2");
    std::uint64_t inputs = 0;
    std::size_t jobs = 0;
    PastReader reader;
    reader.begin = [&](Engine) {};
    reader.next = [&](const Input& input) {
        ++inputs;
        if (std::holds_alternative<JobSubmitted>(input.event)) ++jobs;
    };
    ASSERT_TRUE(read_past(folder, Instant{0}, reader).has_value());
    EXPECT_GT(inputs, 100u);
    EXPECT_GE(jobs, kJobsOfFormat2.size());
}

// Each disk call of the upgrade fails once, and the machine loses power after it: the next start
// finds the same jobs, and no file of the older build is lost.
TEST_F(UpgradeTest, an_upgrade_that_crashes_at_any_disk_call_is_repeated) {
    lay_out("format-2");
    const std::set<std::string> before = names(folder);
    std::uint64_t calls = 0;
    {
        FaultyDisk counting{0, EIO, false};
        ASSERT_TRUE(open(counting).has_value());
        calls = counting.calls();
    }
    const std::uint64_t hash = recovered.engine.state_hash();
    ASSERT_GT(calls, 20u);
    for (std::uint64_t at = 1; at <= calls; ++at) {
        lay_out("format-2");
        FaultyDisk dying{at, EIO, true};
        const auto failed = open(dying);
        EXPECT_FALSE(failed.has_value()) << "call " << at;
        dying.cut_power();
        const auto journal = open();
        ASSERT_TRUE(journal.has_value()) << "call " << at << ": " << journal.error().message;
        EXPECT_EQ(recovered.engine.state_hash(), hash) << "call " << at;
        std::set<std::string> kept;
        for (const auto& entry : fs::directory_iterator{folder}) {
            if (!entry.path().filename().string().starts_with("before-upgrade-")) continue;
            const std::set<std::string> there = names(entry.path().string());
            kept.insert(there.begin(), there.end());
        }
        EXPECT_EQ(kept, before) << "call " << at;
    }
}

// Stopped right after a snapshot: the files of the upgrade need the names of the old ones.
TEST_F(UpgradeTest, a_snapshot_without_inputs_behind_it_is_replaced_and_kept) {
    lay_out("format-2");
    const std::string snapshot = folder + "/" + snapshot_name(Sequence{151});
    const std::string old_bytes = read_file(snapshot);
    const auto lay_out_snapshot = [&] {
        lay_out("format-2");
        fs::remove(folder + "/" + segment_name(Sequence{151}));
    };
    lay_out_snapshot();
    FaultyDisk counting{0, EIO, false};
    ASSERT_TRUE(open(counting).has_value());
    const std::uint64_t hash = recovered.engine.state_hash();
    EXPECT_EQ(read_file(recovered.kept_in + "/" + snapshot_name(Sequence{151})), old_bytes);
    EXPECT_NE(read_file(snapshot), old_bytes);
    for (std::uint64_t at = 1; at <= counting.calls(); ++at) {
        lay_out_snapshot();
        FaultyDisk dying{at, EIO, true};
        EXPECT_FALSE(open(dying).has_value()) << "call " << at;
        dying.cut_power();
        ASSERT_TRUE(open().has_value()) << "call " << at;
        EXPECT_EQ(recovered.engine.state_hash(), hash) << "call " << at;
    }
}

TEST_F(UpgradeTest, a_layout_that_cannot_be_read_is_refused_and_left_alone) {
    lay_out("format-2");
    fs::remove_all(folder);
    {
        fill(**open(), 1, 3, 1);
    }
    const std::string bytes = read_file(files().front());
    const std::string text = current_layout(RecordKind::input).text;
    const std::size_t at = bytes.find(text);
    ASSERT_NE(at, std::string::npos);
    // The same records, with a layout that declares a string where a number is expected.
    std::string changed = text;
    changed.replace(changed.find("now:i"), 5, "now:s");
    std::string rebuilt = bytes.substr(0, at - kFrameHeadBytes);
    append_frame(rebuilt, changed);
    rebuilt += bytes.substr(at + text.size());
    write_file(files().front(), rebuilt);
    const auto refused = open();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::JournalFailed);
    EXPECT_NE(refused.error().message.find("read member now: it was a string and is a number now"),
              std::string::npos)
        << refused.error().message;
    EXPECT_EQ(read_file(files().front()), rebuilt);
}

}  // namespace
}  // namespace gpuctl::journal
