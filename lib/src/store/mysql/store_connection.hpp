// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MYSQL_STORE_CONNECTION_HPP
#define MORTISE_STORE_MYSQL_STORE_CONNECTION_HPP

#include "mortise/coro/mutex.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mysql/mysql_failure.hpp"
#include "mysql/mysql_place.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/pipeline.hpp>
#include <boost/mysql/statement.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// A message: its parts go to the server in one write, and each is answered by itself. A part
/// without values is a text of one statement or several, of which the later ones run only if the
/// earlier ones did; a part with values is one statement, which is prepared.
using mysql_parts = std::vector<db::bound_sql>;

/// The answer to one part.
class part_answer {
public:
    part_answer() = default;

    db::detail::mysql_failure failed;
    /// That of a prepared statement; of a text those of all statements with columns.
    std::vector<db::query_result> results;
};

/// One connection of a store to a MariaDB or MySQL server. Messages go out one after the other.
///
/// A part that fails may leave a transaction open: it is undone before the next message.
///
/// @par Threads   The strand.
/// @par Lifetimes Owned by a `shared_ptr`; its operations keep it.
class store_connection : public std::enable_shared_from_this<store_connection> {
public:
    using place_ptr = std::shared_ptr<db::detail::mysql_place>;

    store_connection(const asio::any_io_executor& strand, place_ptr place);

    /// Connects, within the limit of the place, and makes the settings of the session.
    asio::awaitable<db::detail::mysql_failure> open();

    /// Sends a message, and awaits the answers for as long as the connection lasts.
    /// @return why there are no answers: `store_unavailable`, it was not sent; `outcome_unknown`,
    ///         it was. Then the connection is of no use any longer.
    asio::awaitable<db::detail::mysql_failure>
    run(mysql_parts parts, std::vector<part_answer>& answers);

    /// What is under way ends soon.
    void close() noexcept;
    bool usable() const noexcept { return open_; }

    /// The number of the connection, as the server has told it in its greeting.
    std::uint32_t number() const noexcept { return number_; }

private:
    asio::awaitable<db::detail::mysql_failure> prepare(const mysql_parts& parts);
    asio::awaitable<db::detail::mysql_failure> exchange(
        const boost::mysql::pipeline_request& request,
        std::vector<boost::mysql::stage_response>& responses
    );
    bool note(const db::detail::mysql_failure& failed);
    void drop() noexcept;

    const asio::any_io_executor strand_;
    const place_ptr place_;
    std::optional<boost::mysql::any_connection> connection_;
    boost::mysql::diagnostics notes_;
    std::map<std::string, boost::mysql::statement> prepared_;
    asio::cancellation_signal ending_;
    coro::mutex lane_;
    std::uint32_t number_ = 0;
    bool open_ = false;
    bool closed_ = false;
    bool busy_ = false;   ///< An operation of the connection is under way.
    bool dirty_ = false;  ///< A transaction may be open.
};

}  // namespace mortise::store_detail

#endif
