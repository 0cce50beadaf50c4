// SPDX-License-Identifier: BSL-1.0
// Clients of a lock server that is somewhere else, on a network that is not to be relied on.
#include "mortise/coro/sleep.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/sim/lock_server.hpp"
#include "mortise/sim/world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace mortise::sim::lock_server_test {
namespace {

using namespace std::chrono_literals;

constexpr auto with_code = asio::as_tuple(asio::deferred);

/// A process with a client that holds on to what it gets.
class customer {
public:
    customer(world& in, lock_server& at, const std::string& name) : self_(in.add_process(name)) {
        self_.run([this, &at](process& self) -> asio::awaitable<void> {
            client_config config;
            config.ttl = 2s;
            config.time = self.time();
            lock_client locks(self.get_executor(), at.make_store(self), std::move(config));
            auto got = co_await locks.async_acquire("door", lock_options(), with_code);
            code = std::get<0>(got);
            held = std::move(std::get<1>(got));
            while (!leaving)
                co_await coro::sleep_for(*self.time(), 10ms);
            if (held)
                co_await held->async_release(with_code);
            held.reset();
            co_await locks.async_stop(with_code);
            left_for_good = true;
        });
    }
    process& self() { return self_; }
    bool holds() const { return held && held->held(); }

    std::optional<lease> held;
    error_code code;
    bool leaving = false;
    bool left_for_good = false;

private:
    process& self_;
};

class SimLockServer : public testing::Test {
protected:
    ~SimLockServer() override { all.end(); }

    world all{5};
    lock_server server{all, "server"};
};

TEST_F(SimLockServer, IsReachedByMessages) {
    customer alice(all, server, "alice");
    customer bob(all, server, "bob");
    ASSERT_TRUE(all.run_until([&] { return alice.holds() || bob.holds(); }, 1s));
    customer& first = alice.holds() ? alice : bob;
    customer& second = alice.holds() ? bob : alice;
    all.run_for(10s);
    EXPECT_TRUE(first.holds());
    EXPECT_FALSE(second.holds());
    first.leaving = true;
    EXPECT_TRUE(all.run_until([&] { return second.holds(); }, 1s)) << "told by a push";
    second.leaving = true;
    EXPECT_TRUE(all.run_until([&] { return first.left_for_good && second.left_for_good; }, 1s));
    EXPECT_EQ(server.entries() + server.sessions(), 0u);
}

TEST_F(SimLockServer, AShortCutLosesNothing) {
    customer alice(all, server, "alice");
    ASSERT_TRUE(all.run_until([&] { return alice.holds(); }, 1s));
    all.net().part(alice.self(), server.host());
    all.run_for(800ms);
    all.net().heal();
    EXPECT_TRUE(alice.holds());
    all.run_for(10s);
    EXPECT_TRUE(alice.holds()) << "on a new connection, with a higher generation";
}

TEST_F(SimLockServer, ALongCutIsKnownOnBothSides) {
    customer alice(all, server, "alice");
    ASSERT_TRUE(all.run_until([&] { return alice.holds(); }, 1s));
    customer bob(all, server, "bob");
    all.run_for(1s);
    all.net().part(alice.self(), server.host());
    bool both = false;
    EXPECT_TRUE(all.run_until(
        [&] {
            both = both || (alice.holds() && bob.holds());
            return bob.holds();
        },
        5s
    ));
    EXPECT_FALSE(both);
    all.net().heal();
    all.run_for(1s);
    EXPECT_EQ(alice.held->state(), lease_state::lost);
}

TEST_F(SimLockServer, ADeadClientIsOnlyFoundByItsTtl) {
    customer alice(all, server, "alice");
    ASSERT_TRUE(all.run_until([&] { return alice.holds(); }, 1s));
    customer bob(all, server, "bob");
    all.run_for(500ms);
    alice.self().crash();
    EXPECT_FALSE(all.run_until([&] { return bob.holds(); }, 1s));
    EXPECT_TRUE(all.run_until([&] { return bob.holds(); }, 1500ms));
}

TEST_F(SimLockServer, WithItsMemoryItGoesOnAfterARestart) {
    customer alice(all, server, "alice");
    ASSERT_TRUE(all.run_until([&] { return alice.holds(); }, 1s));
    server.restart_after(500ms, true);
    EXPECT_FALSE(server.host().alive());
    all.run_for(10s);
    EXPECT_TRUE(alice.holds());
}

TEST_F(SimLockServer, WithoutItGrantsNothingBeforeTheForgottenHaveExpired) {
    customer alice(all, server, "alice");
    ASSERT_TRUE(all.run_until([&] { return alice.holds(); }, 1s));
    const auto token = alice.held->token();
    server.restart_after(100ms, false);
    all.run_for(200ms);
    customer bob(all, server, "bob");
    all.run_for(500ms);
    EXPECT_FALSE(bob.holds());
    EXPECT_TRUE(all.run_until([&] { return bob.holds(); }, 10s));
    EXPECT_FALSE(alice.holds());
    EXPECT_GT(bob.held->token().value, token.value);
}

}  // namespace
}  // namespace mortise::sim::lock_server_test
