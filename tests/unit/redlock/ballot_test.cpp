// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/ballot.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace mortise::store_detail::ballot_test {
namespace {

using kind = ballot_answer::kind;
using verdict = ballot::verdict;

const order_key own(50, "client", 7);
const order_key smaller(49, "other", 1);
const order_key larger(51, "other", 1);

ballot_answer answer(kind type, const order_key& other = {}, std::uint64_t news = 0) {
    ballot_answer one;
    one.type = type;
    one.other = other;
    one.news = news;
    return one;
}

ballot_answer low(std::uint64_t counter) {
    auto one = answer(kind::low);
    one.counter = counter;
    return one;
}

/// A ballot that was sent to all nodes, with an answer of each of the first ones.
ballot asked(std::size_t nodes, bool joins, const std::vector<ballot_answer>& answers) {
    ballot request(nodes, own, joins);
    request.begin(100);
    for (std::size_t node = 0; node < answers.size(); ++node)
        request.answered(node, request.guess(), answers[node]);
    return request;
}

TEST(RedlockBallot, IsDecidedOnceNoOpenAnswerCanChangeTheVerdict) {
    const auto yes = answer(kind::voted);
    const auto no = answer(kind::taken, smaller);
    EXPECT_TRUE(asked(3, true, {yes, yes}).is_decided());
    EXPECT_TRUE(asked(3, true, {no, no}).is_decided()) << "one vote more is no majority";
    EXPECT_FALSE(asked(3, false, {yes, no}).is_decided());
    EXPECT_FALSE(asked(3, false, {low(7), no}).is_decided()) << "the next ballot may win";
    EXPECT_TRUE(asked(3, true, {yes, no}).is_decided()) << "it can wait in the queues";
    EXPECT_FALSE(asked(3, true, {yes}).is_decided());
    EXPECT_TRUE(asked(3, true, {low(7), low(7)}).is_decided()) << "it must be the next one";
    EXPECT_FALSE(asked(5, false, {yes, yes, no, no}).is_decided());
    EXPECT_TRUE(asked(5, false, {yes, no, no, no}).is_decided());
}

TEST(RedlockBallot, AVoteThatIsNotGivenBackAfterAllIsUnknown) {
    auto request = asked(3, true, {answer(kind::voted), answer(kind::taken, smaller)});
    request.yielded();
    request.not_yielded(0);
    request.not_yielded(1);
    EXPECT_TRUE(request.is_unknown(0));
    EXPECT_FALSE(request.is_unknown(1)) << "it had no vote to give back";
    EXPECT_FALSE(request.is_asked(0));
    const auto again = request.ask(0);
    EXPECT_TRUE(request.is_asked(0));
    request.answered(0, again, answer(kind::voted));
    EXPECT_EQ(request.judge(), verdict::yield) << "it is given back again";
}

TEST(RedlockBallot, AVoteThatWasGivenBackIsNotRevivedByAnEarlierQuestion) {
    auto request = asked(3, true, {answer(kind::voted), answer(kind::taken, smaller)});
    const auto early = request.ask(0);
    request.yielded();
    request.lost(0);
    request.answered(0, early, answer(kind::voted));
    request.answered(2, request.guess(), answer(kind::voted));
    EXPECT_NE(request.judge(), verdict::granted);
}

TEST(RedlockBallot, AVoteOfAnEarlierBallotIsGivenBackToo) {
    auto request = asked(3, true, {low(7), answer(kind::taken, smaller)});
    EXPECT_EQ(request.judge(), verdict::yield) << "the node may have kept that vote";
    EXPECT_EQ(request.to_yield(), std::vector<std::size_t>(1, 0));
    request.yielded();
    EXPECT_EQ(request.judge(), verdict::wait);
}

TEST(RedlockBallot, AVoteTellsOfTheFirstThatWaitsThere) {
    auto request = asked(3, true, {answer(kind::voted, larger), answer(kind::taken, larger)});
    EXPECT_EQ(request.judge(), verdict::wait);
    request.begin(200);
    request.answered(0, request.guess(), answer(kind::voted, smaller));
    request.answered(1, request.guess(), answer(kind::taken, larger));
    EXPECT_EQ(request.judge(), verdict::yield);
}

TEST(RedlockBallot, IsJudgedByTheAnswersOfTheNodes) {
    struct row {
        std::size_t nodes;
        bool joins;
        std::vector<ballot_answer> answers;
        verdict expected;
    };
    const auto yes = answer(kind::voted);
    const auto out = answer(kind::closed);
    const auto first = answer(kind::taken, smaller);
    const auto later = answer(kind::taken, larger);
    const std::vector<row> rows = {
        {3, true, {yes, yes}, verdict::granted},
        {3, true, {yes, yes, first}, verdict::granted},
        {5, true, {yes, yes, later, later}, verdict::wait},
        {5, true, {yes, yes, yes}, verdict::granted},
        {3, true, {low(7), low(7)}, verdict::again},
        {3, true, {yes, low(7), first}, verdict::again},
        {3, false, {yes, low(7), first}, verdict::again},
        {3, true, {first, first, first}, verdict::wait},
        {3, true, {yes, first, first}, verdict::yield},
        {3, true, {yes, later, later}, verdict::wait},
        {3, true, {yes, answer(kind::behind, smaller), later}, verdict::yield},
        {3, true, {out, out, yes}, verdict::wait},
        {3, false, {out, out, yes}, verdict::refused},
        {3, false, {yes, first, first}, verdict::refused},
        {3, false, {yes}, verdict::unreachable},
        {3, false, {yes, first}, verdict::refused},
        {3, true, {first}, verdict::unreachable},
        {3, true, {}, verdict::unreachable}};
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const auto request = asked(rows[at].nodes, rows[at].joins, rows[at].answers);
        EXPECT_EQ(request.judge(), rows[at].expected) << "row " << at;
    }
}

TEST(RedlockBallot, GuessesAboveAllThatItWasTold) {
    ballot request = asked(3, true, {low(400), low(300), answer(kind::voted)});
    const auto first = request.guess();
    EXPECT_GT(first, 100u);
    request.begin(200);
    EXPECT_GT(request.guess(), 400u) << "the counter that a node has told";
    const auto second = request.guess();
    request.begin(0);
    EXPECT_GT(request.guess(), second) << "a later ballot of a request has a higher guess";
}

TEST(RedlockBallot, CountsNoVoteForAnEarlierGuess) {
    ballot request = asked(3, true, {answer(kind::voted), low(200), low(200)});
    const auto earlier = request.guess();
    request.begin(200);
    request.answered(1, request.guess(), answer(kind::voted));
    request.answered(0, earlier, answer(kind::voted));
    EXPECT_NE(request.judge(), verdict::granted);
    EXPECT_EQ(request.voters(), std::vector<std::size_t>{1});
    request.answered(0, request.guess(), answer(kind::voted));
    EXPECT_EQ(request.judge(), verdict::granted);
}

TEST(RedlockBallot, GoesOnWhenAMajorityOfNodesHasAVoteToGive) {
    const auto taken = answer(kind::taken, smaller, 3);
    ballot request = asked(3, true, {taken, taken, taken});
    request.freed(0, 4);
    EXPECT_EQ(request.judge(), verdict::wait);
    request.freed(2, 4);
    EXPECT_EQ(request.judge(), verdict::again);
    request.begin(0);
    EXPECT_EQ(request.judge(), verdict::unreachable) << "a word of before this ballot is used up";
}

TEST(RedlockBallot, TakesTheNewerOfAnAnswerAndAMessage) {
    ballot request = asked(3, true, {});
    request.freed(0, 5);
    request.answered(0, request.guess(), answer(kind::taken, smaller, 4));
    request.freed(1, 5);
    EXPECT_EQ(request.judge(), verdict::again) << "the message has overtaken the answer";
    request.answered(1, request.guess(), answer(kind::taken, smaller, 6));
    EXPECT_NE(request.judge(), verdict::again);
    request.freed(1, 6);
    EXPECT_NE(request.judge(), verdict::again) << "the answer knew of that message";
}

TEST(RedlockBallot, GivesWayToASmallerKeyOnly) {
    const std::vector<ballot_answer> split = {
        answer(kind::voted), answer(kind::taken, larger), answer(kind::taken, larger)};
    ballot request = asked(3, true, split);
    request.challenged(0, larger);
    EXPECT_EQ(request.judge(), verdict::wait);
    request.challenged(0, smaller);
    EXPECT_EQ(request.judge(), verdict::yield);
    request.yielded();
    EXPECT_EQ(request.judge(), verdict::wait);
    EXPECT_TRUE(request.voters().empty());
    ballot winner = asked(3, true, {answer(kind::voted), answer(kind::voted)});
    winner.challenged(0, smaller);
    EXPECT_EQ(winner.judge(), verdict::granted) << "who has a majority keeps it";
    EXPECT_TRUE(winner.contended());
}

// Two requests that split the votes: one of them gives way, whoever looks first.
TEST(RedlockBallot, SplitVotesEnd) {
    ballot first(3, smaller, true);
    ballot second(3, larger, true);
    first.begin(0);
    second.begin(0);
    first.answered(0, first.guess(), answer(kind::voted));
    first.answered(1, first.guess(), answer(kind::taken, larger));
    second.answered(0, second.guess(), answer(kind::taken, smaller));
    second.answered(1, second.guess(), answer(kind::voted));
    EXPECT_EQ(first.judge(), verdict::wait) << "the third node is away";
    EXPECT_EQ(second.judge(), verdict::yield);
    second.yielded();
    first.freed(1, 1);
    EXPECT_EQ(first.judge(), verdict::again);
}

TEST(RedlockBallot, ForgetsWhatANodeForgot) {
    ballot request = asked(3, true, {answer(kind::voted), answer(kind::voted)});
    request.lost(1);
    EXPECT_EQ(request.judge(), verdict::unreachable);
    EXPECT_EQ(request.voters(), std::vector<std::size_t>{0});
}

TEST(RedlockBallot, GoesOnAfterAQuarantine) {
    const auto out = answer(kind::closed);
    ballot request = asked(3, true, {out, out, answer(kind::taken, smaller)});
    request.opened(0);
    request.opened(2);
    EXPECT_EQ(request.judge(), verdict::wait) << "the third one has given its vote";
    request.opened(1);
    EXPECT_EQ(request.judge(), verdict::again);
}

}  // namespace
}  // namespace mortise::store_detail::ballot_test
