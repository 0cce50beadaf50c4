// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_OPERATOR_ORDER_HPP
#define MORTISE_TXN_OPERATOR_ORDER_HPP

#include "mortise/error.hpp"
#include "mortise/txn/intervention.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <filesystem>
#include <optional>

namespace mortise::txn {

namespace asio = boost::asio;

/// Leaves an operator's order in the log, for the coordinator that works on the transaction: in any
/// process of this host, now or later. The order is done once, or refused once. A bell (`db::bell`)
/// tells the coordinator. In the coordinator's own process, call `coordinator::async_intervene`.
///
/// @return what became of it: an empty code if it was done; `not_open` or `not_stuck` if there was
///         nothing to do. Empty if no coordinator answered in time: the order stays in the log for
///         the next one.
/// @par Errors       throws `error`: `not_a_log`, `newer_log`, the errors of the log; `bad_gid`.
/// @par Cancellation terminal, while it waits: the order stays in the log.
/// @par Threads      The caller's executor must be a strand, or its context have one thread.
/// @par Cost         Opens the log, for one forced write and one read per ring of the bell.
asio::awaitable<std::optional<error_code>>
leave_operator_order(std::filesystem::path log, intervention order, std::chrono::milliseconds wait);

}  // namespace mortise::txn

#endif
