// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_OPERATOR_DESK_HPP
#define MORTISE_TXN_COORDINATOR_OPERATOR_DESK_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/running.hpp"
#include "log/log_entries.hpp"
#include "log/operator_order_tables.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/txn/gid.hpp"
#include "mortise/txn/intervention.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace mortise::txn::detail {

/// Shows transactions to operators, and carries out their orders.
///
/// @par Threads The strand, except for the members marked "Any thread".
class operator_desk final : coordinator_part {
public:
    using code_handler = coro::detail::completion<void(error_code)>;

    operator_desk(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

    // Any thread.
    void show(
        const gid& gid,
        coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler
    );
    void list(
        list_filter filter,
        std::uint64_t after,
        std::size_t limit,
        coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler
    );
    void intervene(intervention order, code_handler handler);

    /// Carries out an order about a transaction that is in memory. An order with an id was left in
    /// the log and is settled there.
    void intervene_now(
        const intervention& order, std::optional<std::int64_t> order_id, code_handler handler
    );
    /// Drops a stuck transaction from memory after the present handler, if there are too many.
    void put_aside_later(const running_ptr& transaction);

    /// Whether the order is about that branch, counted from zero.
    static bool concerns(const intervention& order, std::size_t branch) noexcept {
        return order.branch == 0 || order.branch == branch + 1;
    }

private:
    void intervene_logged(const intervention& order, code_handler handler);
    error_code reason_against(const intervention& order) const;
    static void mark_skipped(running& transaction, const intervention& order, bool skipped);
    void intervened(const running_ptr& transaction, const intervention& order);
    static void answer(code_handler& handler, error_code code);
    void put_aside(const running_ptr& transaction);
    static bool is_idle(const running& transaction);
};

/// Carries out orders that operators have left in the log from other processes.
///
/// @par Threads The strand.
class left_orders final : coordinator_part {
public:
    left_orders(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

    /// Listens for the bell, and reads the orders that were left before.
    void listen();
    /// Reads and carries out the orders with an id above `after`.
    void read(std::int64_t after);
    /// Reads an order again that waits for the answer of a participant.
    void read_if_awaited(const running& transaction);
    void refuse(std::int64_t order_id, error_code why);
    void close() noexcept { bell_.reset(); }

private:
    void fulfil_all(const std::vector<log::operator_order>& found);
    void fulfil(const log::operator_order& each);
    void fetch_for(const log::operator_order& each);
    void end_unread(partition& home, const log::operator_order& each, const log::logged& found);
    static bool is_unasked(const running& transaction, const intervention& order);

    std::optional<db::bell> bell_;
    std::set<std::uint64_t> awaited_;  ///< Transactions with an order that waits for a participant.
};

}  // namespace mortise::txn::detail

#endif
