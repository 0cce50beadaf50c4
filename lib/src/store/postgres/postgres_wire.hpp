// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_POSTGRES_POSTGRES_WIRE_HPP
#define MORTISE_STORE_POSTGRES_POSTGRES_WIRE_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store/postgres.hpp"
#include "postgres/pg_connection.hpp"
#include "store/sql/sql_server.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// A connection to a PostgreSQL server for the store. Pushes arrive on the connection of the
/// session itself, in a channel of its own.
///
/// @par Threads   The strand.
/// @par Lifetimes Owned by a `shared_ptr`, which its coroutines keep.
class postgres_wire final : public sql_wire, public std::enable_shared_from_this<postgres_wire> {
public:
    postgres_wire(
        std::shared_ptr<const postgres_store_config> config,
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        sql_wire_events events
    );
    /// If the context has ended, an opening that was under way goes with it.
    ~postgres_wire() override { connection_->drop(); }

    asio::awaitable<error_code> open() override;
    asio::awaitable<error_code> hear(core::session_key key) override;
    asio::awaitable<result<sql_results>> send(sql_message message) override;
    void close() noexcept override;

private:
    using failure = postgres_detail::pg_failure;

    /// An answer that somebody waits for.
    template <class Answer>
    struct pending {
        explicit pending(const asio::any_io_executor& strand) : answered(strand) {}

        void give(Answer given) {
            answer = std::move(given);
            answered.set();
        }

        coro::event answered;
        Answer answer;
    };

    asio::awaitable<failure> connect();
    asio::awaitable<postgres_detail::pg_reply> exchange(
        std::vector<postgres_detail::pg_step> steps,
        std::vector<postgres_detail::pg_step> hints = {}
    );
    void hint(std::vector<postgres_detail::pg_step> steps);
    void limit();
    asio::awaitable<error_code> settle_in();
    asio::awaitable<error_code> find_tables(bool has_schema, bool may_make);
    asio::awaitable<error_code> make_tables(bool has_schema);
    error_code judge_store(const postgres_detail::pg_reply& found);
    error_code remember(const failure& why, std::string advice = {});
    void take_push(const postgres_detail::pg_notification& news);

    const std::shared_ptr<const postgres_store_config> config_;
    const asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const sql_wire_events events_;
    const std::shared_ptr<postgres_detail::pg_connection> connection_;
    std::string channel_;  ///< The beginning of the names of all channels of the store.
    core::session_key heard_ = 0;
    coro::detail::alarm limit_;                  ///< Of an opening, or of the first listening.
    std::shared_ptr<pending<failure>> opening_;  ///< While the connection is being opened.
};

/// The meaning of a failure at the server for the store.
error_code meaning_of(const error_code& code);

}  // namespace mortise::store_detail

#endif
