// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_QUEUE_REAPER_HPP
#define MORTISE_STORE_REDIS_QUEUE_REAPER_HPP

#include "store/redis/queue_link.hpp"
#include "store/redis/redis_answers.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// Removes what is over at the server: dead sessions, grants that have ended; and grants what a
/// quarantine had blocked. In steps of some locks each, so that none of them holds the server up;
/// several clients may do the same at the same time.
///
/// @par Threads   The strand.
/// @par Lifetimes Owned by a `shared_ptr`, which its coroutines keep.
class queue_reaper : public std::enable_shared_from_this<queue_reaper> {
public:
    explicit queue_reaper(std::shared_ptr<queue_link> link) noexcept : link_(std::move(link)) {}

    /// Begins to do some of what a heartbeat reported, on the connection of the session, unless it
    /// does so already. It ends with the connection: the next heartbeat finds what is left.
    /// A heartbeat does not wait for it, since a lease rests on that answer.
    ///
    /// @par Cost A command for 64 entries, and two more for each session.
    void begin(beat_answer found);

    /// Removes all that a dead session has, and then the session; on passing connections if the
    /// session has none.
    /// @par Errors `session_lost` if the session that is meant lives; what is wrong with the
    ///             connection. Then it is not known how much was removed.
    asio::awaitable<error_code> bury(std::string session);

private:
    using call_result = asio::awaitable<result<redis_value>>;

    asio::awaitable<void> run(std::shared_ptr<queue_reaper> self, beat_answer found);
    asio::awaitable<error_code> reap(beat_answer found);
    /// Removes up to `budget` entries of a dead session; the session itself if none is left. Takes
    /// one from `budget` for each, and one for the session.
    /// @return whether the session is gone.
    asio::awaitable<result<bool>>
    bury_some(std::string session, std::size_t& budget, bool may_pass);
    asio::awaitable<error_code> expire(std::vector<std::string> ended);
    asio::awaitable<error_code> advance(std::vector<std::string> blocked);
    call_result call(script_call wanted, bool may_pass);
    /// Runs one of the scripts whose answer is "o".
    asio::awaitable<error_code> run(script_call wanted, bool may_pass);

    const std::shared_ptr<queue_link> link_;
    bool running_ = false;
};

}  // namespace mortise::store_detail

#endif
