// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_FENCE_FLOOR_SUITE_HPP
#define MORTISE_TESTS_UNIT_SQL_FENCE_FLOOR_SUITE_HPP

#include "unit/sql/fence_suite.hpp"

// Fences at a server that are forgotten, and the floor under them.
namespace mortise::test {

template <class Scene>
class SqlFenceFloor : public SqlFence<Scene> {
protected:
    asio::awaitable<void>
    forgetting(std::string domain, std::size_t keep, std::size_t limit, std::size_t& forgotten) {
        auto work = [&](auto& on) -> asio::awaitable<void> {
            const auto of = token_domain::parse(domain).value_or(token_domain());
            forgotten = co_await sql_fence::forget(on, of, keep, limit);
        };
        co_await this->transaction(this->session, work);
    }
    std::size_t forget(std::size_t keep, std::size_t limit) {
        std::size_t forgotten = 0;
        this->run(forgetting("locks", keep, limit, forgotten));
        return forgotten;
    }
    error_code code_of_forget(const std::string& domain) {
        std::size_t forgotten = 0;
        return this->code_of(forgetting(domain, 0, 9, forgotten));
    }
};

TYPED_TEST_SUITE_P(SqlFenceFloor);

TYPED_TEST_P(SqlFenceFloor, ForgetsTheLowestAndRefusesBelowThemAllTheSame) {
    for (std::uint64_t i = 1; i <= 10; ++i)
        EXPECT_EQ(this->raise("name " + std::to_string(i), this->token(i * 10)), error_code());
    EXPECT_EQ(this->forget(10, 100), 0u);
    EXPECT_EQ(this->forget(4, 5), 5u);
    EXPECT_EQ(this->forget(4, 5), 1u);
    EXPECT_EQ(this->forget(4, 5), 0u);
    EXPECT_EQ(this->number("SELECT count(*) FROM mortise_fence"), 4);
    for (std::uint64_t i = 1; i <= 10; ++i) {
        const auto name = "name " + std::to_string(i);
        EXPECT_EQ(this->raise(name, this->token(i * 10 - 1)), errc::stale_token) << name;
    }
    EXPECT_EQ(this->raise("name 1", this->token(59)), errc::stale_token)
        << "though its own fence was lower: that is not known any more";
    EXPECT_EQ(this->raise("name 6", this->token(60)), error_code()) << "the holder has it still";
    EXPECT_EQ(this->raise("name 1", this->token(61)), error_code());
    EXPECT_EQ(this->raise("new", this->token(59)), errc::stale_token);
    EXPECT_EQ(this->raise("name 7", this->token(70)), error_code()) << "that was kept";
}

TYPED_TEST_P(SqlFenceFloor, TheFloorNeverSinksAndDoesNotBindFencesThatAreKept) {
    EXPECT_EQ(this->raise("a", this->token(50)), error_code());
    EXPECT_EQ(this->forget(0, 1), 1u);
    EXPECT_EQ(this->raise("b", this->token(50)), error_code());
    EXPECT_EQ(this->raise("c", this->token(70)), error_code());
    EXPECT_EQ(this->forget(1, 1), 1u);
    EXPECT_EQ(this->number("SELECT token FROM mortise_fence_floor"), 50);
    // As a fence that was raised low before the floor rose: it takes its own tokens.
    this->sql("UPDATE mortise_fence SET token = 20");
    EXPECT_EQ(this->raise("c", this->token(30)), error_code());
    EXPECT_EQ(this->raise("c", this->token(30)), error_code());
    EXPECT_EQ(this->raise("c", this->token(29)), errc::stale_token);
    EXPECT_EQ(this->raise("a", this->token(49)), errc::stale_token);
}

TYPED_TEST_P(SqlFenceFloor, ForgottenNamesTakeTokensOfTheirDomainOnly) {
    EXPECT_EQ(this->raise("a", this->token(5)), error_code());
    EXPECT_EQ(this->forget(0, 9), 1u);
    EXPECT_EQ(this->raise("a", this->token(9, "other")), errc::foreign_domain);
    EXPECT_EQ(this->raise("b", this->token(9, "other")), errc::foreign_domain);
    EXPECT_EQ(this->code_of_forget("other"), errc::foreign_domain);
    EXPECT_EQ(this->raise("b", this->token(9)), error_code());
}

TYPED_TEST_P(SqlFenceFloor, ForgetsNothingWhereTwoDomainsAre) {
    EXPECT_EQ(this->raise("a", this->token(5)), error_code());
    EXPECT_EQ(this->raise("b", this->token(5, "other")), error_code());
    for (const char* domain : {"locks", "other", "third"})
        EXPECT_EQ(this->code_of_forget(domain), errc::foreign_domain) << domain;
    EXPECT_EQ(this->code_of_forget(""), errc::no_token);
    EXPECT_EQ(this->number("SELECT count(*) FROM mortise_fence"), 2);
    EXPECT_EQ(this->number("SELECT token FROM mortise_fence_floor"), 0);
}

// A raise that began before the fence was forgotten sees the floor all the same.
TYPED_TEST_P(SqlFenceFloor, NoTokenPassesWhileItsFenceIsBeingForgotten) {
    for (const auto level : {db::isolation::read_committed, db::isolation::repeatable_read}) {
        this->sql("DELETE FROM mortise_fence");
        EXPECT_EQ(this->raise("s", this->token(10)), error_code());
        const auto forget = [&](auto& on) -> asio::awaitable<void> {
            EXPECT_EQ(co_await sql_fence::forget(on, this->token(1).domain, 0, 9), 1u);
        };
        pausing_transaction<SqlScene<TypeParam>, decltype(forget)> forgetting(*this, forget);
        auto how = this->repeated;
        how.level = level;
        const auto late = this->start(this->raising("s", this->token(9), how));
        const auto holder = this->start(this->raising("s", this->token(10), how));
        this->run_until([&] { return this->scene.waiting() > 1; });
        EXPECT_FALSE(late->ended || holder->ended);
        forgetting.go_on(*this);
        EXPECT_FALSE(forgetting.end->failure) << forgetting.end->text();
        this->run_until([&] { return late->ended && holder->ended; });
        EXPECT_EQ(late->code(), errc::stale_token) << late->text();
        EXPECT_FALSE(holder->failure) << holder->text();
        this->sql("UPDATE mortise_fence_floor SET token = 0, domain = ''");
    }
}

REGISTER_TYPED_TEST_SUITE_P(
    SqlFenceFloor,
    ForgetsTheLowestAndRefusesBelowThemAllTheSame,
    TheFloorNeverSinksAndDoesNotBindFencesThatAreKept,
    ForgottenNamesTakeTokensOfTheirDomainOnly,
    ForgetsNothingWhereTwoDomainsAre,
    NoTokenPassesWhileItsFenceIsBeingForgotten
);

}  // namespace mortise::test

#endif
