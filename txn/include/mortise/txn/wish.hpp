// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_WISH_HPP
#define MORTISE_TXN_WISH_HPP

#include "mortise/error.hpp"
#include "mortise/txn/intervention.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <filesystem>
#include <optional>

namespace mortise::txn {

namespace asio = boost::asio;

/// Leaves in the log what an operator wants done, for whichever coordinator works on it: in any
/// process of this host, now or later. It is done once, or refused once, and the coordinator is
/// told by a bell (`db::bell`); where it is not `coordinator::async_intervene` that is called.
///
/// @return what became of it: an empty code if it was done, `not_open` or `not_stuck` if there was
///         nothing to do. Nothing if no coordinator said so in that time: it stays in the log, and
///         the next one does it.
/// @par Errors       throws `error`: `not_a_log`, `newer_log`, what the log says; `bad_gid`.
/// @par Cancellation terminal, while it waits: the wish stays in the log.
/// @par Threads      The caller's executor must be a strand, or its context have one thread.
/// @par Cost         Opens the log, for one forced write and as many reads as there are rings.
asio::awaitable<std::optional<error_code>>
leave_wish(std::filesystem::path log, intervention what, std::chrono::milliseconds wait);

}  // namespace mortise::txn

#endif
