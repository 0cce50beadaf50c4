// SPDX-License-Identifier: BSL-1.0
// Relays, and what goes wrong around them.
#include "mortise/lock_client.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/relay.hpp"
#include "mortise/store/memory.hpp"
#include "support/fault_vfs.hpp"
#include "table/shards.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace mortise::test::outbox_relay_faults_test {
namespace {

using namespace std::chrono_literals;
using outbox::message;
using outbox::relay_event;
using outbox::row_kind;
using outbox::shard_status;
using texts = std::vector<std::string>;

class OutboxRelayFaults : public outbox_world {
protected:
    std::size_t rows_of_shards_below(std::uint32_t end) {
        std::size_t found = 0;
        for (const auto& each : list(row_kind::waiting))
            found += each.shard && *each.shard < end ? 1u : 0u;
        return found;
    }
    std::size_t refused_shards() {
        std::size_t found = 0;
        for (const auto& each : describe().shards)
            found += each.refused ? 1u : 0u;
        return found;
    }
    /// A row for the shard of each of 40 keys: every one of the four shards has some.
    void append_everywhere(const std::string& payload) {
        for (int i = 0; i < 40; ++i)
            append(std::to_string(i), payload);
    }
    /// A relay that was sent to another cluster than before, and does not go on.
    void be_refused(const outbox::relay_config& how) {
        append_everywhere("1");
        start(how);
        drain();
        stop();
        cluster_.set_identity("cluster-2");
        append_everywhere("2");
        start(how);
        EXPECT_TRUE(eventually([&] { return refused_shards() == 4; }));
    }
};

TEST_F(OutboxRelayFaults, IsWokenThroughASymbolicLink) {
    append("k", "1");
    const auto link = folder_.path() / "current.db";
    std::filesystem::create_symlink(database(), link);
    auto how = config();
    how.database = link;
    start(how);
    drain();
    ASSERT_TRUE(await_state(shard_status::state::idle));
    append("k", "2");
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 2; }, 5s));
}

TEST_F(OutboxRelayFaults, SendsNothingThatAPowerFailureWouldTakeBack) {
    fault_vfs disk;
    auto how = config();
    how.vfs = disk.name();
    append("k", "1");
    start(how);
    drain();
    stop();
    start(how);
    drain();
    disk.log_sync_result = SQLITE_IOERR_FSYNC;
    run([](db::connection& on) { outbox::append(on, message("events", "k", "2")); },
        db::durability::lazy);
    EXPECT_TRUE(eventually([&] { return events(relay_event::kind::failed) > 0; }));
    EXPECT_EQ(cluster_.size(), 1u);
    disk.log_sync_result = SQLITE_OK;
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"1", "2"}));
    stop();
}

TEST_F(OutboxRelayFaults, GoesOnByItselfWhenItsDiskIsNotFullAnyMore) {
    fault_vfs disk;
    auto how = config();
    how.vfs = disk.name();
    how.purge_after = 1ms;
    append("k", "1");
    start(how);
    drain();
    disk.log_write_result = SQLITE_FULL;
    texts all{"1"};
    for (int i = 2; i <= 20; ++i) {
        all.push_back(std::to_string(i));
        append("k", all.back());
    }
    EXPECT_TRUE(eventually([&] { return events(relay_event::kind::failed) > 0; }));
    disk.log_write_result = SQLITE_OK;
    drain();
    EXPECT_EQ(cluster_.payloads(), all);
    EXPECT_TRUE(eventually([&] { return list(row_kind::waiting).size() == 1; }));
    stop();
}

TEST_F(OutboxRelayFaults, ForgetsTheRowsOfShardsThatAreDone) {
    auto how = config();
    how.purge_after = 1h;
    append_everywhere("1");
    start(how);
    drain();
    run([](db::connection& on) { outbox::reshard(on, 2); });
    append_everywhere("2");
    drain();
    EXPECT_EQ(rows_of_shards_below(4), 40u);
    stop();  // which forgets what was sent
    EXPECT_EQ(rows_of_shards_below(4), 0u);
    EXPECT_EQ(cluster_.size(), 80u);
}

TEST_F(OutboxRelayFaults, AStandbyHearsThatTheLastRowIsParked) {
    const memory_server locks;
    outbox_site other;
    auto how = config();
    how.purge_after = 1ms;
    how.locks = std::make_shared<lock_client>(other.executor(), locks.make_store());
    other.relay.emplace(other.executor(), how);
    append("k", "1");
    wait_for(other.relay->async_drained(asio::use_future));
    EXPECT_TRUE(eventually([&] { return describe().waiting == 0; })) << "its mark is in the table";
    auto mine = how;
    mine.locks = std::make_shared<lock_client>(site_.executor(), locks.make_store());
    start(mine);
    cluster_.refuse("bad");
    other.pause();
    append("k", "bad");
    auto draining = site_.relay->async_drained(asio::use_future);
    EXPECT_EQ(draining.wait_for(50ms), std::future_status::timeout);
    other.resume();
    wait_for(std::move(draining));
    EXPECT_EQ(list(row_kind::parked).size(), 1u);
    stop();
    mine.locks.reset();
    how.locks.reset();
    stop(other);
}

TEST_F(OutboxRelayFaults, ARefusalIsOverWhenTheRightSinkIsThereAgain) {
    auto how = config();
    how.purge_after = 1h;
    be_refused(how);
    stop();
    EXPECT_EQ(refused_shards(), 4u) << "the next one is to know of it";
    cluster_.set_identity("cluster-1");
    start(how);
    drain();
    EXPECT_EQ(refused_shards(), 0u);
    run([&](db::connection& on) {
        for (const auto& each : outbox::describe(on).shards)
            EXPECT_THROW(outbox::rebase(on, each.shard, outbox::position::after(1)), error);
    });
    EXPECT_EQ(cluster_.size(), 80u);
}

TEST_F(OutboxRelayFaults, AWrongSinkThatGotNothingBarsNoShardFromTheRightOne) {
    auto how = config();
    how.purge_after = 1ms;
    append("k", "1");
    start(how);
    ASSERT_TRUE(eventually([&] { return events(relay_event::kind::opened) == 4; }));
    drain();
    stop();
    cluster_.set_identity("cluster-2");
    start(how);
    EXPECT_TRUE(eventually([&] {
        return refused_shards() == 1 && events(relay_event::kind::opened) == 4 + 3;
    })) << "the shard with the row knows its cluster, the others have none yet";
    stop();  // which writes down what it knows
    cluster_.set_identity("cluster-1");
    append_everywhere("2");
    start(how);
    drain();
    EXPECT_EQ(refused_shards(), 0u);
    EXPECT_EQ(cluster_.size(), 41u);
}

TEST_F(OutboxRelayFaults, WhatAnOperatorHasDecidedIsNotWrittenOver) {
    append("k", "1");
    append("k", "2");
    using outbox::table::holder;
    const auto mine =
        run([](db::connection& on) { return outbox::table::take(on, 1, {}).value(); });
    run([](db::connection& on) {
        on.run("UPDATE mortise_outbox_shard SET generation = 1, row = 7 WHERE shard = 1");
    });
    const auto row_now = [&] {
        return run([](db::connection& on) { return outbox::table::known_of(on, 1).last.row; });
    };
    for (const bool last : {false, true}) {
        auto refused = session_->async_run(
            [mine, last](db::connection& on) -> error_code {
                if (last)
                    return outbox::table::finish(on, mine.by, mine.known).error();
                return outbox::table::purge(on, mine.by, mine.known, 0, 10).error();
            },
            db::durability::force,
            asio::use_future
        );
        EXPECT_EQ(wait_for(std::move(refused)), outbox::errc::superseded) << last;
        EXPECT_EQ(row_now(), 7) << last;
    }
}

TEST_F(OutboxRelayFaults, SendsLessAtOnceWhereItIsTooMuch) {
    cluster_.set_batch_max(7);
    run([](db::connection& on) {
        for (int i = 0; i < 1'000; ++i)
            outbox::append(on, message("events", "k", std::to_string(i)));
    });
    start();
    drain();
    EXPECT_EQ(cluster_.size(), 1'000u);
    cluster_.set_batch_max(1'000'000);
    const auto before = cluster_.batches();
    run([](db::connection& on) {
        for (int i = 0; i < 1'000; ++i)
            outbox::append(on, message("events", "k", std::to_string(i)));
    });
    drain();
    EXPECT_EQ(cluster_.size(), 2'000u);
    EXPECT_LT(cluster_.batches() - before, 20u) << "and more again when that works";
}

}  // namespace
}  // namespace mortise::test::outbox_relay_faults_test
