// SPDX-License-Identifier: BSL-1.0
// Tokens grow over everything that can happen to processes and to the host, at one forced commit a
// million.
#include "mortise/fencing_token.hpp"
#include "store/sqlite/schema.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace mortise::test::token_test {
namespace {

using store_detail::token_block;

class SqliteToken : public testing::Test {
protected:
    // The base of a new grant by a new user of the store.
    std::uint64_t draw(state_user& user) {
        const std::string name = "lock" + std::to_string(++locks_);
        const auto got = user.ask(name);
        EXPECT_EQ(got.type, answer::kind::granted);
        EXPECT_EQ(got.token.value & 1023, 0u) << "the sequence within a grant begins at nothing";
        return got.token.base();
    }

    void draw_from(int lock) { locks_ = lock; }

    std::int64_t mark() const { return folder.sql("SELECT token_mark FROM meta"); }

    store_folder folder;
    still_clock time;

private:
    int locks_ = 0;
};

TEST_F(SqliteToken, GrowsByOneWhileSomebodyLives) {
    state_user one(folder.config(), time);
    ASSERT_EQ(one.open(), error_code());
    const auto first = draw(one);
    state_user other(folder.config(), time);
    ASSERT_EQ(other.open(), error_code());
    EXPECT_EQ(draw(other), first + 1);
    EXPECT_EQ(draw(one), first + 2);
}

TEST_F(SqliteToken, BeginsABlockWhenNobodyElseLives) {
    std::uint64_t first = 0;
    {
        state_user user(folder.config(), time);
        ASSERT_EQ(user.open(), error_code());
        first = draw(user);
        ASSERT_EQ(user.state.end().code, error_code());
    }
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    EXPECT_EQ(draw(user), first + token_block);
}

TEST_F(SqliteToken, BeginsABlockAfterACrashOfTheHost) {
    std::uint64_t first = 0;
    auto config = folder.config();
    ASSERT_TRUE(in_dying_child([&] {
        state_user user(config, time);
        return !user.open() && draw(user) != 0;
    }));
    first = static_cast<std::uint64_t>(folder.sql("SELECT max(token) FROM entry")) >> 10;
    const auto reserved = mark();
    config.boot_id_override = "another boot";
    state_user user(config, time);
    ASSERT_EQ(user.open(), error_code());
    EXPECT_GT(first, 0u);
    EXPECT_EQ(draw(user), static_cast<std::uint64_t>(reserved)) << "whatever was lost lies below";
    EXPECT_EQ(mark(), reserved + static_cast<std::int64_t>(token_block));
    EXPECT_NE(user.opened.reply.incarnation, random_id());
    EXPECT_EQ(folder.sql("SELECT count(*) FROM session"), 1) << "the old holders are surely dead";
}

TEST_F(SqliteToken, GrowsOverACrashOfItsProcess) {
    ASSERT_TRUE(in_dying_child([&] {
        state_user user(folder.config(), time);
        return !user.open() && draw(user) != 0;
    }));
    const auto first = static_cast<std::uint64_t>(folder.sql("SELECT max(token) FROM entry")) >> 10;
    draw_from(100);  // what the dead process holds is held until its time is over
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    EXPECT_GT(draw(user), first);
}

TEST_F(SqliteToken, TakesOneForcedCommitForAMillion) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    const auto first = draw(user);
    const auto before = mark();
    for (int i = 0; i < 100; ++i)
        draw(user);
    EXPECT_EQ(mark(), before) << "no new block";
    folder.sql("UPDATE meta SET token_next = token_mark - 2");
    EXPECT_EQ(draw(user), static_cast<std::uint64_t>(before) - 2);
    EXPECT_EQ(draw(user), static_cast<std::uint64_t>(before) - 1);
    EXPECT_EQ(mark(), before);
    EXPECT_EQ(draw(user), static_cast<std::uint64_t>(before)) << "not a number is lost or repeated";
    EXPECT_EQ(mark(), before + static_cast<std::int64_t>(token_block));
    EXPECT_GT(static_cast<std::uint64_t>(before), first);
}

TEST_F(SqliteToken, ABatchNeverPassesTheMarkWithoutANewReservation) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    grant held;
    held.name = "a";
    held.token = user.ask("a").token;
    held.id = user.last_id();
    folder.sql("UPDATE meta SET token_next = token_mark - 100");
    const auto before = mark();
    const auto more = user.draw(held);
    ASSERT_EQ(more.code, error_code());
    EXPECT_EQ(more.value.first.base(), static_cast<std::uint64_t>(before) - 100);
    EXPECT_EQ(mark(), before + static_cast<std::int64_t>(token_block));
    EXPECT_LT(folder.sql("SELECT token_next FROM meta"), mark());
    EXPECT_EQ(draw(user), more.value.first.base() + (more.value.count >> 10));
}

TEST_F(SqliteToken, NoneIsDrawnBeyondTheEnd) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    const auto end = std::to_string(fencing_token::base_end);
    folder.sql("UPDATE meta SET token_next = " + end + ", token_mark = " + end + " + 1000");
    const auto refused = user.ask("name");
    EXPECT_NE(refused.type, answer::kind::granted);
}

TEST_F(SqliteToken, NoBatchIsDrawnBeyondTheEnd) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    grant held;
    held.name = "a";
    held.token = user.ask("a").token;
    held.id = user.last_id();
    const auto end = std::to_string(fencing_token::base_end);
    folder.sql("UPDATE meta SET token_next = " + end + " - 100, token_mark = " + end + " + 1000");
    EXPECT_EQ(user.draw(held).code, errc::store_full);
    EXPECT_EQ(user.ask("b").type, answer::kind::granted) << "single ones are left";
}

}  // namespace
}  // namespace mortise::test::token_test
