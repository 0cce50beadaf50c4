// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLAIM_HPP
#define MORTISE_CLIENT_CLAIM_HPP

#include "client/token_supply.hpp"
#include "client/waiter_list.hpp"
#include "core/acquire_fsm.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/deadline_list.hpp"
#include "mortise/lock_mode.hpp"
#include "mortise/store_types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::detail {

using coro::detail::deadline_list;

class held_grant;
class lock_queue;

/// Empty for a destructor's release.
using release_handler = coro::detail::completion<void(error_code)>;

/// One client's entry at the store for one lock: a request, then its grant. It stands for all
/// coroutines to which the lock is passed inside the process.
class claim : public std::enable_shared_from_this<claim> {
public:
    enum class stage : std::uint8_t {
        asking,   ///< Until the store's yes, or until nothing is left to undo.
        granted,  ///< Serves the queue.
        over,     ///< Released, or lost.
    };

    claim(
        std::shared_ptr<lock_queue> queue,
        lock_mode how,
        std::chrono::milliseconds hold,
        bool may_queue
    )
        : of(std::move(queue)), mode(how), hold_max(hold), queues(may_queue) {}

    bool ends_by_itself() const noexcept { return hold_max != std::chrono::milliseconds::max(); }

    const std::shared_ptr<lock_queue> of;
    const lock_mode mode;
    const std::chrono::milliseconds hold_max;
    const bool queues;

    // On the client's strand.
    core::acquire_fsm fsm;
    request_id id = 0;        ///< Of the present request; zero while there is none.
    std::uint64_t order = 0;  ///< The order of arrival at the strand.
    clock::time_point sent = clock::time_point::max();  ///< When that request was first sent.
    bool asked_again = false;  ///< Sent again by the same id: a grant may be as old as `sent`.
    /// If a look found the grant: when the look was sent, and the age that it reported.
    clock::time_point seen_at;
    clock::duration age{};
    clock::time_point undo_since;  ///< When its undoing began.
    deadline_list::handle timer;   ///< For the undo budget; later for `linger` or `hold_max`.
    deadline_list::handle retry_timer;
    deadline_list::handle alarm;  ///< Before the end of `hold_max`.
    unsigned retries = 0;
    bool store_busy = false;  ///< The last try to undo found the store busy with somebody else.

    // Written once, before the grant is delivered.
    fencing_token token;     ///< As the store knows the grant.
    std::uint32_t slot = 0;  ///< Of a permit.
    /// When it ends by `hold_max`.
    clock::time_point ends_at = clock::time_point::max();
    clock::time_point alarm_at = clock::time_point::max();

    // Under the mutex of the lock table.
    stage at = stage::asking;
    waiter_list bound;  ///< The waiters that get its outcome; if empty, a grant serves the queue.
    const local_waiter* only_for = nullptr;  ///< The waiter whose `hold_max` it carries.
    token_supply tokens;
    held_grant* holds = nullptr;  ///< Its leases, as an intrusive list.
    std::size_t holders = 0;
    bool hosts_readers = false;  ///< Its present holders are readers, who share `shared_token`.
    fencing_token shared_token;
    bool contended = false;  ///< Another client waits for the lock.
    std::uint32_t turn_left = 0;
    clock::time_point turn_end;
    release_handler released;             ///< Completed once the store has the grant back.
    bool released_late = false;           ///< By a destructor.
    std::chrono::milliseconds linger{0};  ///< As its last holder wished.
    clock::time_point idle_since;
    bool linger_armed = false;  ///< Whether a timer for `linger` is set.
};

}  // namespace mortise::detail

#endif
