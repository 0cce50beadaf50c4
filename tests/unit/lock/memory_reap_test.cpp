// SPDX-License-Identifier: BSL-1.0
// The memory server with dead sessions that had more locks than one heartbeat frees.
#include "mortise/coro/virtual_time.hpp"
#include "store/memory/memory_state.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test::memory_reap_test {
namespace {

using namespace std::chrono_literals;
using detail::memory_state;

constexpr std::size_t portion = memory_state::reaped_at_once;
constexpr std::chrono::milliseconds ttl = 1'000ms;

class MemoryReap : public testing::Test {
protected:
    error_code open(const session_id& id, std::uint64_t generation = 1) {
        session_start start;
        start.id = id;
        start.generation = generation;
        start.ttl = ttl;
        const auto opened = server.resume(start, [this](const store_event& event) {
            if (event.type == store_event::kind::granted)
                granted.push_back(event.id);
        });
        return opened ? error_code() : opened.error();
    }

    static std::string name_of(std::size_t lock) { return "lock " + std::to_string(lock); }

    answer::kind ask(const session_id& id, request_id request, const std::string& name) {
        lock_request wish;
        wish.id = request;
        wish.name = name;
        const auto reply = server.request(id, 1, wish);
        EXPECT_TRUE(reply);
        return reply->type;
    }

    // Holds lock n by request n, from 1 on.
    void hold_many(const session_id& id, std::size_t count) {
        for (std::size_t n = 1; n <= count; ++n)
            ASSERT_EQ(ask(id, n, name_of(n)), answer::kind::granted);
    }

    void pass(clock::duration span) { time->run_for(context, span); }

    // The first session dies with that many locks, while the second one goes on.
    void let_die(std::size_t count) {
        ASSERT_FALSE(open(dead));
        hold_many(dead, count);
        pass(ttl / 2);
        ASSERT_FALSE(open(living));
        pass(ttl / 2);
    }

    asio::io_context context;
    std::shared_ptr<coro::virtual_time> time =
        std::make_shared<coro::virtual_time>(context.get_executor());
    memory_state server{time};
    const session_id dead = random_id::draw();
    const session_id living = random_id::draw();
    std::vector<request_id> granted;
};

TEST_F(MemoryReap, AHeartbeatFreesAPortionAndSaysThatMoreIsLeft) {
    let_die(2 * portion + 10);
    for (std::size_t left : {portion + 10, std::size_t{10}}) {
        const auto beat = server.beat(living, 1);
        ASSERT_TRUE(beat);
        EXPECT_EQ(beat->next_deadline, clock::duration::zero()) << "come again at once";
        EXPECT_EQ(server.entries(), left);
        EXPECT_EQ(server.sessions(), 2u) << "the dead one is not forgotten yet";
    }
    EXPECT_EQ(server.beat(living, 1)->next_deadline, std::nullopt) << "nobody else is there";
    EXPECT_EQ(server.entries(), 0u);
    EXPECT_EQ(server.sessions(), 1u);
}

TEST_F(MemoryReap, OneWhoAsksMeanwhileFreesOnlyThatLock) {
    let_die(2 * portion);
    EXPECT_EQ(ask(living, 1, name_of(2 * portion)), answer::kind::granted);
    EXPECT_EQ(server.entries(), 2 * portion);
    EXPECT_EQ(server.look(living, 1)->entries.size(), 1u);
    while (server.beat(living, 1)->next_deadline) {
    }
    EXPECT_EQ(server.entries(), 1u) << "that of the living one stays";
    const auto beat = server.beat(living, 1);
    EXPECT_EQ(beat->grants, 1u);
    EXPECT_EQ(beat->requests, 0u);
    EXPECT_EQ(beat->changes, 0u) << "nobody else changed anything of it";
}

TEST_F(MemoryReap, ALookShowsNothingOfTheDeadBetweenTwoPortions) {
    let_die(3 * portion);
    ASSERT_EQ(ask(living, 1, "own"), answer::kind::granted);
    ASSERT_EQ(ask(living, 2, name_of(3 * portion)), answer::kind::granted);
    const auto all = server.list("", 10'000, 10);
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 2u);
    EXPECT_EQ(all->at(0).name, name_of(3 * portion));
    EXPECT_EQ(all->at(1).name, "own");
    EXPECT_GT(server.entries(), portion) << "most of it is still there";
    EXPECT_FALSE(server.inspect(name_of(2 * portion), 10)->has_value());
    ASSERT_TRUE(server.inspect("own", 10)->has_value());
}

TEST_F(MemoryReap, WhoIsDeadStaysDeadThoughItsEntriesAreThere) {
    let_die(2 * portion);
    ASSERT_TRUE(server.beat(living, 1));
    ASSERT_GT(server.entries(), 0u);
    EXPECT_EQ(server.beat(dead, 1).error(), errc::session_lost);
    EXPECT_EQ(server.look(dead, 1).error(), errc::session_lost);
    EXPECT_EQ(open(dead, 2), errc::session_lost) << "never revived";
    EXPECT_EQ(open(dead, 3), errc::session_lost);
    const auto left = server.entries();
    EXPECT_FALSE(open(dead, 1)) << "a new session that knows nothing of the old one";
    const auto view = server.look(dead, 1);
    ASSERT_TRUE(view);
    EXPECT_TRUE(view->entries.empty());
    EXPECT_EQ(server.beat(dead, 1)->grants, 0u);
    EXPECT_LT(server.entries(), left) << "it reaps what its namesake left";
}

TEST_F(MemoryReap, AClosedConnectionAndAnEndFreeEverythingAtOnce) {
    ASSERT_FALSE(open(living));
    for (const bool closes : {true, false}) {
        ASSERT_FALSE(open(dead));
        hold_many(dead, 3 * portion);
        granted.clear();
        ASSERT_EQ(ask(living, 7, name_of(3 * portion)), answer::kind::queued);
        if (closes)
            server.closed(dead);
        else
            EXPECT_FALSE(server.end(dead));
        EXPECT_EQ(granted, std::vector<request_id>{7}) << "the waiter of its last lock";
        EXPECT_EQ(server.entries(), 1u);
        EXPECT_EQ(server.sessions(), 1u);
        EXPECT_FALSE(server.withdraw(living, 1, name_of(3 * portion), 7));
    }
    EXPECT_FALSE(server.end(living));
    EXPECT_EQ(server.sessions() + server.entries(), 0u);
}

TEST_F(MemoryReap, AWithdrawalNamesItsLock) {
    ASSERT_FALSE(open(living));
    ASSERT_EQ(ask(living, 1, "a"), answer::kind::granted);
    EXPECT_FALSE(server.withdraw(living, 1, "b", 1)) << "there is nothing, which is no error";
    EXPECT_EQ(server.entries(), 1u);
    EXPECT_FALSE(server.withdraw(living, 1, "a", 1));
    EXPECT_EQ(server.entries(), 0u);
}

}  // namespace
}  // namespace mortise::test::memory_reap_test
