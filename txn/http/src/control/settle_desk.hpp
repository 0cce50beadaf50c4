// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_CONTROL_SETTLE_DESK_HPP
#define MORTISE_TXN_HTTP_SRC_CONTROL_SETTLE_DESK_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/outcome.hpp"

#include <boost/asio/awaitable.hpp>

#include <map>
#include <memory>

namespace mortise::coro {
class time_source;
}

namespace mortise::txn::http {

/// Waits for the ends of transactions, up to a time limit. However often clients ask, the number of
/// questions that wait at the coordinator is limited.
///
/// @par Threads   One strand, that of the coroutines that ask.
class settle_desk {
public:
    explicit settle_desk(coordinator& at) : at_(at) {}

    /// Returns how the transaction stands when it is settled, or when the time is up.
    asio::awaitable<result<standing>>
    settle(gid which, coro::time_source& time, clock::duration limit);

    /// Returns how the transaction stands now.
    asio::awaitable<result<standing>> ask(gid which);

private:
    struct wait;

    coordinator& at_;
    std::map<gid, std::shared_ptr<wait>> waiting_;
};

}  // namespace mortise::txn::http

#endif
