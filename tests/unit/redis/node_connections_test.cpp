// SPDX-License-Identifier: BSL-1.0
// Wires that share one connection to a node of a real cluster.
#include "store/redis/node_connections.hpp"
#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail::node_connections_test {
namespace {

using namespace std::chrono_literals;

using test::redis_cluster;

/// One user of a connection.
struct user final : redis_wire_events {
    std::shared_ptr<redis_wire> wire;
    std::vector<redis_value> pushes;
    redis_failure closed;

    void on_push(redis_value push) noexcept override { pushes.push_back(std::move(push)); }
    void on_closed(redis_failure why) noexcept override { closed = std::move(why); }
};

class NodeConnections : public testing::Test {
protected:
    ~NodeConnections() override {
        for (const auto& each : users_)
            each->wire->close();
        context_.restart();
        context_.run();
    }

    template <class T>
    T outcome(std::future<T> coming) {
        EXPECT_TRUE(until([&] { return coming.wait_for(0s) == std::future_status::ready; }));
        return coming.get();
    }
    template <class T>
    std::future<T> begin(asio::awaitable<T> call) {
        return asio::co_spawn(context_, std::move(call), asio::use_future);
    }
    bool until(const std::function<bool()>& done) {
        context_.restart();
        return test::eventually([&] {
            context_.run_one_for(10ms);
            return done();
        });
    }

    user& make_user(std::size_t node) {
        wire_settings settings;
        settings.host = "127.0.0.1";
        settings.port = cluster_.node(node).port();
        settings.role = redis_role::node;
        auto& fresh = *users_.emplace_back(std::make_unique<user>());
        fresh.wire = connections_->wire_to(context_.get_executor(), settings);
        return fresh;
    }
    user& open(std::size_t node) {
        user& fresh = make_user(node);
        const auto failure = outcome(begin(fresh.wire->open(fresh)));
        EXPECT_FALSE(failure.code) << failure.text;
        return fresh;
    }
    std::string text(user& of, redis_command command) {
        const auto reply = outcome(begin(of.wire->call(std::move(command))));
        return reply ? reply->text : reply.error().message();
    }
    redis_failure subscribe(user& of, const std::string& channel) {
        return outcome(begin(of.wire->subscribe(channel)));
    }
    void track(user& of, const std::string& prefix) {
        EXPECT_EQ(
            text(of, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", prefix, "NOLOOP"}), "OK"
        );
    }

    /// A text between braces whose slot lies at that node.
    std::string tag_at(std::size_t node, const std::string& begins) {
        std::string tag = '{' + begins + '}';
        while (cluster_.owner_of(tag) != node)
            tag.insert(1, "x");
        return tag;
    }
    std::size_t clients(std::size_t node) {
        return std::stoul(cluster_.node(node).connect().info("clients")["connected_clients"]) - 1;
    }

    redis_cluster& cluster_ = test::shared_cluster();
    asio::io_context context_{1};
    const std::shared_ptr<node_connections> connections_ = std::make_shared<node_connections>();
    std::vector<std::unique_ptr<user>> users_;
};

TEST_F(NodeConnections, SeveralWiresToANodeHaveOneAndTheLastOneClosesIt) {
    const auto before = clients(0);
    user& alice = make_user(0);
    user& bob = make_user(0);
    auto alices = begin(alice.wire->open(alice));
    auto bobs = begin(bob.wire->open(bob));
    EXPECT_FALSE(outcome(std::move(alices)).code);
    EXPECT_FALSE(outcome(std::move(bobs)).code);
    user& carol = open(1);
    EXPECT_EQ(connections_->size(), 2u);
    EXPECT_EQ(clients(0), before + 1);
    auto first = begin(alice.wire->call({"ECHO", "a"}));
    auto second = begin(bob.wire->call({"ECHO", "b"}));
    auto third = begin(carol.wire->call({"ECHO", "c"}));
    EXPECT_EQ(outcome(std::move(first))->text, "a");
    EXPECT_EQ(outcome(std::move(second))->text, "b");
    EXPECT_EQ(outcome(std::move(third))->text, "c");
    alice.wire->close();
    EXPECT_EQ(text(bob, {"ECHO", "b"}), "b");
    EXPECT_EQ(outcome(begin(alice.wire->call({"PING"}))).error(), errc::store_unavailable);
    bob.wire->close();
    EXPECT_EQ(connections_->size(), 1u);
    EXPECT_TRUE(until([&] { return clients(0) == before; }));
}

TEST_F(NodeConnections, OneIsKeptForWhoeverComesNext) {
    auto kept = connections_->keep();
    open(0).wire->close();
    EXPECT_EQ(connections_->size(), 1u);
    user& next = open(0);
    EXPECT_EQ(connections_->size(), 1u);
    kept.reset();
    EXPECT_EQ(connections_->size(), 1u) << "it is in use";
    next.wire->close();
    EXPECT_EQ(connections_->size(), 0u);
}

TEST_F(NodeConnections, AMessageIsForTheOneThatSubscribed) {
    const auto tag = tag_at(0, "");
    user& alice = open(0);
    user& bob = open(0);
    EXPECT_FALSE(subscribe(alice, tag + "a").code);
    EXPECT_FALSE(subscribe(bob, tag + "b").code);
    auto admin = cluster_.node(0).connect();
    EXPECT_EQ(admin.command({"SPUBLISH", tag + "b", "hello"}).number, 1);
    EXPECT_EQ(admin.command({"SPUBLISH", tag + "a", "you"}).number, 1);
    EXPECT_TRUE(until([&] { return !alice.pushes.empty() && !bob.pushes.empty(); }));
    EXPECT_EQ(bob.pushes.at(0).items.at(2).text, "hello");
    EXPECT_EQ(alice.pushes.at(0).items.at(2).text, "you");
    EXPECT_EQ(alice.pushes.size() + bob.pushes.size(), 2u);
}

TEST_F(NodeConnections, ASubscriptionInASlotThatIsElsewhereIsRefused) {
    const auto tag = tag_at(1, "");
    user& alice = open(0);
    const auto failure = subscribe(alice, tag + "a");
    EXPECT_EQ(failure.code, errc::store_unavailable);
    EXPECT_TRUE(failure.text.starts_with("MOVED ")) << failure.text;
    EXPECT_EQ(text(alice, {"ECHO", "a"}), "a") << "answers have their places still";
}

TEST_F(NodeConnections, ASlotThatLeavesEndsTheWireThatIsSubscribedThereAndNoOther) {
    const auto tag = tag_at(0, "a");
    const auto other = tag_at(0, "b");
    user& alice = open(0);
    user& bob = open(0);
    EXPECT_FALSE(subscribe(alice, tag + "a").code);
    EXPECT_FALSE(subscribe(bob, other + "b").code);
    cluster_.begin_to_move(tag, 1, redis_cluster::part::none);
    cluster_.end_moving(tag, 1);
    EXPECT_TRUE(until([&] { return alice.closed.code == errc::store_unavailable; }));
    EXPECT_EQ(outcome(begin(alice.wire->call({"PING"}))).error(), errc::store_unavailable);
    EXPECT_EQ(text(bob, {"ECHO", "b"}), "b");
    EXPECT_FALSE(bob.closed.code);
    EXPECT_EQ(cluster_.node(0).connect().command({"SPUBLISH", other + "b", "x"}).number, 1);
    EXPECT_TRUE(until([&] { return bob.pushes.size() == 1; }));
}

TEST_F(NodeConnections, AChangeIsToldToWhoTracksTheKeyAndAFlushToAllWhoTrack) {
    const auto tag = tag_at(0, "");
    user& alice = open(0);
    user& bob = open(0);
    user& carol = open(0);
    track(alice, tag + "a");
    track(bob, tag + "b");
    auto admin = cluster_.node(0).connect();
    admin.command({"SET", tag + "b", "1"});
    EXPECT_TRUE(until([&] { return bob.pushes.size() == 1; }));
    EXPECT_TRUE(alice.pushes.empty());
    user& dave = open(0);
    track(dave, tag + "a");  // The server would take that prefix only once.
    admin.command({"FLUSHALL"});
    EXPECT_TRUE(until([&] {
        return !alice.pushes.empty() && bob.pushes.size() == 2 && !dave.pushes.empty();
    }));
    EXPECT_EQ(bob.pushes.at(1).items.at(1).type, redis_value::kind::null);
    EXPECT_TRUE(carol.pushes.empty());
}

TEST_F(NodeConnections, AnEndIsToldToAllAndTheNextWireOpensAnother) {
    user& alice = open(0);
    user& bob = open(0);
    cluster_.node(0).connect().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    EXPECT_TRUE(until([&] { return alice.closed.code && bob.closed.code; }));
    EXPECT_EQ(connections_->size(), 0u);
    user& carol = open(0);
    EXPECT_EQ(text(carol, {"ECHO", "c"}), "c");
}

TEST_F(NodeConnections, AServerThatIsSilentIsLeftByAll) {
    user& alice = open(0);
    user& bob = open(0);
    user& carol = open(1);
    cluster_.node(0).suspend();
    auto asked = begin(alice.wire->call({"PING"}));
    auto others = begin(bob.wire->call({"PING"}));
    context_.restart();
    context_.poll();
    alice.wire->abandon(0ms);
    EXPECT_EQ(outcome(std::move(asked)).error(), errc::outcome_unknown);
    EXPECT_EQ(outcome(std::move(others)).error(), errc::outcome_unknown);
    EXPECT_TRUE(until([&] { return bob.closed.code == errc::store_unavailable; }));
    EXPECT_FALSE(alice.closed.code) << "it was its own doing";
    EXPECT_EQ(text(carol, {"ECHO", "c"}), "c");
    cluster_.node(0).resume();
}

TEST_F(NodeConnections, AServerThatIsSlowIsLeftByWhoHasWaitedForTooLong) {
    user& alice = open(0);
    user& bob = open(0);
    auto others = begin(bob.wire->call({"ECHO", "done"}));
    auto asked = begin(alice.wire->call({"WAIT", "1", "1000"}));  // there is no replica
    EXPECT_EQ(outcome(std::move(others))->text, "done");
    EXPECT_EQ(asked.wait_for(0s), std::future_status::timeout);
    alice.wire->abandon(2s);
    EXPECT_EQ(text(bob, {"ECHO", "b"}), "b");
    EXPECT_EQ(outcome(std::move(asked)).error(), errc::outcome_unknown);
    EXPECT_FALSE(bob.closed.code);
    EXPECT_EQ(connections_->size(), 1u);
}

TEST_F(NodeConnections, AServerThatFallsSilentAmongAnswersIsLeftByAll) {
    user& alice = open(0);
    user& bob = open(0);
    auto others = begin(bob.wire->call({"ECHO", "b"}));
    auto first = begin(alice.wire->call({"ECHO", "a"}));
    auto second = begin(alice.wire->call({"WAIT", "1", "60000"}));  // there is no replica
    EXPECT_EQ(outcome(std::move(others))->text, "b");
    EXPECT_EQ(outcome(std::move(first))->text, "a");
    cluster_.node(0).suspend();
    EXPECT_EQ(second.wait_for(100ms), std::future_status::timeout);
    alice.wire->abandon(100ms);
    EXPECT_TRUE(until([&] { return bob.closed.code == errc::store_unavailable; }));
    cluster_.node(0).resume();
    EXPECT_EQ(outcome(std::move(second)).error(), errc::outcome_unknown);
}

TEST_F(NodeConnections, WhoLeavesAsTheLastOneEndsWhatIsAskedThere) {
    user& alice = open(0);
    const auto kept = connections_->keep();
    cluster_.node(0).suspend();
    auto asked = begin(alice.wire->call({"ECHO", "a"}));
    context_.restart();
    context_.poll();
    alice.wire->abandon(10s);
    EXPECT_EQ(outcome(std::move(asked)).error(), errc::outcome_unknown);
    EXPECT_EQ(connections_->size(), 0u);
    cluster_.node(0).resume();
}

TEST_F(NodeConnections, ThatIsNotOpenInTimeIsGivenUpByTheLastOneThatWaitsForIt) {
    user& alice = make_user(0);
    user& bob = make_user(0);
    cluster_.node(0).suspend();
    auto alices = begin(alice.wire->open(alice));
    auto bobs = begin(bob.wire->open(bob));
    context_.restart();
    context_.poll();
    EXPECT_EQ(connections_->size(), 1u);
    alice.wire->abandon(100ms);
    EXPECT_EQ(connections_->size(), 1u) << "bob has more patience";
    bob.wire->abandon(100ms);
    EXPECT_EQ(outcome(std::move(alices)).code, errc::store_unavailable);
    EXPECT_EQ(outcome(std::move(bobs)).code, errc::store_unavailable);
    EXPECT_EQ(connections_->size(), 0u);
    cluster_.node(0).resume();
    EXPECT_EQ(text(open(0), {"ECHO", "c"}), "c");
}

TEST_F(NodeConnections, AServerThatAnswersOthersIsNotLeftByThem) {
    user& alice = open(0);
    user& bob = open(0);
    auto asked = begin(alice.wire->call({"ECHO", "a"}));
    context_.restart();
    context_.poll_one();
    EXPECT_EQ(text(bob, {"ECHO", "b"}), "b");
    auto again = begin(alice.wire->call({"ECHO", "a"}));
    EXPECT_EQ(outcome(std::move(asked))->text, "a");
    EXPECT_EQ(outcome(std::move(again))->text, "a");
    alice.wire->abandon(2s);
    EXPECT_EQ(text(bob, {"ECHO", "b"}), "b");
    EXPECT_FALSE(bob.closed.code);
}

TEST_F(NodeConnections, QuestionsAreNoSignOfLife) {
    user& alice = open(0);
    user& bob = open(0);
    EXPECT_EQ(text(alice, {"ECHO", "a"}), "a");
    const auto answered = bob.wire->last_sign().value();
    cluster_.node(0).suspend();
    const auto ask = [this](user& who) {
        auto asked = begin(who.wire->call({"ECHO", "x"}));
        context_.restart();
        context_.poll();
        return asked;
    };
    auto first = ask(alice);
    const auto waiting_since = bob.wire->last_sign().value();
    EXPECT_GT(waiting_since, answered);
    auto second = ask(bob);
    EXPECT_EQ(alice.wire->last_sign().value(), waiting_since);
    cluster_.node(0).resume();
    EXPECT_EQ(outcome(std::move(first))->text, "x");
    EXPECT_EQ(outcome(std::move(second))->text, "x");
    EXPECT_GT(alice.wire->last_sign().value(), waiting_since);
}

TEST_F(NodeConnections, WhatIsAskedInOneTurnGoesOutTogether) {
    constexpr int commands = 20;
    std::vector<user*> askers;
    for (int i = 0; i < commands; ++i)
        askers.push_back(&open(0));
    auto admin = cluster_.node(0).connect();
    const auto reads = [&] { return std::stoul(admin.info("stats")["total_reads_processed"]); };
    const auto before = reads();
    asio::post(context_, [this] { connections_->gather(context_.get_executor()); });
    std::vector<std::future<result<redis_value>>> asked;
    for (auto* const each : askers)
        asked.push_back(begin(each->wire->call({"ECHO", "a"})));
    for (auto& each : asked)
        EXPECT_EQ(outcome(std::move(each))->text, "a");
    EXPECT_LT(reads() - before, 4u) << "one of ours, and the questions of this test";
}

TEST_F(NodeConnections, OneWaitForReplicasFollowsTheWritesOfAllThatWait) {
    constexpr auto limit = 100ms;
    user& alice = open(0);
    user& bob = open(0);
    user& carol = open(0);
    auto admin = cluster_.node(0).connect();
    const auto before = admin.calls("wait");
    auto alices = begin(alice.wire->write_and_wait({"ECHO", "a"}, 1, limit));
    context_.restart();
    context_.poll();
    auto bobs = begin(bob.wire->write_and_wait({"ECHO", "b"}, 1, limit));
    auto carols = begin(carol.wire->write_and_wait({"ECHO", "c"}, 2, limit));
    for (auto* const each : {&alices, &bobs, &carols}) {
        const auto replies = outcome(std::move(*each));
        ASSERT_TRUE(replies) << replies.error().message();
        EXPECT_EQ(replies->at(0).text, each == &alices ? "a" : each == &bobs ? "b" : "c");
        EXPECT_EQ(replies->at(1).type, redis_value::kind::number);
        EXPECT_EQ(replies->at(1).number, 0) << "there are no replicas";
    }
    EXPECT_EQ(admin.calls("wait") - before, 2u);
    EXPECT_EQ(text(bob, {"ECHO", "b"}), "b");
}

TEST_F(NodeConnections, ThatEndsEndsTheWaitsForReplicas) {
    user& alice = open(0);
    user& bob = open(0);
    auto alices = begin(alice.wire->write_and_wait({"ECHO", "a"}, 1, 60s));
    context_.restart();
    context_.poll();
    auto bobs = begin(bob.wire->write_and_wait({"ECHO", "b"}, 1, 60s));
    context_.poll();
    connections_->end_all();
    EXPECT_EQ(outcome(std::move(alices)).error(), errc::outcome_unknown);
    EXPECT_FALSE(outcome(std::move(bobs)).has_value());
    EXPECT_TRUE(alice.closed.code && bob.closed.code);
}

TEST_F(NodeConnections, WhoLeavesEndsNoWaitForReplicasButItsOwn) {
    user& alice = open(0);
    user& bob = open(0);
    cluster_.node(0).suspend();
    auto alices = begin(alice.wire->write_and_wait({"ECHO", "a"}, 1, 100ms));
    context_.restart();
    context_.poll();
    auto bobs = begin(bob.wire->write_and_wait({"ECHO", "b"}, 1, 100ms));
    context_.poll();
    const auto sign = bob.wire->last_sign();
    alice.wire->close();
    EXPECT_EQ(outcome(std::move(alices)).error(), errc::outcome_unknown);
    EXPECT_EQ(bob.wire->last_sign(), sign) << "the server has said nothing";
    EXPECT_EQ(bobs.wait_for(0s), std::future_status::timeout);
    EXPECT_FALSE(bob.closed.code);
    cluster_.node(0).resume();
    const auto replies = outcome(std::move(bobs));
    ASSERT_TRUE(replies) << replies.error().message();
    EXPECT_EQ(replies->at(0).text, "b");
    EXPECT_GT(bob.wire->last_sign(), sign);
}

}  // namespace
}  // namespace mortise::store_detail::node_connections_test
