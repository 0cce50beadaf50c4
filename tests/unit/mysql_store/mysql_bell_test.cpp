// SPDX-License-Identifier: BSL-1.0
// The bell of a session that ends.
#include "support/machine_delay.hpp"
#include "unit/mysql_store/mysql_store_world.hpp"

#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/results.hpp>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace mortise::test::mysql_bell_test {
namespace {

using namespace std::chrono_literals;

/// Keeps everybody else from writing sessions while it lives; they may be read.
class locked_table {
public:
    explicit locked_table(const mysql_store_world& world, std::uint16_t port) {
        boost::mysql::connect_params place;
        place.server_address.emplace_host_and_port("127.0.0.1", port);
        place.username = mariadb_server::user;
        place.password = mariadb_server::password;
        place.database = world.database();
        place.ssl = boost::mysql::ssl_mode::disable;
        connection_.connect(place);
        boost::mysql::results ignored;
        connection_.execute("LOCK TABLES mortise_session READ", ignored);
    }

private:
    asio::io_context context_;
    boost::mysql::any_connection connection_{context_};
};

// The last statements of a session are under way while its bell finds that its row is gone.
TEST(MysqlBell, ThatFindsItsSessionGoneCutsNoStatementOff) {
    mysql_store_world world(shared_mariadb());
    lock_client locks = world.make_client(30s);
    world.run([](lock_client& by) -> asio::awaitable<void> {
        lease held = co_await by.async_acquire("door");
        co_await held.async_release();
    }(locks));
    const auto count = [&](const std::string& of) {
        return world.value_of("SELECT COUNT(*) FROM information_schema.processlist WHERE " + of);
    };
    bool waits = false;
    const auto look = [&] {
        waits = waits ||
                count("info LIKE '%GET_LOCK%' AND db=DATABASE() AND id<>CONNECTION_ID()") == "1";
        return waits;
    };
    EXPECT_TRUE(world.run_until(look));
    const auto bell = world.value_of("SELECT bell FROM mortise_session");
    world.value_of("DELETE FROM mortise_session");
    std::optional<locked_table> kept(std::in_place, world, world.server().port());
    const machine_delay delay;
    std::optional<error_code> code;
    locks.async_stop([&](error_code failed) { code = failed; });
    EXPECT_TRUE(world.run_until([&] {
        return code ||
               count("state LIKE 'Waiting for table metadata lock' AND db=DATABASE()") == "1";
    }));
    world.value_of("KILL QUERY " + bell);
    EXPECT_TRUE(world.run_until([&] { return count("command<>'Sleep' AND id=" + bell) == "0"; }));
    world.run(world.nap(20ms));
    kept.reset();
    EXPECT_TRUE(world.run_until([&] { return code.has_value(); }));
    // A server that is silent for 2 s is given up.
    if (delay.so_far() < 1s) {
        EXPECT_EQ(code, error_code()) << code->message();
    }
}

}  // namespace
}  // namespace mortise::test::mysql_bell_test
