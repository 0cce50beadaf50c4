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
/// @par Lifetimes The link must outlive the calls.
class queue_reaper {
public:
    explicit queue_reaper(queue_link& link) noexcept : link_(link) {}

    /// Does some of what a heartbeat reported. What fails is found again by the next heartbeat.
    /// @return whether that was all.
    asio::awaitable<bool> reap(beat_answer found);

    /// Removes all that a dead session has, and then the session.
    asio::awaitable<error_code> bury(std::string session);

private:
    /// Removes up to `budget` entries of a dead session; the session itself if none is left.
    /// @return whether the session is gone.
    asio::awaitable<result<bool>> bury_some(std::string session, std::size_t& budget);
    asio::awaitable<bool> expire(std::vector<std::string> ended);
    asio::awaitable<bool> advance(std::vector<std::string> blocked);
    /// Runs one of the scripts whose answer is "o".
    asio::awaitable<error_code> run(script_call wanted);

    queue_link& link_;
};

}  // namespace mortise::store_detail

#endif
