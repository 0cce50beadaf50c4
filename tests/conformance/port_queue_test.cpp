// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"

#include <string>
#include <vector>

namespace mortise::test {
namespace {

using kind = answer::kind;
using std::chrono::milliseconds;

TEST_P(StorePort, GrantsWhatIsFree) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        const auto reply = co_await alice.ask("door");
        EXPECT_EQ(reply->type, kind::granted);
        EXPECT_TRUE(reply->token);
        EXPECT_FALSE(reply->token.domain.empty());
        EXPECT_FALSE(reply->contended);
    }(h()));
}

TEST_P(StorePort, QueuesTheSecondAndRefusesATry) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        co_await alice.hold("door");
        const auto queued = co_await bob.ask("door");
        EXPECT_EQ(queued->type, kind::queued);
        EXPECT_GE(queued->position, 1u);
        const auto refused = co_await bob.ask("door", false);
        EXPECT_EQ(refused->type, kind::refused);
        // The refused request left nothing: only the first of Bob's requests is there.
        const auto view = co_await bob.port().look(0);
        EXPECT_EQ(view->entries.size(), 1u);
    }(h()));
}

TEST_P(StorePort, MakesRequestsInOrderUntilOneIsNotGranted) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await bob.hold("c");
        std::vector<lock_request> wishes;
        for (char name = 'a'; name <= 'd'; ++name)
            wishes.push_back(alice.wish_for(std::string(1, name), {}));
        const auto first = wishes.front();
        const auto third = wishes[2];
        const auto answers = co_await alice.port().request_in_order(wishes);
        EXPECT_EQ(answers->size(), 3u);
        EXPECT_EQ((*answers)[0]->type, kind::granted);
        EXPECT_EQ((*answers)[1]->type, kind::granted);
        EXPECT_EQ((*answers)[2]->type, kind::queued);
        EXPECT_TRUE((*answers)[0]->token && (*answers)[1]->token);
        co_await bob.hold("d");
        EXPECT_EQ((co_await alice.port().look(0))->entries.size(), 3u);
        co_await bob.port().release(held);
        EXPECT_TRUE(co_await alice.hears(store_event::kind::granted, third.id));
        // By its id each of them is asked for again, withdrawn and released as any other.
        const auto again = co_await alice.ask_again(first.id, "a");
        EXPECT_EQ(again->token, (*answers)[0]->token);
        grant given;
        given.id = first.id;
        given.name = "a";
        given.token = again->token;
        EXPECT_TRUE(*co_await alice.port().release(given));
        EXPECT_FALSE(co_await alice.port().withdraw("c", third.id));
        EXPECT_EQ((co_await alice.port().look(0))->entries.size(), 1u);
    }(h()));
}

TEST_P(StorePort, RefusesATryInTheMiddleOfRequestsInOrder) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        co_await bob.hold("b");
        peer::manner attempt;
        attempt.queue = false;
        std::vector<lock_request> wishes;
        for (char name = 'a'; name <= 'c'; ++name)
            wishes.push_back(alice.wish_for(std::string(1, name), attempt));
        const auto answers = co_await alice.port().request_in_order(wishes);
        EXPECT_EQ(answers->size(), 2u);
        EXPECT_EQ((*answers)[0]->type, kind::granted);
        EXPECT_EQ((*answers)[1]->type, kind::refused);
        EXPECT_EQ((co_await alice.port().look(0))->entries.size(), 1u);
    }(h()));
}

TEST_P(StorePortFair, ATryDoesNotOvertakeTheQueue) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        co_await alice.port().release(held);
        const auto refused = co_await alice.ask("door", false);
        EXPECT_EQ(refused->type, kind::refused);
    }(h()));
}

TEST_P(StorePort, AnswersARepeatedRequestTheSame) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        const auto again = co_await alice.ask_again(held.id, "door");
        EXPECT_EQ(again->type, kind::granted);
        EXPECT_EQ(again->token, held.token);
        co_await bob.ask("door");
        const auto queued = co_await bob.ask_again(bob.last_id(), "door");
        EXPECT_EQ(queued->type, kind::queued);
        const auto view = co_await bob.port().look(0);
        EXPECT_EQ(view->entries.size(), 1u);
    }(h()));
}

TEST_P(StorePortPush, ReleaseLetsTheNextInByAPushWithAHigherToken) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        peer carol(harness);
        co_await alice.open();
        co_await bob.open();
        co_await carol.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        if (alice.port().traits().fair)  // else either of them may be the next
            co_await carol.ask("door");
        const auto released = co_await alice.port().release(held);
        EXPECT_TRUE(*released);
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, bob.last_id()));
        EXPECT_GT(bob.heard_token().value, held.token.value);
        EXPECT_EQ(bob.heard_token().domain, held.token.domain);
        EXPECT_FALSE(carol.has(store_event::kind::granted));
    }(h()));
}

TEST_P(StorePortPush, TellsTheHolderOnceThatSomebodyWaits) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        // A second one that comes sooner may change the word into `look_again`.
        EXPECT_TRUE(co_await alice.hears(store_event::kind::contended, held.id));
        co_await bob.ask("door");
        EXPECT_FALSE(co_await alice.hears(store_event::kind::contended, held.id, milliseconds(20)));
    }(h()));
}

TEST_P(StorePort, ReleaseOfNothingSucceedsAndSaysSo) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        const grant held = co_await alice.hold("door");
        EXPECT_TRUE(*co_await alice.port().release(held));
        EXPECT_FALSE(*co_await alice.port().release(held));
    }(h()));
}

TEST_P(StorePort, ReleaseComparesIdAndTokenAndSession) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        grant forged = held;
        forged.token.value += 1;
        EXPECT_FALSE(*co_await alice.port().release(forged));
        forged = held;
        forged.id += 1;
        EXPECT_FALSE(*co_await alice.port().release(forged));
        EXPECT_FALSE(*co_await bob.port().release(held));
        const auto refused = co_await bob.ask("door", false);
        EXPECT_EQ(refused->type, kind::refused);
    }(h()));
}

TEST_P(StorePort, WithdrawLeavesNothingWhateverThereWas) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        const request_id first = bob.last_id();
        co_await bob.ask("door");
        const request_id second = bob.last_id();
        // A waiting request is gone, and the one behind it moves up.
        EXPECT_FALSE(co_await bob.port().withdraw("door", first));
        EXPECT_FALSE(co_await alice.port().withdraw("door", held.id));  // granted
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, second));
        EXPECT_FALSE(co_await alice.port().withdraw("door", 4'711));  // never heard of
        EXPECT_FALSE(co_await alice.port().withdraw("door", held.id));
        EXPECT_TRUE((co_await alice.port().look(0))->entries.empty());
        EXPECT_EQ((co_await bob.port().look(0))->entries.size(), 1u);
    }(h()));
}

TEST_P(StorePort, NamesAreBytesOfAnyKindAndNeverMeet) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        std::vector<std::string> names;
        names.push_back("door");
        names.push_back("Door");
        names.push_back("door ");
        names.push_back(std::string("door\0", 5));
        names.push_back(std::string("\0", 1));
        names.push_back("d\xc3\xb6"
                        "or'; DROP TABLE entry; --");
        names.push_back("\xff\xfe");
        names.push_back(std::string(1'024, 'x'));
        names.push_back(std::string(1'023, 'x') + "y");
        for (const auto& name : names) {
            std::string copy = name;
            const auto reply = co_await alice.ask(std::move(copy), false);
            EXPECT_EQ(reply->type, kind::granted) << testing::PrintToString(name);
        }
        const auto view = co_await alice.port().look(0);
        EXPECT_EQ(view->entries.size(), names.size());
    }(h()));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortExclusive);  // not for every store

TEST_P(StorePortExclusive, RefusesModesThatItDoesNotKnow) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        lock_request wish;
        wish.id = 1;
        wish.name = "door";
        wish.mode = lock_mode::shared();
        const auto reply = co_await alice.port().request(std::move(wish));
        EXPECT_FALSE(reply);
        EXPECT_EQ(reply.error(), errc::unsupported);
        EXPECT_TRUE((co_await alice.port().look(0))->entries.empty());
    }(h()));
}

}  // namespace
}  // namespace mortise::test
