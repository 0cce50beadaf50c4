// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_FENCE_SUITE_HPP
#define MORTISE_TESTS_UNIT_SQL_FENCE_SUITE_HPP

#include "mortise/fence/sql.hpp"
#include "unit/sql/sql_scene.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>

// The fence in a database at a server: tokens that pass, and late writers that do not.
namespace mortise::test {

template <class Scene>
class SqlFence : public SqlScene<Scene> {
public:
    using outcome = typename SqlScene<Scene>::outcome;
    static constexpr db::transaction_options repeated{.attempts_max = 100};

protected:
    SqlFence() {
        this->run(sql_fence::make_tables(this->session));
        this->run(sql_fence::make_tables(this->session));
        this->sql("CREATE TABLE stock(id BIGINT PRIMARY KEY, amount BIGINT NOT NULL)");
        this->sql("INSERT INTO stock VALUES (1, 10)");
    }

    static fencing_token token(std::uint64_t value, std::string_view domain = "locks") {
        return {value, *token_domain::parse(domain)};
    }
    asio::awaitable<void>
    raising(std::string resource, fencing_token held, db::transaction_options how = {}) {
        auto work = [&](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::raise(on, resource, held);
        };
        co_await this->transaction(this->session, work, how);
    }
    error_code raise(const std::string& resource, const fencing_token& held) {
        return this->code_of(raising(resource, held));
    }
    asio::awaitable<void> writing(fencing_token held, std::int64_t amount) {
        auto work = [&](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::admit(on, "s", held);
            co_await ask(on, "UPDATE stock SET amount = " + std::to_string(amount));
        };
        co_await this->transaction(this->session, work);
    }
    error_code write(const fencing_token& held, std::int64_t amount) {
        return this->code_of(writing(held, amount));
    }
    std::int64_t fence() { return this->number("SELECT max(token) FROM mortise_fence"); }
    std::int64_t amount() { return this->number("SELECT amount FROM stock"); }

    // Two holders, of which the older does not know that it is late. @return what the newer one
    // read after its raise.
    asio::awaitable<void> race_late(std::uint64_t value, db::transaction_options how, bool& wrote) {
        auto work = [&, value](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::admit(on, "s", token(value));
            const auto found = co_await ask(on, "SELECT amount FROM stock WHERE id = 1");
            co_await ask(
                on,
                "UPDATE stock SET amount = " + std::to_string(found.first().integer("amount") + 1) +
                    " WHERE id = 1"
            );
        };
        try {
            co_await this->transaction(this->session, work, how);
            wrote = true;
        } catch (const error& refused) {
            EXPECT_EQ(refused.code(), errc::stale_token) << refused.what();
        }
    }
    asio::awaitable<void>
    race_newer(std::uint64_t value, db::transaction_options how, std::int64_t& seen) {
        auto work = [&, value](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::raise(on, "s", token(value));
            const auto found = co_await ask(on, "SELECT amount FROM stock WHERE id = 1");
            seen = found.first().integer("amount");
        };
        co_await this->transaction(this->session, work, how);
    }
};

TYPED_TEST_SUITE_P(SqlFence);

// Two writers read 10 and each sells one. The first was paused between its read and its write.
TYPED_TEST_P(SqlFence, WithoutARaiseALateWriteBetweenReadAndWriteIsLost) {
    const auto late_read = this->amount();
    const auto next_read = this->amount();  // the lock has passed on: token 2
    EXPECT_EQ(this->write(this->token(1), late_read - 1), error_code()) << "nobody raised it";
    EXPECT_EQ(this->write(this->token(2), next_read - 1), error_code());
    EXPECT_EQ(this->amount(), 9) << "two were sold, one was counted";
}

TYPED_TEST_P(SqlFence, WithARaiseBeforeTheReadTheLateWriteIsRefused) {
    EXPECT_EQ(this->raise("s", this->token(1)), error_code());
    const auto late_read = this->amount();
    EXPECT_EQ(this->raise("s", this->token(2)), error_code());
    const auto next_read = this->amount();
    EXPECT_EQ(this->write(this->token(1), late_read - 1), errc::stale_token);
    EXPECT_EQ(this->write(this->token(2), next_read - 1), error_code());
    EXPECT_EQ(this->amount(), 9) << "one was sold, one was counted";
    EXPECT_EQ(this->fence(), 2);
}

TYPED_TEST_P(SqlFence, LetsTheSameTokenInAgainAndAgain) {
    EXPECT_EQ(this->raise("s", this->token(5)), error_code());
    EXPECT_EQ(this->raise("s", this->token(5)), error_code());
    EXPECT_EQ(this->write(this->token(5), 1), error_code());
    EXPECT_EQ(this->write(this->token(5), 2), error_code());
    EXPECT_EQ(this->raise("s", this->token(4)), errc::stale_token);
    EXPECT_EQ(this->fence(), 5);
}

TYPED_TEST_P(SqlFence, RefusesForeignDomainsAndEmptyTokens) {
    EXPECT_EQ(this->raise("s", this->token(5)), error_code());
    EXPECT_EQ(this->raise("s", this->token(6, "other")), errc::foreign_domain);
    EXPECT_EQ(this->raise("s", this->token(4, "other")), errc::foreign_domain);
    EXPECT_EQ(this->write(this->token(6, "Locks"), 0), errc::foreign_domain) << "case-sensitive";
    EXPECT_EQ(this->raise("t", this->token(1, "other")), error_code()) << "of another resource";
    EXPECT_EQ(this->raise("s", fencing_token()), errc::no_token);
    EXPECT_EQ(this->raise("s", this->token(std::uint64_t{1} << 63)), errc::no_token);
    fencing_token homeless;
    homeless.value = 9;
    EXPECT_EQ(this->raise("s", homeless), errc::no_token);
    EXPECT_EQ(this->fence(), 5);
    EXPECT_EQ(this->amount(), 10);
}

TYPED_TEST_P(SqlFence, NamesAreBytes) {
    for (const std::string& name :
         {std::string("s"),
          std::string("S"),
          std::string("s "),
          std::string("s\0", 2),
          std::string(),
          std::string("\xff\"'"),
          std::string(1024, 'x')}) {
        EXPECT_EQ(this->raise(name, this->token(2)), error_code()) << name;
        EXPECT_EQ(this->raise(name, this->token(1)), errc::stale_token) << name;
    }
    EXPECT_EQ(this->number("SELECT count(*) FROM mortise_fence"), 7);
    EXPECT_EQ(this->raise(std::string(1025, 'x'), this->token(2)), errc::name_too_long);
}

TYPED_TEST_P(SqlFence, ARollbackRestoresTheFence) {
    for (const bool is_known : {false, true}) {
        const std::string resource = is_known ? "known" : "new";
        if (is_known) {
            EXPECT_EQ(this->raise(resource, this->token(5)), error_code());
        }
        const auto raise = [&](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::raise(on, resource, this->token(9));
        };
        pausing_transaction<SqlScene<TypeParam>, decltype(raise)> other(*this, raise);
        const auto waiter = this->start(this->raising(resource, this->token(6), this->repeated));
        this->run_until([&] { return this->scene.waiting() > 0 || waiter->ended; });
        EXPECT_FALSE(waiter->ended) << "it cannot know yet: " << waiter->text();
        other.undo = true;
        other.go_on(*this);
        this->run_until_all_ended({waiter});
        EXPECT_EQ(this->raise(resource, this->token(5)), errc::stale_token);
    }
    EXPECT_EQ(this->fence(), 6);
}

TYPED_TEST_P(SqlFence, AWaiterIsRefusedIfAHigherTokenIsCommitted) {
    for (const bool is_known : {false, true}) {
        const std::string resource = is_known ? "known" : "new";
        if (is_known) {
            EXPECT_EQ(this->raise(resource, this->token(5)), error_code());
        }
        const auto raise = [&](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::raise(on, resource, this->token(9));
        };
        pausing_transaction<SqlScene<TypeParam>, decltype(raise)> other(*this, raise);
        const auto late = this->start(this->raising(resource, this->token(6)));
        this->run_until([&] { return this->scene.waiting() > 0 || late->ended; });
        other.go_on(*this);
        EXPECT_FALSE(other.end->failure) << other.end->text();
        this->run_until([&] { return late->ended; });
        EXPECT_EQ(late->code(), errc::stale_token) << late->text();
    }
}

TYPED_TEST_P(SqlFence, OfManyThatRaiseANewFenceTheHighestStands) {
    for (int round = 0; round < 4; ++round) {
        const std::string resource = "resource " + std::to_string(round);
        std::vector<typename TestFixture::outcome> raises;
        for (const std::uint64_t value : {3u, 7u, 1u, 8u, 2u, 6u, 4u, 5u})
            raises.push_back(this->start(this->raising(resource, this->token(value), this->repeated)
            ));
        for (const auto& each : raises) {
            this->run_until([&] { return each->ended; });
            EXPECT_TRUE(!each->failure || each->code() == errc::stale_token) << each->text();
        }
        EXPECT_FALSE(raises[3]->failure) << "the highest: " << raises[3]->text();
        EXPECT_EQ(this->fence(), 8);
        EXPECT_EQ(this->raise(resource, this->token(7)), errc::stale_token);
    }
}

// The older holder has the fence and has written; its commit is on its way when the newer raises.
TYPED_TEST_P(SqlFence, WhoeverRaisesBeforeTheFirstReadSeesTheLastWrite) {
    for (const auto level :
         {db::isolation::read_committed,
          db::isolation::repeatable_read,
          db::isolation::serializable}) {
        this->sql("DELETE FROM mortise_fence");
        this->sql("UPDATE stock SET amount = 10");
        const auto write = [&](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::admit(on, "s", this->token(1));
            co_await ask(on, "UPDATE stock SET amount = 9 WHERE id = 1");
        };
        EXPECT_EQ(this->raise("s", this->token(1)), error_code());
        pausing_transaction<SqlScene<TypeParam>, decltype(write)> older(*this, write);
        std::int64_t seen = 0;
        auto how = this->repeated;
        how.level = level;
        const auto newer = this->start(this->race_newer(2, how, seen));
        this->run_until([&] { return this->scene.waiting() > 0; });
        older.go_on(*this);
        EXPECT_FALSE(older.end->failure) << older.end->text();
        this->run_until_all_ended({newer});
        EXPECT_EQ(seen, 9);
        EXPECT_EQ(this->write(this->token(1), 8), errc::stale_token);
    }
}

// Once the newer holder has read, the older never writes, whichever of the two is faster.
TYPED_TEST_P(SqlFence, TheOlderHolderNeverWritesAfterTheNewerHasRead) {
    std::ptrdiff_t written = 0;
    constexpr int rounds = 60;
    EXPECT_EQ(this->raise("s", this->token(1)), error_code());
    for (int round = 0; round < rounds; ++round) {
        const auto older = static_cast<std::uint64_t>(2 * round + 1);
        auto how = this->repeated;
        how.level = round % 3 == 0   ? db::isolation::read_committed
                    : round % 3 == 1 ? db::isolation::repeatable_read
                                     : db::isolation::serializable;
        bool wrote[3] = {};
        std::int64_t seen = 0;
        std::vector<typename TestFixture::outcome> all;
        for (int i = 0; i < 4; ++i) {
            if (i == round % 4)
                all.push_back(this->start(this->race_newer(older + 1, how, seen)));
            if (i < 3)
                all.push_back(this->start(this->race_late(older, how, wrote[i])));
        }
        this->run_until_all_ended(all);
        EXPECT_EQ(this->amount(), seen) << "round " << round << ": a write after the read";
        written += std::count(std::begin(wrote), std::end(wrote), true);
        EXPECT_EQ(this->amount(), 10 + written) << "an update was lost";
    }
    EXPECT_GT(written, 0) << "the older was always too late";
    EXPECT_LT(written, 3 * rounds) << "the older was never too late";
}

TYPED_TEST_P(SqlFence, SaysThatTablesAreMissing) {
    this->sql("DELETE FROM mortise_fence_floor");
    EXPECT_EQ(this->raise("s", this->token(1)), errc::bad_config);
    this->sql("DROP TABLE mortise_fence");
    EXPECT_TRUE(this->raise("s", this->token(1))) << "the server says which";
}

REGISTER_TYPED_TEST_SUITE_P(
    SqlFence,
    WithoutARaiseALateWriteBetweenReadAndWriteIsLost,
    WithARaiseBeforeTheReadTheLateWriteIsRefused,
    LetsTheSameTokenInAgainAndAgain,
    RefusesForeignDomainsAndEmptyTokens,
    NamesAreBytes,
    ARollbackRestoresTheFence,
    AWaiterIsRefusedIfAHigherTokenIsCommitted,
    OfManyThatRaiseANewFenceTheHighestStands,
    WhoeverRaisesBeforeTheFirstReadSeesTheLastWrite,
    TheOlderHolderNeverWritesAfterTheNewerHasRead,
    SaysThatTablesAreMissing
);

}  // namespace mortise::test

#endif
