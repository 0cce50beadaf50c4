// SPDX-License-Identifier: BSL-1.0
#include "unit/mysql/mysql_kind.hpp"

#include "support/eventually.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/connect_params.hpp>
#include <boost/mysql/error_with_diagnostics.hpp>
#include <boost/mysql/results.hpp>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>

namespace mortise::test {
namespace {

/// A connection that blocks.
class administrator {
public:
    explicit administrator(const mariadb_server& at) {
        boost::mysql::connect_params place;
        place.server_address.emplace_unix_path(at.socket().string());
        place.username = mariadb_server::user;
        place.password = mariadb_server::password;
        connection_.connect(place);
    }

    std::string ask(const std::string& database, const std::string& statement) {
        boost::mysql::results found;
        connection_.execute("USE `" + database + "`", found);
        connection_.execute(statement, found);
        std::ostringstream text;
        if (found.has_value() && !found.rows().empty())
            text << found.rows()[0][0];
        return text.str();
    }

private:
    boost::asio::io_context context_;
    boost::mysql::any_connection connection_{context_};
};

}  // namespace

// One that is kept: the server still counts a connection that has just been closed.
std::string
session_kind::sql(const server& at, const std::string& database, const std::string& statement) {
    static std::map<std::uint16_t, std::unique_ptr<administrator>> all;
    auto& one = all[at.port()];
    try {
        if (one)
            return one->ask(database, statement);
    } catch (const boost::mysql::error_with_diagnostics&) {
        one.reset();  // the server was restarted since, or another one has its port
    }
    one = std::make_unique<administrator>(at);
    return one->ask(database, statement);
}

void session_kind::end_connections(const server& at, const std::string& database) {
    const std::string oldest = "SELECT MIN(id) FROM information_schema.processlist WHERE db ="
                               " DATABASE() AND id <> CONNECTION_ID()";
    EXPECT_TRUE(eventually([&] {
        if (sql(at, database, connections()) == "0")
            return true;
        const std::string id = sql(at, database, oldest);
        if (id != "<NULL>")
            sql(at, database, "KILL CONNECTION " + id);
        return false;
    }));
}

}  // namespace mortise::test
