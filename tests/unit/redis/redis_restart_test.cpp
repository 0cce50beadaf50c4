// SPDX-License-Identifier: BSL-1.0
// What is done to a server while a lock is held and somebody waits for it: a lease that may have
// been forgotten is unsure at once, then proved or lost, and nothing new is granted too early.
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test::redis_restart_test {
namespace {

using namespace std::chrono_literals;

constexpr auto restart_ttl = 1'000ms;
/// For tests in which no session ends: a busy machine does not use it up.
constexpr auto long_ttl = 6'000ms;

void let_pass(std::chrono::milliseconds span) {
    eventually([] { return false; }, span);
}

/// One holder, one waiter, and a server that restarts.
class RedisRestart : public testing::Test {
protected:
    /// They are in place when this is over.
    void
    begin(const redis_server::settings& how = {}, std::chrono::milliseconds ttl = restart_ttl) {
        server_.emplace(how);
        holder_.emplace(server_->port(), ttl);
        waiter_.emplace(server_->port(), ttl);
        first_ = holder_->acquire("door");
        ASSERT_FALSE(first_.code) << first_.code.message() << ": " << holder_->explain();
        ASSERT_TRUE(first_.held.held());
        asked_ = waiter_->ask("door", 30s);
        auto admin = server_->connect();
        ASSERT_TRUE(eventually([&] { return parties_at(admin, "door") == 2; }));
        // An acquire may end with its connection until it knows that it is queued: answers come in
        // the order of the questions.
        waiter_->client().async_inspect("door", 0, asio::use_future).get();
    }

    void tell(const std::vector<std::string>& words) { server_->connect().command(words); }

    /// The holder's lease was lost, and the other got the lock no sooner than `earliest`, with a
    /// higher token.
    void expect_succession(clock::time_point earliest) {
        auto second = outcome_of(asked_);
        ASSERT_FALSE(second.code) << second.code.message() << ": " << waiter_->explain();
        EXPECT_FALSE(first_.held.held()) << "two hold it";
        EXPECT_LE(first_.held.valid_until(), second.at) << "two held it";
        EXPECT_GE(second.at, earliest) << "the quarantine was too short";
        EXPECT_TRUE(eventually([&] { return first_.held.state() == lease_state::lost; }));
        EXPECT_GT(second.held.token().value, first_.held.token().value);
        EXPECT_FALSE(waiter_->release(second.held));
        expect_life(second.held.token().value);
    }

    /// The holder holds it again, and can hand it on.
    void expect_continuation() {
        EXPECT_TRUE(eventually([&] { return first_.held.held(); }, 3 * long_ttl))
            << to_string(first_.held.state());
        EXPECT_NE(asked_.wait_for(0s), std::future_status::ready);
        const auto token = first_.held.token().value;
        const error_code released = holder_->release(first_.held);
        EXPECT_FALSE(released) << released.message() << ": " << holder_->explain();
        auto second = outcome_of(asked_);
        ASSERT_FALSE(second.code) << second.code.message() << ": " << waiter_->explain();
        EXPECT_GT(second.held.token().value, token);
        EXPECT_FALSE(waiter_->release(second.held));
        expect_life(second.held.token().value);
    }

    /// Both go on, and leave nothing behind.
    void expect_life(std::uint64_t newest) {
        for (auto* each : {&*holder_, &*waiter_}) {
            auto again = each->acquire("door");
            ASSERT_FALSE(again.code) << again.code.message() << ": " << each->explain();
            EXPECT_GT(again.held.token().value, newest);
            newest = again.held.token().value;
            EXPECT_FALSE(each->release(again.held));
        }
        EXPECT_FALSE(holder_->stop());
        EXPECT_FALSE(waiter_->stop());
        for (const auto& key : server_->connect().command({"KEYS", "*"}).texts())
            EXPECT_TRUE(is_lasting(key)) << key;
    }

    /// The lease is unsure within that time, the delays of the machine apart.
    void expect_doubt(clock::duration within) {
        const machine_delay delay;
        const auto since = clock::now();
        EXPECT_TRUE(doubted(2 * restart_ttl));
        EXPECT_LE(clock::now() - since, within + delay.so_far());
    }

    bool doubted(clock::duration within) {
        const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(within);
        return eventually([&] { return !first_.held.held(); }, limit);
    }

    std::optional<redis_server> server_;
    std::optional<redis_user> holder_;
    std::optional<redis_user> waiter_;
    acquired first_;
    std::future<acquired> asked_;
};

TEST_F(RedisRestart, WithADiskTheLeaseIsProvedAgain) {
    begin({"appendonly yes", "appendfsync always"}, long_ttl);
    server_->kill();
    server_->start();
    expect_continuation();
}

TEST_F(RedisRestart, ThatTakesLongerThanTheTtlWithADiskLosesTheLeaseAndNothingElse) {
    begin({"appendonly yes", "appendfsync always"});
    server_->stop();
    const auto valid = first_.held.valid_until();
    EXPECT_TRUE(doubted(2 * restart_ttl));
    EXPECT_GE(clock::now(), valid) << "a server that is away takes nothing from anybody";
    let_pass(restart_ttl / 2);
    server_->start();
    expect_succession(valid);
}

TEST_F(RedisRestart, WithoutADiskTheLeaseIsUnsureAndThenLost) {
    for (int round = 0; round < 3; ++round) {
        begin();
        const auto killed = clock::now();
        server_->kill();
        server_->start();
        expect_doubt(restart_ttl / 2);  // The client was connected again long ago.
        expect_succession(killed + restart_ttl);
    }
}

// The newcomer is the first whom the new server meets, as a rule; on a busy machine it may be who
// has waited.
TEST_F(RedisRestart, ANewcomerAfterARestartWithoutADiskWaitsForOneTtl) {
    begin();
    redis_user other(server_->port(), restart_ttl);
    server_->suspend();
    const auto killed = clock::now();
    server_->kill();
    server_->start();
    auto newcomer = other.ask("door", 30s);
    const auto ready = [](const auto& future) {
        return future.wait_for(0s) == std::future_status::ready;
    };
    ASSERT_TRUE(eventually([&] { return ready(newcomer) || ready(asked_); }, 30s));
    const bool is_first = ready(newcomer);
    if (!is_first) {
        auto second = outcome_of(asked_);
        ASSERT_FALSE(second.code) << second.code.message();
        EXPECT_GE(second.at, killed + restart_ttl);
        EXPECT_FALSE(waiter_->release(second.held));
    }
    auto got = outcome_of(newcomer);
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_GE(got.at, killed + restart_ttl);
    EXPECT_FALSE(first_.held.held());
    const auto token = got.held.token().value;
    EXPECT_FALSE(other.release(got.held));
    EXPECT_FALSE(other.stop());
    if (is_first)
        expect_succession(killed + restart_ttl);
    else
        expect_life(token);
}

// Its uptime is counted in seconds of the clock that have begun: one may be a short one.
TEST_F(RedisRestart, AYoungServerIsTakenForNoOlderThanItIs) {
    redis_server server;
    server.kill();
    auto watch = shared_redis().connect();
    const auto part_of_second = [&] { return std::stol(watch.command({"TIME"}).texts().at(1)); };
    ASSERT_TRUE(eventually([&] { return part_of_second() / 50'000 == 16; }));
    server.start();
    const auto started = clock::now();
    ASSERT_TRUE(eventually([&] { return part_of_second() < 500'000; }));
    redis_user client(server.port(), restart_ttl);
    const auto got = client.acquire("door");
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_GE(got.at, started + restart_ttl - 200ms) << "it had up to so long for its start";
}

TEST_F(RedisRestart, AFlushIsHeardAtOnce) {
    for (const char* how : {"FLUSHALL", "FLUSHDB"}) {
        SCOPED_TRACE(how);
        begin();
        const auto flushed = clock::now();
        tell({how});
        expect_doubt(150ms);
        expect_succession(flushed + restart_ttl);
    }
}

TEST_F(RedisRestart, ARecordThatIsRemovedLosesAllLeases) {
    begin();
    const auto removed = clock::now();
    tell({"DEL", store_key("id")});
    EXPECT_TRUE(doubted(restart_ttl));
    auto second = outcome_of(asked_);
    ASSERT_FALSE(second.code) << second.code.message() << ": " << waiter_->explain();
    EXPECT_GT(second.held.token().value, first_.held.token().value);
    EXPECT_FALSE(first_.held.held()) << "two hold it";
    EXPECT_LE(first_.held.valid_until(), second.at) << "two held it";
    EXPECT_GE(second.at, removed);
}

TEST_F(RedisRestart, ScriptsThatAreForgottenAreSentAgain) {
    begin({}, long_ttl);
    tell({"SCRIPT", "FLUSH"});
    EXPECT_FALSE(doubted(restart_ttl)) << to_string(first_.held.state());
    expect_continuation();
}

TEST_F(RedisRestart, ConnectionsThatAreKilledAreReplacedAndNothingIsLost) {
    begin({}, long_ttl);
    for (int round = 0; round < 5; ++round) {
        tell({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        tell({"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"});
        EXPECT_FALSE(doubted(restart_ttl / 5)) << to_string(first_.held.state());
    }
    expect_continuation();
}

TEST_F(RedisRestart, AShortPauseLosesNothing) {
    begin({}, long_ttl);
    tell({"CLIENT", "PAUSE", "300", "ALL"});
    EXPECT_FALSE(doubted(restart_ttl)) << to_string(first_.held.state());
    tell({"DEBUG", "SLEEP", "0.3"});
    EXPECT_FALSE(doubted(restart_ttl)) << to_string(first_.held.state());
    expect_continuation();
}

TEST_F(RedisRestart, APauseThatIsLongerThanTheTtlPassesTheLockOn) {
    begin();
    const auto valid = first_.held.valid_until();
    server_->suspend();
    EXPECT_TRUE(doubted(2 * restart_ttl));
    EXPECT_GE(clock::now(), valid);
    let_pass(restart_ttl / 2);
    server_->resume();
    expect_succession(valid);
}

}  // namespace
}  // namespace mortise::test::redis_restart_test
