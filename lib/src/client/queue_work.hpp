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

/// Something that a client has to do on its strand because its lock table changed.
struct strand_task {
    enum class kind : std::uint8_t {
        ask,      ///< A new claim: send its request.
        stop,     ///< Nobody wants this claim any more: undo it.
        release,  ///< Give the grant back to the store.
        draw,     ///< Draw more tokens.
        linger,   ///< Give it back, if it is still idle when its time has come.
        time,     ///< A lease that ends before its grant: set its timers.
        untime,   ///< It was released before that: clear them.
        arm,      ///< A deadline is nearer than those before.
    };

    kind what;
    std::shared_ptr<claim> whom;
    error_code why;                    ///< With `stop`.
    std::shared_ptr<held_grant> held;  ///< With `time` and `untime`.
};

/// What follows from a change of the lock table; done when its mutex is free again.
struct queue_work {
    queue_work() = default;

    waiter_list done;  ///< To be completed.
    std::vector<strand_task> tasks;
    /// Leases whose lock somebody else has begun to wait for, and for whom somebody waits for that.
    std::vector<std::shared_ptr<held_grant>> contended;

    void add(strand_task::kind what, std::shared_ptr<claim> whom, error_code why = {}) {
        tasks.push_back({what, std::move(whom), why, nullptr});
    }
    void add_hold(strand_task::kind what, std::shared_ptr<held_grant> held) {
        tasks.push_back({what, nullptr, {}, std::move(held)});
    }
};

}  // namespace mortise::detail

#endif
