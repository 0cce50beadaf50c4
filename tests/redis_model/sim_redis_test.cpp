// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/sleep.hpp"
#include "mortise/sim/world.hpp"
#include "redis_model/sim_redis.hpp"

#include <boost/asio/strand.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::redis_model {
namespace {

using namespace std::chrono_literals;
using store_detail::redis_command;
using store_detail::redis_failure;
using store_detail::redis_value;

/// A process with one connection.
class visitor final : private store_detail::redis_wire_events {
public:
    visitor(sim::world& in, sim_redis& server, const std::string& name)
        : self(in.add_process(name)), server_(server) {
        self.run([](sim::process&) -> asio::awaitable<void> { co_return; });
    }

    void connect() {
        opened = false;
        closed = {};
        wire = server_.wires(self)(asio::make_strand(self.get_executor()));
        self.spawn(open(wire));
    }

    void send(redis_command words) { self.spawn(call(wire, std::move(words))); }
    void subscribe(std::string channel) { self.spawn(listen(wire, std::move(channel))); }

    sim::process& self;
    std::shared_ptr<store_detail::redis_wire> wire;
    bool opened = false;
    redis_failure failure;
    redis_failure closed;
    std::vector<redis_value> replies;
    std::vector<error_code> failures;
    std::vector<std::string> heard;

private:
    void on_push(redis_value push) noexcept override { heard.push_back(push.items.back().text); }
    void on_closed(redis_failure why) noexcept override { closed = std::move(why); }

    asio::awaitable<void> open(std::shared_ptr<store_detail::redis_wire> on) {
        auto opening = on->open(*this);
        failure = co_await std::move(opening);
        opened = true;
    }
    asio::awaitable<void> call(std::shared_ptr<store_detail::redis_wire> on, redis_command words) {
        auto calling = on->call(std::move(words));
        auto reply = co_await std::move(calling);
        if (reply)
            replies.push_back(*reply);
        else
            failures.push_back(reply.error());
    }
    asio::awaitable<void>
    listen(std::shared_ptr<store_detail::redis_wire> on, std::string channel) {
        auto subscribing = on->subscribe(std::move(channel));
        failure = co_await std::move(subscribing);
        replies.emplace_back();
    }

    sim_redis& server_;
};

/// Keeps the connection until the process dies.
asio::awaitable<void> keep(std::shared_ptr<store_detail::redis_wire> wire, sim::process& in) {
    co_await coro::sleep_for(*in.time(), 24h);
    wire->close();
}

class SimRedis : public testing::Test {
protected:
    SimRedis() {
        alice.connect();
        bob.connect();
        all.run_for(1s);
    }
    ~SimRedis() override {
        alice.wire.reset();
        bob.wire.reset();
        all.end();
    }

    sim::world all{11};
    sim_redis server{all, "redis", 100};
    visitor alice{all, server, "alice"};
    visitor bob{all, server, "bob"};
};

TEST_F(SimRedis, AnswersInTheOrderOfTheQuestions) {
    EXPECT_TRUE(alice.opened && !alice.failure.code) << alice.failure.text;
    for (int i = 0; i < 50; ++i)
        alice.send({"INCR", "n"});
    all.run_for(1s);
    ASSERT_EQ(alice.replies.size(), 50u);
    for (std::size_t i = 0; i < 50; ++i)
        EXPECT_EQ(alice.replies[i].number, static_cast<std::int64_t>(i + 1));
}

TEST_F(SimRedis, KeepsTheOrderWhenMessagesAreLateOrRepeated) {
    all.net().decide([](std::uint64_t sent) {
        return sent % 7 == 3   ? sim::fate::late
               : sent % 5 == 1 ? sim::fate::repeated
                               : sim::fate::as_usual;
    });
    for (int i = 0; i < 50; ++i)
        alice.send({"INCR", "n"});
    all.run_for(10s);
    ASSERT_EQ(alice.replies.size(), 50u);
    for (std::size_t i = 0; i < 50; ++i)
        EXPECT_EQ(alice.replies[i].number, static_cast<std::int64_t>(i + 1));
}

TEST_F(SimRedis, PushesToSubscribers) {
    bob.subscribe("news");
    all.run_for(1s);
    EXPECT_EQ(bob.replies.size(), 1u);
    alice.send({"PUBLISH", "news", "one"});
    alice.send({"PUBLISH", "news", "two"});
    all.run_for(1s);
    EXPECT_EQ(bob.heard, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(alice.replies.back().number, 1);
    server.lose_pushes(1);
    alice.send({"PUBLISH", "news", "three"});
    alice.send({"PUBLISH", "news", "four"});
    all.run_for(1s);
    EXPECT_EQ(bob.heard.back(), "four");
    EXPECT_EQ(bob.heard.size(), 3u);
}

TEST_F(SimRedis, SaysWhyASubscriptionIsRefused) {
    server.model().wrong().forbidden_channels = {"news"};
    bob.subscribe("news");
    all.run_for(1s);
    EXPECT_TRUE(bob.failure.text.starts_with("NOPERM")) << bob.failure.text;
}

TEST_F(SimRedis, ResetsItsConnectionsWhenItDies) {
    alice.send({"SET", "k", "v"});
    all.run_for(1s);
    server.crash();
    alice.send({"GET", "k"});
    all.run_for(1s);
    EXPECT_TRUE(alice.closed.code);
    ASSERT_EQ(alice.failures.size(), 1u);
    EXPECT_EQ(alice.failures[0], errc::outcome_unknown);
    alice.connect();
    all.run_for(1s);
    EXPECT_TRUE(alice.opened);
    EXPECT_EQ(alice.failure.code, errc::store_unavailable) << "nobody listens";
    server.start();
    alice.connect();
    all.run_for(1s);
    alice.send({"GET", "k"});
    all.run_for(1s);
    EXPECT_EQ(alice.replies.back().text, "v");
}

TEST_F(SimRedis, TellsNobodyWhomItCannotReach) {
    all.net().part(alice.self, server.host());
    server.crash();
    all.run_for(10s);
    EXPECT_FALSE(alice.closed.code);
    EXPECT_TRUE(bob.closed.code);
    server.start();
    all.net().heal();
    all.run_for(10s);
    EXPECT_FALSE(alice.closed.code) << "it has said nothing";
    alice.send({"PING"});
    all.run_for(1s);
    EXPECT_TRUE(alice.closed.code);
}

TEST_F(SimRedis, BreaksAConnectionThatHasLostAMessage) {
    all.net().decide([lose = true](std::uint64_t) mutable {
        return std::exchange(lose, false) ? sim::fate::lost : sim::fate::as_usual;
    });
    alice.send({"INCR", "n"});
    alice.send({"INCR", "n"});
    all.run_for(1s);
    EXPECT_TRUE(alice.replies.empty()) << "the second one waits for the first";
    all.run_for(5s);
    EXPECT_TRUE(alice.closed.code);
    EXPECT_EQ(alice.failures.size(), 2u);
    EXPECT_TRUE(server.model().keys().empty());
}

TEST_F(SimRedis, BelievesInAClientThatDiesSilently) {
    bob.subscribe("news");
    all.run_for(1s);
    bob.self.spawn(keep(std::exchange(bob.wire, nullptr), bob.self));
    all.run_for(1s);
    bob.self.crash();
    alice.send({"PUBLISH", "news", "x"});
    all.run_for(1s);
    EXPECT_EQ(alice.replies.back().number, 1);
    EXPECT_EQ(server.connections(), 2u);
}

TEST_F(SimRedis, HearsAFarewellUnlessItIsLost) {
    bob.wire->close();
    all.run_for(1s);
    EXPECT_EQ(server.connections(), 1u);
    all.net().cut(alice.self, server.host());
    alice.wire->close();
    all.run_for(1s);
    EXPECT_EQ(server.connections(), 1u);
    EXPECT_FALSE(alice.closed.code) << "nothing is told after a close";
}

TEST_F(SimRedis, ForgetsWhatItIsToldToForget) {
    for (const char* const each : {"a", "b", "c"}) {
        alice.send({"SET", each, "1"});
        all.run_for(1s);
    }
    const std::string run = server.model().run_id();
    server.restart_after(10ms, kept::promoted, 2);
    all.run_for(1s);
    EXPECT_EQ(server.model().keys().size(), 1u);
    EXPECT_NE(server.model().run_id(), run);
    server.restart_after(10ms, kept::nothing);
    all.run_for(1s);
    EXPECT_TRUE(server.runs());
    EXPECT_TRUE(server.model().keys().empty());
}

TEST_F(SimRedis, LosesItsConnectionsSilentlyWhenThePowerFails) {
    server.host().crash();
    alice.send({"PING"});
    all.run_for(1s);
    server.host().restart();
    all.run_for(1s);
    EXPECT_FALSE(alice.closed.code);
    alice.send({"PING"});
    all.run_for(1s);
    EXPECT_TRUE(alice.closed.code);
}

TEST_F(SimRedis, DoesNothingWhileItIsPaused) {
    server.host().pause();
    alice.send({"PING"});
    all.run_for(10s);
    EXPECT_TRUE(alice.replies.empty());
    server.host().resume();
    all.run_for(1s);
    EXPECT_EQ(alice.replies.size(), 1u);
}

TEST_F(SimRedis, HasAClockThatCanBeSet) {
    alice.send({"TIME"});
    all.run_for(1s);
    server.shift_clock(-1h);
    alice.send({"TIME"});
    all.run_for(1s);
    const auto second = [&](std::size_t i) {
        return std::stoll(alice.replies.at(i).items.at(0).text);
    };
    EXPECT_NEAR(static_cast<double>(second(1) - second(0)), -3599, 1);
}

}  // namespace
}  // namespace mortise::redis_model
