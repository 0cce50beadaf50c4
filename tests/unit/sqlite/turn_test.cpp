// SPDX-License-Identifier: BSL-1.0
// What one turn of the strand asks for is one transaction: all of it, or nothing.
#include "store/sqlite/lock_operations.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"
#include "unit/sqlite/store_user.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test::turn_test {
namespace {

using store_detail::lock_operation;
using store_detail::release_operation;
using store_detail::request_operation;
using store_detail::withdraw_operation;

lock_request wish_for(request_id id, const std::string& name) {
    lock_request wish;
    wish.id = id;
    wish.name = name;
    return wish;
}

grant held(request_id id, const std::string& name, const fencing_token& token) {
    grant result;
    result.id = id;
    result.name = name;
    result.token = token;
    return result;
}

// In the log that the file has now: https://www.sqlite.org/fileformat2.html#walformat
std::size_t commits(const store_folder& folder) {
    std::ifstream file(folder.database().string() + "-wal", std::ios::binary);
    const std::string log{std::istreambuf_iterator<char>(file), {}};
    constexpr std::size_t head = 32;
    constexpr std::size_t frame = 24 + 1024;
    std::size_t count = 0;
    for (std::size_t at = head; at + frame <= log.size(); at += frame) {
        const bool present = log.compare(at + 8, 8, log, 16, 8) == 0;  // of this log, by its salts
        if (present && log.compare(at + 4, 4, std::string(4, '\0')) != 0)
            ++count;
    }
    return count;
}

class SqliteTurn : public testing::Test {
protected:
    /// Runs all of them to their end, begun in one turn.
    template <class... Tasks>
    void run(Tasks... tasks) {
        std::size_t left = sizeof...(tasks);
        const auto ended = [&left](std::exception_ptr failed) {
            EXPECT_FALSE(failed);
            --left;
        };
        (asio::co_spawn(world.context, std::move(tasks), ended), ...);
        ASSERT_TRUE(world.until([&] { return left == 0; }));
    }

    asio::awaitable<void> request(store_user& user, request_id id, std::string name) {
        auto reply = co_await user.port().request(wish_for(id, name));
        replies.push_back(name + (reply ? "" : " " + reply.error().message()));
    }

    asio::awaitable<void> release(store_user& user, grant holding) {
        auto reply = co_await user.port().release(holding);
        EXPECT_TRUE(reply && *reply);
    }

    asio::awaitable<void> look(store_user& user, std::size_t entries) {
        auto reply = co_await user.port().look(0);
        EXPECT_EQ(reply ? reply->entries.size() : 99, entries);
    }

    store_folder folder;
    real_world world;
    std::vector<std::string> replies;
};

TEST_F(SqliteTurn, IsOneTransaction) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    ASSERT_EQ(user.ask("a").type, answer::kind::granted);
    const auto before = commits(folder);
    run(request(user, 2, "b"), release(user, held(1, "a", user.token())), request(user, 3, "a"));
    EXPECT_EQ(commits(folder), before + 1);
    EXPECT_EQ(replies, (std::vector<std::string>{"b", "a"})) << "in their order";
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry WHERE queued = 0"), 2);
    EXPECT_EQ(user.take_notices(), "") << "their answers say what they got";
}

TEST_F(SqliteTurn, IsSplitIfItWouldHoldUpOthers) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    const auto before = commits(folder);
    std::size_t left = 130;
    for (request_id id = 1; id <= 130; ++id) {
        auto one = request(user, id, std::to_string(id));
        asio::co_spawn(world.context, std::move(one), [&](std::exception_ptr) { --left; });
    }
    ASSERT_TRUE(world.until([&] { return left == 0; }));
    EXPECT_EQ(commits(folder), before + 3);
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry WHERE queued = 0"), 130);
}

TEST_F(SqliteTurn, NothingOvertakes) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    run(look(user, 0),
        request(user, 1, "a"),
        look(user, 1),
        request(user, 2, "b"),
        request(user, 3, "c"),
        look(user, 3));
}

TEST_F(SqliteTurn, TellsOfTheGrantsThatNoAnswerSays) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    ASSERT_EQ(user.ask("a").type, answer::kind::granted);
    const auto first = user.token();
    ASSERT_EQ(user.ask("a").type, answer::kind::queued);
    run(release(user, held(1, "a", first)), request(user, 3, "b"));
    EXPECT_TRUE(user.hears("granted 2"));
    EXPECT_EQ(user.take_notices(), "");
}

TEST_F(SqliteTurn, IsAbortedWithItsStore) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    const auto leave = [](store_user& from) -> asio::awaitable<void> {
        from.port().detach();
        co_return;
    };
    run(request(user, 1, "a"), request(user, 2, "b"), leave(user));
    const std::string why = error_code(asio::error::operation_aborted).message();
    EXPECT_EQ(replies, (std::vector<std::string>{"a " + why, "b " + why}));
}

// Nothing leaks, whatever the state of the turn at that moment.
TEST(SqliteTurnEnd, AContextThatEndsTakesTheTurnWithIt) {
    for (int steps = 0; steps < 12; ++steps) {
        const store_folder folder;
        auto frame = std::make_shared<int>(0);
        const std::weak_ptr<int> watched = frame;
        {
            real_world world;
            auto user = std::make_shared<store_user>(world, folder.config());
            ASSERT_EQ(user->open(), error_code());
            for (request_id id = 1; id <= 2; ++id) {
                const auto ask = [](std::shared_ptr<store_user> owner,
                                    std::shared_ptr<int> alive,
                                    request_id wish) -> asio::awaitable<void> {
                    co_await owner->port().request(wish_for(wish, "a"));
                    *alive += 1;
                };
                asio::co_spawn(world.context, ask(user, frame, id), asio::detached);
            }
            frame.reset();
            user.reset();  // Only those who wait for it own the store.
            world.context.restart();
            for (int i = 0; i < steps; ++i)
                world.context.poll_one();
        }
        EXPECT_TRUE(watched.expired()) << steps;
    }
}

class SqliteBatch : public testing::Test {
protected:
    SqliteBatch() { EXPECT_EQ(user.open(), error_code()) << user.state.explain(); }

    template <class... Operations>
    void perform(Operations&... operations) {
        const std::vector<lock_operation*> all{&operations...};
        user.state.perform(all);
        notices = all.back()->notices();
    }

    store_folder folder;
    still_clock time;
    state_user user{folder.config(), time};
    std::vector<store_detail::notice> notices;
};

TEST_F(SqliteBatch, EachHasAnOutcomeOfItsOwn) {
    request_operation first(wish_for(1, "a"));
    auto impossible = wish_for(2, "a");
    impossible.mode = lock_mode::permits(0);
    request_operation second(impossible);
    withdraw_operation third("a", 7);
    request_operation fourth(wish_for(3, "a"));
    perform(first, second, third, fourth);
    EXPECT_EQ(first.out.value.type, answer::kind::granted);
    EXPECT_EQ(first.out.value.token.domain, user.opened.reply.domain);
    EXPECT_EQ(second.out.code, errc::bad_mode);
    EXPECT_EQ(third.out.code, error_code());
    EXPECT_EQ(fourth.out.value.type, answer::kind::queued);
    EXPECT_TRUE(notices.empty());
}

TEST_F(SqliteBatch, AGrantThatWasWithdrawnIsNotedNowhere) {
    request_operation first(wish_for(1, "a"));
    withdraw_operation second("a", 1);
    perform(first, second);
    EXPECT_EQ(first.out.value.type, answer::kind::granted) << "so it was, for a moment";
    EXPECT_FALSE(user.state.session()->find_grant(1));
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry"), 0);
    const auto slot = user.state.session()->view();
    EXPECT_EQ(slot.grants + slot.requests, 0u);
}

TEST_F(SqliteBatch, IsDoneAsAWholeOrNotAtAll) {
    sqlite3* foreign = nullptr;
    ASSERT_EQ(::sqlite3_open(folder.database().c_str(), &foreign), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(foreign, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    request_operation first(wish_for(1, "a"));
    request_operation second(wish_for(2, "b"));
    perform(first, second);
    EXPECT_EQ(first.out.code, errc::database_busy);
    EXPECT_EQ(second.out.code, errc::database_busy);
    EXPECT_FALSE(first.out.value.token);
    ::sqlite3_close(foreign);
    perform(first, second);
    EXPECT_EQ(first.out.code, error_code()) << "done again, nothing is left of the failure";
    EXPECT_EQ(second.out.value.type, answer::kind::granted);
    EXPECT_LT(first.out.value.token.value, second.out.value.token.value);
}

TEST_F(SqliteBatch, IsDoneAgainWhenTheReservedTokensAreUsedUp) {
    folder.sql("UPDATE meta SET token_next = token_mark - 1");
    request_operation first(wish_for(1, "a"));
    request_operation second(wish_for(2, "b"));
    perform(first, second);
    EXPECT_EQ(first.out.value.type, answer::kind::granted);
    EXPECT_EQ(second.out.value.type, answer::kind::granted);
    EXPECT_LT(first.out.value.token.value, second.out.value.token.value);
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry"), 2);
}

TEST_F(SqliteBatch, OfASessionThatIsOverDoesNothing) {
    state_user other(folder.config(), time);
    time.pass(state_user::ttl);
    ASSERT_EQ(other.open(), error_code());  // takes over
    request_operation first(wish_for(1, "a"));
    release_operation second(held(1, "a", {}));
    perform(first, second);
    EXPECT_EQ(first.out.code, errc::session_lost);
    EXPECT_EQ(second.out.code, errc::session_lost);
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry"), 0);
}

}  // namespace
}  // namespace mortise::test::turn_test
