// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_SESSION_FSM_HPP
#define MORTISE_CORE_SESSION_FSM_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/options.hpp"

#include <cstdint>
#include <optional>

namespace mortise::core {

/// The durations that keep a session alive; all follow from the configuration.
struct session_timing {
    clock::duration ttl{};          ///< How long the store promises to keep the session.
    clock::duration window{};       ///< How much of that the client trusts: ttl x (1 - drift).
    clock::duration stop_margin{};  ///< How long before the end of the window the alarm is raised.
    clock::duration beat_every{};   ///< ttl / 3
    clock::duration retry_every{};  ///< ttl / 20; after a heartbeat that failed

    static session_timing from(const client_config& config) noexcept;
};

/// An acknowledged proof of life.
struct proof_of_life {
    /// A proof that counts from its own sending.
    proof_of_life(clock::time_point at) noexcept : base(at), sent(at) {}  // NOLINT: converts
    /// @param counts_from the sending of an earlier proof, if the answer proves only that one.
    proof_of_life(clock::time_point at, std::optional<clock::time_point> counts_from) noexcept
        : base(counts_from.value_or(at)), sent(at) {}

    clock::time_point base;  ///< The store keeps the session for at least a TTL from then on.
    clock::time_point sent;  ///< The next proof is due by this moment.
};

/// When a session is sure, when to prove it again, and when to raise the alarm. No clock, no I/O.
///
/// The deadline counts from the *base* of the last acknowledged proof, which is the moment it was
/// sent or an earlier one: the store cannot have started its own TTL before. The next heartbeat is
/// due by the sending: an old base must not make heartbeats more frequent. Past the deadline the
/// session is unsure; a later proof makes it held again, because the store never revives a session
/// that is gone. Gone is final: a proof after `gone` belongs to a new session.
class session_fsm {
public:
    enum class state : std::uint8_t {
        none,  ///< Never opened, or gone.
        held,
        unsure,  ///< The window ended, or the store may have forgotten something (`doubt`).
    };

    explicit session_fsm(const session_timing& timing) noexcept : timing_(timing) {}

    /// The store acknowledged a resume or a heartbeat.
    void proved(const proof_of_life& proof) noexcept;

    /// A heartbeat sent at `sent` got no good answer by `now`.
    void failed(clock::time_point now) noexcept;

    /// The session has ended, by the store's word or by our own decision.
    void gone() noexcept;

    /// The store may have forgotten something: nothing is sure until the next proof.
    /// @param others_wait whether the store grants nothing to others before the present window has
    ///     ended; the alarm then keeps its time, since a proof may come before it.
    void doubt(clock::time_point now, bool others_wait) noexcept;

    state at(clock::time_point now) const noexcept;

    /// Whether a session exists, sure or not.
    bool open() const noexcept { return open_; }

    /// The end of the window; the clock's minimum if nothing is sure.
    clock::time_point deadline() const noexcept { return deadline_; }

    /// The base of the last good proof.
    clock::time_point verified() const noexcept { return verified_; }

    /// When the next heartbeat is due.
    clock::time_point beat_at() const noexcept { return beat_at_; }

    /// When the holders must be told to stop; the clock's maximum if they have been told already.
    clock::time_point alarm_at() const noexcept { return alarm_at_; }

    /// Whether the holders must be told now: true once for each window that ends.
    bool take_alarm(clock::time_point now) noexcept;

private:
    session_timing timing_;
    bool open_ = false;
    clock::time_point verified_ = clock::time_point::min();
    clock::time_point sent_ = clock::time_point::min();
    clock::time_point deadline_ = clock::time_point::min();
    clock::time_point beat_at_ = clock::time_point::max();
    clock::time_point alarm_at_ = clock::time_point::max();
};

}  // namespace mortise::core

#endif
