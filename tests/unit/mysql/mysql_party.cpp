// SPDX-License-Identifier: BSL-1.0
#include "unit/mysql/mysql_party.hpp"

#include <boost/mysql/connect_params.hpp>
#include <boost/mysql/results.hpp>

namespace mortise::test {

db::mysql_config mysql_party::config() const {
    db::mysql_config config;
    config.host = "127.0.0.1";
    config.port = server.port();
    config.user = mariadb_server::user;
    config.password = mariadb_server::password;
    config.database = database;
    return config;
}

// InnoDB's own tables are only brought up to date when nobody has read them for a while.
bool mysql_party::waits() const {
    return run("SELECT variable_value FROM information_schema.global_status "
               "WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'") != "0";
}

bool mysql_party::is_alone() const {
    return run("SELECT COUNT(*) FROM information_schema.processlist "
               "WHERE db = DATABASE() AND id <> CONNECTION_ID()") == "0";
}

bool mysql_party::has(std::uint32_t connection) const {
    return run("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " +
               std::to_string(connection)) != "0";
}

other_transaction::other_transaction(const mysql_party& party) : connection_(context_) {
    boost::mysql::connect_params place;
    place.server_address.emplace_host_and_port("127.0.0.1", party.server.port());
    place.username = mariadb_server::user;
    place.password = mariadb_server::password;
    place.database = party.database;
    place.ssl = boost::mysql::ssl_mode::disable;
    connection_.connect(place);
    run("START TRANSACTION");
}

void other_transaction::run(const std::string& sql) {
    boost::mysql::results ignored;
    connection_.execute(sql, ignored);
}

}  // namespace mortise::test
