// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_DATABASE_WORK_HPP
#define MORTISE_TOOLS_OUTBOX_DATABASE_WORK_HPP

#include "common/failure.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/fwd.hpp"
#include "mortise/db/sqlite.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace mortise::tool {

/// Runs `order(db::connection&)` in one transaction and notifies relays and inboxes of the commit.
/// Creates the database if it does not exist.
/// @return the result of `order`. @throws what the session throws.
template <class Order>
asio::awaitable<std::invoke_result_t<Order&, db::connection&>>
change_database(std::string database, Order order) {
    db::sqlite_config config;
    config.path = std::move(database);
    const auto executor = co_await asio::this_coro::executor;
    db::sqlite session(executor, std::move(config));
    auto doing =
        session.async_run(std::move(order), db::durability::force, coro::detail::with_code);
    auto [failed, output] = co_await std::move(doing);
    auto stopping = session.async_stop(coro::detail::with_code);
    co_await std::move(stopping);
    if (failed)
        throw boost::system::system_error(failed);
    co_return std::move(output);
}

/// Makes a failure from an error of a message table or an inbox. `value` stands for the value that
/// is wrong if the error names none.
failure database_failure(
    const boost::system::system_error& thrown, const std::string& database, std::string value = {}
);

}  // namespace mortise::tool

#endif
