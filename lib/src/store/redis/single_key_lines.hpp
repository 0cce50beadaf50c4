// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SINGLE_KEY_LINES_HPP
#define MORTISE_STORE_REDIS_SINGLE_KEY_LINES_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store_types.hpp"
#include "store/redis/redis_wire.hpp"
#include "store/redis/single_key_listener.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace mortise::store_detail {

using coro::detail::alarm;

/// The outcome of an attempt to take a lock.
struct single_key_attempt {
    bool taken = false;
    fencing_token token;
    std::int64_t free_in_ms = 0;  ///< Until the holder's key expires; below zero: never.
};

/// The session that lines belong to.
class line_session {
public:
    virtual bool connected() const noexcept = 0;
    virtual std::chrono::milliseconds ttl() const noexcept = 0;
    /// How long a command may be without an answer.
    virtual clock::duration answer_max() const noexcept = 0;
    /// Tries to take the lock for a request.
    virtual asio::awaitable<result<single_key_attempt>>
    try_take(std::string name, request_id id) = 0;
    /// Notes the outcome for a request that still waits.
    virtual void tried(request_id id, const single_key_attempt& outcome) = 0;
    /// Releases are no longer heard, for a while.
    virtual void deaf(const redis_failure& why) = 0;

protected:
    ~line_session() = default;
};

/// Waiting in the single-key form. The requests of a session that wait for the same lock stand in a
/// line, of which only the first tries: when a release is heard, and when the holder's key has
/// expired.
///
/// @par Threads The strand.
class single_key_lines {
public:
    /// @param prefix stands before the name of a lock in its key.
    single_key_lines(line_session& session, std::string prefix);

    /// @param owner of this object and of the session; it lives during every attempt.
    void attach(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        redis_wire_factory wires,
        std::weak_ptr<void> owner
    );

    /// Hears of releases from now on, and tries to take every lock that is waited for.
    void go() { listener_->go(); }
    /// The connection is gone: no line tries before `go`.
    void pause() noexcept;
    /// Whether this session hears of the releases of a lock.
    bool hears(const std::string& name) const;

    bool contains(const std::string& name) const { return lines_.contains(name); }
    /// Adds a request to the line of its lock. @return how many stand in the line.
    std::size_t join(request_id id, const std::string& name);
    void leave(request_id id, const std::string& name);
    /// Ends all lines.
    void disband();
    /// Ends all lines, and forgets who gave way, because another session begins.
    void begin_session();

    /// Holds back this session's next request for a contended lock: it would always be faster than
    /// the sessions that must first be told of the release.
    void give_way(const std::string& name);
    /// When that is over.
    clock::time_point gave_way_until(const std::string& name) const;
    /// Makes no attempt for a line before `until`.
    void hold_back(const std::string& name, clock::time_point until);

private:
    struct waiting_line {
        waiting_line() = default;

        std::deque<request_id> ids;
        bool trying = false;
        clock::time_point not_before;  ///< No attempt before this time: others come first.
        bool again = false;            ///< The lock may be free since the present attempt began.
        alarm deadline;                ///< Fires when the holder's key has expired.
    };
    using line_ptr = std::shared_ptr<waiting_line>;

    clock::time_point now() const noexcept { return time_->now(); }
    std::string channel_of(const std::string& name) const;
    void heard(const std::string& channel);
    void listening_failed(const redis_failure& why);
    void stir(const std::string& name);
    asio::awaitable<void> run(std::shared_ptr<void> owner, std::string name, line_ptr line);
    void take_turn(
        const std::string& name,
        waiting_line& line,
        request_id id,
        const result<single_key_attempt>& outcome
    );
    void try_when(const std::string& name, waiting_line& line, clock::duration after);
    void disband_if_empty(const std::string& name, const line_ptr& line);

    line_session& session_;
    const std::string prefix_;
    asio::any_io_executor strand_;
    std::shared_ptr<coro::time_source> time_;
    std::weak_ptr<void> owner_;
    std::map<std::string, line_ptr> lines_;
    std::map<std::string, clock::time_point> gave_way_;
    std::shared_ptr<single_key_listener> listener_;
    alarm listen_again_;
    std::minstd_rand jitter_;
};

}  // namespace mortise::store_detail

#endif
