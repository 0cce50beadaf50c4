// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MYSQL_MYSQL_SERVER_HPP
#define MORTISE_STORE_MYSQL_MYSQL_SERVER_HPP

#include "mortise/store/mysql.hpp"
#include "store/sql/sql_server.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// What a wire has learned of the server, as far as others ask.
struct mysql_facts {
    bool mariadb = true;
    bool flushes = false;     ///< Each commit waits for the log (innodb_flush_log_at_trx_commit 1).
    bool renumbered = false;  ///< Something between us and the server numbers connections anew.
};

/// The statements of MariaDB and MySQL. A step with values is a prepared statement; one without is
/// a text of several statements, whose answers with columns follow each other.
///
/// Who may act: the command connection of a session keeps a named lock at the server for as long as
/// it lives, and `prove` ends the older connection and then takes that lock over. So nothing of an
/// older connection takes effect afterwards, and no statement must lock the session's row.
///
/// Source files: mysql_server.cpp (sessions), short_statements.cpp, row_statements.cpp (the rows of
/// locks), mysql_examination.cpp.
///
/// @par Threads The strand; `traits`: any.
class mysql_server final : public sql_server {
public:
    explicit mysql_server(mysql_store_config config);

    store_traits traits() const noexcept override;
    std::shared_ptr<sql_wire> make_wire(
        sql_use use,
        const asio::any_io_executor& strand,
        const std::shared_ptr<coro::time_source>& time,
        sql_wire_events events
    ) override;

    sql_message prove(const session_start& start) const override;
    sql_message beat(sql_actor actor) const override;
    sql_message mark_dead(core::session_key key) const override;
    sql_message end(sql_actor actor) const override;
    sql_message forget(core::session_key key) const override;
    bool takes_apart() const noexcept override { return true; }
    sql_message take(
        sql_actor actor, const std::string& name, request_id id, bool join, sql_stamp stamp
    ) const override;
    sql_message release(
        sql_actor actor, const std::string& name, request_id id, std::uint64_t base, sql_stamp stamp
    ) const override;
    sql_message pass_on(
        sql_actor actor, const std::string& name, request_id id, std::uint64_t base, sql_stamp stamp
    ) const override;
    sql_message withdraw(
        sql_actor actor,
        const std::string& name,
        request_id id,
        std::uint64_t ordinal,
        sql_stamp stamp
    ) const override;
    sql_message load(sql_actor actor, const std::string& name, row_lock mode) const override;
    sql_message store(const sql_lock_change& change, row_lock mode) const override;
    sql_message entries(core::session_key key, std::size_t limit) const override;
    sql_message list(const std::string& after, std::size_t limit) const override;
    sql_message breaks(const std::string& name, std::size_t limit) const override;
    sql_message watch(sql_actor actor) const override;
    sql_message examine() const override;
    std::vector<store_finding> findings(const sql_results& found) const override;

private:
    const mysql_store_config config_;
    mutable std::set<std::string> used_;  ///< Names of locks that were released, some of them.
    const std::shared_ptr<mysql_facts> facts_ = std::make_shared<mysql_facts>();
};

/// The bytes of an id.
std::string bytes_of(const random_id& id);

/// The format of the tables. Clients of the same format work together.
inline constexpr std::int64_t mysql_format = 1;

/// The statements that make the tables; all of them may be repeated. They need the right to create
/// tables, and nothing else.
std::vector<std::string> mysql_tables();

/// The statement that makes a store of the tables, if they are none yet.
/// @param wanted the domain of its tokens; empty: one made from the random id of the store.
std::string mysql_first_rows(const std::string& wanted);

/// A connection to the server; that of a session has a bell beside it.
///
/// A row `ring` of an answer names a connection whose statement is to be killed, after the commit;
/// a row `old` a lock to delete; a row `reopen` says that the short ways are closed, and nobody
/// watches.
std::shared_ptr<sql_wire> make_mysql_store_wire(
    sql_use use,
    const asio::any_io_executor& strand,
    const mysql_store_config& config,
    std::shared_ptr<mysql_facts> facts,
    sql_wire_events events
);

}  // namespace mortise::store_detail

#endif
