#include "daemon/api/sessions/session_table.hpp"

#include <utility>

namespace gpuctl::api {

SessionTable::SessionTable(aio::Loop& loop, const config::Server& bounds)
    : sessions_max_(bounds.sessions_max),
      per_caller_max_(bounds.sessions_per_caller_max),
      ended_(loop) {
    limits_.idle = bounds.session_idle;
    limits_.longest = bounds.session_longest;
}

std::optional<Error> SessionTable::refusal(const std::string& caller,
                                           const std::string& pod) const {
    const std::string doing = "open a session with pod " + pod + ": ";
    if (open_ >= sessions_max_) {
        return make_error(ErrorCode::TooManyRequests,
                          doing + std::to_string(open_) +
                              " sessions are open already, which is the most "
                              "(expert.server.sessionsMax); end one, or retry later");
    }
    const auto own = by_caller_.find(caller);
    if (own == by_caller_.end() || own->second < per_caller_max_) return std::nullopt;
    return make_error(ErrorCode::TooManyRequests,
                      doing + caller + " has " + std::to_string(own->second) +
                          " open sessions already, which is the most for one caller "
                          "(expert.server.sessionsPerCallerMax); end one, or retry later");
}

SessionTable::Open::Open(SessionTable& table, ports::SessionKind kind, std::string caller)
    : table_(table), kind_(kind), caller_(std::move(caller)) {
    ++table_.open_;
    ++table_.figures_.open[at(kind_)];
    ++table_.by_caller_[caller_];
}

SessionTable::Open::~Open() {
    --table_.open_;
    --table_.figures_.open[at(kind_)];
    const auto own = table_.by_caller_.find(caller_);
    if (--own->second == 0) table_.by_caller_.erase(own);
    table_.ended_.notify_all();
}

aio::Task<bool> SessionTable::all_ended(aio::Deadline deadline) {
    while (open_ > 0) {
        const bool notified = co_await ended_.wait(deadline);
        if (!notified) break;
    }
    co_return open_ == 0;
}

}  // namespace gpuctl::api
