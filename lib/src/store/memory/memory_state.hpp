// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MEMORY_MEMORY_STATE_HPP
#define MORTISE_STORE_MEMORY_MEMORY_STATE_HPP

#include "core/lock_engine.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store_types.hpp"
#include "store/memory/memory_rows.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mortise::detail {

/// The memory server: one mutex, the rows, and the faults that it was told to have.
///
/// Each function is one transaction. Pushes go out under the mutex, through a function of the
/// session that only hands them over.
///
/// Source files: memory_state.cpp (transactions of sessions), memory_views.cpp (views,
/// breaking, watching, examination).
class memory_state {
public:
    /// Hands an event to its session and returns; called under the mutex.
    using push_function = std::function<void(const store_event&)>;

    explicit memory_state(std::shared_ptr<coro::time_source> time);

    /// Lends the server the clock of a client, until the client takes it back: its executor may end
    /// with it. A server that has a clock of its own uses that one.
    void lend(const std::shared_ptr<coro::time_source>& time);
    void take_back(const std::shared_ptr<coro::time_source>& time) noexcept;

    result<resumed> resume(const session_start& start, push_function push);
    error_code end(const session_id& session);
    result<answer>
    request(const session_id& session, std::uint64_t generation, const lock_request& request);
    result<answers_in_order> request_in_order(
        const session_id& session,
        std::uint64_t generation,
        const std::vector<lock_request>& requests
    );
    error_code withdraw(
        const session_id& session, std::uint64_t generation, const std::string& name, request_id id
    );
    result<bool> release(const session_id& session, std::uint64_t generation, const grant& held);
    released_and_asked release_and_request(
        const session_id& session,
        std::uint64_t generation,
        const grant& held,
        const lock_request& request
    );
    result<heartbeat> beat(const session_id& session, std::uint64_t generation);
    result<session_view> look(const session_id& session, std::uint64_t generation);
    result<std::vector<lock_view>>
    list(const std::string& after, std::size_t limit, std::size_t queue_max);
    result<std::optional<lock_view>> inspect(const std::string& name, std::size_t queue_max);
    result<token_range>
    draw(const session_id& session, std::uint64_t generation, const grant& held);
    result<std::chrono::milliseconds> extend(
        const session_id& session,
        std::uint64_t generation,
        const grant& held,
        std::chrono::milliseconds hold_max
    );
    result<bool> break_(const break_order& order);
    result<std::vector<break_record>> breaks(const std::string& name, std::size_t limit);
    error_code watch(const session_id& session, std::uint64_t generation);
    /// Whether `session` still waits to be told of a change.
    bool watches(const session_id& session) const;
    result<std::vector<store_finding>> examine();

    /// Ends `session` because its connection is closed, which proves that it is dead. The faults do
    /// not prevent this.
    void closed(const session_id& session) noexcept;

    void lose_replies(std::size_t count);
    void lose_pushes(std::size_t count);
    void set_unavailable(bool unavailable);
    void set_unreachable(const session_id& session, bool unreachable);
    void restart(bool with_memory);
    /// Counts those that are dead and not forgotten yet, too.
    std::size_t sessions() const;
    std::size_t entries() const;

    /// How many entries of dead sessions and ended grants a heartbeat frees: it holds the mutex for
    /// less than a millisecond.
    static constexpr std::size_t reaped_at_once = 256;

private:
    result<core::session_key> enter(const session_id& session, std::uint64_t generation);
    result<answer>
    ask(core::lock_engine& engine, core::session_key session, const lock_request& request);
    bool let_go(core::lock_engine& engine, core::session_key session, const grant& held);
    bool lose_reply();
    void finish(
        core::lock_engine& engine, core::session_key actor, std::span<const request_id> answered
    );
    void tell_watchers();
    bool push(core::session_key to, const store_event& event);
    bool reap_some();
    void reap_all();
    void mark_dead(const session_id& session);
    clock::time_point now() const noexcept;
    bool shows(const core::lock_entry& entry);
    void wake_after_quarantine();
    session_view view_of(core::session_key key);
    party_view describe(const core::lock_entry& entry) const;
    std::optional<lock_view> describe(
        const std::string& name,
        const store_detail::memory_rows::entries_of_lock& lock,
        std::size_t queue_max
    );

    mutable std::mutex mutex_;
    const std::shared_ptr<coro::time_source> time_;
    std::vector<std::shared_ptr<coro::time_source>> lent_;
    store_detail::memory_rows rows_;
    std::map<session_id, core::session_key> keys_;
    random_id incarnation_ = random_id::draw();
    token_domain domain_;
    /// The sessions that watch, each with `rows_.changes` as it was when it began to.
    std::map<core::session_key, std::uint64_t> watchers_;
    std::deque<break_record> breaks_;
    bool quarantine_over_ = true;
    std::size_t replies_to_lose_ = 0;
    std::size_t pushes_to_lose_ = 0;
    bool unavailable_ = false;
};

}  // namespace mortise::detail

#endif
