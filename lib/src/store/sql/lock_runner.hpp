// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_LOCK_RUNNER_HPP
#define MORTISE_STORE_SQL_LOCK_RUNNER_HPP

#include "core/lock_engine.hpp"
#include "store/sql/loaded_rows.hpp"
#include "store/sql/sql_link.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>

namespace mortise::store_detail {

/// The general way of an operation: load the lock, run the lock engine, write the lock if nobody
/// has changed it meanwhile. Nothing is held at the server between the two messages, so a client
/// that stops in the middle holds nobody up: its write loses. Who loses loads again, and after
/// three losses locks the row for a limited time.
///
/// @par Threads The strand of the link.
class lock_runner {
public:
    /// Runs at each attempt, on fresh rows; what the last one leaves behind counts.
    using operation = std::function<void(core::lock_engine&, loaded_rows&)>;

    /// In whose name an operation runs.
    struct party {
        sql_actor actor;
        /// The request whose answer tells the actor of a grant; zero: none.
        request_id answered = 0;
    };

    explicit lock_runner(std::shared_ptr<sql_link> link) : link_(std::move(link)) {}

    /// For a party that has the turn at the lock: the row lock of a client is one for each lock.
    /// @par Errors Those of the gateway.
    asio::awaitable<error_code> run(std::string name, party by, operation work);
    /// Runs an operation in the name of nobody, in a turn of its own.
    asio::awaitable<error_code> run_for_nobody(std::string name, operation work);

private:
    asio::awaitable<error_code> mark(std::set<core::session_key> found_dead);

    static constexpr unsigned losses_max = 3;
    /// So often it waits for the row lock of others.
    static constexpr unsigned waits_max = 3;

    std::shared_ptr<sql_link> link_;
};

}  // namespace mortise::store_detail

#endif
