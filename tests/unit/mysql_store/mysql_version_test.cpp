// SPDX-License-Identifier: BSL-1.0
// A server that says an older version than its own.
#include "mortise/open_store.hpp"
#include "support/mariadb_server.hpp"
#include "unit/sql_store/store_user.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::test::mysql_version_test {
namespace {

using namespace std::chrono_literals;

TEST(MysqlVersion, ThatIsTooOldIsNamed) {
    mariadb_server server(mariadb_server::settings{"--version=10.4.34-MariaDB"});
    store_user user(open_store(server.url(server.create_database("old"))));
    lease none;
    EXPECT_EQ(user.acquire("door", none, {.wait_max = 0ms}), errc::wrong_server);
    const std::string text = user.locks->explain();
    EXPECT_NE(text.find("10.4.34-MariaDB is too old"), std::string::npos) << text;
    server.stop();
}

}  // namespace
}  // namespace mortise::test::mysql_version_test
