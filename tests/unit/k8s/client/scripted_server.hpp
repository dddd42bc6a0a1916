#pragma once
// A plain HTTP/1.1 server for fault tests: each request is handed to a script that writes whatever
// bytes it likes, slowly, partly, wrongly, and may cut the connection. Plain sockets and one thread
// per connection; nothing of the code under test is used.
//
// Threads: scripts run on connection threads; received() may be called from any.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gpuctl::test_support {

struct SeenRequest {
    std::string method;
    std::string target;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    int connection = 0;                                             // counted from 1
    [[nodiscard]] std::string header(std::string_view name) const;  // "" when absent
    [[nodiscard]] std::string path() const { return target.substr(0, target.find('?')); }
    // Of the query, still encoded; "" when absent.
    [[nodiscard]] std::string query(std::string_view name) const;
    [[nodiscard]] bool has_query(std::string_view name) const;
};

class ScriptedServer {
public:
    class Reply {
    public:
        void respond(int status, std::string_view body,
                     std::vector<std::pair<std::string, std::string>> headers = {});
        void begin_chunked(int status = 200);
        void chunk(std::string_view bytes);
        void end_chunked();
        void raw(std::string_view bytes);
        // Closes without an answer; the script should return then.
        void cut();
        // Waits until the peer closes or the server stops.
        void stall();

    private:
        friend class ScriptedServer;
        explicit Reply(int socket) : socket_(socket) {}
        int socket_;
        bool open_ = true;
    };
    // Called once per request, in its connection's thread.
    using Script = std::function<void(const SeenRequest&, Reply&)>;

    explicit ScriptedServer(Script script);
    ~ScriptedServer();
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::vector<SeenRequest> received() const;

private:
    void accept_all();
    void serve(int socket, int number);

    Script script_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    mutable std::mutex mutex_;
    bool stopping_ = false;
    std::vector<SeenRequest> received_;
    std::vector<int> sockets_;
    std::list<std::thread> threads_;
    std::thread acceptor_;
};

}  // namespace gpuctl::test_support
