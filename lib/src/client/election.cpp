// SPDX-License-Identifier: BSL-1.0
#include "mortise/election.hpp"

#include "client/client_core.hpp"

#include <utility>

namespace mortise::detail {

bool stands_again(const error_code& why) noexcept {
    if (why == errc::client_stopped || why == errc::forked)
        return false;
    return why == condition::not_held || why == condition::retryable;
}

std::shared_ptr<coro::time_source> time_of(const lock_client& client) noexcept {
    return client.core_->context.time();
}

std::shared_ptr<client_core> core_of(const lock_client& client) noexcept {
    return client.core_;
}

}  // namespace mortise::detail
