// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_RELEASE_OP_HPP
#define MORTISE_CLIENT_RELEASE_OP_HPP

#include "client/claim.hpp"
#include "mortise/coro/detail/deadline_list.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace mortise::detail {

/// A release under way: tried until the store acknowledges it or the session is gone. Lives on the
/// strand.
struct release_op {
    release_op(std::shared_ptr<claim> released, release_handler then, bool by_destructor)
        : released_claim(std::move(released)), handler(std::move(then)), late(by_destructor) {}

    const std::shared_ptr<claim> released_claim;
    release_handler handler;  ///< Empty for a destructor's release, and once completed.
    const bool late;          ///< By a destructor.
    clock::time_point since;
    deadline_list::handle timer;  ///< The budget.
    deadline_list::handle retry_timer;
    bool answered = false;  ///< The store answered, even if by an error.
    /// Requests for the same lock, to be sent once this release is answered.
    std::vector<std::shared_ptr<claim>> behind;
    unsigned retries = 0;
    bool store_busy = false;  ///< The last try found the store busy with somebody else.
};

}  // namespace mortise::detail

#endif
