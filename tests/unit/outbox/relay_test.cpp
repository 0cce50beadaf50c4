// SPDX-License-Identifier: BSL-1.0
#include "mortise/lock_client.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/handler_sink.hpp"
#include "mortise/outbox/relay.hpp"
#include "mortise/store/memory.hpp"
#include "unit/outbox/outbox_world.hpp"
#include "wall_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mortise::test::outbox_relay_test {
namespace {

using namespace std::chrono_literals;
using outbox::message;
using outbox::relay_event;
using outbox::row_kind;
using outbox::shard_status;
using fault = fake_cluster::fault;
using texts = std::vector<std::string>;

std::chrono::system_clock::time_point wall_time() {
    return std::chrono::system_clock::time_point(std::chrono::microseconds(outbox::wall_now()));
}

class OutboxRelay : public outbox_world {
protected:
    std::set<std::string> ids_sent() const {
        std::set<std::string> ids;
        for (const auto& each : cluster_.messages())
            ids.insert(each.message.id);
        return ids;
    }
    /// Every row once, and those of each key in their order.
    void expect_exactly_once(int keys, int rounds) const {
        EXPECT_EQ(cluster_.size(), static_cast<std::size_t>(keys * rounds));
        EXPECT_EQ(ids_sent().size(), cluster_.size());
        texts wanted;
        for (int i = 0; i < rounds; ++i)
            wanted.push_back(std::to_string(i));
        for (int key = 0; key < keys; ++key)
            EXPECT_EQ(cluster_.payloads_of(std::to_string(key)), wanted) << key;
    }
    void append_rounds(int keys, int rounds) {
        run([keys, rounds](db::connection& on) {
            for (int i = 0; i < rounds; ++i) {
                for (int key = 0; key < keys; ++key)
                    outbox::append(on, message("events", std::to_string(key), std::to_string(i)));
            }
        });
    }
    std::uint64_t total(std::uint64_t shard_status::*figure) const {
        std::uint64_t sum = 0;
        for (const auto& each : site_.relay->status())
            sum += each.*figure;
        return sum;
    }
};

TEST_F(OutboxRelay, SendsWhatIsThere) {
    append_rounds(10, 20);
    start();
    drain();
    expect_exactly_once(10, 20);
    EXPECT_EQ(total(&shard_status::messages), 200u);
}

TEST_F(OutboxRelay, IsWokenByACommit) {
    start();
    drain();
    EXPECT_TRUE(await_state(shard_status::state::idle));
    append("k", "v");
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }, 2s));
}

TEST_F(OutboxRelay, IsWokenByAnotherSession) {
    start();
    drain();
    {
        db::sqlite_config config;
        config.path = database();
        db::sqlite other(site_.executor(), std::move(config));
        wait_for(other.async_run(
            [](db::connection& on) { outbox::append(on, message("events", "k", "v")); },
            db::durability::force,
            asio::use_future
        ));
        EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }, 2s));
    }
}

TEST_F(OutboxRelay, GoesOnWhereItStopped) {
    append_rounds(5, 3);
    start();
    drain();
    stop();
    append("0", "3");
    start();
    drain();
    stop();
    EXPECT_EQ(cluster_.size(), 16u);
    EXPECT_EQ(cluster_.payloads_of("0"), (texts{"0", "1", "2", "3"}));
}

TEST_F(OutboxRelay, LeavesItsMarkInTheTableWhenItStops) {
    append_rounds(5, 3);
    start();
    drain();
    EXPECT_EQ(describe().waiting, 15u);
    stop();
    EXPECT_EQ(describe().waiting, 0u);
}

TEST_F(OutboxRelay, WritesNothingForWhatItSends) {
    auto how = config();
    how.purge_after = 1h;
    how.batch_rows = 10;
    append_rounds(10, 100);
    start(how);
    drain();
    expect_exactly_once(10, 100);
    EXPECT_GE(total(&shard_status::batches), 100u);
    // Each shard was taken and, before its first row, bound to its sink.
    EXPECT_EQ(total(&shard_status::writes), 8u);
}

TEST_F(OutboxRelay, ForgetsWhatWasSentAndKeepsTheLastRow) {
    auto how = config();
    how.purge_rows = 50;
    how.batch_rows = 20;
    append_rounds(4, 200);
    start(how);
    drain();
    stop();
    EXPECT_LT(list(row_kind::waiting).size(), 250u);
    // With nothing more to do the rest goes, too.
    how.purge_after = 1ms;
    start(how);
    EXPECT_TRUE(eventually([&] { return list(row_kind::waiting).size() <= 4; }));
    stop();
    expect_exactly_once(4, 200);
    append("0", "200");
    start();
    drain();
    EXPECT_EQ(cluster_.size(), 801u);
}

TEST_F(OutboxRelay, KeepsRowsAsLongAsItIsTold) {
    auto how = config();
    how.purge_after = 1ms;
    how.keep = 1h;
    append_rounds(4, 10);
    start(how);
    drain();
    EXPECT_TRUE(eventually([&] { return describe().waiting == 0; }));
    EXPECT_EQ(list(row_kind::waiting).size(), 40u);
}

TEST_F(OutboxRelay, CutsBatchesByBytes) {
    auto how = config();
    how.batch_bytes = 10'000;
    run([](db::connection& on) {
        for (int i = 0; i < 10; ++i)
            outbox::append(on, message("events", "k", std::string(6'000, 'x')));
    });
    start(how);
    drain();
    EXPECT_EQ(cluster_.batches(), 5u);
    EXPECT_EQ(cluster_.size(), 10u);
}

TEST_F(OutboxRelay, WaitsForWhatIsNotDue) {
    message event("events", "k", "later");
    event.not_before = wall_time() + 2s;
    start();
    append(event);
    append("k", "at once");
    drain();
    EXPECT_EQ(cluster_.payloads(), texts{"at once"});
    EXPECT_EQ(describe().later, 1u);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 2; }));
    EXPECT_GE(wall_time(), *event.not_before);
    EXPECT_EQ(cluster_.payloads().back(), "later");
    EXPECT_EQ(describe().later, 0u);
}

TEST_F(OutboxRelay, SendsWhatBecomesDueInItsOrder) {
    const auto now = wall_time();
    for (int i = 9; i >= 0; --i) {
        message event("events", "k", std::to_string(i));
        event.not_before = now + std::chrono::milliseconds(i);
        append(event);
    }
    EXPECT_TRUE(eventually([&] { return wall_time() > now + 10ms; }));
    start();
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 10; }));
    EXPECT_EQ(cluster_.payloads(), (texts{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
}

TEST_F(OutboxRelay, TriesAgainWhatFailed) {
    append_rounds(3, 3);
    for (const auto each :
         {fault::cannot_open, fault::again, fault::lost_before, fault::lost_after, fault::again})
        cluster_.fail_next(each);
    start();
    drain();
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 9; }));
    expect_exactly_once(3, 3);
    EXPECT_GE(events(relay_event::kind::failed), 5u);
    for (const auto& each : site_.relay->status())
        EXPECT_FALSE(each.messages > 0 && each.trouble) << each.text;
}

/// One kind of fault at each moment of a run.
class OutboxFaultSweep : public OutboxRelay, public testing::WithParamInterface<fault> {};

TEST_P(OutboxFaultSweep, EachMessageComesOnce) {
    auto how = config();
    how.batch_rows = 2;
    append_rounds(3, 5);
    start(how);
    for (int i = 0; i < 30; ++i) {
        cluster_.fail_next(GetParam());
        append("0", std::to_string(5 + i));
    }
    drain();
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 45; }));
    EXPECT_EQ(ids_sent().size(), 45u);
    const auto sent = cluster_.payloads_of("0");
    ASSERT_EQ(sent.size(), 35u);
    for (int i = 0; i < 35; ++i)
        EXPECT_EQ(sent[static_cast<std::size_t>(i)], std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(
    Fake,
    OutboxFaultSweep,
    testing::Values(fault::lost_before, fault::lost_after, fault::again, fault::cannot_open)
);

TEST_F(OutboxRelay, StopsWhileASinkHangs) {
    cluster_.fail_next(fault::hang);
    append("k", "v");
    start();
    EXPECT_TRUE(eventually([&] { return cluster_.faults_left() == 0; }));
    site_.relay.reset();  // must not wait for it
    start();
    drain();
    EXPECT_EQ(cluster_.payloads(), texts{"v"});
}

TEST_F(OutboxRelay, SendsAMarkWhileItIsIdle) {
    cluster_.set_idle_max(20ms);
    append("k", "v");
    start();
    drain();
    EXPECT_TRUE(eventually([&] {
        for (const auto& each : site_.relay->status()) {
            if (each.last.sequence >= 4 && each.last == cluster_.mark_of(each.shard))
                return true;
        }
        return false;
    }));
    EXPECT_EQ(cluster_.size(), 1u);
    stop();
    append("k", "w");
    start();
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"v", "w"}));
}

TEST_F(OutboxRelay, FillsMoreShardsWhenTheirNumberChanges) {
    append_rounds(8, 10);
    start();
    for (const std::uint32_t shards : {6u, 1u, 3u}) {
        run([shards](db::connection& on) { outbox::reshard(on, shards); });
        run([](db::connection& on) {
            for (int key = 0; key < 8; ++key)
                outbox::append(on, message("events", std::to_string(key), "x"));
        });
    }
    drain();
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 104; }));
    for (int key = 0; key < 8; ++key) {
        const auto sent = cluster_.payloads_of(std::to_string(key));
        ASSERT_EQ(sent.size(), 13u);
        for (std::size_t i = 0; i < 10; ++i)
            EXPECT_EQ(sent[i], std::to_string(i));
    }
    EXPECT_TRUE(eventually([&] {
        std::size_t open = 0;
        for (const auto& each : describe().shards)
            open += each.done ? 0u : 1u;
        return open == 3;
    }));
}

TEST_F(OutboxRelay, DoesNotUseTheNumbersOfRowsTwice) {
    auto how = config();
    how.purge_after = 1ms;
    append("k", "1");
    start(how);
    drain();
    stop();
    run([](db::connection& on) { on.run("DELETE FROM mortise_outbox"); });
    const auto mark_before = run([](db::connection& on) {
        auto row = on.query("SELECT max(row) FROM mortise_outbox_shard");
        row.step();
        return row.integer(0);
    });
    append("k", "2");
    EXPECT_GT(list(row_kind::waiting).at(0).row, mark_before);
}

TEST_F(OutboxRelay, NoticesAnOldCopyOfTheDatabase) {
    append("k", "1");
    start();
    drain();
    stop();
    session_.reset();  // the last one copies the log back
    const auto copy = folder_.path() / "copy.db";
    std::filesystem::copy_file(database(), copy);
    db::sqlite_config same;
    same.path = database();
    session_.emplace(site_.executor(), same);
    append("k", "2");
    append("k", "3");
    start();
    drain();
    stop();
    session_.reset();
    for (const char* beside : {"", "-wal", "-shm"})
        std::filesystem::remove(database().string() + beside);
    std::filesystem::copy_file(copy, database());
    session_.emplace(site_.executor(), same);
    append("k", "another 2");
    append("k", "another 3");

    start();
    auto draining = site_.relay->async_drained(asio::use_future);
    try {
        wait_for(std::move(draining));
        ADD_FAILURE() << "it went on";
    } catch (const boost::system::system_error& refused) {
        EXPECT_EQ(refused.code(), outbox::errc::restored);
    }
    EXPECT_EQ(cluster_.size(), 3u);
    EXPECT_EQ(events(relay_event::kind::refused), 1u);
    EXPECT_TRUE(eventually([&] {
        for (const auto& each : describe().shards) {
            if (each.refused)
                return true;
        }
        return false;
    }));
    // The operator decides: rows that the copy knows as sent count as sent.
    const auto shards = describe().shards;
    const auto refused_shard = std::find_if(shards.begin(), shards.end(), [](const auto& each) {
        return each.refused.has_value();
    });
    ASSERT_NE(refused_shard, shards.end());
    const auto last_sent = list(row_kind::waiting).at(0).row;
    run([shard = refused_shard->shard, last_sent](db::connection& on) {
        outbox::rebase(on, shard, outbox::position::after(last_sent));
    });
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"1", "2", "3", "another 2", "another 3"}));
    stop();
    start();
    drain();
    EXPECT_EQ(cluster_.size(), 5u);
}

TEST_F(OutboxRelay, NoticesAnotherCluster) {
    auto how = config();
    how.purge_after = 1ms;
    append("k", "1");
    start(how);
    drain();
    EXPECT_TRUE(eventually([&] { return describe().waiting == 0; }));
    stop();
    cluster_.set_identity("cluster-2");
    cluster_.forget_marks();
    append("k", "2");
    start(how);
    EXPECT_THROW(drain(), boost::system::system_error);
    EXPECT_EQ(cluster_.size(), 1u);
    // A mark behind all rows that were ever written: the next rows would be skipped without a word.
    run([](db::connection& on) {
        for (const auto& each : outbox::describe(on).shards) {
            if (!each.refused)
                continue;
            EXPECT_THROW(outbox::rebase(on, each.shard, outbox::position::after(1'000)), error);
            outbox::rebase(on, each.shard, outbox::position::after(each.last.row));
        }
    });
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"1", "2"}));
}

// Instead of a mark there may be anything: people say where to go on, and a mark takes its place.
TEST_F(OutboxRelay, AMarkThatCannotBeReadIsRefusedUntilSomebodyDecides) {
    append("k", "1");
    start();
    drain();
    stop();
    for (std::uint32_t shard = 0; shard < 4; ++shard)
        cluster_.spoil_mark(shard);
    append("k", "2");
    start();
    EXPECT_THROW(drain(), boost::system::system_error);
    EXPECT_TRUE(eventually([&] { return events(relay_event::kind::refused) == 4; }));
    EXPECT_EQ(cluster_.size(), 1u);
    EXPECT_TRUE(eventually([&] {
        const auto shards = describe().shards;
        return std::all_of(shards.begin(), shards.end(), [](const auto& each) {
            return each.refused && each.refused->find("nonsense") != std::string::npos;
        });
    }));
    run([](db::connection& on) {
        for (const auto& each : outbox::describe(on).shards)
            outbox::rebase(on, each.shard, outbox::position::after(1));
    });
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"1", "2"}));
    stop();
    append("k", "3");
    start();
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"1", "2", "3"}));
}

TEST_F(OutboxRelay, GoesOnFromTheTableWhenTheSinkForgot) {
    auto how = config();
    how.purge_after = 1ms;
    append_rounds(5, 5);
    start(how);
    drain();
    EXPECT_TRUE(eventually([&] { return describe().waiting == 0; }));
    stop();
    cluster_.forget_marks();
    start(how);
    append_rounds(5, 1);
    drain();
    EXPECT_EQ(cluster_.size(), 30u);
    EXPECT_EQ(ids_sent().size(), 30u);
    std::size_t used = 0;
    for (const auto& each : site_.relay->status())
        used += each.messages > 0 ? 1u : 0u;
    EXPECT_EQ(events(relay_event::kind::mark_lost), used);
}

TEST_F(OutboxRelay, RebaseWantsSomethingToDecide) {
    append("k", "1");
    const auto rebasing = [this](std::uint32_t shard) -> error_code {
        try {
            run([shard](db::connection& on) {
                outbox::rebase(on, shard, outbox::position::beginning());
            });
        } catch (const boost::system::system_error& refused) {
            return refused.code();
        }
        return {};
    };
    EXPECT_EQ(rebasing(0), outbox::errc::nothing_refused);
    EXPECT_EQ(rebasing(99), outbox::errc::no_such_row);
}

TEST_F(OutboxRelay, TwoRelaysShareTheShards) {
    const memory_server locks;
    client_config patience;
    patience.ttl = 1s;
    outbox_site other;
    auto how = config();
    how.batch_rows = 3;
    how.locks = std::make_shared<lock_client>(site_.executor(), locks.make_store(), patience);
    start(how);
    auto theirs = how;
    theirs.locks = std::make_shared<lock_client>(other.executor(), locks.make_store(), patience);
    other.relay.emplace(other.executor(), theirs);
    append_rounds(6, 40);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 240; }));
    // The first one stops: the other goes on at once.
    stop();
    run([](db::connection& on) {
        for (int key = 0; key < 6; ++key)
            outbox::append(on, message("events", std::to_string(key), "40"));
    });
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 246; }));
    expect_exactly_once(6, 41);
    how.locks.reset();
    stop(other);
    theirs.locks.reset();
}

TEST_F(OutboxRelay, HearsWhenAnotherRelayHasSentEverything) {
    const memory_server locks;
    outbox_site other;
    auto how = config();
    how.purge_after = 5ms;
    how.share_every = 0ms;  // the other one keeps them
    how.locks = std::make_shared<lock_client>(other.executor(), locks.make_store());
    other.relay.emplace(other.executor(), how);
    append_rounds(4, 10);
    wait_for(other.relay->async_drained(asio::use_future));
    auto mine = how;
    mine.locks = std::make_shared<lock_client>(site_.executor(), locks.make_store());
    start(mine);
    append_rounds(4, 10);
    drain();
    EXPECT_EQ(cluster_.size(), 80u);
    EXPECT_EQ(total(&shard_status::messages), 0u);
    stop();
    mine.locks.reset();
    how.locks.reset();
    stop(other);
}

TEST_F(OutboxRelay, AZombieSendsNothing) {
    const memory_server locks;
    client_config patience;
    patience.ttl = 500ms;
    outbox_site other;
    auto how = config();
    how.batch_rows = 1;
    how.locks = std::make_shared<lock_client>(other.executor(), locks.make_store(), patience);
    other.relay.emplace(other.executor(), how);
    append_rounds(4, 10);
    EXPECT_TRUE(eventually([&] { return cluster_.size() > 3; }));
    other.pause();
    auto mine = how;
    mine.locks = std::make_shared<lock_client>(site_.executor(), locks.make_store(), patience);
    start(mine);
    drain();
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 40; }));
    append_rounds(4, 1);
    drain();
    other.resume();
    run([](db::connection& on) { outbox::append(on, message("events", "z", "0")); });
    drain();
    EXPECT_EQ(cluster_.size(), 45u);
    EXPECT_EQ(ids_sent().size(), 45u);
    how.locks.reset();
    stop(other);
    mine.locks.reset();
    stop();
}

TEST_F(OutboxRelay, TwoWithoutLocksTakeTurns) {
    outbox_site other;
    auto how = config();
    how.batch_rows = 2;
    append_rounds(4, 50);
    start(how);
    other.relay.emplace(other.executor(), how);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 200; }));
    expect_exactly_once(4, 50);
    stop(other);
    append("0", "50");
    drain();
    EXPECT_EQ(cluster_.size(), 201u);
}

TEST_F(OutboxRelay, KeepsNoContextAtWork) {
    asio::io_context alone;
    auto how = config();
    how.purge_after = 1ms;
    outbox::relay relay(alone.get_executor(), how);
    append("k", "v");
    EXPECT_TRUE(eventually([&] {
        alone.restart();
        alone.run_for(10ms);
        return cluster_.size() == 1u;
    }));
    alone.restart();
    alone.run();  // returns
}

TEST_F(OutboxRelay, KeepsNoContextAtWorkOnceItIsStopped) {
    asio::io_context alone;
    auto how = config();
    how.purge_after = 1h;
    outbox::relay relay(alone.get_executor(), how);
    append("k", "v");
    relay.async_drained([&](error_code) { relay.async_stop([](error_code) {}); });
    alone.run_for(20s);
    EXPECT_EQ(cluster_.size(), 1u);
    EXPECT_TRUE(alone.stopped()) << "what it would have done in an hour is not waited for";
}

}  // namespace
}  // namespace mortise::test::outbox_relay_test
