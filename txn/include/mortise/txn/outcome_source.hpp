// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_OUTCOME_SOURCE_HPP
#define MORTISE_TXN_OUTCOME_SOURCE_HPP

#include "mortise/error.hpp"
#include "mortise/txn/gid.hpp"
#include "mortise/txn/outcome.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace mortise::coro {
class time_source;
}

namespace mortise::txn {

namespace asio = boost::asio;
class coordinator;

/// The port between a participant and the coordinator of its transactions, for whoever wants to
/// know what became of a reservation.
///
/// @par Threads One strand: make one for each who asks.
class outcome_source {
public:
    outcome_source() = default;
    outcome_source(const outcome_source&) = delete;
    outcome_source& operator=(const outcome_source&) = delete;
    virtual ~outcome_source() = default;

    /// Has the coordinator finish the transaction as soon as it can, and says how it stands; it may
    /// take its time. An error says that nobody could be asked.
    ///
    /// It has to end soon after it is cancelled (terminal).
    virtual asio::awaitable<result<standing>> settle(gid which) = 0;
};

/// Asks a coordinator of this process, which has to live for as long. For one elsewhere there is
/// `mortise/txn/http/outcome_source.hpp`.
/// @param time where time comes from; null: the real time.
std::shared_ptr<outcome_source>
make_outcome_source(coordinator& at, std::shared_ptr<coro::time_source> time = nullptr);

}  // namespace mortise::txn

#endif
