// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/worker_host.hpp"

#include <utility>

namespace mortise::coro::detail {

asio::execution_context::id worker_host::id;

void worker_host::install(asio::execution_context& context, scheduler later) {
    asio::use_service<worker_host>(context).later_ = std::move(later);
}

worker_host* worker_host::find(asio::execution_context& context) {
    if (!asio::has_service<worker_host>(context))
        return nullptr;
    return &asio::use_service<worker_host>(context);
}

// Drops all turns that are scheduled from here on: nobody would run them.
void worker_host::shutdown() {
    later_ = [](const std::function<void()>&) {};
}

}  // namespace mortise::coro::detail
