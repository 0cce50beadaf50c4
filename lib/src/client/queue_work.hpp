// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_QUEUE_WORK_HPP
#define MORTISE_CLIENT_QUEUE_WORK_HPP

#include "client/claim.hpp"
#include "client/waiter_list.hpp"
#include "mortise/error.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::detail {

/// A task that a client must do on its strand because its lock table changed.
struct strand_task {
    enum class kind : std::uint8_t {
        ask,      ///< A new claim: send its request.
        stop,     ///< Nobody wants this claim any longer: undo it.
        release,  ///< Give the grant back to the store.
        draw,     ///< Draw more tokens.
        linger,   ///< Give the grant back, if it is still idle when `linger` is over.
        time,     ///< A lease that ends before its grant: set its timers.
        untime,   ///< Such a lease was released: clear its timers.
        arm,      ///< A waiter has the nearest deadline: set the client's timer.
    };

    kind type;
    std::shared_ptr<claim> target;
    error_code why;                    ///< With `stop`.
    std::shared_ptr<held_grant> held;  ///< With `time` and `untime`.
};

/// The consequences of a change of the lock table, carried out when its mutex is free again.
struct queue_work {
    queue_work() = default;

    waiter_list done;  ///< To be completed.
    std::vector<strand_task> tasks;
    /// Leases whose lock became contended, and whose users wait for that.
    std::vector<std::shared_ptr<held_grant>> contended;

    void add(strand_task::kind type, std::shared_ptr<claim> target, error_code why = {}) {
        tasks.push_back({type, std::move(target), why, nullptr});
    }
    void add_hold(strand_task::kind type, std::shared_ptr<held_grant> held) {
        tasks.push_back({type, nullptr, {}, std::move(held)});
    }
};

}  // namespace mortise::detail

#endif
