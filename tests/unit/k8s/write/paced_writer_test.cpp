#include "k8s/write/paced_writer.hpp"

#include <vector>

#include "unit/k8s/client/loop_fixture.hpp"

namespace gpuctl::k8s {
namespace {

class CountingWriter final : public PacedWriter {
public:
    using PacedWriter::PacedWriter;
    std::vector<Epoch> written;
    Time due = Time::max();
    int left = 0;

    void want(Time at, int count) {
        due = at;
        left = count;
        wake();
    }

private:
    Time next_at(Time) const override { return left > 0 ? due : Time::max(); }
    aio::Task<void> write_next(Time, Epoch epoch) override {
        --left;
        written.push_back(epoch);
        co_return;
    }
};

class PacedWriterTest : public LoopTest {
protected:
    PacedWriterTest() { group.spawn("writer", writer.run()); }
    ~PacedWriterTest() override {
        group.cancel();
        (void)run(group.join(soon()));
    }
    // Runs the handlers that are ready now.
    void turn() {
        (void)run(poll_until([this] { return ++turns_ % 3 == 0; }, soon()));
    }

    CountingWriter writer{loop};

private:
    int turns_ = 0;
};

TEST_F(PacedWriterTest, nothing_is_written_before_this_daemon_leads) {
    writer.want(aio::Clock::now(), 2);
    turn();
    EXPECT_TRUE(writer.written.empty());
    writer.lead(Epoch{7});
    EXPECT_TRUE(wait_for([this] { return writer.written.size() == 2; }));
    EXPECT_EQ(writer.written, (std::vector<Epoch>{Epoch{7}, Epoch{7}}));
}

TEST_F(PacedWriterTest, a_write_waits_until_it_is_due) {
    writer.lead(Epoch{1});
    writer.want(aio::Clock::now() + std::chrono::hours{1}, 1);
    turn();
    EXPECT_TRUE(writer.written.empty());
    writer.want(aio::Clock::now(), 1);
    EXPECT_TRUE(wait_for([this] { return writer.written.size() == 1; }));
}

TEST_F(PacedWriterTest, a_lost_term_ends_the_writes) {
    writer.lead(Epoch{1});
    writer.lead(std::nullopt);
    writer.want(aio::Clock::now(), 1);
    turn();
    EXPECT_TRUE(writer.written.empty());
}

}  // namespace
}  // namespace gpuctl::k8s
