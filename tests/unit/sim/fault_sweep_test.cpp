// SPDX-License-Identifier: BSL-1.0
// Every public operation of a client, with the first message of it lost, late or repeated, then the
// second, and so on, until a run is untouched. Afterwards nothing is left behind, and locks work.
#include "mortise/coro/sleep.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/sim/lock_server.hpp"
#include "mortise/sim/world.hpp"
#include "mortise/store.hpp"
#include "mortise/with_lock.hpp"

#include <boost/asio/as_tuple.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::sim::fault_sweep_test {
namespace {

using namespace std::chrono_literals;

constexpr auto with_code = asio::as_tuple(asio::deferred);
constexpr auto ttl = 2s;

/// An operation of a client that may have a lease of "mine" already.
class operation {
public:
    using function = std::function<asio::awaitable<error_code>(lock_client&, lease&)>;

    std::string name;
    bool holds = false;      ///< It begins with a lease of "mine".
    bool contended = false;  ///< Somebody else has "door" for 100 ms.
    function run;
};

asio::awaitable<error_code> acquire(lock_client& locks, lease& mine) {
    auto got = co_await locks.async_acquire("door", lock_options(), with_code);
    mine = std::move(std::get<1>(got));
    co_return std::get<0>(got);
}

asio::awaitable<error_code> try_acquire(lock_client& locks, lease& mine) {
    auto got = co_await locks.async_try_acquire("door", lock_options(), with_code);
    if (std::get<1>(got))
        mine = std::move(*std::get<1>(got));
    co_return std::get<0>(got);
}

asio::awaitable<error_code> acquire_in_time(lock_client& locks, lease& mine) {
    lock_options options;
    options.wait_max = 50ms;
    options.mode = lock_mode::permits(2);
    options.hold_max = 10s;
    auto got = co_await locks.async_acquire("seats", options, with_code);
    mine = std::move(std::get<1>(got));
    co_return std::get<0>(got);
}

asio::awaitable<error_code> acquire_all(lock_client& locks, lease&) {
    std::vector<std::string> names{"door", "window", "gate"};
    auto got = co_await locks.async_acquire_all(std::move(names), lock_options(), with_code);
    co_return std::get<0>(got);
}

asio::awaitable<error_code> run_with_lock(lock_client& locks, lease&) {
    const auto body = [](const lease&) -> asio::awaitable<void> { co_return; };
    try {
        co_await with_lock(locks, "door", lock_options(), body);
    } catch (const boost::system::system_error& failed) {
        co_return failed.code();
    }
    co_return error_code();
}

asio::awaitable<error_code> release(lock_client&, lease& mine) {
    auto done = co_await mine.async_release(with_code);
    co_return std::get<0>(done);
}

asio::awaitable<error_code> drop(lock_client&, lease& mine) {
    mine = lease();
    co_return error_code();
}

asio::awaitable<error_code> break_own(lock_client& locks, lease& mine) {
    auto done = co_await locks.async_break("mine", mine.token(), "sweep", with_code);
    co_return std::get<0>(done);
}

asio::awaitable<error_code> list(lock_client& locks, lease&) {
    auto done = co_await locks.async_list("", 10, 10, with_code);
    co_return std::get<0>(done);
}

asio::awaitable<error_code> inspect(lock_client& locks, lease&) {
    auto done = co_await locks.async_inspect("mine", 10, with_code);
    co_return std::get<0>(done);
}

asio::awaitable<error_code> breaks(lock_client& locks, lease&) {
    auto done = co_await locks.async_breaks("", 10, with_code);
    co_return std::get<0>(done);
}

asio::awaitable<error_code> examine(lock_client& locks, lease&) {
    auto done = co_await locks.async_examine(with_code);
    co_return std::get<0>(done);
}

asio::awaitable<error_code> watch(lock_client& locks, lease&) {
    auto done = co_await locks.async_watch(with_code);
    co_return std::get<0>(done);
}

asio::awaitable<error_code> stop(lock_client& locks, lease&) {
    auto done = co_await locks.async_stop(with_code);
    co_return std::get<0>(done);
}

/// One run in a world of its own.
class run {
public:
    run(const operation& what, fate of, std::uint64_t which) : what_(what), of_(of), which_(which) {
        all_.add_process("other").run([this](process& self) { return other(self); });
        all_.run_for(100ms);
        all_.add_process("one").run([this](process& self) { return one(self); });
    }
    ~run() { all_.end(); }
    run(const run&) = delete;
    run& operator=(const run&) = delete;

    /// @return whether it was untouched.
    bool go() {
        EXPECT_TRUE(all_.run_until([this] { return done_; }, 60s)) << "the operation does not end";
        EXPECT_TRUE(all_.run_until([this] { return gone_; }, 60s)) << "the client does not stop";
        checked_ = true;
        EXPECT_TRUE(all_.run_until([this] { return other_gone_; }, 60s))
            << "another client does not get the locks";
        EXPECT_EQ(server_.entries(), 0u);
        EXPECT_EQ(server_.sessions(), 0u);
        EXPECT_TRUE(touched_ || !code_) << code_.message();
        return !touched_;
    }

private:
    static client_config config(process& self) {
        client_config made;
        made.ttl = ttl;
        made.time = self.time();
        return made;
    }

    // Is there first, and afterwards as long as a dead session may live.
    asio::awaitable<void> other(process& self) {
        lock_client locks(self.get_executor(), server_.make_store(self), config(self));
        lease door;
        if (what_.contended) {
            auto got = co_await locks.async_acquire("door", lock_options(), with_code);
            door = std::move(std::get<1>(got));
        } else {
            auto got = co_await locks.async_acquire("another", lock_options(), with_code);
        }
        co_await coro::sleep_for(*self.time(), 300ms);
        door = lease();
        while (!checked_) {
            // Something to watch.
            auto got = co_await locks.async_acquire("tick", lock_options(), with_code);
            std::get<1>(got) = lease();
            co_await coro::sleep_for(*self.time(), 300ms);
        }
        for (const char* const name : {"door", "window", "gate", "mine"}) {
            auto got = co_await locks.async_acquire(name, lock_options(), with_code);
            EXPECT_FALSE(std::get<0>(got)) << std::get<0>(got).message();
        }
        co_await coro::sleep_for(*self.time(), 2 * ttl);
        auto stopped = co_await locks.async_stop(with_code);
        EXPECT_FALSE(std::get<0>(stopped));
        other_gone_ = true;
    }

    asio::awaitable<void> one(process& self) {
        lock_client locks(self.get_executor(), server_.make_store(self), config(self));
        lease mine;
        if (what_.holds) {
            auto got = co_await locks.async_acquire("mine", lock_options(), with_code);
            EXPECT_FALSE(std::get<0>(got));
            mine = std::move(std::get<1>(got));
        }
        const std::uint64_t first = all_.net().sent();
        all_.net().decide([this, first](std::uint64_t sent) {
            if (sent != first + which_)
                return fate::as_usual;
            touched_ = true;
            return of_;
        });
        code_ = co_await what_.run(locks, mine);
        done_ = true;
        // What comes of it later is part of the sweep, too.
        co_await coro::sleep_for(*self.time(), 1s);
        all_.net().decide(nullptr);
        mine = lease();
        co_await locks.async_stop(with_code);
        gone_ = true;
    }

    const operation& what_;
    const fate of_;
    const std::uint64_t which_;
    world all_{11};
    lock_server server_{all_, "server"};
    bool touched_ = false;
    bool done_ = false;
    bool gone_ = false;
    bool checked_ = false;
    bool other_gone_ = false;
    error_code code_;
};

std::vector<operation> all_operations() {
    return {
        {"acquire", false, false, &acquire},
        {"acquire of a held lock", false, true, &acquire},
        {"try", false, false, &try_acquire},
        {"permit in time", false, false, &acquire_in_time},
        {"acquire all", false, true, &acquire_all},
        {"with_lock", false, false, &run_with_lock},
        {"release", true, false, &release},
        {"drop", true, false, &drop},
        {"break", true, false, &break_own},
        {"list", true, false, &list},
        {"inspect", true, false, &inspect},
        {"breaks", true, false, &breaks},
        {"examine", true, false, &examine},
        {"watch", true, false, &watch},
        {"stop", true, false, &stop},
    };
}

void sweep(fate of) {
    for (const operation& each : all_operations()) {
        std::uint64_t which = 0;
        for (;; ++which) {
            SCOPED_TRACE(each.name + ", message " + std::to_string(which));
            ASSERT_LT(which, 200u) << "no run is untouched";
            if (run(each, of, which).go())
                break;
            ASSERT_FALSE(testing::Test::HasFailure());
        }
        EXPECT_GE(which, 2u) << each.name << ": a question and an answer at least";
    }
}

TEST(FaultSweepOfAllOperations, ALostMessageLeavesNothingBehind) {
    sweep(fate::lost);
}

TEST(FaultSweepOfAllOperations, ALateMessageLeavesNothingBehind) {
    sweep(fate::late);
}

TEST(FaultSweepOfAllOperations, ARepeatedMessageLeavesNothingBehind) {
    sweep(fate::repeated);
}

}  // namespace
}  // namespace mortise::sim::fault_sweep_test
