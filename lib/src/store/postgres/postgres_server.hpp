// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_POSTGRES_POSTGRES_SERVER_HPP
#define MORTISE_STORE_POSTGRES_POSTGRES_SERVER_HPP

#include "mortise/store/postgres.hpp"
#include "store/sql/sql_server.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A PostgreSQL server for the SQL store: the statements of the facts on SQL locks.
///
/// A row is locked in this order: lock, its waiters, sessions, `run`. Notifications go out in
/// transactions of their own, because one inside of another transaction takes a lock of the whole
/// server at its commit, and makes it fail if the queue of notifications is full.
///
/// Source files: postgres_sessions.cpp (sessions, watches, what people see), postgres_locks.cpp
/// (short ways), postgres_rows.cpp (the general way), postgres_examination.cpp,
/// postgres_factory.cpp.
class postgres_server final : public sql_server {
public:
    explicit postgres_server(postgres_store_config config);

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
    sql_message take(
        sql_actor actor, const std::string& name, request_id id, bool join, sql_stamp stamp
    ) const override;
    sql_message tell_holder(sql_actor actor, const std::string& name, request_id id) const override;
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
    void note_use(const std::string& name) const;

    const std::shared_ptr<const postgres_store_config> config_;
    mutable std::set<std::string> used_;  ///< Names of locks that were released, some of them.
};

/// A number as the server keeps it: the same bits, with a sign.
inline std::int64_t as_signed(std::uint64_t number) noexcept {
    return static_cast<std::int64_t>(number);
}

}  // namespace mortise::store_detail

#endif
