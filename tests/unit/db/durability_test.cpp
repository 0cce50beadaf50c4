// SPDX-License-Identifier: BSL-1.0
// What waits for the disk, and what a disk that fails does to a session.
#include "support/fault_vfs.hpp"
#include "unit/db/db_world.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace mortise::test::db_durability_test {
namespace {

using db::connection;
using db::durability;

class DbDurability : public testing::Test {
protected:
    static db::sqlite_config with(const db_world& world, const fault_vfs& disk) {
        auto config = world.config();
        config.vfs = disk.name();
        return config;
    }

    template <class Work>
    error_code run(Work work, durability how = durability::force) {
        error_code code = asio::error::in_progress;
        session->async_run(std::move(work), how, [&](error_code ec, auto&&...) { code = ec; });
        world.context.restart();
        world.context.run();
        return code;
    }

    /// How often that made the log's file wait for the disk.
    template <class Work>
    int syncs_of(Work work, durability how) {
        const int before = disk.log_syncs;
        EXPECT_EQ(run(std::move(work), how), error_code());
        return disk.log_syncs - before;
    }

    void reopen() { session.emplace(world.open(with(world, disk))); }

    db_world world;
    fault_vfs disk;
    std::optional<db::sqlite> session = world.open(with(world, disk));
};

TEST_F(DbDurability, ForcedWorkWaitsForTheDiskAndLazyWorkDoesNot) {
    run(add_cents(1, 1));  // the log's header
    EXPECT_EQ(syncs_of(add_cents(1, 1), durability::lazy), 0);
    EXPECT_EQ(syncs_of(add_cents(1, 1), durability::force), 1);
    EXPECT_EQ(syncs_of(add_cents(1, 1), durability::force), 1);
    EXPECT_EQ(syncs_of(add_cents(1, 1), durability::lazy), 0);
    EXPECT_EQ(session->stats().batches, 5u);
    EXPECT_EQ(session->stats().batches_forced, 3u);
}

TEST_F(DbDurability, OneForcedClosureForcesItsBatch) {
    run(add_cents(1, 1));
    const int before = disk.log_syncs;
    {
        write_blocker block(*session);
        for (int i = 0; i < 5; ++i)
            session->async_run(
                add_cents(1, 1), i == 3 ? durability::force : durability::lazy, [](error_code) {}
            );
    }
    world.context.restart();
    world.context.run();
    EXPECT_EQ(disk.log_syncs - before, 1);
}

TEST_F(DbDurability, ForcedWorkThatOnlyLooksMakesDurableWhatItSaw) {
    run(add_cents(1, 1));
    const auto look = [](connection& on) {
        auto found = on.query("SELECT cents FROM account WHERE id = 1");
        EXPECT_TRUE(found.step());
    };
    EXPECT_EQ(syncs_of(look, durability::force), 0) << "all is durable already";
    EXPECT_EQ(syncs_of(add_cents(1, 1), durability::lazy), 0);
    EXPECT_EQ(syncs_of(look, durability::force), 1);
    EXPECT_EQ(syncs_of(look, durability::force), 0);
}

TEST_F(DbDurability, AFailedFsyncPoisonsAndNothingIsTriedAgain) {
    run(add_cents(1, 1));
    disk.log_sync_result = SQLITE_IOERR_FSYNC;
    std::vector<error_code> codes(3);
    {
        write_blocker block(*session);
        const auto keep = [&codes](std::size_t at) {
            return [&codes, at](error_code ec) { codes[at] = ec; };
        };
        session->async_run(add_cents(1, 1), durability::force, keep(0));
        session->async_run(add_cents(1, -1'000), durability::force, keep(1));
        session->async_run(add_cents(2, 1), durability::lazy, keep(2));
    }
    world.context.restart();
    world.context.run();
    EXPECT_EQ(codes[0], errc::commit_unknown);
    EXPECT_EQ(codes[1], db::sqlite_error(SQLITE_CONSTRAINT_CHECK)) << "that much is known";
    EXPECT_EQ(codes[2], errc::commit_unknown);
    EXPECT_FALSE(codes[0] == condition::retryable);
    EXPECT_TRUE(session->poisoned());

    disk.log_sync_result = 0;
    const int syncs = disk.log_syncs;
    EXPECT_EQ(run(add_cents(1, 1)), errc::poisoned);
    error_code read;
    session->async_read([](connection&) {}, [&](error_code ec) { read = ec; });
    world.context.restart();
    world.context.run();
    EXPECT_EQ(read, errc::poisoned);
    EXPECT_EQ(disk.log_syncs, syncs);
    reopen();
    EXPECT_EQ(run(add_cents(3, 1)), error_code());
    EXPECT_EQ(world.cents(3), 101);
}

TEST_F(DbDurability, ADiskThatIsFullAtTheCommitPoisonsToo) {
    run(add_cents(1, 1));
    disk.log_write_result = SQLITE_FULL;
    EXPECT_EQ(run(add_cents(1, 1)), errc::commit_unknown);
    disk.log_write_result = 0;
    EXPECT_EQ(run(add_cents(1, 1)), errc::poisoned);
    reopen();
    EXPECT_EQ(run(add_cents(1, 1)), error_code());
    EXPECT_EQ(world.cents(1), 102);
}

TEST_F(DbDurability, ADiskThatIsFullAtAStatementOnlyUndoesThat) {
    const auto grow = [](connection& on) {
        on.run("PRAGMA max_page_count = 8");
        on.run("CREATE TABLE big(bytes BLOB)");
        on.run("INSERT INTO big VALUES(zeroblob(1000000))");
    };
    const error_code full = run(grow);
    EXPECT_EQ(full, db::sqlite_error(SQLITE_FULL)) << full;
    EXPECT_TRUE(full == condition::retryable);
    EXPECT_FALSE(session->poisoned());
    EXPECT_EQ(run(add_cents(1, 1)), error_code());
    EXPECT_EQ(world.cents(1), 101);
    EXPECT_EQ(world.sql("SELECT count(*) FROM sqlite_schema WHERE name = 'big'"), 0);
}

TEST_F(DbDurability, AFailedFsyncOfACheckpointPoisonsToo) {
    auto config = with(world, disk);
    config.checkpoint_bytes = 64u << 10;
    session.emplace(world.open(config));
    disk.database_sync_result = SQLITE_IOERR_FSYNC;
    error_code last;
    for (int i = 0; i < 2'000 && !last; ++i)
        last = run(add_cents(1, 1), durability::lazy);
    EXPECT_TRUE(last == errc::poisoned || last == errc::commit_unknown) << last;
    disk.database_sync_result = 0;
}

// The child forces one, then dies in the middle of another: neither closed nor told.
TEST_F(DbDurability, ForcedWorkSurvivesTheDeathOfItsProcess) {
    session.reset();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        asio::io_context context;
        db::sqlite own(context.get_executor(), world.config());
        own.async_run(add_cents(1, 11), durability::force, [&](error_code ec) {
            own.async_run(
                [](connection& on) {
                    add_cents(1, 1'000)(on);
                    for (;;)
                        ::pause();
                },
                durability::force,
                [](error_code) {}
            );
            if (::write(ends[1], ec ? "x" : "k", 1) != 1)
                ::_exit(1);
        });
        context.run();
        ::_exit(1);
    }
    char answer = 0;
    EXPECT_EQ(::read(ends[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'k');
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(ends[0]);
    ::close(ends[1]);
    EXPECT_EQ(world.cents(1), 111);
    reopen();
    EXPECT_EQ(run(add_cents(1, 1)), error_code()) << "nobody holds the database";
}

TEST_F(DbDurability, AForeignWriterIsWaitedForAndThenReported) {
    auto config = world.config();
    config.busy_max = std::chrono::milliseconds(20);
    session.emplace(world.open(config));
    sqlite3* foreign = nullptr;
    ASSERT_EQ(::sqlite3_open(world.database().c_str(), &foreign), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(foreign, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    const error_code busy = run(add_cents(1, 1));
    EXPECT_EQ(busy, errc::database_busy);
    EXPECT_TRUE(busy == condition::retryable);
    EXPECT_FALSE(session->poisoned());
    ::sqlite3_close(foreign);
    EXPECT_EQ(run(add_cents(1, 1)), error_code());
    EXPECT_EQ(world.cents(1), 101);
}

TEST_F(DbDurability, AReadWaitsForNoFsync) {
    run(add_cents(1, 1));
    disk.hold_syncs();
    bool written = false;
    session->async_run(add_cents(1, 50), durability::force, [&](error_code ec) { written = !ec; });
    disk.wait_for_held_sync();
    std::int64_t seen = 0;
    session->async_read(
        [](connection& on) {
            auto found = on.query("SELECT cents FROM account WHERE id = 1");
            return found.step() ? found.integer(0) : -1;
        },
        [&](error_code ec, std::int64_t cents) { seen = ec ? -1 : cents; }
    );
    world.context.restart();
    while (seen == 0)
        world.context.run_one_for(std::chrono::seconds(1));
    EXPECT_EQ(seen, 101) << "what is not durable is not seen";
    EXPECT_FALSE(written);
    disk.release_syncs();
    world.context.run();
    EXPECT_TRUE(written);
}

}  // namespace
}  // namespace mortise::test::db_durability_test
