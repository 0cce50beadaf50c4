// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_PARTICIPANT_HPP
#define MORTISE_TXN_PARTICIPANT_HPP

#include "mortise/error.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>

namespace mortise::txn {

namespace asio = boost::asio;

/// The port between a coordinator and whoever takes part in its transactions.
///
/// Calls come at least once, several of one branch possibly at a time, and a cancel may overtake
/// its try. Whoever keeps its state in a database uses `barrier` for that.
///
/// @par Threads   Calls come from the coordinator's executor, several at a time.
/// @par Lifetimes It lives as long as the coordinator.
class participant {
public:
    participant() = default;
    participant(const participant&) = delete;
    participant& operator=(const participant&) = delete;
    virtual ~participant() = default;

    /// An error, or an exception, says that it is not known what was done: the call is repeated.
    /// Those of a barrier are answers.
    /// A call that takes too long is cancelled (terminal), and repeated.
    virtual asio::awaitable<result<reply>> carry_out(call what) = 0;

    /// How many calls it works on at a time. Others wait at the coordinator, where that does not
    /// count as time of the call.
    virtual std::size_t calls_at_once() const noexcept { return 256; }
};

}  // namespace mortise::txn

#endif
