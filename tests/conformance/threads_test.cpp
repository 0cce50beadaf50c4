// SPDX-License-Identifier: BSL-1.0
// Clients, leases and the classes built on them, used from four threads. The data behind a lock is
// not atomic here, so that the thread sanitizer sees each pair of holders who met.
#include "conformance/port_conformance.hpp"
#include "mortise/election.hpp"
#include "mortise/lock_observer.hpp"
#include "mortise/prometheus.hpp"
#include "mortise/with_lock.hpp"
#include "support/eventually.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

namespace mortise::test::threads_test {
namespace {

using namespace std::chrono_literals;

constexpr auto coded = asio::as_tuple(asio::deferred);
constexpr int coroutines = 12;
constexpr int rounds = 25;

/// Protected by a lock: whoever holds the lock may touch it, and nobody else.
class protected_thing {
public:
    void touch(const lease& held) {
        EXPECT_FALSE(held.check());
        const fencing_token token = held.token();
        EXPECT_GT(token.value, last_);
        last_ = token.value;
        ++touches_;
    }
    int touches() const { return touches_; }

private:
    std::uint64_t last_ = 0;
    int touches_ = 0;
};

asio::awaitable<void> hop() {
    co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
}

const std::array<const char*, 3> doors = {"door", "gate", "window"};

/// A coroutine that takes one of several locks, in each of the ways that there are.
class visitor {
public:
    visitor(
        threaded_world& world,
        lock_client& locks,
        std::array<protected_thing, 3>& things,
        std::atomic<int>& visits,
        unsigned seed
    )
        : world_(world), locks_(locks), things_(things), visits_(visits), random_(seed) {}

    asio::awaitable<void> run() {
        for (int i = 0; i < rounds; ++i) {
            const std::size_t index = draw(doors.size());
            lease held = co_await enter(doors[index]);
            if (!held)
                continue;
            things_[index].touch(held);
            if (draw(4) == 0)
                co_await hop();
            EXPECT_TRUE(held.held());
            co_await leave(std::move(held));
        }
    }

private:
    std::size_t draw(std::size_t end) { return random_() % end; }

    asio::awaitable<lease> enter(const char* name) {
        lock_options options;
        switch (draw(5)) {
        case 0: {
            auto got = co_await locks_.async_try_acquire(name, options, coded);
            EXPECT_FALSE(std::get<0>(got)) << std::get<0>(got).message();
            auto& held = std::get<1>(got);
            if (held)
                co_return std::move(*held);
            co_return lease();
        }
        case 1: {
            options.wait_max = 1ms;
            auto got = co_await locks_.async_acquire(name, options, coded);
            expect(std::get<0>(got), errc::busy);
            co_return std::move(std::get<1>(got));
        }
        case 2: {
            const auto limit = std::chrono::microseconds(draw(2'000));
            auto got =
                co_await locks_.async_acquire(name, options, asio::cancel_after(limit, coded));
            expect(std::get<0>(got), asio::error::operation_aborted);
            co_return std::move(std::get<1>(got));
        }
        case 3:
            options.linger = 1ms;
            [[fallthrough]];
        default:
            co_return co_await locks_.async_acquire(name, options);
        }
    }

    asio::awaitable<void> leave(lease held) {
        switch (draw(4)) {
        case 0:
            held = lease();
            break;
        case 1:
            // On another thread, maybe after this coroutine has ended.
            asio::post(world_.pool(), [held = std::move(held), &visits = visits_]() mutable {
                EXPECT_FALSE(held.check());
                held = lease();
                ++visits;
            });
            co_return;
        default:
            co_await held.async_release();
        }
        ++visits_;
    }

    static void expect(error_code got, error_code allowed) {
        EXPECT_TRUE(!got || got == allowed) << got.message();
    }

    threaded_world& world_;
    lock_client& locks_;
    std::array<protected_thing, 3>& things_;
    std::atomic<int>& visits_;
    std::minstd_rand random_;
};

TEST_P(LockThreads, ExcludeEachOtherHoweverTheyComeAndGo) {
    std::array<protected_thing, 3> things;
    std::atomic<int> visits = 0;
    std::vector<lock_client> clients;
    for (int i = 0; i < 3; ++i)
        clients.push_back(world.client());
    std::vector<std::unique_ptr<visitor>> visitors;
    for (unsigned i = 0; i < coroutines; ++i) {
        visitors.push_back(
            std::make_unique<visitor>(world, clients[i % clients.size()], things, visits, i + 1)
        );
        world.start(visitors.back()->run());
    }
    world.wait();
    int touches = 0;
    for (const auto& each : things)
        touches += each.touches();
    // The last leases are checked before their clients stop, which ends them.
    EXPECT_TRUE(eventually([&] { return visits == touches; }, 50s));
    for (auto& each : clients) {
        EXPECT_EQ(each.stats().waiting, 0u);
        world.stop(each);
        EXPECT_EQ(each.stats().leases, 0u);
    }
    EXPECT_EQ(touches, visits);
    EXPECT_GT(touches, coroutines) << "hardly anybody came in";
    EXPECT_TRUE(world.all_free({doors.begin(), doors.end()}));
}

/// Data that readers may look at together, and data that each holder of a permit has for itself.
struct shelf {
    int written = 0;
    std::array<int, 3> by_slot{};
};

asio::awaitable<void> read_and_write(lock_client& locks, shelf& on, unsigned seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < rounds; ++i) {
        lock_options options;
        const bool reads = random() % 3 != 0;
        options.mode = reads ? lock_mode::shared() : lock_mode::exclusive();
        lease held = co_await locks.async_acquire("shelf", options);
        const int before = on.written;
        if (!reads)
            ++on.written;
        co_await hop();
        EXPECT_EQ(on.written, before + !reads);
        co_await held.async_release();
        options.mode = lock_mode::permits(2);
        held = co_await locks.async_acquire("seats", options);
        EXPECT_TRUE(held.slot() == 1 || held.slot() == 2);
        ++on.by_slot.at(held.slot());
    }
}

TEST_P(LockThreadsModes, ShareAndCountPermits) {
    shelf on;
    lock_client alice = world.client();
    lock_client bob = world.client();
    for (unsigned i = 0; i < coroutines; ++i)
        world.start_loose(read_and_write(i % 2 == 0 ? alice : bob, on, i + 1));
    world.wait();
    EXPECT_EQ(on.by_slot[1] + on.by_slot[2], coroutines * rounds);
    EXPECT_GT(on.written, 0);
    world.stop(alice);
    world.stop(bob);
    EXPECT_TRUE(world.all_free({"shelf", "seats"}));
}

asio::awaitable<void> work_under_locks(lock_client& locks, std::array<int, 3>& counts, int seed) {
    const auto one = [&](const lease& held) -> asio::awaitable<void> {
        ++counts[0];
        co_await hop();
        EXPECT_TRUE(held.held());
    };
    const auto both = [&](const lease_set& held) -> asio::awaitable<void> {
        ++counts[0];
        ++counts[1];
        co_await hop();
        EXPECT_TRUE(held.held());
    };
    const auto leader = [&](const lease& held) -> asio::awaitable<void> {
        ++counts[2];
        EXPECT_TRUE(held.held());
        co_await hop();
    };
    for (int i = seed; i < seed + 15; ++i) {
        if (i % 3 == 0) {
            co_await with_lock(locks, "first", lock_options(), one);
        } else if (i % 3 == 1) {
            std::vector<std::string> names{"second", "first"};
            co_await with_lock(locks, std::move(names), lock_options(), both);
        } else {
            co_await lead(locks, "leader", election_options(), leader);
        }
    }
}

asio::awaitable<void> enter_twice(lock_client& locks, std::array<int, 3>& counts) {
    for (int i = 0; i < rounds; ++i) {
        lock_options mine;
        mine.owner = owner_id::draw();
        lease outer = co_await locks.async_acquire("first", mine);
        ++counts[0];
        lease inner = co_await locks.async_acquire("first", mine);
        EXPECT_EQ(inner.held(), true);
        outer = lease();
        ++counts[0];
        co_await inner.async_release();
    }
}

TEST_P(LockThreads, WorkUnderOneLockOrSeveralAndLead) {
    std::array<int, 3> counts{};
    lock_client alice = world.client();
    lock_client bob = world.client();
    for (int i = 0; i < coroutines; ++i)
        world.start(work_under_locks(i % 2 == 0 ? alice : bob, counts, i));
    for (int i = 0; i < 2; ++i)
        world.start_loose(enter_twice(i == 0 ? alice : bob, counts));
    world.wait();
    EXPECT_EQ(counts[0], coroutines * 10 + 4 * rounds);
    EXPECT_EQ(counts[1], coroutines * 5);
    EXPECT_EQ(counts[2], coroutines * 5);
    world.stop(alice);
    world.stop(bob);
    EXPECT_TRUE(world.all_free({"first", "leader", "second"}));
}

/// Counts the events that it hears of, on any thread.
class counting_observer final : public lock_observer {
public:
    void on_event(const lock_event& event) noexcept override {
        ++counts_.at(static_cast<std::size_t>(event.type));
    }
    std::uint64_t count(lock_event::kind type) const {
        return counts_.at(static_cast<std::size_t>(type));
    }

private:
    std::array<std::atomic<std::uint64_t>, 16> counts_{};
};

// Calls what may be called from any thread while others work with the client.
asio::awaitable<void> look_at(lock_client& locks, const std::atomic<bool>& done) {
    while (!done) {
        const client_stats now = locks.stats();
        EXPECT_LE(now.leases, 100u);
        EXPECT_FALSE(prometheus_text(now, "threads").empty());
        EXPECT_FALSE(locks.traits().scheme.empty());
        locks.explain();
        const auto views = co_await locks.async_list("", 10, 10);
        EXPECT_LE(views.size(), 1u);
    }
}

asio::awaitable<void> come_and_go(lock_client& locks, int& guarded) {
    for (int i = 0; i < rounds; ++i) {
        lease held = co_await locks.async_acquire("door");
        ++guarded;
        co_await held.async_release();
    }
}

asio::awaitable<void>
come_and_go_all(lock_client& locks, int& guarded, std::atomic<int>& left, std::atomic<bool>& done) {
    co_await come_and_go(locks, guarded);
    if (--left == 0)
        done = true;
}

TEST_P(LockThreads, AreObservedAndCountedWhileTheyWork) {
    counting_observer observer;
    int guarded = 0;
    std::atomic<int> left = coroutines;
    std::atomic<bool> done = false;
    lock_client locks = world.client(&observer);
    for (int i = 0; i < coroutines; ++i)
        world.start(come_and_go_all(locks, guarded, left, done));
    for (int i = 0; i < 2; ++i)
        world.start_loose(look_at(locks, done));
    world.wait();
    EXPECT_EQ(guarded, coroutines * rounds);
    world.stop(locks);
    const client_stats stats = locks.stats();
    EXPECT_EQ(stats.granted, static_cast<std::uint64_t>(guarded));
    EXPECT_EQ(stats.released, stats.granted);
    EXPECT_EQ(observer.count(lock_event::kind::acquired), stats.granted);
    EXPECT_EQ(observer.count(lock_event::kind::released), stats.granted);
    EXPECT_EQ(
        observer.count(lock_event::kind::session_opened), world.harness().sessions_of_a_holder()
    );
    EXPECT_TRUE(world.all_free({"door"}));
    world.end_threads();  // before the observer
}

asio::awaitable<void> until_stopped(lock_client& locks, int& guarded, std::atomic<int>& holds) {
    for (;;) {
        auto got = co_await locks.async_acquire("door", lock_options(), coded);
        auto& [code, held] = got;
        if (code) {
            EXPECT_EQ(code, errc::client_stopped);
            co_return;
        }
        // The lock may be lost and somebody else's by now: only the lease can tell.
        if (!held.check())
            ++holds;
        ++guarded;
        auto lost = co_await held.async_release(coded);
        EXPECT_TRUE(!std::get<0>(lost) || std::get<0>(lost) == condition::not_held)
            << std::get<0>(lost).message();
    }
}

asio::awaitable<void> stop_after(lock_client& locks, const std::atomic<int>& holds, int enough) {
    while (holds < enough)
        co_await hop();
    co_await locks.async_stop();
}

TEST_P(LockThreads, StopInTheMiddleOfWork) {
    for (int i = 0; i < 8; ++i) {
        lock_client locks = world.client();
        lock_client other = world.client();
        int guarded = 0;
        int guarded_by_other = 0;
        std::atomic<int> holds = 0;
        for (int j = 0; j < coroutines; ++j)
            world.start(until_stopped(locks, guarded, holds));
        world.start_loose(stop_after(locks, holds, i * 4));
        world.start_loose(stop_after(locks, holds, i * 4));
        world.start(come_and_go(other, guarded_by_other));
        world.wait();
        EXPECT_EQ(guarded_by_other, rounds);
        world.stop(other);
        EXPECT_TRUE(world.all_free({"door"}));
    }
}

}  // namespace
}  // namespace mortise::test::threads_test
