// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/mysql_connection.hpp"

#include "mysql/mysql_call.hpp"
#include "mysql/mysql_wire.hpp"

#include <utility>

namespace mortise::db {

mysql_connection::mysql_connection(std::shared_ptr<detail::mysql_wire> wire)
    : wire_(std::move(wire)) {}

mysql_connection::~mysql_connection() = default;

asio::any_io_executor mysql_connection::get_executor() const {
    return wire_->executor();
}

std::uint32_t mysql_connection::server_id() const noexcept {
    return wire_->connection().connection_id().value_or(0);
}

transaction_mark mysql_connection::mark() const {
    const auto number = wire_->present.number;
    return number == 0 ? transaction_mark() : transaction_mark(std::to_string(number), {});
}

void mysql_connection::start(
    coro::detail::completion<void(std::exception_ptr, query_result)> done,
    std::shared_ptr<detail::mysql_wire> wire,
    bound_sql statement
) {
    const auto refuse = [&done](errc code, std::string remedy) {
        done.complete(std::make_exception_ptr(error(code, {}, std::move(remedy))), query_result());
    };
    const auto& present = wire->present;
    if (!present.open)
        return refuse(errc::transaction_control, "use the connection only inside of its closure");
    if (wire->abandon_call)
        return refuse(errc::transaction_control, "await one statement before the next");
    if (!wire->usable())
        return refuse(errc::store_unavailable, "the connection of this transaction has ended");
    if (present.ending)
        return refuse(errc::rolled_back, "an earlier statement: " + present.ending.message());
    if (detail::controls_mysql_transaction(statement.text))
        return refuse(errc::transaction_control, "run it outside of a transaction: async_query");
    const auto call = std::make_shared<detail::mysql_call>(
        std::move(done), std::move(wire), std::move(statement)
    );
    call->start();
}

}  // namespace mortise::db
