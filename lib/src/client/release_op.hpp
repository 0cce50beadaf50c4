// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_RELEASE_OP_HPP
#define MORTISE_CLIENT_RELEASE_OP_HPP

#include "client/deadline_list.hpp"
#include "client/held_grant.hpp"
#include "mortise/coro/detail/completion.hpp"

#include <memory>
#include <utility>

namespace mortise::detail {

/// A release under way: tried until the store acknowledges it or the session is gone. Lives on the
/// strand.
struct release_op {
    using handler_type = coro::detail::completion<void(error_code)>;

    release_op(std::shared_ptr<held_grant> what, handler_type then, bool by_destructor)
        : held(std::move(what)), handler(std::move(then)), late(by_destructor) {}

    const std::shared_ptr<held_grant> held;
    handler_type handler;  ///< Empty for a destructor's release, and once completed.
    const bool late;       ///< By a destructor.
    clock::time_point since;
    deadline_list::handle timer;  ///< The budget.
    deadline_list::handle retry_timer;
    unsigned retries = 0;
};

}  // namespace mortise::detail

#endif
