#include "k8s/lease/lease_keeper.hpp"

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test_support::ScriptedServer;
using test_support::SeenRequest;
using Reply = ScriptedServer::Reply;

// One Lease with compare-and-swap, as the API server keeps it.
class LeaseApi {
public:
    std::atomic<bool> fail_writes{false};
    std::atomic<bool> stall{false};

    ScriptedServer::Script script() {
        return [this](const SeenRequest& request, Reply& reply) { serve(request, reply); };
    }
    nlohmann::json stored() {
        const std::lock_guard lock{mutex_};
        return stored_.value_or(nlohmann::json{});
    }
    void edit(const std::string& key, const nlohmann::json& value) {
        const std::lock_guard lock{mutex_};
        (*stored_)["spec"][key] = value;
        (*stored_)["metadata"]["resourceVersion"] = std::to_string(++version_);
    }

    // The answer to a read of the holder's pod.
    std::atomic<int> pod_status{500};
    std::string pod_body = "no";

private:
    void serve(const SeenRequest& request, Reply& reply) {
        if (stall) return reply.stall();
        if (request.path().starts_with("/api/v1/namespaces/")) {
            return reply.respond(pod_status, pod_body);
        }
        if (request.method != "GET" && fail_writes) return reply.respond(500, "no");
        const std::lock_guard lock{mutex_};
        if (request.method == "GET") {
            if (!stored_)
                return reply.respond(404, R"({"kind":"Status","reason":"NotFound","code":404})");
            return reply.respond(200, stored_->dump());
        }
        auto body = nlohmann::json::parse(request.body);
        const bool create = request.method == "POST";
        const std::string given = body["metadata"].value("resourceVersion", "");
        const bool fits =
            create ? !stored_ : stored_ && (*stored_)["metadata"]["resourceVersion"] == given;
        if (!fits) {
            return reply.respond(409, R"({"kind":"Status","reason":"Conflict","code":409})");
        }
        body["metadata"]["resourceVersion"] = std::to_string(++version_);
        stored_ = body;
        reply.respond(create ? 201 : 200, body.dump());
    }

    std::mutex mutex_;
    std::optional<nlohmann::json> stored_;
    int version_ = 1;
};

LeaseSettings quick(const std::string& identity) {
    LeaseSettings settings;
    settings.namespace_name = "kube-system";
    settings.identity = identity;
    settings.duration = milliseconds{1'000};
    settings.renew_deadline = milliseconds{600};
    settings.retry_period = milliseconds{50};
    return settings;
}

struct Changes {
    std::vector<std::string> story;
    LeaseKeeper::OnChange listener() {
        return [this](bool leading, Epoch epoch) {
            story.push_back((leading ? "leads " : "follows ") +
                            std::to_string(static_cast<std::uint64_t>(epoch)));
        };
    }
};

class LeaseKeeperTest : public LoopTest {
protected:
    ~LeaseKeeperTest() override {
        group.cancel();
        (void)run(group.join(soon()));
    }
    std::unique_ptr<LeaseKeeper> keeper(const std::string& name, Changes& changes) {
        auto made = std::make_unique<LeaseKeeper>(loop, *client, quick(name), changes.listener(),
                                                  std::hash<std::string>{}(name));
        group.spawn("lease " + name, made->run());
        return made;
    }

    LeaseApi api;
    ScriptedServer server{api.script()};
    std::unique_ptr<Client> client = client_of(server);
    Changes changes_a;
    Changes changes_b;
};

TEST_F(LeaseKeeperTest, the_only_candidate_leads_and_keeps_renewing) {
    auto a = keeper("a", changes_a);
    ASSERT_TRUE(wait_for([&] { return a->view().renewals >= 4; }));
    EXPECT_EQ(changes_a.story, std::vector<std::string>{"leads 1"});
    EXPECT_FALSE(a->may_write(Epoch{1}))
        << "another process may lead under a lease that was deleted";
    a->write_at_once();
    EXPECT_TRUE(a->may_write(Epoch{1}));
    EXPECT_FALSE(a->may_write(Epoch{2})) << "a write of another term";
    EXPECT_EQ(api.stored()["spec"]["holderIdentity"], "a");
    EXPECT_EQ(server.received().at(1).method, "POST");
}

TEST_F(LeaseKeeperTest, the_lease_uses_one_connection_of_its_own) {
    auto a = keeper("a", changes_a);
    ASSERT_TRUE(wait_for([&] { return a->view().renewals >= 4; }));
    for (const SeenRequest& request : server.received()) EXPECT_EQ(request.connection, 1);
}

TEST_F(LeaseKeeperTest, a_released_lease_goes_to_the_other_candidate) {
    auto a = keeper("a", changes_a);
    ASSERT_TRUE(wait_for([&] { return a->view().leading; }));
    auto b = keeper("b", changes_b);
    ASSERT_TRUE(wait_for([&] { return b->view().holder == "a"; }));
    const auto released = run(a->release(soon()));
    EXPECT_TRUE(released) << released.error().message;
    EXPECT_FALSE(a->may_write(Epoch{1}));
    ASSERT_TRUE(wait_for([&] { return b->view().leading; }));
    EXPECT_EQ(changes_a.story, (std::vector<std::string>{"leads 1", "follows 1"}));
    EXPECT_EQ(changes_b.story, std::vector<std::string>{"leads 2"});
}

TEST_F(LeaseKeeperTest, failing_renewals_step_down_and_do_not_exit) {
    auto a = keeper("a", changes_a);
    ASSERT_TRUE(wait_for([&] { return a->view().leading; }));
    api.fail_writes = true;
    ASSERT_TRUE(wait_for([&] { return changes_a.story.size() == 2; }));
    EXPECT_EQ(changes_a.story.back(), "follows 1");
    EXPECT_FALSE(a->may_write(Epoch{1}));
    EXPECT_NE(a->view().last_error, "");
    api.fail_writes = false;
    ASSERT_TRUE(wait_for([&] { return changes_a.story.size() == 3; }));
    EXPECT_EQ(changes_a.story.back(), "leads 2") << "a term of its own";
}

TEST_F(LeaseKeeperTest, a_server_that_stalls_costs_the_term_in_time) {
    auto a = keeper("a", changes_a);
    ASSERT_TRUE(wait_for([&] { return a->view().leading; }));
    api.stall = true;
    ASSERT_TRUE(wait_for([&] { return changes_a.story.size() == 2; }));
    EXPECT_FALSE(a->may_write(Epoch{1}));
}

TEST_F(LeaseKeeperTest, a_foreign_holder_ends_the_term) {
    auto a = keeper("a", changes_a);
    ASSERT_TRUE(wait_for([&] { return a->view().leading; }));
    api.edit("leaseDurationSeconds", 3'600);
    api.edit("holderIdentity", "mallory");
    ASSERT_TRUE(wait_for([&] { return changes_a.story.size() == 2; }));
    EXPECT_EQ(changes_a.story.back(), "follows 1");
    EXPECT_EQ(a->view().holder, "mallory");
}

TEST_F(LeaseKeeperTest, of_two_candidates_exactly_one_leads) {
    auto a = keeper("a", changes_a);
    auto b = keeper("b", changes_b);
    ASSERT_TRUE(wait_for([&] { return a->view().leading || b->view().leading; }));
    auto& leader = a->view().leading ? a : b;
    auto& follower = a->view().leading ? b : a;
    const auto renewals = leader->view().renewals;
    ASSERT_TRUE(wait_for([&] { return leader->view().renewals >= renewals + 5; }));
    EXPECT_FALSE(follower->view().leading);
    EXPECT_FALSE(follower->may_write(follower->view().epoch));
}

constexpr const char* kPodOfA = "ns_pod-a_uid-a_main_1.1_process-a";
constexpr const char* kPodOfB = "ns_pod-b_uid-b_main_2.1_process-b";
constexpr const char* kNoSuchPod =
    R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404})";

TEST_F(LeaseKeeperTest, a_holder_without_a_pod_is_succeeded_at_once) {
    api.pod_status = 404;
    api.pod_body = kNoSuchPod;
    auto a = keeper(kPodOfA, changes_a);
    ASSERT_TRUE(wait_for([&] { return a->view().leading; }));
    api.edit("leaseDurationSeconds", 3'600);
    a.reset();
    group.cancel();
    ASSERT_TRUE(run(group.join(soon())));
    aio::TaskGroup again{loop};
    LeaseKeeper b{loop, *client, quick(kPodOfB), changes_b.listener(), 1};
    again.spawn("lease b", b.run());
    EXPECT_TRUE(wait_for([&] { return b.view().leading; }));
    EXPECT_EQ(changes_b.story, std::vector<std::string>{"leads 2"});
    EXPECT_EQ(b.before(), LeaseMachine::Before::died);
    again.cancel();
    EXPECT_TRUE(run(again.join(soon())));
}

TEST_F(LeaseKeeperTest, an_error_about_the_pod_of_a_holder_proves_nothing) {
    auto a = keeper(kPodOfA, changes_a);
    ASSERT_TRUE(wait_for([&] { return a->view().leading; }));
    a.reset();
    group.cancel();
    ASSERT_TRUE(run(group.join(soon())));
    api.edit("leaseDurationSeconds", 3'600);
    for (const int status : {500, 404, 403}) {  // a 404 that is no Status comes from a proxy
        api.pod_status = status;
        const auto asked = [&] {
            std::size_t count = 0;
            for (const SeenRequest& seen : server.received()) {
                count += seen.path() == "/api/v1/namespaces/ns/pods/pod-a" ? 1 : 0;
            }
            return count;
        };
        const std::size_t before = asked();
        aio::TaskGroup again{loop};
        LeaseKeeper b{loop, *client, quick(kPodOfB), changes_b.listener(), 1};
        again.spawn("lease b", b.run());
        EXPECT_TRUE(wait_for([&] { return asked() >= before + 3; }));
        EXPECT_FALSE(b.view().leading);
        EXPECT_EQ(b.view().holder, kPodOfA);
        again.cancel();
        EXPECT_TRUE(run(again.join(soon())));
    }
}

}  // namespace
}  // namespace gpuctl::k8s
