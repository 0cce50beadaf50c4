// SPDX-License-Identifier: BSL-1.0
// One lock inside one client: grants that are passed on without the store, and others.
#include "client_world.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// Acquires that are under way, and the leases that came.
class wishes {
public:
    explicit wishes(client_world& world) : world_(world) {}

    std::size_t ask(lock_client& locks, lock_options options = lock_options()) {
        outcomes_.push_back(std::make_unique<acquire_outcome>());
        locks.async_acquire("door", options, client_world::record(*outcomes_.back()));
        settle();
        return outcomes_.size() - 1;
    }

    void let_go(std::size_t index) {
        outcomes_[index]->held = lease();
        settle();
    }

    bool held(std::size_t index) const { return outcomes_[index]->held.held(); }
    bool done(std::size_t index) const { return outcomes_[index]->done; }
    error_code code(std::size_t index) const { return outcomes_[index]->code; }
    const lease& at(std::size_t index) const { return outcomes_[index]->held; }
    void settle() { world_.pass(1ms); }

private:
    client_world& world_;
    std::vector<std::unique_ptr<acquire_outcome>> outcomes_;
};

lock_options in(lock_mode mode) {
    lock_options options;
    options.mode = mode;
    return options;
}

const lock_options reading = in(lock_mode::shared());

TEST(LocalQueue, AGrantIsPassedOnWithItsNextTokenAndWithoutTheStore) {
    client_world world;
    lock_client alice = world.client();
    wishes all(world);
    const auto first = all.ask(alice);
    const auto second = all.ask(alice);
    const auto third = all.ask(alice);
    EXPECT_TRUE(all.held(first));
    EXPECT_FALSE(all.done(second));
    EXPECT_TRUE(all.at(first).contended());
    const auto token = all.at(first).token();
    all.let_go(first);
    EXPECT_TRUE(all.held(second));
    EXPECT_FALSE(all.done(third));
    EXPECT_EQ(all.at(second).token().value, token.value + 1);
    EXPECT_EQ(all.at(second).token().domain, token.domain);
    all.let_go(second);
    EXPECT_TRUE(all.held(third));
    EXPECT_FALSE(all.at(third).contended());
    EXPECT_EQ(alice.stats().requests, 1u);
    EXPECT_EQ(alice.stats().grants, 1u);
    all.let_go(third);
    EXPECT_EQ(world.server.entries(), 0u);
    world.stop(alice);
}

TEST(LocalQueue, ManyHandOffsDrawMoreTokensAndNeverRepeatOne) {
    client_world world;
    lock_client alice = world.client();
    wishes all(world);
    std::uint64_t last = 0;
    auto holds = all.ask(alice);
    for (int i = 0; i < 5'000; ++i) {
        const auto next = all.ask(alice);
        EXPECT_GT(all.at(holds).token().value, last);
        last = all.at(holds).token().value;
        all.let_go(holds);
        holds = next;
        ASSERT_TRUE(all.held(holds));
    }
    EXPECT_EQ(alice.stats().requests, 1u);
    EXPECT_GE(alice.stats().draws, 1u);
    EXPECT_LE(alice.stats().draws, 3u);
    all.let_go(holds);
    lock_client bob = world.client();
    const auto after = all.ask(bob);
    EXPECT_GT(all.at(after).token().value, last) << "above all that were drawn";
    all.let_go(after);
    world.stop(alice);
    world.stop(bob);
}

TEST(LocalQueue, AnotherClientWaitsForATurnAtMost) {
    client_world world;
    auto config = world.config();
    config.turn_handoffs_max = 3;
    lock_client alice(world.context.get_executor(), world.server.make_store(), config);
    lock_client bob = world.client();
    wishes all(world);
    std::vector<std::size_t> queue{all.ask(alice)};
    for (int i = 0; i < 10; ++i)
        queue.push_back(all.ask(alice));
    const auto other = all.ask(bob);
    EXPECT_FALSE(all.done(other));
    std::size_t served = 0;
    while (!all.done(other)) {
        ASSERT_LT(served, queue.size());
        ASSERT_TRUE(all.held(queue[served]));
        all.let_go(queue[served++]);
    }
    EXPECT_EQ(served, 4u) << "who held it, and three to whom it was passed on";
    EXPECT_TRUE(all.held(other));
    EXPECT_FALSE(all.done(queue[served]));
    EXPECT_TRUE(all.at(other).contended()) << "alice stands in the queue again";
    all.let_go(other);
    EXPECT_TRUE(all.held(queue[served])) << "and goes on where she was";
    world.stop(alice);
    world.stop(bob);
}

TEST(LocalQueue, ATurnEndsByTimeToo) {
    client_world world;
    auto config = world.config();
    config.turn_time_max = 20ms;
    lock_client alice(world.context.get_executor(), world.server.make_store(), config);
    lock_client bob = world.client();
    wishes all(world);
    const auto first = all.ask(alice);
    const auto second = all.ask(alice);
    const auto third = all.ask(alice);
    const auto other = all.ask(bob);
    all.let_go(first);
    EXPECT_TRUE(all.held(second)) << "its turn has begun just now";
    world.pass(30ms);
    all.let_go(second);
    EXPECT_TRUE(all.held(other));
    EXPECT_FALSE(all.done(third));
    world.stop(alice);
    world.stop(bob);
}

TEST(LocalQueue, WithoutLocalHandOffEachGrantIsTheStores) {
    client_world world;
    auto config = world.config();
    config.local_handoff = false;
    lock_client alice(world.context.get_executor(), world.server.make_store(), config);
    wishes all(world);
    const auto first = all.ask(alice);
    const auto second = all.ask(alice);
    all.let_go(first);
    EXPECT_TRUE(all.held(second));
    EXPECT_EQ(alice.stats().grants, 2u);
    const auto reader = all.ask(alice, reading);
    const auto another = all.ask(alice, reading);
    all.let_go(second);
    EXPECT_TRUE(all.held(reader));
    EXPECT_TRUE(all.held(another));
    EXPECT_EQ(alice.stats().grants, 4u);
    world.stop(alice);
}

TEST(LocalQueue, ReadersJoinUntilAWriterWaits) {
    client_world world;
    lock_client alice = world.client();
    wishes all(world);
    const auto first = all.ask(alice, reading);
    const auto second = all.ask(alice, reading);
    EXPECT_TRUE(all.held(first));
    EXPECT_TRUE(all.held(second));
    EXPECT_EQ(all.at(first).token(), all.at(second).token()) << "one phase, one token";
    EXPECT_EQ(alice.stats().requests, 1u);
    const auto writer = all.ask(alice);
    const auto late = all.ask(alice, reading);
    EXPECT_FALSE(all.done(writer));
    EXPECT_FALSE(all.done(late)) << "a waiting writer stops later readers";
    const auto token = all.at(first).token();
    all.let_go(first);
    EXPECT_FALSE(all.done(writer));
    all.let_go(second);
    EXPECT_TRUE(all.held(writer));
    EXPECT_GT(all.at(writer).token().value, token.value);
    EXPECT_FALSE(all.done(late));
    const auto written = all.at(writer).token();
    all.let_go(writer);
    EXPECT_TRUE(all.held(late));
    EXPECT_GT(all.at(late).token().value, written.value);
    world.stop(alice);
}

TEST(LocalQueue, AnExclusiveGrantServesReadersHereToo) {
    client_world world;
    lock_client alice = world.client();
    wishes all(world);
    const auto writer = all.ask(alice);
    const auto one = all.ask(alice, reading);
    const auto two = all.ask(alice, reading);
    const auto next_writer = all.ask(alice);
    all.let_go(writer);
    EXPECT_TRUE(all.held(one));
    EXPECT_TRUE(all.held(two));
    EXPECT_EQ(all.at(one).token(), all.at(two).token());
    all.let_go(one);
    EXPECT_FALSE(all.done(next_writer));
    all.let_go(two);
    EXPECT_TRUE(all.held(next_writer));
    EXPECT_EQ(alice.stats().requests, 1u);
    world.stop(alice);
}

TEST(LocalQueue, NoReaderJoinsWhenAnotherClientWaits) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    wishes all(world);
    const auto reader = all.ask(alice, reading);
    const auto writer = all.ask(bob);
    EXPECT_TRUE(all.at(reader).contended());
    const auto late = all.ask(alice, reading);
    EXPECT_FALSE(all.done(late));
    all.let_go(reader);
    EXPECT_TRUE(all.held(writer));
    all.let_go(writer);
    EXPECT_TRUE(all.held(late));
    world.stop(alice);
    world.stop(bob);
}

TEST(LocalQueue, PermitsAreHeldByAsManyAsThereAre) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    wishes all(world);
    const lock_options two = in(lock_mode::permits(2));
    const auto first = all.ask(alice, two);
    const auto second = all.ask(alice, two);
    EXPECT_TRUE(all.held(first));
    EXPECT_TRUE(all.held(second));
    EXPECT_EQ(all.at(first).slot(), 1u);
    EXPECT_EQ(all.at(second).slot(), 2u);
    EXPECT_NE(all.at(first).token().domain, all.at(second).token().domain);
    const auto third = all.ask(alice, two);
    const auto other = all.ask(bob, two);
    EXPECT_FALSE(all.done(third));
    EXPECT_FALSE(all.done(other));
    const auto token = all.at(second).token();
    all.let_go(second);
    ASSERT_TRUE(all.held(third));
    EXPECT_EQ(all.at(third).slot(), 2u);
    EXPECT_EQ(all.at(third).token().domain, token.domain);
    EXPECT_GT(all.at(third).token().value, token.value);
    all.let_go(first);
    EXPECT_TRUE(all.held(other));
    const auto wrong = all.ask(alice, in(lock_mode::permits(3)));
    EXPECT_EQ(all.code(wrong), errc::capacity_differs);
    world.stop(alice);
    world.stop(bob);
}

TEST(LocalQueue, ACancelledWaiterLeavesTheOthersWhereTheyStand) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    wishes all(world);
    const auto holds = all.ask(bob);
    lock_options soon;
    soon.wait_max = 10ms;
    const auto head = all.ask(alice, soon);
    const auto next = all.ask(alice);
    world.pass(20ms);
    EXPECT_EQ(all.code(head), errc::busy);
    EXPECT_FALSE(all.done(next));
    EXPECT_EQ(alice.stats().requests, 1u) << "the request stands for who is left";
    all.let_go(holds);
    EXPECT_TRUE(all.held(next));
    world.stop(alice);
    world.stop(bob);
}

TEST(LocalQueue, ARequestThatServesNobodyAnyMoreIsWithdrawn) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    wishes all(world);
    const auto holds = all.ask(bob, reading);
    lock_options soon;
    soon.wait_max = 10ms;
    const auto writer = all.ask(alice, soon);
    const auto reader = all.ask(alice, reading);
    EXPECT_FALSE(all.done(reader)) << "behind the writer";
    world.pass(20ms);
    EXPECT_EQ(all.code(writer), errc::busy);
    EXPECT_TRUE(all.held(reader)) << "with a request of its own kind";
    EXPECT_TRUE(all.held(holds));
    EXPECT_EQ(world.server.entries(), 2u);
    world.stop(alice);
    world.stop(bob);
}

TEST(LocalQueue, ATryIsRefusedHereWhereTheAnswerIsCertain) {
    client_world world;
    lock_client alice = world.client();
    wishes all(world);
    const auto holds = all.ask(alice);
    const auto requests = alice.stats().requests;
    lock_options now;
    now.wait_max = 0ms;
    EXPECT_EQ(all.code(all.ask(alice, now)), errc::busy);
    now.mode = lock_mode::shared();
    EXPECT_EQ(all.code(all.ask(alice, now)), errc::busy);
    EXPECT_EQ(alice.stats().requests, requests);
    all.let_go(holds);
    EXPECT_TRUE(all.held(all.ask(alice, now)));
    EXPECT_TRUE(all.held(all.ask(alice, now))) << "a reader joins";
    EXPECT_EQ(alice.stats().requests, requests + 1);
    world.stop(alice);
}

TEST(LocalQueue, NothingIsPassedOnWhileTheSessionIsUnsure) {
    client_world world;
    lock_client alice = world.client();
    wishes all(world);
    const auto first = all.ask(alice);
    const auto second = all.ask(alice);
    world.server.set_unavailable(true);
    ASSERT_TRUE(world.run_until([&] { return !all.held(first); }));
    all.let_go(first);
    ASSERT_TRUE(world.run_until([&] { return all.done(second); }));
    EXPECT_EQ(all.code(second), errc::store_unavailable) << "who knows whose it is by now";
    world.server.set_unavailable(false);
    const auto third = all.ask(alice);
    EXPECT_TRUE(world.run_until([&] { return all.held(third); }));
    world.stop(alice);
}

TEST(LocalQueue, AFailureOfTheStoreIsTheAnswerForAllWhoStandBehindTheRequest) {
    client_world world;
    lock_client alice = world.client();
    wishes all(world);
    world.stop(alice);
    lock_client bob = world.client();
    world.server.set_unavailable(true);
    const auto one = all.ask(bob);
    const auto two = all.ask(bob);
    const auto three = all.ask(bob, reading);
    ASSERT_TRUE(world.run_until([&] { return all.done(one) && all.done(two) && all.done(three); }));
    EXPECT_EQ(all.code(one), errc::store_unavailable);
    EXPECT_EQ(all.code(two), errc::store_unavailable);
    EXPECT_EQ(all.code(three), errc::store_unavailable);
}

}  // namespace
}  // namespace mortise::test
