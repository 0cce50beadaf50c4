// SPDX-License-Identifier: BSL-1.0
#include "store/redis/replica_quorum.hpp"
#include "support/co_world.hpp"
#include "unit/redis/reply_samples.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail::replica_quorum_test {
namespace {

using namespace std::chrono_literals;
using test::error_reply;
using test::number_reply;
using test::text_reply;

constexpr auto limit = 500ms;

/// The answers of a server, and what was done on all connections to it: each with its number.
class fake_server {
public:
    redis_failure to_open;
    redis_value to_write = text_reply("o");
    redis_value to_wait = number_reply(2);
    bool silent = false;
    std::optional<clock::time_point> sign;  ///< When it last answered others.
    bool forgets_scripts = false;           ///< Until it is told one again.

    std::vector<std::string> take() { return std::exchange(done_, {}); }
    void note(std::size_t wire, const std::string& text) {
        done_.push_back(std::to_string(wire) + ' ' + text);
    }

    std::size_t wires = 0;

private:
    std::vector<std::string> done_;
};

class fake_wire final : public redis_wire {
public:
    fake_wire(const asio::any_io_executor& strand, fake_server& server)
        : server_(server), number_(++server.wires), answers_(strand) {
        if (!server.silent)
            answers_.set();
    }

    asio::awaitable<redis_failure> open(redis_wire_events&) override {
        server_.note(number_, "open");
        auto waiting = answered();
        if (!co_await std::move(waiting))
            co_return redis_failure(errc::store_unavailable, "closed");
        co_return server_.to_open;
    }

    asio::awaitable<redis_failure> subscribe(std::string) override {
        ADD_FAILURE() << "it hears nothing";
        co_return redis_failure();
    }

    asio::awaitable<result<redis_value>> call(redis_command command) override {
        std::string text;
        for (const auto& word : command)
            text += text.empty() ? word : ' ' + word;
        server_.note(number_, text);
        auto waiting = answered();
        if (!co_await std::move(waiting))
            co_return error_code(errc::outcome_unknown);
        if (command.front() == "EVAL")
            server_.forgets_scripts = false;
        if (command.front() == "EVALSHA" && server_.forgets_scripts)
            co_return error_reply("NOSCRIPT No matching script.");
        co_return command.front() == "WAIT" ? server_.to_wait : server_.to_write;
    }

    void close() noexcept override {
        if (!std::exchange(closed_, true))
            server_.note(number_, "close");
        answers_.set();
    }

    std::optional<clock::time_point> last_sign() const noexcept override { return server_.sign; }

    void speak() { answers_.set(); }

private:
    asio::awaitable<bool> answered() {
        auto waiting = answers_.async_wait();
        co_await std::move(waiting);
        co_return !closed_;
    }

    fake_server& server_;
    const std::size_t number_;
    coro::event answers_;
    bool closed_ = false;
};

/// The result of one question.
class answer {
public:
    bool arrived = false;
    error_code code;
    bool elsewhere = false;
    std::vector<request_id> missing;
    clock::time_point at;
};

class ReplicaQuorum : public testing::Test {
protected:
    using texts = std::vector<std::string>;

    /// Asks about a write of that name, and does everything that can be done without time passing.
    std::shared_ptr<answer>
    ask(std::string name, std::chrono::milliseconds most = limit, written_grants grants = {}) {
        auto reply = std::make_shared<answer>();
        world_.start(
            [this, reply, name = std::move(name), most, grants]() -> asio::awaitable<void> {
                written_state state;
                state.keys = {"s", "e"};
                state.session = name;
                state.grants = grants;
                auto reaching = quorum_->reach(std::move(state), most);
                const auto outcome = co_await std::move(reaching);
                reply->code = outcome.code;
                reply->elsewhere = outcome.elsewhere;
                reply->missing = outcome.missing;
                reply->at = world_.time.now();
                reply->arrived = true;
            }
        );
        world_.pass(0ms);
        return reply;
    }

    /// The same, answered by now.
    error_code code_of(std::string name) {
        const auto reply = ask(std::move(name));
        EXPECT_TRUE(reply->arrived);
        return reply->code;
    }

    void speak() {
        server_.silent = false;
        wire_->speak();
    }

    test::co_world world_;
    fake_server server_;
    std::shared_ptr<fake_wire> wire_;  ///< The newest.
    std::shared_ptr<replica_quorum> quorum_ = std::make_shared<replica_quorum>(
        world_.executor(),
        std::shared_ptr<coro::time_source>(std::shared_ptr<void>(), &world_.time),
        2,
        redis_scripts::script{"text", "sha"},
        [this](const asio::any_io_executor& strand) {
            return wire_ = std::make_shared<fake_wire>(strand, server_);
        }
    );
};

TEST_F(ReplicaQuorum, WritesBeforeItWaitsOnOneConnection) {
    EXPECT_FALSE(code_of("a"));
    EXPECT_EQ(server_.take(), (texts{"1 open", "1 EVAL text 2 s e a", "1 WAIT 2 500"}));
    world_.pass(10 * limit);
    EXPECT_FALSE(code_of("b"));
    EXPECT_EQ(server_.take(), (texts{"1 EVALSHA sha 2 s e b", "1 WAIT 2 500"}));
}

TEST_F(ReplicaQuorum, ConfirmsNothingIfNothingWasWritten) {
    server_.to_write = text_reply("l");
    EXPECT_EQ(code_of("a"), errc::outcome_unknown);
    EXPECT_EQ(server_.take(), (texts{"1 open", "1 EVAL text 2 s e a", "1 WAIT 2 500", "1 close"}));
    server_.to_write = text_reply("o");
    EXPECT_FALSE(code_of("b"));
    EXPECT_EQ(server_.take(), (texts{"2 open", "2 EVAL text 2 s e b", "2 WAIT 2 500"}));
}

TEST_F(ReplicaQuorum, TellsThatItsServerIsAnotherOne) {
    server_.to_write = text_reply("x");
    const auto reply = ask("a");
    EXPECT_EQ(reply->code, errc::outcome_unknown);
    EXPECT_TRUE(reply->elsewhere);
    server_.to_write = text_reply("l");
    EXPECT_FALSE(ask("b")->elsewhere);
    EXPECT_EQ(server_.wires, 2u);
}

TEST_F(ReplicaQuorum, AsksForEachGrantAndTellsWhichAreMissing) {
    server_.to_write = text_reply("o 7 9");
    const auto reply =
        ask("a",
            limit,
            {{7, 70, "l7", "h7", std::nullopt},
             {8, 80, "l8", "h8", std::chrono::milliseconds(1500)}});
    EXPECT_FALSE(reply->code);
    EXPECT_EQ(reply->missing, (std::vector<request_id>{7, 9}));
    EXPECT_EQ(
        server_.take(),
        (texts{"1 open", "1 EVAL text 6 s e l7 h7 l8 h8 a 7 70 8 80 1500", "1 WAIT 2 500"})
    );
}

TEST_F(ReplicaQuorum, SendsItsScriptAgainToAServerThatForgotIt) {
    EXPECT_FALSE(code_of("a"));
    static_cast<void>(server_.take());
    server_.forgets_scripts = true;
    EXPECT_FALSE(code_of("b"));
    EXPECT_EQ(
        server_.take(),
        (texts{"1 EVALSHA sha 2 s e b", "1 WAIT 2 500", "1 EVAL text 2 s e b", "1 WAIT 2 500"})
    );
}

TEST_F(ReplicaQuorum, KeepsItsConnectionIfThereAreTooFewReplicas) {
    server_.to_wait = number_reply(1);
    EXPECT_EQ(code_of("a"), errc::not_enough_replicas);
    server_.to_wait = error_reply("ERR WAIT cannot be used with replica instances");
    EXPECT_EQ(code_of("b"), errc::not_enough_replicas);
    server_.to_wait = number_reply(3);
    EXPECT_FALSE(code_of("c"));
    EXPECT_EQ(server_.wires, 1u);
}

// An idle connection that the server has closed shows that when it is used.
TEST_F(ReplicaQuorum, ReplacesAConnectionThatWasClosedMeanwhile) {
    EXPECT_FALSE(code_of("a"));
    wire_->close();
    static_cast<void>(server_.take());
    EXPECT_FALSE(code_of("b"));
    EXPECT_EQ(
        server_.take(),
        (texts{"1 EVALSHA sha 2 s e b", "2 open", "2 EVAL text 2 s e b", "2 WAIT 2 500"})
    );
}

TEST_F(ReplicaQuorum, TellsWhyTheServerRefuses) {
    server_.to_write = error_reply("OOM command not allowed");
    EXPECT_EQ(code_of("a"), errc::store_full);
    server_.to_write = error_reply("READONLY You can't write against a read only replica.");
    EXPECT_EQ(code_of("b"), errc::read_only_server);
    EXPECT_EQ(
        server_.take(),
        (texts{
            "1 open",
            "1 EVAL text 2 s e a",
            "1 WAIT 2 500",
            "1 close",
            "2 open",
            "2 EVAL text 2 s e b",
            "2 WAIT 2 500",
            "2 close"})
    );
}

TEST_F(ReplicaQuorum, TellsWhyThereIsNoConnection) {
    server_.to_open = {errc::access_denied, "WRONGPASS"};
    EXPECT_EQ(code_of("a"), errc::access_denied);
    server_.to_open = {};
    EXPECT_FALSE(code_of("b"));
    EXPECT_EQ(server_.wires, 2u);
}

TEST_F(ReplicaQuorum, GivesASilentServerUpAfterTwiceTheLimit) {
    server_.silent = true;
    const auto begun = world_.time.now();
    const auto reply = ask("a");
    world_.pass(2 * limit - 1ms);
    EXPECT_FALSE(reply->arrived);
    world_.pass(1h);
    ASSERT_TRUE(reply->arrived);
    EXPECT_EQ(reply->at - begun, 2 * limit);
    EXPECT_EQ(reply->code, errc::store_unavailable);
    server_.silent = false;
    EXPECT_FALSE(code_of("b"));
    EXPECT_EQ(
        server_.take(),
        (texts{"1 open", "1 close", "2 open", "2 EVAL text 2 s e b", "2 WAIT 2 500"})
    );
}

TEST_F(ReplicaQuorum, GivesAServerThatAnswersOthersTime) {
    server_.silent = true;
    const auto begun = world_.time.now();
    const auto reply = ask("a");
    world_.pass(limit);
    server_.sign = world_.time.now();
    world_.pass(2 * limit - 1ms);
    EXPECT_FALSE(reply->arrived);
    world_.pass(1ms);
    ASSERT_TRUE(reply->arrived);
    EXPECT_EQ(reply->at - begun, 3 * limit);
    EXPECT_EQ(reply->code, errc::store_unavailable);
}

TEST_F(ReplicaQuorum, AnswersTogetherWhoCameMeanwhileByTheWriteOfTheNewest) {
    server_.silent = true;
    const auto first = ask("a");
    const auto second = ask("b", 1ms);
    const auto third = ask("c", 2 * limit);
    speak();
    world_.pass(0ms);
    for (const auto& each : {first, second, third}) {
        EXPECT_TRUE(each->arrived);
        EXPECT_FALSE(each->code) << each->code.message();
    }
    EXPECT_EQ(
        server_.take(),
        (texts{
            "1 open",
            "1 EVAL text 2 s e a",
            "1 WAIT 2 500",
            "1 EVALSHA sha 2 s e c",
            "1 WAIT 2 1000"})
    );
}

TEST_F(ReplicaQuorum, ThatFailsDoesNotFailThoseWhoCameMeanwhile) {
    server_.silent = true;
    const auto first = ask("a");
    const auto second = ask("b");
    server_.silent = false;
    world_.pass(2 * limit);
    EXPECT_EQ(first->code, errc::store_unavailable);
    ASSERT_TRUE(second->arrived);
    EXPECT_FALSE(second->code) << second->code.message();
    EXPECT_EQ(server_.wires, 2u);
}

TEST_F(ReplicaQuorum, ThatIsClosedAnswersAllAndOpensNothing) {
    server_.silent = true;
    const auto first = ask("a");
    const auto second = ask("b");
    quorum_->close();
    world_.pass(1h);
    for (const auto& each : {first, second}) {
        EXPECT_TRUE(each->arrived);
        EXPECT_EQ(each->code, errc::store_unavailable);
    }
    EXPECT_EQ(server_.take(), (texts{"1 open", "1 close"}));
    server_.silent = false;
    EXPECT_FALSE(code_of("c")) << "it can be used again";
    EXPECT_EQ(server_.wires, 2u);
}

TEST_F(ReplicaQuorum, MayBeClosedWhenNobodyAsks) {
    quorum_->close();
    EXPECT_FALSE(code_of("a"));
    quorum_->close();
    quorum_->close();
    EXPECT_FALSE(code_of("b"));
    EXPECT_EQ(
        server_.take(),
        (texts{
            "1 open",
            "1 EVAL text 2 s e a",
            "1 WAIT 2 500",
            "1 close",
            "2 open",
            "2 EVAL text 2 s e b",
            "2 WAIT 2 500"})
    );
}

}  // namespace
}  // namespace mortise::store_detail::replica_quorum_test
