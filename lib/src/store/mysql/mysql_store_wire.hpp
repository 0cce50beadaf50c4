// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MYSQL_MYSQL_STORE_WIRE_HPP
#define MORTISE_STORE_MYSQL_MYSQL_STORE_WIRE_HPP

#include "store/mysql/mysql_server.hpp"
#include "store/sql/sql_server.hpp"

#include <memory>

namespace mortise::store_detail {

/// A connection to the server; that of a session has a bell beside it.
///
/// A row `ring` of an answer names a connection whose statement is to be killed, after the commit; a
/// row `old` a lock to delete; a row `reopen` says that the short ways are closed, and nobody watches.
std::shared_ptr<sql_wire> make_mysql_store_wire(
    sql_use use,
    const asio::any_io_executor& strand,
    const mysql_store_config& config,
    std::shared_ptr<mysql_facts> facts,
    sql_wire_events events
);

}  // namespace mortise::store_detail

#endif
