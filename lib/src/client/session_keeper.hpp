// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_SESSION_KEEPER_HPP
#define MORTISE_CLIENT_SESSION_KEEPER_HPP

#include "client/client_context.hpp"
#include "core/session_fsm.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace mortise::detail {

/// Keeps the session of one proof number: opens it when a claim needs one, proves it by heartbeats,
/// and tells the other parts of its loss.
///
/// @par Threads The strand.
class session_keeper final : session_part {
public:
    session_keeper(client_session& own, client_core& core, client_context& context)
        : session_part(own, core, context), fsm_(context.timing()) {}

    bool open() const noexcept { return fsm_.open(); }
    /// Whether the store may have the session: it is open, or being opened.
    bool may_exist() const noexcept { return fsm_.open() || opening_; }
    /// Whether the next opening waits for the end of a pause.
    bool opens_later() const noexcept { return open_later_; }
    bool surely_held() const { return fsm_.at(context_.now()) == core::session_fsm::state::held; }
    /// The holders were warned that the session is about to expire.
    bool warned() const noexcept { return fsm_.alarm_at() == clock::time_point::max(); }

    /// Opens a session unless there is one.
    void need();
    /// Sends a heartbeat unless one is under way.
    void beat();
    /// Sees to it that a proof comes soon.
    void prove();
    bool beat_is_due(clock::time_point at) const { return !beating_ && fsm_.beat_at() <= at; }
    /// @param soon a heartbeat that is due by then is sent, too.
    void beat_if_due(clock::time_point at, clock::time_point soon);
    /// @return whether the holders must be warned now.
    bool take_alarm(clock::time_point at) { return fsm_.take_alarm(at); }
    /// The earliest moment of an alarm or a heartbeat.
    clock::time_point next_deadline() const;

    /// The store may have forgotten the session.
    void doubt();
    /// Ends the session. Its leases are lost; its waiters begin again with a new session.
    void lose(errc why);
    /// Gives up the session because something of it cannot be undone: without heartbeats the store
    /// ends it and frees all that it has.
    void abandon() { lose(errc::lease_lost); }
    /// Ends the session with the client: nothing begins again.
    void end();

    /// Whether `why` is an outage of a server. Waiters wait it out; a try is told at once.
    bool is_outage(const error_code& why) const noexcept;
    void note_outage(const error_code& why) noexcept;
    void outage_over() noexcept;

    /// Counts sessions: an answer to an earlier one is void.
    std::uint64_t epoch() const noexcept { return epoch_; }
    bool is_current(std::uint64_t epoch) const noexcept {
        return epoch == epoch_ && !context_.closed();
    }
    /// Notes a call that may change a lock. @return the epoch, for `end_call`.
    std::uint64_t begin_call() noexcept;
    /// @return whether the answer counts.
    bool end_call(std::uint64_t epoch) noexcept;

    /// Which life of the store has answered last.
    const random_id& incarnation() const noexcept { return incarnation_; }
    /// A look that was sent to this life of the store found all grants: the proof that waited for
    /// it counts.
    void confirm_proof(const random_id& incarnation);

private:
    void opened(const resumed& reply);
    void opening_failed(error_code why);
    void beaten(const heartbeat& reply, bool quiet);
    void proved(const core::proof_of_life& proof);
    void publish();
    clock::duration pause_before(clock::duration deadline) const noexcept;
    void note_quarantine(clock::duration left) noexcept;
    asio::awaitable<void> run_open(std::shared_ptr<const void> kept);
    asio::awaitable<void> run_beat(std::shared_ptr<const void> kept);

    core::session_fsm fsm_;
    session_id id_;
    std::uint64_t epoch_ = 0;
    bool opening_ = false;
    bool was_open_ = false;         ///< There has been a session.
    unsigned openings_failed_ = 0;  ///< In a row, the first one at `outage_since_`.
    clock::time_point outage_since_;
    client_context::timer open_timer_;
    bool open_later_ = false;  ///< `open_timer_` is set.
    bool beating_ = false;
    std::optional<core::proof_of_life> proof_pending_;  ///< A proof that counts only after a look.
    random_id incarnation_;
    /// When another session may be dead at the store, so that a heartbeat would free its locks.
    clock::time_point reap_at_ = clock::time_point::max();
    /// Calls that may have changed a lock, ever: the same number twice means a quiet time.
    std::uint64_t calls_ = 0;
    std::uint64_t calls_under_way_ = 0;  ///< Of this session.
};

}  // namespace mortise::detail

#endif
