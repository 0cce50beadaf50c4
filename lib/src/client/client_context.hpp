// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLIENT_CONTEXT_HPP
#define MORTISE_CLIENT_CLIENT_CONTEXT_HPP

#include "client/client_counters.hpp"
#include "client/held_grant.hpp"
#include "client/session_watch.hpp"
#include "core/session_fsm.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/deadline_list.hpp"
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/lock_observer.hpp"
#include "mortise/options.hpp"
#include "mortise/store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <forward_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::detail {

class client_core;
class client_session;

/// Everything that the parts of a client share: the strand, the store, the configuration, the
/// timers, the observer, and how far the end of the client has come.
///
/// @par Threads The strand, except for the members marked "Any thread".
class client_context {
public:
    using timer = deadline_list::handle;

    /// @throws error if the store cannot keep to the configuration.
    client_context(
        asio::any_io_executor executor, std::unique_ptr<store> impl, client_config config
    );

    // Any thread.
    const asio::any_io_executor& executor() const noexcept { return seat_.executor(); }
    /// Valid until `leave`.
    const asio::any_io_executor& strand() const noexcept { return seat_.strand(); }
    /// The execution context has ended, and the strand with it.
    bool ended() const noexcept { return seat_.ended(); }
    bool forked() const noexcept { return seat_.forked(); }
    /// The abilities of the store, as far as they are known by now.
    const store_traits& traits() const noexcept { return *traits_.load(std::memory_order_acquire); }
    const client_config& config() const noexcept { return config_; }
    const core::session_timing& timing() const noexcept { return timing_; }
    const std::shared_ptr<coro::time_source>& time() const noexcept { return time_; }
    clock::time_point now() const noexcept { return time_->now(); }
    /// The parts that a client's leases need when the client is gone.
    const std::shared_ptr<client_home>& home() const noexcept { return home_; }
    /// Keeps all parts alive. Every coroutine and every posted handler holds one.
    std::shared_ptr<const void> keep() const noexcept { return home_->core.lock(); }
    bool observed() const noexcept { return config_.observer != nullptr; }
    void tell(const lock_event& event) const noexcept;
    void tell(lock_event::kind kind, const held_grant& held, error_code code = {}) const noexcept;
    /// What the store says about itself; nothing once the execution context has ended.
    std::string explain_store() const;

    /// Call once, before anybody else has the owner. @return false if it must shut down at once.
    [[nodiscard]] bool take(const std::shared_ptr<client_core>& owner, store_events& events);
    /// The execution context is being destroyed: lets go of the store and the strand. A strand must
    /// not outlive its context, but the user's client may.
    void leave() noexcept;

    /// Valid until `leave`.
    store& at_store() const noexcept { return *store_; }
    /// The number of the session that asks for this lock. Any thread.
    proof_number number_of(std::string_view name) const noexcept {
        return store_ ? store_->number_of(name) : 0;
    }
    /// Reads the traits again: the server has told them.
    void read_traits();
    /// Runs a coroutine on the strand. Calls of the store throw nothing but `bad_alloc`, which
    /// leaves through the context's `run`.
    void spawn(asio::awaitable<void> task) const;

    /// No new claim is begun, and those under way are undone.
    bool stopping() const noexcept { return stopping_; }
    void begin_stop() noexcept { stopping_ = true; }
    /// Cut off from the user and the store: answers that arrive now are void.
    bool closed() const noexcept { return closed_; }
    /// @return false if it is closed already.
    bool close() noexcept { return !std::exchange(closed_, true); }

    void set_timer(timer& at, clock::time_point when, deadline_list::task work) {
        deadlines_.set(at, when, std::move(work));
    }
    void clear_timer(timer& at) { deadlines_.clear(at); }
    void clear_timers();
    /// When the earliest timer is due.
    clock::time_point next_timer() const noexcept { return deadlines_.next(); }
    /// Runs the tasks of all timers that are due at this moment.
    void run_timers(clock::time_point at);
    /// Calls `then` on the strand at this moment or before, unless an earlier call is set already.
    void wake_at(clock::time_point when, void (client_core::*then)());

    client_counters count;

private:
    coro::detail::strand_seat seat_;
    std::unique_ptr<store> store_;
    /// All that the store has ever said of itself, since any thread may still read an earlier one.
    /// A store says few different things.
    std::forward_list<store_traits> known_traits_;
    std::atomic<const store_traits*> traits_;
    const client_config config_;
    const std::shared_ptr<coro::time_source> time_;
    const core::session_timing timing_;
    const std::shared_ptr<client_home> home_;
    bool stopping_ = false;
    bool closed_ = false;
    deadline_list deadlines_;
    coro::detail::alarm alarm_;
    clock::time_point armed_for_;
};

/// A part of a client. It owns its state, and reaches the other parts through the core.
class client_part {
protected:
    client_part(client_core& core, client_context& context) noexcept
        : core_(core), context_(context) {}
    ~client_part() = default;
    client_part(const client_part&) = delete;
    client_part& operator=(const client_part&) = delete;

    client_core& core_;
    client_context& context_;
};

/// A part of a session. It reaches the other parts through the session, and what the sessions share
/// through the core.
class session_part : client_part {
protected:
    session_part(client_session& own, client_core& core, client_context& context) noexcept
        : client_part(core, context), own_(own) {}
    ~session_part() = default;

    using client_part::context_;
    using client_part::core_;
    client_session& own_;
};

/// The pause between two attempts to undo something: 20 ms, doubled up to a second.
clock::duration undo_pause(unsigned attempt) noexcept;

}  // namespace mortise::detail

#endif
