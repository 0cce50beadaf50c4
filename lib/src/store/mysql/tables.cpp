// SPDX-License-Identifier: BSL-1.0
#include "store/mysql/mysql_server.hpp"
#include "store/mysql/statement_text.hpp"

namespace mortise::store_detail {

// Names and texts are bytes, and compared as bytes. A lock that is free keeps its last session, so
// that a session which takes and releases it changes no index. `mortise_run` is in memory: it is
// empty after a restart, which is how a restart is noticed.
std::vector<std::string> mysql_tables() {
    return {
        "CREATE TABLE IF NOT EXISTS mortise_meta("
        "one TINYINT PRIMARY KEY, format INT NOT NULL, store BINARY(16) NOT NULL,"
        "domain VARBINARY(31) NOT NULL, incarnation BINARY(16) NOT NULL, server BIGINT NOT NULL,"
        "durable TINYINT NOT NULL, quarantine BIGINT NOT NULL, floor BIGINT NOT NULL,"
        "floor_at BIGINT NOT NULL, last_key BIGINT NOT NULL) ENGINE=InnoDB",
        "CREATE TABLE IF NOT EXISTS mortise_run("
        "one TINYINT PRIMARY KEY, server BIGINT NOT NULL,"
        "quarantine BIGINT NOT NULL) ENGINE=MEMORY",
        "CREATE TABLE IF NOT EXISTS mortise_ttl("
        "ttl BIGINT PRIMARY KEY, until BIGINT NOT NULL) ENGINE=InnoDB",
        "CREATE TABLE IF NOT EXISTS mortise_session("
        "id BIGINT PRIMARY KEY, sid BINARY(16) NOT NULL UNIQUE, generation BIGINT NOT NULL,"
        "ttl BIGINT NOT NULL, deadline BIGINT NOT NULL, dead TINYINT NOT NULL DEFAULT 0,"
        "changes BIGINT NOT NULL DEFAULT 0, rings BIGINT NOT NULL DEFAULT 0, notices BIGINT NOT "
        "NULL DEFAULT 0, opens BIGINT NOT NULL DEFAULT 0,"
        "command BIGINT NOT NULL DEFAULT 0, bell BIGINT NOT NULL DEFAULT 0,"
        "host VARBINARY(1024) NOT NULL, label VARBINARY(1024) NOT NULL, pid BIGINT NOT NULL"
        ") ENGINE=InnoDB",
        "CREATE TABLE IF NOT EXISTS mortise_lock("
        "name VARBINARY(1024) PRIMARY KEY, stamp BIGINT NOT NULL,"
        "session BIGINT NOT NULL DEFAULT 0, held TINYINT NOT NULL DEFAULT 0,"
        "request BIGINT NOT NULL DEFAULT 0, base BIGINT NOT NULL DEFAULT 0,"
        "queue INT NOT NULL DEFAULT 0, last BIGINT NOT NULL DEFAULT 0,"
        "rest INT NOT NULL DEFAULT 0, locker BIGINT NOT NULL DEFAULT 0,"
        "until BIGINT NOT NULL DEFAULT 0, KEY(session)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
        "CREATE TABLE IF NOT EXISTS mortise_waiter("
        "name VARBINARY(1024) NOT NULL, ordinal BIGINT NOT NULL, session BIGINT NOT NULL,"
        "request BIGINT NOT NULL, since BIGINT NOT NULL, granted TINYINT NOT NULL DEFAULT 0,"
        "mode TINYINT NOT NULL DEFAULT 0, capacity INT NOT NULL DEFAULT 0, hold_max BIGINT,"
        "token BIGINT NOT NULL DEFAULT 0, slot INT NOT NULL DEFAULT 0, ends BIGINT,"
        "stamp BIGINT NOT NULL DEFAULT 0,"
        "PRIMARY KEY(name,ordinal), KEY(session,granted), KEY(ends)) ENGINE=InnoDB "
        "ROW_FORMAT=DYNAMIC",
        "CREATE TABLE IF NOT EXISTS mortise_watch(session BIGINT PRIMARY KEY) ENGINE=InnoDB",
        "CREATE TABLE IF NOT EXISTS mortise_break("
        "id BIGINT AUTO_INCREMENT PRIMARY KEY, at BIGINT NOT NULL, name VARBINARY(1024) NOT NULL,"
        "token BIGINT NOT NULL, domain VARBINARY(31) NOT NULL, holder BLOB NOT NULL,"
        "who BLOB NOT NULL, why BLOB NOT NULL, KEY(name)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
    };
}

std::string mysql_first_rows(const std::string& wanted) {
    const auto store = random_id::draw();
    const auto id = bytes_of(store);
    const auto incarnation = bytes_of(random_id::draw());
    const auto domain = wanted.empty() ? "mysql:" + store.text().substr(0, 16) : wanted;
    return write_statement(
        "INSERT IGNORE INTO mortise_meta VALUES(1,{format},{id},{domain},{incarnation},"
        "@@server_id,@@innodb_flush_log_at_trx_commit=1,0,0,0,0)",
        {{"format", mysql_format},
         {"id", as_bytes(id)},
         {"domain", as_bytes(domain)},
         {"incarnation", as_bytes(incarnation)}}
    );
}

}  // namespace mortise::store_detail
