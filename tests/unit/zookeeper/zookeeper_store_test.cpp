// SPDX-License-Identifier: BSL-1.0
// The store at a real server: what the conformance suites do not show.
#include "conformance/client_fixture.hpp"
#include "conformance/peer.hpp"
#include "conformance/zookeeper_harness.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "store/zookeeper/node_names.hpp"
#include "support/machine_delay.hpp"
#include "unit/zookeeper/rooted.hpp"
#include "zookeeper/zk_error.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test::zookeeper_store_test {
namespace {

using namespace std::chrono_literals;
using store_detail::node_prefix;
using zookeeper_detail::zk_code;

asio::awaitable<void> take_turns(lock_client& locks, int times, std::uint64_t& last, int& done) {
    for (int i = 0; i < times; ++i) {
        lease held = co_await locks.async_acquire("door");
        EXPECT_GT(held.token().value, last);
        last = held.token().value;
        co_await held.async_release();
        ++done;
    }
}

// A watch that tells of a grant must not end the one that tells of a holder's end.
TEST(ZooKeeperStore, HandsALockOverAThousandTimes) {
    constexpr int clients = 4;
    constexpr int times = 250;
    zookeeper_harness harness;
    std::vector<std::unique_ptr<lock_client>> all;
    std::uint64_t last = 0;
    int done = 0;
    for (int i = 0; i < clients; ++i) {
        client_config config;
        config.ttl = 10s;
        all.push_back(
            std::make_unique<lock_client>(harness.executor(), harness.make_store(), config)
        );
        asio::co_spawn(
            harness.executor(), take_turns(*all.back(), times, last, done), asio::detached
        );
    }
    EXPECT_TRUE(harness.run_until([&] { return done == clients * times; }, 60s))
        << done << " turns, then " << harness.left();
}

TEST(ZooKeeperStore, OpensByAUrlAndMakesARootOfSeveralParts) {
    rooted place("of/three/parts");
    with_client(place.url(), [&](lock_client& locks) -> asio::awaitable<void> {
        const lease held = co_await locks.async_acquire("door");
        EXPECT_TRUE(held.held());
        EXPECT_EQ(place.queue_of("door").size(), 1u);
    });
    EXPECT_TRUE(place.queue_of("door").empty());
    EXPECT_TRUE(place.tree.children(place.root + "/sessions").empty());
}

// A connection that came about afterwards would keep the context at work for ever.
TEST(ZooKeeperStore, AClientThatIsDestroyedWhileItOpensLeavesNothingOpen) {
    constexpr std::size_t steps = 12;
    rooted place("destroyed");
    for (std::size_t step = 0; step < steps; ++step) {
        asio::io_context context;
        auto locks = std::make_unique<lock_client>(context.get_executor(), open_store(place.url()));
        locks->async_acquire("door", lock_options(), [](error_code, lease) {});
        for (std::size_t i = 0; i < step; ++i)
            context.run_one_for(50ms);
        locks.reset();
        context.run_for(20s);
        EXPECT_TRUE(context.stopped()) << "destroyed after " << step << " handlers";
    }
}

TEST(ZooKeeperStore, AnotherDomainIsRefused) {
    rooted place("domains");
    with_client(place.url({}, "&domain=orders"), [](lock_client& locks) -> asio::awaitable<void> {
        const lease held = co_await locks.async_acquire("door");
        EXPECT_EQ(held.token().domain.name(), "orders");
    });
    with_client(place.url({}, "&domain=others"), [](lock_client& locks) -> asio::awaitable<void> {
        const auto got =
            co_await locks.async_acquire("door", lock_options(), asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(got), errc::bad_config);
        EXPECT_NE(locks.explain().find("orders"), std::string::npos) << locks.explain();
    });
}

TEST(ZooKeeperStore, WhatIsNoStoreIsLeftAlone) {
    rooted place("foreign");
    const auto asked = [&](zookeeper_detail::zk_handle& on, auto then) {
        on.create(place.root, "", zookeeper_detail::node_kind::persistent, [](const auto&) {});
        on.create(
            place.root + "/store",
            "something else",
            zookeeper_detail::node_kind::persistent,
            std::move(then)
        );
    };
    EXPECT_FALSE(place.tree.ask(asked).failed);
    with_client(place.url(), [](lock_client& locks) -> asio::awaitable<void> {
        const auto got =
            co_await locks.async_acquire("door", lock_options(), asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(got), errc::not_a_store);
    });
    EXPECT_EQ(place.tree.children(place.root).size(), 1u) << "nothing was made";
}

TEST(ZooKeeperStore, WithAPasswordNobodyElseTouchesTheNodes) {
    rooted place("rights");
    with_client(place.url("clerk:secret@"), [&](lock_client& locks) -> asio::awaitable<void> {
        const lease held = co_await locks.async_acquire("door");
        EXPECT_TRUE(held.held());
        // Others see neither the queue nor its nodes, and delete nothing.
        const auto folder = place.root + "/locks/door";
        EXPECT_EQ(place.tree.get(folder).failed, zk_code::no_auth);
        EXPECT_EQ(place.tree.erase(place.root + "/store"), zk_code::no_auth);
        EXPECT_TRUE(held.held());
    });
    with_client(place.url("clerk:wrong@"), [](lock_client& locks) -> asio::awaitable<void> {
        const auto got =
            co_await locks.async_acquire("door", lock_options(), asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(got), errc::access_denied);
    });
    rooted same("rights", "clerk:secret");
    EXPECT_FALSE(same.tree.get(same.root + "/store").failed);
}

TEST(ZooKeeperStore, ANodeOfTheSessionThatIsDeletedEndsIt) {
    rooted place("deleted");
    with_client(place.url(), [&](lock_client& locks) -> asio::awaitable<void> {
        lease held = co_await locks.async_acquire("door");
        const auto sessions = place.tree.children(place.root + "/sessions");
        EXPECT_EQ(sessions.size(), 1u);
        EXPECT_FALSE(place.tree.erase(place.root + "/sessions/" + sessions.at(0)));
        const auto [why] = co_await held.async_wait_lost(asio::as_tuple(asio::deferred));
        EXPECT_EQ(why, errc::lease_lost);
        const lease again = co_await locks.async_acquire("door");
        EXPECT_TRUE(again.held()) << "with another session";
        EXPECT_GT(again.token().value, held.token().value);
    });
}

TEST(ZooKeeperStore, ANodeThatIsDeletedIsALossThatTheHolderHearsOf) {
    rooted place("taken");
    with_client(place.url(), [&](lock_client& locks) -> asio::awaitable<void> {
        lease held = co_await locks.async_acquire("door");
        const auto queue = place.queue_of("door");
        EXPECT_EQ(queue.size(), 1u);
        const machine_delay delay;
        const auto before = clock::now();
        EXPECT_FALSE(place.tree.erase(place.root + "/locks/door/" + queue.at(0)));
        const auto [why] = co_await held.async_wait_lost(asio::as_tuple(asio::deferred));
        EXPECT_EQ(why, errc::lease_lost);
        EXPECT_LT(clock::now() - before, 1s + delay.so_far()) << "by a watch, not by a heartbeat";
    });
}

// The holder is a node of the test, which is never deleted: no reading of the queue could grant.
TEST(ZooKeeperStore, AChangeOfTheNodeBeforeIsTheGrant) {
    rooted place("changed");
    with_client(place.url(), [&](lock_client& locks) -> asio::awaitable<void> {
        lease own = co_await locks.async_acquire("door");
        const auto folder = place.root + "/locks/door/";
        const auto holder =
            folder + node_prefix(random_id::draw(), 1, lock_mode::exclusive()) + "0000000000";
        EXPECT_FALSE(place.tree.create(holder));
        co_await own.async_release();
        std::optional<lease> got;
        locks.async_acquire("door", lock_options(), [&](error_code failed, lease held) {
            EXPECT_FALSE(failed) << failed.message();
            got = std::move(held);
        });
        const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
        while (place.queue_of("door").size() != 2) {
            auto pause = coro::sleep_for(*time, 5ms);
            co_await std::move(pause);
        }
        EXPECT_FALSE(got);
        // Until the watch is set, a change tells nobody anything.
        for (const auto end = clock::now() + 20s; !got && clock::now() < end;) {
            EXPECT_FALSE(place.tree.set(holder, "handed over"));
            auto pause = coro::sleep_for(*time, 50ms);
            co_await std::move(pause);
        }
        EXPECT_TRUE(got);
        EXPECT_EQ(place.queue_of("door").size(), 2u);
        if (got)
            co_await got->async_release();
        EXPECT_FALSE(place.tree.erase(holder));
    });
}

// Alice and two others are nodes of the test. The one before the request leaves, so that the change
// of alice's node grants to a request that already knows of somebody behind it.
TEST(ZooKeeperStore, AHolderThatIsWantedFromTheBeginningHearsOfItsLoss) {
    constexpr int rounds = 5;  // a slow machine makes one worthless
    rooted place("wanted");
    const auto task = [&](lock_client& locks) -> asio::awaitable<void> {
        const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
        const auto folder = place.root + "/locks/door/";
        const auto make_node = [&](const char* number) {
            auto path = folder + node_prefix(random_id::draw(), 1, lock_mode::exclusive()) + number;
            EXPECT_FALSE(place.tree.create(path));
            return path;
        };
        lease first = co_await locks.async_acquire("door");
        const auto behind = make_node("2147483600");
        co_await first.async_release();
        for (int i = 0; i < rounds; ++i) {
            const auto alice = make_node("0000000000");
            const auto other = make_node("0000000001");
            std::optional<lease> got;
            locks.async_acquire("door", lock_options(), [&](error_code failed, lease held) {
                EXPECT_FALSE(failed) << failed.message();
                got = std::move(held);
            });
            constexpr std::size_t all = 4;
            while (place.queue_of("door").size() != all) {
                auto pause = coro::sleep_for(*time, 1ms);
                co_await std::move(pause);
            }
            EXPECT_FALSE(place.tree.erase(other));
            for (const auto end = clock::now() + 20s; !got && clock::now() < end;) {
                EXPECT_FALSE(place.tree.set(alice, "handed over"));
                auto pause = coro::sleep_for(*time, 2ms);
                co_await std::move(pause);
            }
            EXPECT_TRUE(got);
            if (!got)
                co_return;
            auto pause = coro::sleep_for(*time, 60ms);
            co_await std::move(pause);
            for (const auto& each : place.queue_of("door")) {
                const auto path = folder + each;
                if (path != alice && path != behind) {
                    EXPECT_FALSE(place.tree.erase(path));
                }
            }
            const auto before = clock::now();
            const auto [why] = co_await got->async_wait_lost(asio::as_tuple(asio::deferred));
            EXPECT_EQ(why, errc::lease_lost);
            EXPECT_LT(clock::now() - before, 10s) << "by a watch, not by a heartbeat";
            EXPECT_FALSE(place.tree.erase(alice));
        }
        EXPECT_FALSE(place.tree.erase(behind));
    };
    with_client(place.url(), task, 60s);
}

/// Waits until it is so, for twenty seconds at most.
asio::awaitable<bool> until(const std::function<bool()>& so) {
    const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
    const auto end = clock::now() + 20s;
    while (!so() && clock::now() < end) {
        auto pause = coro::sleep_for(*time, 5ms);
        co_await std::move(pause);
    }
    co_return so();
}

/// Nodes of the test that wait to read, as those of clients that have stopped.
std::vector<std::string>
make_readers(rooted& place, const std::string& lock, int first, int count) {
    std::vector<std::string> nodes;
    for (int i = first; i < first + count; ++i) {
        const auto number = std::to_string(i);
        nodes.push_back(
            place.root + "/locks/" + lock + '/' +
            node_prefix(random_id::draw(), 1, lock_mode::shared()) +
            std::string(10 - number.size(), '0') + number
        );
        EXPECT_FALSE(place.tree.create(nodes.back()));
    }
    return nodes;
}

lock_client client_at(const asio::any_io_executor& executor, const rooted& place) {
    client_config config;
    config.ttl = 30s;
    return lock_client(executor, open_store(place.url()), config);
}

// So many are granted in one change; nobody but the one who releases knows of the others.
TEST(ZooKeeperStore, MoreReadersThanAreGrantedTogetherAllGetTheLock) {
    rooted place("crowd");
    const auto task = [&](lock_client& locks) -> asio::awaitable<void> {
        lock_client bob = client_at(co_await asio::this_coro::executor, place);
        lease own = co_await locks.async_acquire("door");
        const auto others = make_readers(place, "door", 1, 70);
        std::optional<lease> got;
        lock_options reading;
        reading.mode = lock_mode::shared();
        bob.async_acquire("door", reading, [&](error_code failed, lease held) {
            EXPECT_FALSE(failed) << failed.message();
            got = std::move(held);
        });
        EXPECT_TRUE(co_await until([&] { return place.queue_of("door").size() == 72; }));
        EXPECT_TRUE(co_await until([&] { return own.contended(); })) << "it has read the queue";
        co_await own.async_release();
        EXPECT_TRUE(co_await until([&] { return got.has_value(); }));
        if (got)
            co_await got->async_release();
        co_await bob.async_stop();
        for (const auto& each : others)
            EXPECT_FALSE(place.tree.erase(each));
    };
    with_client(place.url(), task, 30s);
}

TEST(ZooKeeperStore, AReaderBehindOneThatHasStoppedIsGrantedWhenAWriterWithdraws) {
    rooted place("withdrawn");
    const auto task = [&](lock_client& locks) -> asio::awaitable<void> {
        lock_client bob = client_at(co_await asio::this_coro::executor, place);
        lock_client carol = client_at(co_await asio::this_coro::executor, place);
        lock_options reading;
        reading.mode = lock_mode::shared();
        lease own = co_await carol.async_acquire("door", reading);
        bool withdrawn = false;
        asio::cancellation_signal stop;
        locks.async_acquire(
            "door",
            lock_options(),
            asio::bind_cancellation_slot(stop.slot(), [&](error_code, lease) { withdrawn = true; })
        );
        EXPECT_TRUE(co_await until([&] { return place.queue_of("door").size() == 2; }));
        const auto stopped = make_readers(place, "door", 2, 1);
        std::optional<lease> got;
        bob.async_acquire("door", reading, [&](error_code failed, lease held) {
            EXPECT_FALSE(failed) << failed.message();
            got = std::move(held);
        });
        EXPECT_TRUE(co_await until([&] { return place.queue_of("door").size() == 4; }));
        EXPECT_FALSE(got);
        stop.emit(asio::cancellation_type::total);
        EXPECT_TRUE(co_await until([&] { return withdrawn && got; }));
        if (got)
            co_await got->async_release();
        co_await bob.async_stop();
        EXPECT_FALSE(place.tree.erase(stopped.at(0)));
        co_await own.async_release();
        co_await carol.async_stop();
    };
    with_client(place.url(), task, 30s);
}

// The root may be a node of others, with data of theirs.
TEST(ZooKeeperStore, AnExaminationLeavesTheDataOfTheRootAlone) {
    rooted place("examined_data");
    with_client(place.url(), [&](lock_client& locks) -> asio::awaitable<void> {
        const lease held = co_await locks.async_acquire("door");
        EXPECT_FALSE(place.tree.set(place.root, "of others"));
        const auto found = co_await locks.async_examine();
        EXPECT_FALSE(found.empty());
        EXPECT_EQ(place.tree.get(place.root).data, "of others");
        EXPECT_TRUE(held.held());
    });
}

// Whoever waits for a permit gets that of any holder, not only of the one before it.
TEST(ZooKeeperStore, APermitOfAnyHolderThatEndsIsPassedOn) {
    zookeeper_harness harness;
    harness.run([](zookeeper_harness& at) -> asio::awaitable<void> {
        constexpr peer::manner pair{lock_mode::permits(2)};
        peer alice(at);
        peer bob(at);
        peer carol(at);
        peer dave(at);
        peer erin(at);
        for (peer* const each : {&alice, &bob, &carol, &dave, &erin})
            co_await each->open();
        co_await alice.hold_for("pool", pair);
        co_await bob.hold_for("pool", pair);
        EXPECT_EQ((co_await carol.ask_for("pool", pair))->type, answer::kind::queued);
        EXPECT_EQ((co_await dave.ask_for("pool", pair))->type, answer::kind::queued);
        EXPECT_EQ((co_await erin.ask_for("pool", pair))->type, answer::kind::queued);
        EXPECT_TRUE(at.erase_node_of(alice.id(), "pool"));
        EXPECT_TRUE(co_await carol.hears(store_event::kind::granted, carol.last_id()));
        EXPECT_EQ(carol.last_heard().slot, 1u);
        EXPECT_TRUE(at.erase_node_of(bob.id(), "pool"));
        EXPECT_TRUE(co_await dave.hears(store_event::kind::granted, dave.last_id()));
        EXPECT_EQ(dave.last_heard().slot, 2u);
        for (peer* const each : {&alice, &bob, &carol, &dave, &erin})
            EXPECT_FALSE(co_await each->port().end());
    }(harness));
    EXPECT_EQ(harness.residue(), 0u);
}

TEST(ZooKeeperStore, ATtlThatTheServersDoNotKeepIsRefusedWithAdvice) {
    zookeeper_ensemble brief(1, {"maxSessionTimeout=1000"});
    const auto url = "zookeeper://" + brief.address() + "/mortise?tick_ms=100";
    with_client(url, [](lock_client& locks) -> asio::awaitable<void> {
        const auto got =
            co_await locks.async_acquire("door", lock_options(), asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(got), errc::ttl_too_long);
        EXPECT_NE(locks.explain().find("maxSessionTimeout"), std::string::npos);
    });
}

TEST(ZooKeeperUrl, IsReadAndChecked) {
    const auto config = parse_zookeeper_url(
        "zookeeper://clerk:se%3Acret@zk1:2182,zk2,[::1]:2183/a/b?tick_ms=500&domain=orders"
    );
    ASSERT_EQ(config.servers.size(), 3u);
    EXPECT_EQ(config.servers[0].host, "zk1");
    EXPECT_EQ(config.servers[0].port, 2182);
    EXPECT_EQ(config.servers[1].port, 2181);
    EXPECT_EQ(config.servers[2].host, "::1");
    EXPECT_EQ(config.user, "clerk");
    EXPECT_EQ(config.password, "se:cret");
    EXPECT_EQ(config.root, "/a/b");
    EXPECT_EQ(config.tick, 500ms);
    EXPECT_EQ(config.domain, "orders");
    EXPECT_EQ(parse_zookeeper_url("zookeeper://zk1").root, "/mortise");
    for (const char* const bad :
         {"zookeeper:zk1",
          "zookeeper://zk1/a//b",
          "zookeeper://zk1/zookeeper",
          "zookeeper://zk1/a/../b",
          "zookeeper://clerk@zk1",
          "zookeeper://zk1?tick_ms=0",
          "zookeeper://zk1?ticks=5",
          "zookeeper://zk1?domain=a%23b",
          "zookeeper://zk1?connect_max_ms=0"})
        EXPECT_THROW(open_store(bad), error) << bad;
}

}  // namespace
}  // namespace mortise::test::zookeeper_store_test
