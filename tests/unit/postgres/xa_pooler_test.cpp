// SPDX-License-Identifier: BSL-1.0
// Branches behind a pooler in transaction mode. Left out where PgBouncer is missing.
#include "mortise/db/postgres.hpp"
#include "mortise/txn/xa_postgres.hpp"
#include "support/pgbouncer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <string>

namespace mortise::test::xa_pooler_test {
namespace {

asio::awaitable<txn::reply> no_work(db::postgres_connection&, const txn::call&) {
    co_return txn::reply::done();
}

/// What a check of the participant at that place says; empty: it will do.
std::string said_by_check(const std::string& url) {
    asio::io_context context(1);
    auto database =
        std::make_shared<db::postgres>(context.get_executor(), db::parse_postgres_url(url));
    const auto participant = txn::xa_postgres(database, no_work, 2);
    std::string text;
    asio::co_spawn(context, participant->check(), [&](const std::exception_ptr& failure) {
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (const error& refused) {
            EXPECT_EQ(refused.code(), errc::wrong_server);
            text = refused.what();
        }
        context.stop();
    });
    context.run();
    return text;
}

TEST(XaPooler, IsRefusedWithAdviceBeforeAnyBranch) {
    const std::string name = shared_postgres().create_database("pooled_branches");
    const pgbouncer pooler(shared_postgres());
    for (int i = 0; i < 3; ++i) {
        const auto text = said_by_check(pooler.url(name));
        EXPECT_NE(text.find("a pooler answers in the server's place"), std::string::npos) << text;
        EXPECT_NE(text.find("name the server itself"), std::string::npos) << text;
    }
    EXPECT_EQ(said_by_check(shared_postgres().url(name)), "");
}

}  // namespace
}  // namespace mortise::test::xa_pooler_test
