// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/participant_routes.hpp"

#include "server/participant_desk.hpp"

#include <utility>

namespace mortise::txn {
namespace {

// Keeps the desk, because the routes may be destroyed meanwhile.
asio::awaitable<http_response>
ask(std::shared_ptr<const http::participant_desk> desk, http_request asked) {
    co_return co_await desk->answer(asked);
}

}  // namespace

participant_routes::participant_routes(participant_map served, participant_routes_config config)
    : desk_(std::make_shared<const http::participant_desk>(std::move(served), std::move(config))) {}

bool participant_routes::owns(std::string_view target) const noexcept {
    return desk_->owns(target);
}

asio::awaitable<http_response> participant_routes::answer(http_request asked) const {
    return ask(desk_, std::move(asked));
}

std::uint64_t participant_routes::denied() const noexcept {
    return desk_->denied();
}

}  // namespace mortise::txn
