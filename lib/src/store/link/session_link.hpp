// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_LINK_SESSION_LINK_HPP
#define MORTISE_STORE_LINK_SESSION_LINK_HPP

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"
#include "mortise/store.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mortise::store_detail {

namespace asio = boost::asio;

using coro::detail::alarm;

/// How long a link waits before it opens another connection. `attempt` counts the pauses since a
/// connection was last in use, from 0.
using reconnect_pauses = std::function<clock::duration(std::uint32_t attempt)>;

/// Pauses of a back-off with full jitter.
reconnect_pauses drawn_pauses(coro::backoff_options limits, std::uint64_t seed);

/// The client's end of the way to a server: one session, and one connection after the other for it.
/// What a connection is, and what is said on it, is the subject of the class that derives from this
/// one.
///
/// A link has no connection, or is opening one, or has one in use. A connection that ends while it
/// is in use is replaced after a pause, with the next generation of the session; the pauses grow
/// until an opening succeeds. A connection that ends while it is being opened makes the opening
/// fail. A new opening supersedes the one under way, and what that one still brings is worth
/// nothing.
///
/// @par Threads   The strand; `explain`: any.
/// @par Lifetimes Owned by a `shared_ptr`, which every coroutine of this class keeps.
class session_link : public std::enable_shared_from_this<session_link> {
public:
    explicit session_link(reconnect_pauses pauses);
    virtual ~session_link() = default;
    session_link(const session_link&) = delete;
    session_link& operator=(const session_link&) = delete;

    /// As `store::attach`.
    virtual void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    );
    /// As `store::detach`. Closes the connection, unless this is a forked child: the connection is
    /// the parent's.
    void detach() noexcept;

    /// Opens the first connection of a session, or the next one of the same, instead of the one
    /// that there is. If that fails, nothing is tried again before the next call.
    /// @par Errors `outcome_unknown`: another opening has superseded this one, or the connection
    ///             was closed when the session had been proved. Or as of the connection.
    asio::awaitable<result<resumed>> open(session_start start);

    clock::time_point now() const noexcept { return time_->now(); }
    const session_start& session() const noexcept { return session_; }
    /// Whether the session has a connection in use.
    bool connected() const noexcept { return phase_ == phase::connected; }

    /// Notes that the session waits for the next change from now on.
    void begin_to_watch() noexcept { watching_ = true; }
    /// Compares that with the server's word, from a heartbeat: this finds a push that was lost.
    void compare_watching(bool at_server);

    /// The newest failure, for people. Any thread.
    std::string explain() const;

protected:
    // The connection. These four are called by this class alone, and none of them throws.

    /// Opens a new connection for `session`. The time that it takes is limited by the store.
    virtual asio::awaitable<error_code> open_connection() = 0;
    /// Makes the session known at the server by the connection that was just opened, or proves it
    /// again. The server refuses calls of a lower generation from then on.
    /// @par Errors `session_lost` and `newer_format` end the session.
    virtual asio::awaitable<result<resumed>> prove() = 0;
    /// Closes the connection, whether it is open, being opened or absent. What waits for it ends
    /// soon: `open_connection` and `prove` with whatever result, since nobody uses it.
    virtual void close_connection() noexcept = 0;
    /// Called when the opening has ended: its connection is in use from now on, or will be closed.
    /// Not called for an opening that was superseded.
    virtual void opening_ended(bool in_use);

    /// Called when another session begins than the one that this link had.
    virtual void begin_session() {}
    /// Tells the owner that the session goes on with another connection, on which no push of the
    /// time between arrived. `before` is the incarnation until then.
    virtual void came_back(const random_id& before);

    /// The connection has ended by itself.
    void connection_closed() noexcept;
    /// Gives the connection up and opens another one. Does nothing to one that is being opened: its
    /// opening fails by itself.
    void replace_connection();

    /// The number of the connection in use; 0 if there is none. A call notes it before it is sent.
    std::uint64_t connection() const noexcept { return connected() ? connection_ : 0; }
    /// Whether the session still uses that connection. If not, an error that came on it says
    /// nothing of the session: the next connection may have proved it meanwhile.
    bool is_current(std::uint64_t number) const noexcept {
        return number != 0 && number == connection();
    }

    /// Waits until no connection is being opened. @return whether there is one then.
    asio::awaitable<bool> settle();
    /// Ends the session and closes its connection.
    void end_session() noexcept;

    const random_id& incarnation() const noexcept { return incarnation_; }
    /// Notes that the store may have forgotten something. A proof notes the incarnation by itself.
    void set_incarnation(const random_id& incarnation) noexcept { incarnation_ = incarnation; }

    /// Tells the owner by a handler of its own, since it must not be told from inside a call.
    void tell(store_event::kind kind);
    void tell(const store_event& event);
    /// Tells the owner at once, outside of all calls. `changed` is told only to who watches, once.
    void tell_now(const store_event& event);

    /// Notes a failure for `explain`. @return its code.
    error_code remember(const error_code& why, std::string text);

    const asio::any_io_executor& strand() const noexcept { return strand_; }
    /// Whether a client still hears of the session.
    bool attached() const noexcept { return events_ != nullptr; }
    const std::shared_ptr<coro::time_source>& time() const noexcept { return time_; }

private:
    enum class phase : std::uint8_t {
        idle,
        opening,  ///< Stays so until the opening has ended, even if its connection is gone.
        connected,
    };

    std::uint64_t begin_opening() noexcept;
    asio::awaitable<result<resumed>> run_opening(std::uint64_t number);
    asio::awaitable<result<resumed>> open_and_prove(std::uint64_t number);
    void reconnect_later();
    asio::awaitable<void> reconnect(std::shared_ptr<session_link> self, session_id meant);
    bool may_reconnect(const session_id& meant) const noexcept;
    void drop() noexcept;

    const reconnect_pauses pauses_;
    asio::any_io_executor strand_;
    store_events* events_ = nullptr;  ///< Null before `attach` and after `detach`.
    std::shared_ptr<coro::time_source> time_;

    session_start session_;
    bool has_session_ = false;
    bool watching_ = false;
    random_id incarnation_;

    phase phase_ = phase::idle;
    std::uint64_t openings_ = 0;          ///< Counts the openings; the newest has this number.
    std::uint64_t connection_ = 0;        ///< The opening that brought the connection; 0: none.
    std::optional<coro::event> settled_;  ///< Set while no connection is being opened.
    std::uint32_t attempts_ = 0;          ///< The pauses since a connection was last in use.
    alarm reconnect_alarm_;
    const coro::detail::fork_guard process_;

    mutable std::mutex failure_mutex_;
    std::string failure_;
};

}  // namespace mortise::store_detail

#endif
