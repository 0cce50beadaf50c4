// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/wait_service.hpp"

#include <boost/asio/detail/strand_executor_service.hpp>

namespace mortise::coro::detail {

asio::execution_context::id wait_service::id;

// Makes the service of strands first, because a context shuts its services down in reverse order:
// our threads post to strands until they are stopped, so strands must end after this service.
wait_service::wait_service(asio::execution_context& owner)
    : asio::execution_context::service(owner), ended_(std::make_shared<std::atomic<bool>>(false)) {
    asio::use_service<asio::detail::strand_executor_service>(owner);
}

wait_service::~wait_service() = default;

wait_service& wait_service::of(asio::execution_context& context) {
    return asio::use_service<wait_service>(context);
}

bool wait_service::link(const std::shared_ptr<shutdown_hook>& hook) {
    std::lock_guard hold(mutex_);
    if (*ended_)
        return false;
    hook->self_ = hook;
    hook->service_ = this;
    hook->after_ = first_;
    if (first_ != nullptr)
        first_->before_ = hook.get();
    first_ = hook.get();
    return true;
}

void wait_service::unlink(shutdown_hook& hook) noexcept {
    wait_service* const service = hook.service_;
    if (service == nullptr)
        return;
    std::lock_guard hold(service->mutex_);
    if (hook.service_ == service)
        service->take_off(hook);
}

void wait_service::take_off(shutdown_hook& hook) noexcept {
    (hook.before_ != nullptr ? hook.before_->after_ : first_) = hook.after_;
    if (hook.after_ != nullptr)
        hook.after_->before_ = hook.before_;
    hook.before_ = nullptr;
    hook.after_ = nullptr;
    hook.service_ = nullptr;
}

void wait_service::shutdown() {
    for (;;) {  // ends: from the first turn on nothing can be linked
        std::shared_ptr<shutdown_hook> hook;
        {
            std::lock_guard hold(mutex_);
            *ended_ = true;
            if (first_ == nullptr)
                return;
            hook = first_->self_.lock();
            take_off(*first_);
        }
        if (hook)
            hook->shut_down();
    }
}

}  // namespace mortise::coro::detail
