// SPDX-License-Identifier: BSL-1.0
// A node of Redlock by itself, at a real server: the rules of tests/models/redlock_ballot.pml, each
// of which is needed.
#include "mortise/store_types.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redlock/node_link.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace mortise::store_detail::node_scripts_test {
namespace {

using texts = std::vector<std::string>;
using test::raw_redis;
using test::redis_server;

/// The scripts of a node, called as the store does.
class node_under_test {
public:
    explicit node_under_test(redis_server& server)
        : redis_(server.connect()), keys_(next_prefix()) {}

    /// @return the first word of the answer.
    std::string
    open(const std::string& session, int generation = 1, const texts& more = {"60000", "1"}) {
        return run(redis_script::redlock_open,
                   keys_.with_facts(),
                   {session,
                    std::to_string(generation),
                    more[0],
                    "facts",
                    nodes,
                    longest,
                    durable,
                    "start" + std::to_string(++starts_),
                    more[1]})
            .at(0);
    }
    texts ask(const std::string& session, int request, int guess, const texts& more = {}) {
        const std::string order = more.empty() ? "1" : more[0];
        const std::string joins = more.size() < 2 ? "1" : more[1];
        return run(
            redis_script::redlock_ask,
            keys_.at_lock(session, "door"),
            {session,
             generation_,
             session,
             std::to_string(request),
             above(guess),
             order,
             joins,
             "door"}
        );
    }
    /// @return the first word of the answer.
    std::string free(const std::string& session, int request, int guess, const char* kind = "w") {
        return run(redis_script::redlock_free,
                   keys_.at_lock(session, "door"),
                   {session,
                    generation_,
                    session,
                    std::to_string(request),
                    above(guess),
                    kind,
                    "door"})
            .at(0);
    }
    texts beat(const std::string& session, const std::string& ttl = "60000") {
        return run(redis_script::redlock_beat, keys_.common(), {session, generation_, ttl});
    }
    std::string restore(
        const std::string& start, const std::string& floor, const std::string& longest_ttl = "0"
    ) {
        return run(redis_script::redlock_restore, keys_.common(), {start, floor, longest_ttl})
            .at(0);
    }
    texts counter() { return run(redis_script::redlock_counter, keys_.common(), {}); }
    std::string start() { return redis_.command({"HGET", keys_.of("id"), "start"}).text; }
    void make_queue_form() { redis_.command({"HSET", keys_.of("id"), "f", "2"}); }
    void end_quarantine() { redis_.command({"HSET", keys_.of("id"), "until", "1"}); }
    void kill_session(const std::string& session) {
        redis_.command({"ZADD", keys_.of("d"), "1", session});
    }
    /// The messages to a session so far.
    std::string news(const std::string& session) {
        return redis_.command({"HGET", keys_.of("g"), session}).text;
    }
    bool has_vote() { return redis_.command({"EXISTS", keys_.vote("door")}).number == 1; }
    void pretend_restart() { redis_.command({"HSET", keys_.of("id"), "run", "another"}); }
    void set_counter(const std::string& lock, const std::string& value) {
        redis_.command({"HSET", keys_.of("id"), "floor", "0"});
        redis_.command({"ZADD", keys_.of("k"), value, lock});
    }
    bool has_counter(const std::string& lock) {
        return !redis_.command({"ZSCORE", keys_.of("k"), lock}).is_null();
    }
    std::string floor() { return redis_.command({"HGET", keys_.of("id"), "floor"}).text; }
    void use_generation(int generation) { generation_ = std::to_string(generation); }

    std::string nodes = "3";
    std::string longest = "60000";
    std::string durable = "0";

private:
    static std::string next_prefix() {
        static std::atomic<int> count = 0;
        return "n" + std::to_string(++count) + ":";
    }
    // Guesses of tests are small, and a new node begins at the time of its clock.
    static std::string above(int guess) {
        return guess == 0 ? "0" : std::to_string(8'000'000'000'000'000 + guess);
    }
    texts run(redis_script script, const texts& keys, const texts& arguments) {
        texts words{"EVAL", scripts_[script].text, std::to_string(keys.size())};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), arguments.begin(), arguments.end());
        const auto reply = redis_.command(words);
        return reply.items.empty() ? texts{std::to_string(reply.number)} : reply.texts();
    }

    const redis_scripts scripts_;
    raw_redis redis_;
    const node_keys keys_;
    std::string generation_ = "1";
    int starts_ = 0;
};

class RedlockNode : public testing::Test {
protected:
    node_under_test node{test::shared_redis()};
};

TEST_F(RedlockNode, VotesForOneRequestAndAnswersItTheSameAgain) {
    EXPECT_EQ(node.open("alice"), "o");
    EXPECT_EQ(node.open("bob"), "o");
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "v");
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "v") << "the same nonce";
    const auto refused = node.ask("bob", 1, 9, {"2"});
    EXPECT_EQ(refused.at(0), "b");
    EXPECT_EQ(refused.at(1), "1 alice 1") << "who has the vote";
    EXPECT_EQ(node.news("alice"), "1") << "somebody waits";
    EXPECT_EQ(node.free("alice", 1, 5), "1");
    EXPECT_EQ(node.news("bob"), "1") << "the first of the queue is told";
    EXPECT_EQ(node.ask("bob", 1, 9, {"2"}).at(0), "v");
}

TEST_F(RedlockNode, VotesOnlyAboveItsCounterWhichNeverFalls) {
    node.open("alice");
    node.open("bob");
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "v");
    EXPECT_EQ(node.free("alice", 1, 5), "1");
    for (const int guess : {4, 5}) {
        const auto refused = node.ask("bob", 1, guess, {"2", "0"});
        EXPECT_EQ(refused.at(0), "l") << guess;
        EXPECT_EQ(refused.at(1), "8000000000000005");
    }
    EXPECT_EQ(node.ask("bob", 1, 6, {"2", "0"}).at(0), "v");
}

TEST_F(RedlockNode, RefusesABallotThatComesAfterItsWithdrawal) {
    node.open("alice");
    EXPECT_EQ(node.free("alice", 1, 5), "0") << "it was not there yet";
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "l") << "the counter is the tombstone";
    EXPECT_FALSE(node.has_vote());
}

TEST_F(RedlockNode, FreesTheVoteOfNobodyElse) {
    node.open("alice");
    node.open("bob");
    node.ask("alice", 1, 5);
    EXPECT_EQ(node.free("bob", 1, 7), "0");
    EXPECT_EQ(node.free("alice", 2, 7), "0");
    EXPECT_TRUE(node.has_vote());
    EXPECT_EQ(node.ask("alice", 1, 6).at(0), "l") << "the counter was raised meanwhile";
    EXPECT_EQ(node.ask("alice", 1, 8).at(0), "v") << "a later ballot of the same request";
}

TEST_F(RedlockNode, BringsNoVoteBackByAHeartbeat) {
    node.open("alice");
    node.ask("alice", 1, 5);
    EXPECT_EQ(node.beat("alice").at(0), "o");
    node.kill_session("alice");
    EXPECT_EQ(node.beat("alice").at(0), "x");
    EXPECT_EQ(node.ask("alice", 1, 6).at(0), "x");
    EXPECT_EQ(node.open("alice", 2), "x") << "a session that is gone is never revived";
    node.open("bob");
    EXPECT_EQ(node.ask("bob", 1, 7).at(0), "v") << "the vote of a dead session is none";
}

TEST_F(RedlockNode, RefusesCommandsOfAnEarlierConnection) {
    node.open("alice");
    EXPECT_EQ(node.open("alice", 2), "o");
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "x");
    node.use_generation(2);
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "v");
}

TEST_F(RedlockNode, KeepsTheQueueByTheOrderKey) {
    for (const char* const each : {"alice", "bob", "carol"})
        node.open(each);
    node.ask("alice", 1, 5, {"10"});
    EXPECT_EQ(node.ask("carol", 1, 6, {"30"}).at(0), "b");
    EXPECT_EQ(node.ask("bob", 1, 7, {"20"}).at(0), "b");
    EXPECT_EQ(node.free("alice", 1, 5), "1");
    EXPECT_EQ(node.news("bob"), "1");
    EXPECT_EQ(node.news("carol"), "0") << "no herd";
    const auto behind = node.ask("carol", 1, 8, {"30"});
    EXPECT_EQ(behind.at(0), "a");
    EXPECT_EQ(behind.at(1), "20 bob 1");
    EXPECT_EQ(node.ask("carol", 2, 9, {"31", "0"}).at(0), "a") << "nor does a try overtake";
    EXPECT_EQ(node.free("bob", 1, 7), "0") << "it had no vote, only its place";
    EXPECT_EQ(node.news("carol"), "1") << "the next one is told";
    EXPECT_EQ(node.ask("carol", 1, 10, {"30"}).at(0), "v");
}

TEST_F(RedlockNode, TellsWhoHasTheVoteOfASmallerKeyThatComesLater) {
    node.open("alice");
    node.open("bob");
    node.ask("alice", 1, 5, {"20"});
    node.ask("bob", 1, 6, {"30"});
    EXPECT_EQ(node.news("alice"), "1") << "the first that waits";
    node.ask("bob", 2, 7, {"31"});
    EXPECT_EQ(node.news("alice"), "1");
    node.ask("bob", 3, 8, {"10"});
    EXPECT_EQ(node.news("alice"), "2") << "it comes before";
    EXPECT_EQ(node.free("alice", 1, 5, "y"), "1");
    EXPECT_EQ(node.news("bob"), "1");
    EXPECT_EQ(node.ask("bob", 3, 9, {"10"}).at(0), "v");
    EXPECT_EQ(node.free("bob", 3, 9), "1");
    EXPECT_EQ(node.news("alice"), "3") << "it has its place in the queue again";
}

TEST_F(RedlockNode, IsInQuarantineWhenItMayHaveForgottenVotes) {
    EXPECT_EQ(node.open("alice", 1, {"100", "0"}), "o");
    const auto state = node.beat("alice", "100");
    EXPECT_GT(std::stoll(state.at(2)), 59'000'000) << "for the longest TTL of all clients";
    EXPECT_EQ(state.at(3), "0") << "it does not know its counters";
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "c");
    EXPECT_EQ(node.restore(node.start(), "1"), "0") << "read during the quarantine";
    node.end_quarantine();
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "c") << "it still does not know its counters";
    EXPECT_EQ(node.counter().at(0), "0") << "and tells none";
    EXPECT_EQ(node.restore("another start", "1"), "0");
    EXPECT_EQ(node.restore(node.start(), "8000000000000009"), "1");
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "l");
    EXPECT_EQ(node.ask("alice", 1, 10).at(0), "v");
    EXPECT_EQ(node.counter().at(0), "1");
    EXPECT_EQ(node.counter().at(1), "8000000000000010");
}

// Another run of the server, which may have lost the newest changes: votes, too.
TEST_F(RedlockNode, ForgetsSessionsWithItsVotesInARestart) {
    node.open("alice");
    node.ask("alice", 1, 5);
    node.pretend_restart();
    EXPECT_EQ(node.open("bob"), "o");
    EXPECT_EQ(node.beat("alice").at(0), "x") << "its votes may be forgotten";
    EXPECT_EQ(node.ask("bob", 1, 9).at(0), "c");
    EXPECT_EQ(node.counter().at(0), "0");
}

TEST_F(RedlockNode, VotesAtOnceAfterARestartIfEachChangeIsOnDisk) {
    node.durable = "1";
    node.open("alice");
    node.ask("alice", 1, 5);
    node.pretend_restart();
    EXPECT_EQ(node.open("bob"), "o");
    EXPECT_EQ(node.beat("alice").at(0), "o");
    EXPECT_EQ(node.ask("bob", 1, 9, {"2"}).at(0), "b");
    node.pretend_restart();
    node.durable = "0";
    EXPECT_EQ(node.open("bob", 1), "o");
    EXPECT_EQ(node.ask("bob", 1, 9).at(0), "c") << "it was durable, and is not any more";
}

TEST_F(RedlockNode, ForgetsOldCountersButNotHowHighTheyWere) {
    node.open("alice");
    node.set_counter("an old door", "1234567");
    node.beat("alice");
    EXPECT_FALSE(node.has_counter("an old door"));
    EXPECT_EQ(node.floor(), "1234567") << "the node votes for nothing below it";
    EXPECT_EQ(node.ask("alice", 1, 5).at(0), "v");
    node.beat("alice");
    EXPECT_TRUE(node.has_counter("door")) << "that one is new";
}

TEST_F(RedlockNode, IsInQuarantineForTheLongestTtlThatAnyNodeKnows) {
    node.open("alice", 1, {"60000", "0"});
    node.end_quarantine();
    EXPECT_EQ(node.counter().at(3), "60000");
    EXPECT_EQ(node.restore(node.start(), "1", "3600000000000"), "0") << "that is longer";
    EXPECT_EQ(node.counter().at(3), "3600000000000");
    EXPECT_GT(std::stoll(node.beat("alice").at(2)), 0) << "the rest of it";
    node.end_quarantine();
    EXPECT_EQ(node.restore(node.start(), "1", "3600000000000"), "1");
}

TEST_F(RedlockNode, IsNotRestoredByWhatWasReadBeforeTheEndOfALongerQuarantine) {
    node.open("alice", 1, {"60000", "0"});
    node.end_quarantine();
    EXPECT_EQ(node.restore(node.start(), "1", "60001"), "0") << "although that is over, too";
    EXPECT_EQ(node.restore(node.start(), "1", "60001"), "1");
}

TEST_F(RedlockNode, TellsWhoHasItsVoteOfTheFirstThatWaits) {
    node.open("alice");
    node.open("bob");
    EXPECT_EQ(node.ask("alice", 1, 5, {"7"}).at(1), "0");
    node.ask("bob", 2, 6, {"3"});
    EXPECT_EQ(node.ask("alice", 1, 5, {"7"}).at(1), "1 3 bob 2");
}

TEST_F(RedlockNode, IsNoneWhereAStoreOfTheQueueFormIs) {
    node.make_queue_form();
    EXPECT_EQ(node.open("alice"), "q");
}

TEST_F(RedlockNode, RefusesAListOfAnotherLength) {
    node.open("alice");
    node.nodes = "5";
    EXPECT_EQ(node.open("bob"), "n");
}

}  // namespace
}  // namespace mortise::store_detail::node_scripts_test
