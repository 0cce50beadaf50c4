// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_SHORT_WAYS_HPP
#define MORTISE_STORE_SQL_SHORT_WAYS_HPP

#include "mortise/store_types.hpp"
#include "store/sql/own_requests.hpp"
#include "store/sql/sql_link.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::store_detail {

/// The frequent operations on plain locks, each a message that the server decides by itself. A
/// server that finds the lock in another state does nothing; then the general way decides, so these
/// need no rule of their own but for the plain case.
///
/// Messages: acquire 1, release 1, hand-over 1 and a push, cancel 1, or 2 if the grant came
/// meanwhile; one more for each way that misses. Of other modes 2 each, and 2 for each conflict.
///
/// Each function says nothing if the general way must be gone. They are called in the turn of the
/// lock.
///
/// @par Threads The strand of the link.
class short_ways {
public:
    explicit short_ways(std::shared_ptr<sql_link> link) : link_(std::move(link)) {}

    /// Takes the lock if it is free, or joins its queue. Not for a request that may have been sent
    /// before: the statement would make a second entry of it. So one whose answer was lost is
    /// repeated by the general way, which finds it.
    asio::awaitable<result<std::optional<answer>>> request(lock_request request);

    /// Frees the lock, or passes it on to the first waiter. If somebody is known to wait, or the
    /// lock came by a hand-over, after which somebody often waits, passing on is tried first; which
    /// also frees a lock that nobody waits for. Both compare request and token, so a wrong belief
    /// frees nothing else.
    asio::awaitable<result<std::optional<bool>>> release(grant held);

    /// Leaves the queue, or gives up the grant that came meanwhile. The place in the queue is known
    /// from the answer to the request; without it, and for grants, the general way finds the entry.
    /// @return whether it is done.
    asio::awaitable<result<bool>> withdraw(std::string name, request_id id);

    /// Notes the answer of either way, so that later calls choose well. To be called after each
    /// `request`, whatever became of it.
    void note(const lock_request& request, const result<answer>& reply);

private:
    asio::awaitable<result<bool>> pass_on(std::string name, request_id id, std::uint64_t base);

    std::shared_ptr<sql_link> link_;
};

}  // namespace mortise::store_detail

#endif
