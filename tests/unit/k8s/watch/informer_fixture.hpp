#pragma once
// An informer against a scripted API server, and a handler that records its calls.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "k8s/watch/informer.hpp"
#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {

inline std::string pod(const std::string& name, const std::string& uid, int version) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"n","uid":")" + uid +
           R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}
inline std::string frame(const std::string& type, const std::string& object) {
    return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
inline std::string bookmark(int version, bool end_of_initial = false) {
    return frame(
        "BOOKMARK",
        R"({"kind":"Pod","metadata":{"resourceVersion":")" + std::to_string(version) + "\"" +
            (end_of_initial ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") +
            "}}");
}
inline std::string list(int version, const std::vector<std::string>& items,
                        const std::string& continue_token = "") {
    std::string text = R"({"kind":"PodList","metadata":{"resourceVersion":")" +
                       std::to_string(version) + R"(","continue":")" + continue_token +
                       R"("},"items":[)";
    for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
    return text + "]}";
}
inline std::string gone_status() {
    return R"({"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410})";
}

using Story = std::vector<std::string>;

// Records its calls, and maintains the resulting set of objects.
struct Witness : InformerHandler {
    Story story;
    std::map<std::string, std::string> world;  // name -> uid@version
    int refuse_next = 0;
    int refuse_after_first_sync = 0;
    int synced = 0;

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view) override {
        if (refuse_next > 0 && refuse_next-- > 0) return false;
        story.push_back((change == Change::added ? "+" : "~") + identity.name + ":" + identity.uid +
                        "@" + identity.resource_version);
        world[identity.name] = identity.uid + "@" + identity.resource_version;
        return true;
    }
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override {
        if (refuse_next > 0 && refuse_next-- > 0) return false;
        story.push_back("-" + identity.name + ":" + identity.uid + (last_state.empty() ? "?" : ""));
        world.erase(identity.name);
        return true;
    }
    void on_synced() override {
        refuse_next += std::exchange(refuse_after_first_sync, 0);
        ++synced;
        story.emplace_back("synced");
    }
};

class InformerTest : public LoopTest {
protected:
    using ScriptedServer = test_support::ScriptedServer;
    using SeenRequest = test_support::SeenRequest;
    using Reply = ScriptedServer::Reply;

    ~InformerTest() override {
        group.cancel();
        (void)run(group.join(soon()));  // before the informer and the server are destroyed
    }

    // Starts an informer against the script, which sees only requests of the informer.
    void start(ScriptedServer::Script script, bool watch_list = false) {
        InformerSettings settings;
        settings.path = "/api/v1/pods";
        settings.watch_list = watch_list;
        tune(settings);
        begin(std::move(script), settings);
    }
    static void tune(InformerSettings& settings) {
        settings.backoff = {std::chrono::milliseconds{1}, std::chrono::milliseconds{8},
                            std::chrono::milliseconds{120'000}};
        settings.short_watch = std::chrono::milliseconds{20};
        settings.silence_max = std::chrono::seconds{30};
        settings.page_timeout = std::chrono::seconds{5};
    }
    void begin(ScriptedServer::Script script, InformerSettings settings) {
        server = std::make_unique<ScriptedServer>(std::move(script));
        client = client_of(*server);
        informer = std::make_unique<Informer>(loop, *client, std::move(settings), witness);
        group.spawn("informer", informer->run());
    }
    // The requests so far, as "list", "page TOKEN", "initial", "watch VERSION".
    std::vector<std::string> asked() const {
        std::vector<std::string> out;
        for (const SeenRequest& request : server->received()) {
            if (!request.has_query("watch")) {
                out.push_back(request.has_query("continue") ? "page " + request.query("continue")
                                                            : "list");
            } else if (request.has_query("sendInitialEvents")) {
                out.emplace_back("initial");
            } else {
                out.push_back("watch " + request.query("resourceVersion"));
            }
        }
        return out;
    }
    bool has_seen(const std::string& line) const {
        return std::find(witness.story.begin(), witness.story.end(), line) != witness.story.end();
    }

    Witness witness;
    std::unique_ptr<ScriptedServer> server;
    std::unique_ptr<Client> client;
    std::unique_ptr<Informer> informer;
};

}  // namespace gpuctl::k8s
