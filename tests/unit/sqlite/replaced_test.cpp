// SPDX-License-Identifier: BSL-1.0
// Somebody removes what a store has open.
#include "sqlite/side_folder.hpp"
#include "support/fault_vfs.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <chrono>
#include <filesystem>

namespace mortise::test::sqlite_replaced_test {
namespace {

using namespace std::chrono_literals;
using sqlite_detail::side_folder;

template <class Call>
error_code code_of(Call call) {
    try {
        call();
    } catch (const error& why) {
        return why.code();
    }
    return {};
}

TEST(SqliteReplaced, WhoFindsTheSideFolderGoneKeepsNobodyElseWaiting) {
    const store_folder folder;
    side_folder one(folder.database());
    side_folder other(folder.database());
    std::filesystem::remove_all(folder.side());
    EXPECT_EQ(code_of([&] { one.lock(); }), errc::store_replaced);
    EXPECT_TRUE(other.lock_within(1s)) << "the lock of a file that is no more was kept";
    other.unlock();
    EXPECT_EQ(code_of([&] { other.lock(); }), errc::store_replaced);
}

TEST(SqliteReplaced, AStoreThatLostItsConnectionAndItsSideFolderBeginsAnew) {
    store_folder folder;
    fault_vfs disk;
    still_clock time;
    auto config = folder.config();
    config.vfs = disk.name();
    state_user user(config, time);
    ASSERT_EQ(user.open(), error_code()) << user.state.explain();
    disk.result = SQLITE_IOERR_WRITE;
    disk.fail_at = disk.operations + 1;
    user.ask("door");
    ASSERT_NE(user.asked(), error_code()) << "it has closed its connection";
    disk.fail_at = 0;
    std::filesystem::remove_all(folder.side());
    time.pass(state_user::ttl * 2);
    ASSERT_EQ(user.open(), error_code()) << user.state.explain();
    EXPECT_EQ(user.ask("door").type, answer::kind::queued) << "somebody may still believe to hold";
    time.pass(state_user::ttl * 3 / 5);
    EXPECT_EQ(user.beat(), error_code());
    time.pass(state_user::ttl * 3 / 5);
    const auto woken = user.state.reap({});
    ASSERT_EQ(woken.notices.size(), 1u);
    EXPECT_EQ(woken.notices[0].kind, store_event::kind::granted);
    EXPECT_EQ(folder.sockets(), 2u);
}

// Whoever looks only from time to time may have the old heartbeats open, in which nobody lives.
class SqliteReplacedFiles : public testing::TestWithParam<bool> {};

TEST_P(SqliteReplacedFiles, AClientWithoutASessionTakesNoLockFromThoseOfTheNewOnes) {
    const bool all = GetParam();
    store_folder folder;
    still_clock time;
    state_user earlier(folder.config(), time);
    ASSERT_EQ(earlier.open(), error_code()) << earlier.state.explain();
    state_user looks(folder.config(), time);
    EXPECT_EQ(looks.state.list("", 10, 10).code, error_code());
    EXPECT_EQ(earlier.state.end().code, error_code());
    std::filesystem::remove_all(all ? folder.side() : folder.side() / "sessions");

    state_user holder(folder.config(), time);
    ASSERT_EQ(holder.open(), error_code()) << holder.state.explain();
    const auto held = holder.ask("door");
    ASSERT_EQ(held.type, answer::kind::granted);
    const auto seen = looks.state.list("", 10, 10);
    EXPECT_EQ(seen.code, error_code());
    ASSERT_EQ(seen.value.size(), 1u) << "the holder is alive";
    fencing_token other = held.token;
    other.value += 1u << fencing_token::sequence_bits;
    EXPECT_FALSE(looks.break_("door", other, "test"));
    state_user next(folder.config(), time);
    ASSERT_EQ(next.open(), error_code()) << next.state.explain();
    EXPECT_EQ(next.ask("door").type, answer::kind::queued);
    EXPECT_TRUE(looks.break_("door", held.token, "test"));
}

INSTANTIATE_TEST_SUITE_P(All, SqliteReplacedFiles, testing::Bool(), [](const auto& of) {
    return of.param ? "OfTheSideFolder" : "OfHeartbeats";
});

// Slots are counted anew in a new file: the same slot, taken as often, is somebody else's.
TEST(SqliteReplaced, ADeathThatWasProvedInTheOldSideFolderKillsNobodyInTheNewOne) {
    store_folder folder;
    still_clock time;
    state_user one(folder.config(), time);
    ASSERT_EQ(one.open(), error_code()) << one.state.explain();
    const auto of_old = one.opened.session->self();
    std::filesystem::remove_all(folder.side());
    time.pass(state_user::ttl * 2);
    state_user next(folder.config(), time);
    ASSERT_EQ(next.open(), error_code()) << next.state.explain();
    const auto self = next.opened.session->self();
    ASSERT_EQ(self.slot, of_old.slot);
    ASSERT_EQ(self.incarnation, of_old.incarnation);
    state_user other(folder.config(), time);
    ASSERT_EQ(other.open(), error_code()) << other.state.explain();
    EXPECT_EQ(other.state.reap({of_old}).code, error_code());
    EXPECT_TRUE(next.opened.session->alive());
    EXPECT_EQ(other.state.reap({self}).code, error_code());
    EXPECT_FALSE(next.opened.session->alive());
}

}  // namespace
}  // namespace mortise::test::sqlite_replaced_test
