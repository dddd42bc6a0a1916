#pragma once
// An HTTP server with one answer, or with several in order, for tests of the whole command line:
// its requests, and what it prints for the answers.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "cli/application.hpp"

namespace gpuctl::cli {

inline const std::string kJson = "application/json";

class CannedServer {
public:
    struct Answer {
        int status = 200;
        std::string body;
    };
    CannedServer(int status, std::string type, std::string body, const std::string& field = "")
        : CannedServer(std::vector<std::string>{message(status, type, body, field)}) {}
    // One answer after another; the last one also for all later requests.
    explicit CannedServer(const std::vector<Answer>& answers) : CannedServer(messages(answers)) {}
    explicit CannedServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
        listener_ = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const plain = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(bind(listener_, plain, size), 0);
        EXPECT_EQ(listen(listener_, 8), 0);
        EXPECT_EQ(getsockname(listener_, plain, &size), 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread{[this] { serve(); }};
    }
    ~CannedServer() { stop(); }
    CannedServer(const CannedServer&) = delete;
    CannedServer& operator=(const CannedServer&) = delete;

    struct Outcome {
        int exit_code = 0;
        std::string out;
        std::string err;
        std::string request;  // the head of the first one
        std::string request_line;
        std::vector<std::string> request_lines;  // of all
    };
    Outcome run(std::vector<std::string> words, const std::string& scheme = "http",
                const std::string& path = "") {
        words.insert(words.begin(), {"gpuctl", "--server",
                                     scheme + "://127.0.0.1:" + std::to_string(port_) + path});
        std::vector<const char*> arguments;
        for (const std::string& word : words) arguments.push_back(word.c_str());
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        Outcome outcome;
        outcome.exit_code = cli::run(static_cast<int>(arguments.size()), arguments.data());
        outcome.out = testing::internal::GetCapturedStdout();
        outcome.err = testing::internal::GetCapturedStderr();
        stop();
        for (const std::string& request : requests_) {
            outcome.request_lines.push_back(request.substr(0, request.find('\r')));
        }
        if (!requests_.empty()) {
            outcome.request = requests_.front();
            outcome.request_line = outcome.request_lines.front();
        }
        return outcome;
    }

    [[nodiscard]] int port() const { return port_; }
    // The heads of all requests; ends the server.
    const std::vector<std::string>& seen() {
        stop();
        return requests_;
    }

private:
    static std::string message(int status, const std::string& type, const std::string& body,
                               const std::string& field = "") {
        return "HTTP/1.1 " + std::to_string(status) + " Canned\r\nContent-Type: " + type +
               "\r\nContent-Length: " + std::to_string(body.size()) +
               (field.empty() ? "" : "\r\n" + field) + "\r\nConnection: close\r\n\r\n" + body;
    }
    static std::vector<std::string> messages(const std::vector<Answer>& answers) {
        std::vector<std::string> all;
        for (const Answer& answer : answers) {
            const bool is_problem = answer.status >= 400;
            all.push_back(message(answer.status, is_problem ? "application/problem+json" : kJson,
                                  answer.body));
        }
        return all;
    }
    void serve() {
        for (;;) {
            const int peer = accept(listener_, nullptr, nullptr);
            if (peer < 0) return;
            std::string request;
            char chunk[4096];
            while (request.find("\r\n\r\n") == std::string::npos) {
                const ssize_t count = read(peer, chunk, sizeof chunk);
                if (count <= 0) break;
                request.append(chunk, static_cast<std::size_t>(count));
            }
            const std::string& answer = answers_[std::min(requests_.size(), answers_.size() - 1)];
            requests_.push_back(std::move(request));
            EXPECT_EQ(write(peer, answer.data(), answer.size()), std::ssize(answer));
            close(peer);
        }
    }
    void stop() {
        if (!thread_.joinable()) return;
        shutdown(listener_, SHUT_RDWR);
        thread_.join();
        close(listener_);
    }

    std::vector<std::string> answers_;
    int listener_ = -1;
    int port_ = 0;
    std::vector<std::string> requests_;  // read after stop()
    std::thread thread_;
};

}  // namespace gpuctl::cli
