// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_UNIQUE_ROW_SUITE_HPP
#define MORTISE_TESTS_UNIT_SQL_UNIQUE_ROW_SUITE_HPP

#include "mortise/db/unique_row.hpp"
#include "unit/sql/sql_scene.hpp"

// A lock that is a row: at a server and in SQLite.
namespace mortise::test {

template <class Scene>
class UniqueRow : public SqlScene<Scene> {
public:
    using token = std::optional<std::int64_t>;

protected:
    UniqueRow() { this->run(db::make_unique_row_table(this->session)); }

    static db::unique_row row(std::string name, std::string owner) {
        return {std::move(name), std::move(owner)};
    }
    token
    take(const db::unique_row& wanted, std::chrono::milliseconds ttl = std::chrono::hours(1)) {
        return this->run(db::take_unique_row(this->session, wanted, ttl));
    }
    bool release(const db::unique_row& held, std::int64_t of) {
        return this->run(db::release_unique_row(this->session, held, of));
    }

    // Takes the lock and gives it back, so many times.
    asio::awaitable<void> use_often(std::string owner, int times) {
        while (times > 0) {
            db::unique_row wanted("lock", owner);
            const token got =
                co_await db::take_unique_row(this->session, wanted, std::chrono::hours(1));
            if (!got) {
                ++refusals;
                continue;
            }
            EXPECT_EQ(++inside, 1);
            EXPECT_GT(*got, newest);
            newest = *got;
            co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
            --inside;
            --times;
            EXPECT_TRUE(co_await db::release_unique_row(this->session, wanted, *got));
        }
    }

    int inside = 0;
    int refusals = 0;
    std::int64_t newest = 0;
};

TYPED_TEST_SUITE_P(UniqueRow);

TYPED_TEST_P(UniqueRow, ManyFightForItAndOneHasItAtATime) {
    std::vector<typename TestFixture::outcome> users;
    for (int i = 0; i < 6; ++i)
        users.push_back(this->start(this->use_often("user " + std::to_string(i), 5)));
    this->run_until_all_ended(users);
    EXPECT_GT(this->refusals, 0) << "they never met";
    EXPECT_EQ(this->number("SELECT count(*) FROM mortise_unique_row"), 1);
}

TYPED_TEST_P(UniqueRow, IsBusyUntilItIsReleasedForItsOwnerToo) {
    const auto first = this->row("lock", "one");
    const auto got = this->take(first);
    ASSERT_TRUE(got);
    EXPECT_FALSE(this->take(this->row("lock", "two")));
    EXPECT_FALSE(this->take(first));
    EXPECT_TRUE(this->take(this->row("another", "two")));
    EXPECT_TRUE(this->release(first, *got));
    EXPECT_FALSE(this->release(first, *got)) << "once";
    const auto next = this->take(this->row("lock", "two"));
    ASSERT_TRUE(next);
    EXPECT_GT(*next, *got);
}

TYPED_TEST_P(UniqueRow, NobodyElseReleasesOrRenewsIt) {
    const auto held = this->row("lock", "one");
    const auto got = this->take(held);
    ASSERT_TRUE(got);
    EXPECT_FALSE(this->release(this->row("lock", "two"), *got));
    EXPECT_FALSE(this->release(held, *got - 1)) << "of an earlier attempt";
    const auto other = this->row("lock", "two");
    const std::chrono::hours hour(1);
    EXPECT_FALSE(this->run(db::renew_unique_row(this->session, other, *got, hour)));
    EXPECT_FALSE(this->take(other));
    EXPECT_TRUE(this->release(held, *got));
}

TYPED_TEST_P(UniqueRow, ExpiresByTheClockOfTheDatabase) {
    using namespace std::chrono_literals;
    const auto first = this->row("lock", "one");
    const auto second = this->row("lock", "two");
    const auto got = this->take(first, 20ms);
    ASSERT_TRUE(got);
    typename TestFixture::token next;
    this->run_until([&] { return next || (next = this->take(second, 1h)).has_value(); });
    EXPECT_GT(*next, *got);
    EXPECT_FALSE(this->run(db::renew_unique_row(this->session, first, *got, 1h)));
    EXPECT_FALSE(this->release(first, *got)) << "somebody else has it: works overlapped";
    EXPECT_FALSE(this->take(first)) << "the late release took nothing away";
}

TYPED_TEST_P(UniqueRow, ARenewalPutsTheEndOff) {
    using namespace std::chrono_literals;
    const auto held = this->row("lock", "one");
    const auto got = this->take(held, 1h);
    ASSERT_TRUE(got);
    const std::string query = "SELECT expires FROM mortise_unique_row";
    const auto before = this->number(query);
    EXPECT_NEAR(static_cast<double>(before - *got), 3.6e9, 1e6);
    EXPECT_TRUE(this->run(db::renew_unique_row(this->session, held, *got, 2h)));
    EXPECT_NEAR(static_cast<double>(this->number(query) - before), 3.6e9, 6e7);
    EXPECT_TRUE(this->run(db::renew_unique_row(this->session, held, *got, 1ms))) << "not shortened";
    EXPECT_GT(this->number(query) - before, 3'000'000'000);
    EXPECT_TRUE(this->release(held, *got));
    EXPECT_FALSE(this->run(db::renew_unique_row(this->session, held, *got, 1h))) << "released";
}

TYPED_TEST_P(UniqueRow, NamesAndOwnersAreBytes) {
    for (const std::string& name :
         {std::string("a"),
          std::string("A"),
          std::string("a "),
          std::string("a\0", 2),
          std::string("\xff'"),
          std::string(1024, 'x')}) {
        const auto got = this->take(this->row(name, "me"));
        EXPECT_TRUE(got) << name;
        EXPECT_FALSE(this->take(this->row(name, "you"))) << name;
        EXPECT_FALSE(this->release(this->row(name, "ME"), got.value_or(0))) << name;
    }
    for (const auto& wrong :
         {this->row("", "me"),
          this->row(std::string(1025, 'x'), "me"),
          this->row("a", ""),
          this->row("a", std::string(256, 'x'))}) {
        const std::chrono::hours hour(1);
        EXPECT_EQ(
            this->code_of(db::take_unique_row(this->session, wrong, hour)), errc::value_refused
        );
    }
    using namespace std::chrono_literals;
    EXPECT_EQ(
        this->code_of(db::take_unique_row(this->session, this->row("a", "b"), -1ms)),
        errc::duration_negative
    );
}

TYPED_TEST_P(UniqueRow, TokensGrowAlthoughRowsAreRemoved) {
    const auto held = this->row("lock", "one");
    const auto got = this->take(held);
    ASSERT_TRUE(got);
    EXPECT_TRUE(this->release(held, *got));
    this->sql("DELETE FROM mortise_unique_row WHERE expires = 0");
    const auto next = this->take(held);
    ASSERT_TRUE(next);
    EXPECT_GT(*next, *got);
    // As after a clock that was set back: the row knows better.
    this->sql("UPDATE mortise_unique_row SET expires = 0, token = 8000000000000000000");
    EXPECT_EQ(this->take(held), 8'000'000'000'000'000'001);
}

REGISTER_TYPED_TEST_SUITE_P(
    UniqueRow,
    ManyFightForItAndOneHasItAtATime,
    IsBusyUntilItIsReleasedForItsOwnerToo,
    NobodyElseReleasesOrRenewsIt,
    ExpiresByTheClockOfTheDatabase,
    ARenewalPutsTheEndOff,
    NamesAndOwnersAreBytes,
    TokensGrowAlthoughRowsAreRemoved
);

}  // namespace mortise::test

#endif
