// SPDX-License-Identifier: BSL-1.0
// A pooler in transaction mode, before a server that would do. Left out where PgBouncer is missing.
#include "mortise/open_store.hpp"
#include "support/pgbouncer.hpp"
#include "unit/sql_store/store_user.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace mortise::test::pgbouncer_test {
namespace {

using namespace std::chrono_literals;

TEST(PgBouncer, IsRefusedWithAdviceAtTheFirstAcquireAndByDoctor) {
    const std::string database = shared_postgres().create_database("pooled");
    const pgbouncer pooler(shared_postgres());
    store_user user(open_store(pooler.url(database)));
    lease none;
    EXPECT_EQ(user.acquire("door", none, {.wait_max = 0ms}), errc::wrong_server);
    const std::string text = user.locks->explain();
    EXPECT_NE(text.find("a pooler answers in the server's place"), std::string::npos) << text;
    EXPECT_NE(text.find("name the server itself"), std::string::npos) << text;
    std::optional<error_code> code;
    user.locks->async_examine([&](error_code failed, const std::vector<store_finding>&) {
        code = failed;
    });
    EXPECT_TRUE(user.run_until([&] { return code.has_value(); }));
    EXPECT_EQ(code, errc::wrong_server) << user.locks->explain();
    // The server itself serves.
    store_user direct(open_store(shared_postgres().url(database)));
    EXPECT_FALSE(direct.acquire("door", none));
    EXPECT_FALSE(direct.release(none));
}

}  // namespace
}  // namespace mortise::test::pgbouncer_test
