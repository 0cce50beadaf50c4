// SPDX-License-Identifier: BSL-1.0
// A disk that fails at the first write, truncation or sync, then at the second, and so on, until a
// run is untouched; and one that loses its power, with whatever was not synced.
#include "support/fault_vfs.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test::storage_fault_test {
namespace {

constexpr int never = 0;

/// The history of one lock, as far as its clients were told.
class history {
public:
    /// Every token is above all earlier ones.
    void granted(const fencing_token& token) {
        EXPECT_GT(token.value, highest_);
        highest_ = std::max(highest_, token.value);
    }
    std::uint64_t highest() const { return highest_; }

private:
    std::uint64_t highest_ = 0;
};

class world {
public:
    explicit world(const std::string& boot = "11111111-2222-3333-4444-555555555555") {
        config_ = folder.config();
        config_.vfs = disk.name();
        config_.boot_id_override = boot;
        // Makes every run copy its log back, too.
        config_.checkpoint_bytes = 64u << 10;
    }

    std::unique_ptr<state_user> user() { return std::make_unique<state_user>(config_, time); }
    void boot_again() { config_.boot_id_override = "66666666-2222-3333-4444-555555555555"; }

    store_folder folder;
    still_clock time;
    fault_vfs disk;

private:
    sqlite_store_config config_;
};

/// Two clients take turns. Each call may fail; the result of one that succeeds must be true.
void work(world& in, history& seen, std::size_t rounds) {
    auto one = in.user();
    auto other = in.user();
    const bool open = !one->open() && !other->open();
    for (std::size_t i = 0; open && i < rounds; ++i) {
        const auto first = one->ask("door");
        const auto first_id = one->last_id();
        const bool failed = static_cast<bool>(one->asked());
        if (first.type == answer::kind::granted)
            seen.granted(first.token);
        const auto second = other->ask("door");
        EXPECT_FALSE(
            first.type == answer::kind::granted && second.type == answer::kind::granted && !failed
        ) << "two were told that they have it";
        if (second.type == answer::kind::granted)
            seen.granted(second.token);
        // Nothing may stay, whatever the answers were.
        one->withdraw("door", first_id);
        other->withdraw("door", other->last_id());
    }
    one->state.end();
    other->state.end();
}

// After the fault the same processes, and new ones, can work; nothing is left of the old.
void check(world& in, history& seen) {
    in.disk.fail_at = never;
    {
        // Sessions that could not end are dead after their TTL.
        in.time.pass(state_user::ttl * 2);
        auto third = in.user();
        ASSERT_EQ(third->open(), error_code()) << third->state.explain();
        in.time.pass(state_user::ttl * 2);
        EXPECT_EQ(third->beat(), error_code());
        third->state.reap({});
        const auto got = third->ask("door");
        ASSERT_EQ(got.type, answer::kind::granted) << third->asked().message();
        seen.granted(got.token);
        EXPECT_EQ(third->state.end().code, error_code());
    }
    EXPECT_EQ(in.folder.sql("SELECT count(*) FROM entry"), 0);
    EXPECT_EQ(in.folder.sql("SELECT count(*) FROM session"), 0);
    EXPECT_EQ(
        in.folder.sql("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1
    );
}

void sweep(int result, bool for_good) {
    int at = 1;
    for (;; ++at) {
        SCOPED_TRACE("operation " + std::to_string(at));
        ASSERT_LT(at, 10'000) << "no run is untouched";
        world in;
        history seen;
        in.disk.result = result;
        in.disk.for_good = for_good;
        in.disk.fail_at = at;
        work(in, seen, 5);
        const bool untouched = in.disk.operations < at;
        check(in, seen);
        if (untouched)
            break;
        ASSERT_FALSE(testing::Test::HasFailure());
    }
    EXPECT_GT(at, 50) << "there was hardly anything to fail";
}

TEST(SqliteStorageFault, OneThatFailsOnceLeavesNothingBehind) {
    sweep(SQLITE_IOERR_WRITE, false);
}

TEST(SqliteStorageFault, ADiskThatIsFullUntilItIsNotLeavesNothingBehind) {
    sweep(SQLITE_FULL, true);
}

TEST(SqliteStorageFault, ASyncOrWriteThatFailsForGoodLeavesNothingBehind) {
    sweep(SQLITE_IOERR_FSYNC, true);
}

// The host starts again: of what was not synced a part may be there, or nothing. Tokens grow.
TEST(SqliteStorageFault, APowerFailureTakesNoTokenBack) {
    std::size_t lost_most = 0;
    for (std::size_t kept = 0; kept < 40; ++kept) {
        SCOPED_TRACE(kept);
        world in;
        history seen;
        {
            auto one = in.user();
            auto other = in.user();
            ASSERT_EQ(one->open(), error_code());
            ASSERT_EQ(other->open(), error_code());
            for (int i = 0; i < 8; ++i) {
                const auto got = one->ask("door");
                ASSERT_EQ(got.type, answer::kind::granted);
                seen.granted(got.token);
                ASSERT_EQ(other->ask("door").type, answer::kind::queued);
                ASSERT_TRUE(one->release("door", got.token, one->last_id()));
                other->withdraw("door", other->last_id());
            }
            ASSERT_EQ(one->ask("door").type, answer::kind::granted);
        }
        const std::size_t unsynced = in.disk.unsynced();
        lost_most = std::max(lost_most, unsynced);
        in.disk.lose_unsynced(std::min(kept, unsynced));
        in.boot_again();
        auto next = in.user();
        ASSERT_EQ(next->open(), error_code()) << next->state.explain();
        const auto got = next->ask("door");
        EXPECT_EQ(got.type, answer::kind::granted) << "nobody outlives a power failure";
        seen.granted(got.token);
        EXPECT_EQ(in.folder.sql("SELECT count(*) FROM session"), 1);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
    EXPECT_GT(lost_most, 40u) << "commits of grants are not synced";
}

}  // namespace
}  // namespace mortise::test::storage_fault_test
