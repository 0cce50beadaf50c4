// SPDX-License-Identifier: BSL-1.0
// The end of a link: detached or destroyed at any moment, and in a forked child.
#include "mortise/coro/sleep.hpp"
#include "store/link/session_link.hpp"
#include "unit/link/scripted_link.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

namespace mortise::store_detail::session_link_end_test {
namespace {

using namespace std::chrono_literals;
using kinds = std::vector<store_event::kind>;
using test::link_world;
using test::scripted_link;
using texts = scripted_link::texts;

TEST(SessionLinkEnd, TellsAndOpensNothingAfterwards) {
    link_world world;
    world.open(1);
    world.link->tell(store_event::kind::unsure);
    world.link->detach();
    world.link->tell_now({});
    world.pass(1h);
    EXPECT_EQ(world.owner.take(), kinds());
    EXPECT_FALSE(world.link->connected());
    EXPECT_EQ(world.link->open_wires(), 0u);
    EXPECT_EQ(world.link->wires(), 1u);
    world.cut();
    EXPECT_FALSE(world.time.next_deadline());
    EXPECT_EQ(world.link->wires(), 1u);
}

TEST(SessionLinkEnd, CancelsThePauseBeforeTheNextConnection) {
    link_world world;
    world.open(1);
    world.cut();
    EXPECT_TRUE(world.time.next_deadline());
    world.link->detach();
    EXPECT_FALSE(world.time.next_deadline()) << "it would keep its context at work";
}

TEST(SessionLinkEnd, MayComeInAPauseByItsDestructor) {
    link_world world;
    world.open(1);
    world.cut();
    const std::weak_ptr<scripted_link> link = world.link;
    world.link.reset();
    EXPECT_TRUE(link.expired());
    EXPECT_FALSE(world.time.next_deadline());
}

TEST(SessionLinkEnd, WaitsForAnOpeningUnderWay) {
    link_world world;
    world.link->silent_at_prove = true;
    const std::weak_ptr<scripted_link> link = world.link;
    asio::co_spawn(world.context, world.link->open(test::session_of(1)), asio::detached);
    world.pass(0ms);
    world.link->detach();
    world.link.reset();
    EXPECT_FALSE(link.expired());
    world.pass(0ms);
    EXPECT_TRUE(link.expired());
}

TEST(SessionLinkEnd, WaitsForWhoWaitsUntilItIsSettled) {
    link_world world;
    world.link->silent_at_prove = true;
    world.open(1);
    std::vector<bool> settled;
    asio::co_spawn(world.context, world.link->settle(), [&](std::exception_ptr, bool connected) {
        settled.push_back(connected);
    });
    world.pass(0ms);
    const std::weak_ptr<scripted_link> link = world.link;
    world.link->detach();
    world.link.reset();
    EXPECT_FALSE(link.expired());
    world.pass(0ms);
    EXPECT_EQ(settled, std::vector<bool>{false});
    EXPECT_TRUE(link.expired());
}

TEST(SessionLinkEnd, LeavesAForkedChildWithTheConnectionOfItsParent) {
    link_world world;
    world.open(1);
    world.cut();
    world.pass(1s);
    static_cast<void>(world.link->take());
    const pid_t child = ::fork();
    if (child == 0) {
        world.link->detach();
        world.link->tell_now({});
        const bool silent = world.owner.take() == kinds{store_event::kind::look_again};
        ::_exit(silent && world.link->take().empty() ? 7 : 8);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        ASSERT_EQ(errno, EINTR);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    world.link->detach();
    EXPECT_EQ(world.link->take(), texts{"2 close"}) << "in the parent it is closed";
}

// The life of a link with everything that can happen to it. Openings and proofs take a while, and
// have their result whatever becomes of the connection.
asio::awaitable<void> live(link_world& world, std::shared_ptr<scripted_link> link) {
    const auto rest = [&world](clock::duration span) { return coro::sleep_for(world.time, span); };
    link->pace = 10ms;
    link->begin_to_watch();
    auto opening = link->open(test::session_of(1));
    co_await std::move(opening);
    link->to_open = errc::store_unavailable;
    link->connection_closed();
    auto resting = rest(1'100ms);
    co_await std::move(resting);
    link->to_open = {};
    link->server = {2, 2};
    auto resting_again = rest(2'005ms);
    co_await std::move(resting_again);  // The next opening is under way.
    auto settling = link->settle();
    co_await std::move(settling);
    link->replace_connection();
    auto pausing = rest(1'005ms);
    co_await std::move(pausing);
    auto superseding = link->open(test::session_of(2));
    co_await std::move(superseding);
    link->connection_closed();
    link->to_prove = errc::session_lost;
    auto losing = rest(2s);
    co_await std::move(losing);
}

// @return the number of handlers of a life that nobody interrupts.
std::size_t whole_life() {
    link_world world;
    const auto outcome = world.start([&world] { return live(world, world.link); });
    std::size_t handlers = 0;
    world.step_while([&] {
        ++handlers;
        return true;
    });
    EXPECT_TRUE(outcome->ended);
    EXPECT_FALSE(outcome->failure);
    EXPECT_EQ(
        world.owner.take(), (kinds{store_event::kind::unsure, store_event::kind::session_lost})
    );
    EXPECT_EQ(world.link->wires(), 6u);
    EXPECT_EQ(world.link->open_wires(), 0u);
    return handlers;
}

TEST(SessionLinkEnd, MayComeBeforeEachStep) {
    const auto steps = whole_life();
    ASSERT_GT(steps, 30u);
    for (std::size_t step = 0; step < steps; ++step) {
        SCOPED_TRACE(step);
        link_world world;
        const auto outcome = world.start([&world] { return live(world, world.link); });
        std::size_t handlers = 0;
        world.step_while([&] { return handlers++ < step; });
        world.link->detach();
        static_cast<void>(world.owner.take());
        const auto opened = world.link->wires();
        EXPECT_EQ(world.link->open_wires(), 0u);
        // What its owner itself asks for afterwards is no subject of this test.
        world.step_while([&] { return world.link->wires() == opened; });
        EXPECT_EQ(world.owner.take(), kinds());
        world.settle();
        EXPECT_TRUE(outcome->ended);
        EXPECT_EQ(world.owner.take(), kinds());
        EXPECT_FALSE(world.time.next_deadline());
        const std::weak_ptr<scripted_link> link = world.link;
        world.link->detach();
        world.settle();
        world.link.reset();
        EXPECT_TRUE(link.expired()) << "nothing keeps it";
    }
}

TEST(SessionLinkEnd, MayComeByTheEndOfItsContextBeforeEachStep) {
    const auto steps = whole_life();
    for (std::size_t step = 0; step < steps; ++step) {
        SCOPED_TRACE(step);
        std::weak_ptr<scripted_link> link;
        {
            link_world world;
            link = world.link;
            world.start([&world] { return live(world, world.link); });
            std::size_t handlers = 0;
            world.step_while([&] { return handlers++ < step; });
            world.link->detach();
            world.link.reset();
        }
        EXPECT_TRUE(link.expired())
            << "a coroutine that waits keeps it, and it keeps the coroutine";
    }
}

}  // namespace
}  // namespace mortise::store_detail::session_link_end_test
