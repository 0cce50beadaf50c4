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

/// The port between a participant and the coordinator of its transactions, for finding out what
/// became of a reservation.
///
/// @par Threads One strand: make one for each user.
class outcome_source {
public:
    outcome_source() = default;
    outcome_source(const outcome_source&) = delete;
    outcome_source& operator=(const outcome_source&) = delete;
    virtual ~outcome_source() = default;

    /// Asks the coordinator to finish the transaction as soon as it can, and returns how it stands.
    /// It may wait for that. An error means that nobody could be asked.
    ///
    /// An implementation must end soon after it is cancelled (terminal).
    virtual asio::awaitable<result<standing>> settle(gid gid) = 0;
};

/// Asks a coordinator of this process, which must outlive the source. For a coordinator elsewhere,
/// see `mortise/txn/http/outcome_source.hpp`.
/// @param time the source of time; null: the real time.
std::shared_ptr<outcome_source>
make_outcome_source(coordinator& at, std::shared_ptr<coro::time_source> time = nullptr);

}  // namespace mortise::txn

#endif
