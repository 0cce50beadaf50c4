// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_LINK_ANSWER_WATCH_HPP
#define MORTISE_STORE_LINK_ANSWER_WATCH_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>

namespace mortise::store_detail {

namespace asio = boost::asio;

using coro::detail::alarm;

/// Notices that a server owes answers and gives none, and that a connection has been quiet for so
/// long that it may be dead.
///
/// @par Threads The strand.
class answer_watch {
public:
    /// A connection without an answer for this long is asked whether it lives: heartbeats of a long
    /// TTL are rare, and nobody tells of a push that is lost.
    static constexpr std::chrono::milliseconds quiet_max{2'000};

    /// @param owner actions are called only while it lives.
    void attach(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        std::weak_ptr<void> owner,
        std::function<void()> silent,
        std::function<void()> quiet
    );

    /// Another session begins, with this TTL.
    void set_ttl(std::chrono::milliseconds ttl) noexcept { ttl_ = ttl; }
    /// How long a command may be without an answer: shorter than a session lives after a lost
    /// heartbeat, so that there is time for another connection.
    clock::duration patience() const noexcept;

    void sent();
    void answered();
    /// From now on a quiet connection is noticed, if heartbeats are too rare to find it out.
    void watch_quiet();
    /// The connection is gone, with the commands under way.
    void clear() noexcept;

private:
    clock::time_point now() const noexcept { return time_->now(); }
    clock::time_point silent_since() const;
    void watch_answers();
    void judge(clock::time_point due);

    asio::any_io_executor strand_;
    std::shared_ptr<coro::time_source> time_;
    std::weak_ptr<void> owner_;
    std::function<void()> silent_;
    std::function<void()> quiet_;
    std::chrono::milliseconds ttl_{};
    std::deque<clock::time_point> under_way_;  ///< When the commands without an answer were sent.
    clock::time_point answered_;               ///< The time of the newest answer.
    alarm answers_alarm_;
    alarm quiet_alarm_;
};

}  // namespace mortise::store_detail

#endif
