// SPDX-License-Identifier: BSL-1.0
// Watching for the next change of any lock: the sessions that are told, and the rest after a crash.
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

namespace mortise::test::sqlite_watch_test {
namespace {

using namespace std::chrono_literals;
using store_detail::hint;

class SqliteWatch : public testing::Test {
protected:
    std::unique_ptr<state_user> opened() {
        auto user = std::make_unique<state_user>(folder.config(), time);
        EXPECT_EQ(user->open(), error_code()) << user->state.explain();
        return user;
    }

    static bool armed(const state_user& user) {
        return user.opened.session->slots().armed(user.opened.session->self().slot);
    }

    // The next hint in the inbox that nobody has read.
    static std::optional<hint::kind> next_hint(const state_user& user) {
        std::array<std::byte, store_detail::hint_bytes> datagram;
        const auto got =
            ::recv(user.opened.sockets.inbox.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
        if (got < 0)
            return std::nullopt;
        const auto message = store_detail::decode(datagram);
        EXPECT_TRUE(message && message->session == user.opened.session->key());
        return message ? std::optional(message->type) : std::nullopt;
    }

    // Others who came tell it to look whom to watch: no matter here.
    static std::optional<hint::kind> next_but_ring(const state_user& user) {
        auto next = next_hint(user);
        while (next == hint::kind::neighbours)
            next = next_hint(user);
        return next;
    }

    store_folder folder;
    still_clock time;
};

TEST_F(SqliteWatch, ACommitThatChangesALockTellsAllWhoWatchOnce) {
    auto one = opened();
    auto two = opened();
    auto actor = opened();
    ASSERT_EQ(one->state.watch().code, error_code());
    ASSERT_EQ(two->state.watch().code, error_code());
    ASSERT_EQ(actor->state.watch().code, error_code());
    EXPECT_TRUE(armed(*one));
    const auto held = actor->ask("a");
    for (const auto* each : {one.get(), two.get(), actor.get()}) {
        EXPECT_FALSE(armed(*each));
        EXPECT_EQ(next_but_ring(*each), hint::kind::stirred);
    }
    actor->release("a", held.token);
    EXPECT_EQ(next_but_ring(*one), std::nullopt) << "nobody asked again";
}

TEST_F(SqliteWatch, WhatChangesNoLockTellsNobody) {
    auto watcher = opened();
    auto actor = opened();
    const auto held = actor->ask("a");
    ASSERT_EQ(watcher->state.watch().code, error_code());
    EXPECT_EQ(actor->ask("a", false).type, answer::kind::refused);
    grant mine;
    mine.id = 1;
    mine.name = "a";
    mine.token = held.token;
    EXPECT_EQ(actor->draw(mine).code, error_code());
    EXPECT_EQ(actor->withdraw("a", 4'711).code, error_code());
    auto newcomer = opened();
    EXPECT_TRUE(armed(*watcher));
    EXPECT_TRUE(watcher->state.look_stirred().notices.empty());
    EXPECT_EQ(next_but_ring(*watcher), std::nullopt);
}

// Killed between the commit and the datagram, or in the middle of the commit.
TEST_F(SqliteWatch, AChangeThatNobodyToldIsFoundByLooking) {
    auto watcher = opened();
    ASSERT_EQ(watcher->state.watch().code, error_code());
    EXPECT_TRUE(watcher->state.look_stirred().notices.empty());
    watcher->opened.session->slots().count_change();
    const auto looked = watcher->state.look_stirred();
    ASSERT_EQ(looked.notices.size(), 1u);
    EXPECT_EQ(looked.notices[0].kind, store_event::kind::changed);
}

TEST_F(SqliteWatch, TheEndOfASessionThatHeldNothingIsNoChangeOfALock) {
    auto watcher = opened();
    auto actor = opened();
    ASSERT_EQ(watcher->state.watch().code, error_code());
    ASSERT_EQ(actor->state.end().code, error_code());
    EXPECT_TRUE(armed(*watcher));
    auto holder = opened();
    holder->ask("a");
    ASSERT_EQ(watcher->state.watch().code, error_code());
    ASSERT_EQ(holder->state.end().code, error_code());
    EXPECT_FALSE(armed(*watcher));
}

TEST_F(SqliteWatch, NeedsASession) {
    auto user = opened();
    user->opened.session->kill();
    EXPECT_EQ(user->state.watch().code, errc::session_lost);
    state_user none(folder.config(), time);
    EXPECT_EQ(none.state.watch().code, errc::session_lost);
}

}  // namespace
}  // namespace mortise::test::sqlite_watch_test
