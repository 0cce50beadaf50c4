// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_MAILBOX_HPP
#define MORTISE_STORE_SQLITE_MAILBOX_HPP

#include "mortise/detail/unique_fd.hpp"
#include "sqlite/sockets.hpp"
#include "store/life/life_watch.hpp"
#include "store/sqlite/hint_sender.hpp"
#include "store/sqlite/own_session.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mortise::store_detail {

/// A connection to a session that must be watched from now on.
struct neighbour_link {
    neighbour_link() = default;

    neighbour peer;
    detail::unique_fd connection;
};

/// The sessions that a session must watch, and what was found out while looking.
struct neighbour_plan {
    neighbour_plan() = default;

    std::vector<neighbour> wanted;      ///< All that must be watched; others need not be.
    std::vector<neighbour_link> fresh;  ///< Those of `wanted` that were not watched, connected now.
    std::vector<neighbour> dead;        ///< Proved dead by a socket that refused.
    bool unburied = false;              ///< Somebody was dead before it could be watched.
};

/// Looks at the slots and connects to the successors that are not watched yet. May wait for the
/// disk.
neighbour_plan plan_neighbours(const own_session& session, const std::vector<neighbour>& watched);

/// What arrives at a mailbox.
class mailbox_events {
public:
    /// Hints for this session; never empty.
    virtual void on_hints(const std::vector<hint>& hints) = 0;
    /// The connection to a watched session has ended: its process is dead, or has let go of it.
    virtual void on_silence(const neighbour& peer) = 0;

protected:
    ~mailbox_events() = default;
};

/// The sockets of one session: its inbox, and those by which the death of a process is seen.
///
/// @par Threads The strand.
class mailbox : public std::enable_shared_from_this<mailbox> {
public:
    mailbox(asio::any_io_executor strand, mailbox_events& events, core::session_key session);

    void open(sqlite_detail::session_sockets sockets);
    /// Closes all sockets; no event is told afterwards.
    void close() noexcept;

    const std::vector<neighbour>& watched() const noexcept { return watched_; }
    /// Watches the sessions in `plan.fresh` and lets go of those that are no longer wanted.
    void apply(neighbour_plan plan);
    /// Accepts connections again, if that had to stop.
    void resume_accepting();

    /// How many datagrams were not ours.
    std::uint64_t malformed() const noexcept { return malformed_; }

private:
    using descriptor = asio::posix::stream_descriptor;

    void lose(core::session_key silent);
    void await_hints();
    void read_hints();

    asio::any_io_executor strand_;
    mailbox_events* events_;
    const core::session_key session_;
    descriptor inbox_;
    std::size_t inbox_max_ = 0;
    std::uint64_t malformed_ = 0;
    std::shared_ptr<life_watch> life_;  ///< Null before `open`.
    std::vector<neighbour> watched_;
};

}  // namespace mortise::store_detail

#endif
