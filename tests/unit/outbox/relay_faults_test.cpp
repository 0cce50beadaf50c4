// SPDX-License-Identifier: BSL-1.0
// Relays, and what goes wrong around them.
#include "mortise/db/sqlite_error.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/relay.hpp"
#include "mortise/store/memory.hpp"
#include "support/fault_vfs.hpp"
#include "table/log_keeper.hpp"
#include "table/shards.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <fstream>
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

/// A relay on a disk of its own, where the log has more than any commit of the relay writes.
class OutboxRelaySyncs : public OutboxRelayFaults {
protected:
    static constexpr std::size_t much = 1u << 20;

    void start_with_log() {
        append("k", "1");
        start(how());
        drain();
        append("other", std::string(much, 'x'));
        drain();
        ASSERT_TRUE(await_state(shard_status::state::idle));
    }
    outbox::relay_config how() {
        auto settings = config();
        settings.vfs = disk_.name();
        settings.purge_after = 1h;
        return settings;
    }
    void append_lazily(const std::string& payload) {
        run([payload](db::connection& on) { outbox::append(on, message("events", "k", payload)); },
            db::durability::lazy);
    }
    std::size_t log_bytes() const {
        return static_cast<std::size_t>(std::filesystem::file_size(database().string() + "-wal"));
    }
    error_code failure() const {
        const std::lock_guard hold(events_mutex_);
        for (const auto& each : events_) {
            if (each.type == relay_event::kind::failed)
                return each.code;
        }
        return {};
    }

    std::size_t count_failures(error_code code, const std::string& words) const {
        const std::lock_guard hold(events_mutex_);
        std::size_t found = 0;
        for (const auto& each : events_)
            found += each.code == code && each.text.find(words) != std::string::npos ? 1u : 0u;
        return found;
    }
    /// Changes one bit; or changes it back.
    void flip_in_log(std::size_t at) const {
        std::fstream log(
            database().string() + "-wal", std::ios::binary | std::ios::in | std::ios::out
        );
        log.seekg(static_cast<std::streamoff>(at));
        const int before = log.get();
        ASSERT_NE(before, std::fstream::traits_type::eof());
        log.seekp(static_cast<std::streamoff>(at));
        log.put(static_cast<char>(before ^ 1));
    }

    fault_vfs disk_;
};

TEST_F(OutboxRelaySyncs, SendsNothingThatAPowerFailureWouldTakeBack) {
    start_with_log();
    disk_.log_sync_result = SQLITE_IOERR_FSYNC;
    append_lazily("2");
    EXPECT_TRUE(eventually([&] { return events(relay_event::kind::failed) > 5; }));
    EXPECT_EQ(failure(), db::sqlite_error(SQLITE_IOERR_FSYNC));
    EXPECT_EQ(cluster_.size(), 2u);
    disk_.log_sync_result = SQLITE_OK;
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"1", "2"}));
    stop();
}

// The kernel may have dropped what the failed fsync was for: the next one succeeds without it.
TEST_F(OutboxRelaySyncs, AFailedSyncIsNotTriedAgainBeforeTheLogIsWrittenAnew) {
    start_with_log();
    const auto there = log_bytes();
    ASSERT_GT(there, much);
    disk_.result = SQLITE_IOERR_FSYNC;
    disk_.fail_at = disk_.operations + 1;  // the look for what follows
    append_lazily("2");
    drain();
    EXPECT_EQ(failure(), db::sqlite_error(SQLITE_IOERR_FSYNC));
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"1", "2"}));
    EXPECT_GE(disk_.log_bytes_since_failed_sync, there);
    stop();
}

TEST_F(OutboxRelaySyncs, ALogThatIsSuspectIsNotDurableHoweverOftenItIsSynced) {
    append("k", "1");
    run([](db::connection& on) {
        outbox::table::log_keeper log;
        log.make_durable(on);
        log.suspect();
        for (int i = 0; i < 2; ++i) {
            try {
                log.make_durable(on);
                ADD_FAILURE() << "it is trusted";
            } catch (const error& refused) {
                EXPECT_EQ(refused.code(), outbox::errc::log_not_synced);
            }
        }
        log.write_anew(on);
        log.make_durable(on);
    });
}

TEST_F(OutboxRelaySyncs, NeitherIsThatOfACommit) {
    start_with_log();
    stop();
    const auto there = log_bytes();
    disk_.log_sync_result = SQLITE_IOERR_FSYNC;
    start(how());
    EXPECT_TRUE(eventually([&] { return events(relay_event::kind::failed) > 0; }));
    append_lazily("2");
    disk_.log_sync_result = SQLITE_OK;
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"1", "2"}));
    EXPECT_GE(disk_.log_bytes_since_failed_sync, there);
    stop();
}

// The kernel has dropped a page, and gives what the disk had there before. SQLite goes on reading
// such a log, but after a crash it would not take what comes after the gap.
TEST_F(OutboxRelaySyncs, ALogThatHasLostPagesIsNotTrustedThoughItIsWrittenAnew) {
    constexpr std::size_t frame_bytes = 4'096 + 24;
    constexpr std::size_t sum_at = 16;
    start_with_log();
    disk_.log_sync_result = SQLITE_IOERR_FSYNC;
    append_lazily("2");
    const std::size_t torn = log_bytes() - frame_bytes + sum_at;
    append_lazily("3");
    EXPECT_TRUE(eventually([&] { return events(relay_event::kind::failed) > 0; }));
    flip_in_log(torn);
    disk_.log_sync_result = SQLITE_OK;
    EXPECT_TRUE(eventually([&] {
        return count_failures(outbox::errc::log_not_synced, "") >
               2;  // a closure's code alone comes back
    }));
    EXPECT_EQ(cluster_.size(), 2u);
    flip_in_log(torn);
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"1", "2", "3"}));
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

// The marks of shards that had nothing to send yet name no message.
TEST_F(OutboxRelayFaults, AnOldCopyIsNoticedByShardsThatWereMadeAnew) {
    const auto copy = folder_.path() / "copy.db";
    append_everywhere("1");
    start();
    drain();
    stop();
    session_.reset();
    std::filesystem::copy_file(database(), copy);
    open();
    append_everywhere("2");
    run([](db::connection& on) { outbox::reshard(on, 2); });
    cluster_.set_idle_max(5ms);
    start();
    EXPECT_TRUE(eventually([&] { return cluster_.mark_of(4) && cluster_.mark_of(5); }));
    stop();
    ASSERT_EQ(cluster_.size(), 80u);
    ASSERT_EQ(cluster_.mark_of(4)->message, "");

    session_.reset();
    std::filesystem::copy_file(copy, database(), std::filesystem::copy_options::overwrite_existing);
    open();
    cluster_.set_idle_max(0ms);
    const auto rebase = [this](outbox::position where) {
        run([where](db::connection& on) {
            for (const auto& each : outbox::describe(on).shards) {
                if (each.refused)
                    outbox::rebase(on, each.shard, where);
            }
        });
    };
    start();
    EXPECT_TRUE(eventually([&] { return refused_shards() == 4; }));
    rebase(outbox::position::end());
    run([](db::connection& on) { outbox::reshard(on, 2); });
    append_everywhere("3");
    EXPECT_TRUE(eventually([&] { return refused_shards() == 2; }));
    EXPECT_EQ(cluster_.size(), 80u);
    rebase(outbox::position::beginning());
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 120; }));
    stop();
}

// One with another prefix, say, which neither fences the first nor finds its mark.
TEST_F(OutboxRelayFaults, AnotherSinkIsRefusedAlsoBeforeTheFirstPurge) {
    auto how = config();
    how.purge_after = 1h;
    append("k", "1");
    start(how);
    drain();
    site_.pause();
    cluster_.set_identity("cluster-1?id_prefix=other");
    cluster_.forget_marks();
    outbox_site other;
    other.relay.emplace(other.executor(), how);
    const auto refused = [&] {
        for (const auto& each : other.relay->status()) {
            if (each.at == shard_status::state::refused)
                return each.trouble == outbox::errc::foreign_sink &&
                       each.text.find("was cluster-1,") != std::string::npos;
        }
        return false;
    };
    EXPECT_TRUE(eventually(refused));
    EXPECT_EQ(cluster_.payloads(), texts{"1"});
    stop(other);
    site_.resume();
    stop();
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
