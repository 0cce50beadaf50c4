// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_WAIT_SERVICE_HPP
#define MORTISE_CORO_DETAIL_WAIT_SERVICE_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/execution_context.hpp>

#include <atomic>
#include <memory>
#include <mutex>

namespace mortise::coro::detail {

class wait_service;

/// Something that must let go when an execution context ends: a waiting handler, a worker.
class shutdown_hook {
public:
    shutdown_hook() = default;
    shutdown_hook(const shutdown_hook&) = delete;
    shutdown_hook& operator=(const shutdown_hook&) = delete;
    virtual ~shutdown_hook() = default;

private:
    friend class wait_service;

    /// The context is being destroyed: destroy all that runs on it, and post nothing to it.
    virtual void shut_down() noexcept = 0;

    // Written, as the links, under the service's mutex.
    std::atomic<wait_service*> service_{nullptr};
    shutdown_hook* before_ = nullptr;
    shutdown_hook* after_ = nullptr;
    std::weak_ptr<shutdown_hook> self_;
};

/// Knows all objects of ours that wait on one execution context, and ends them with the context.
///
/// A coroutine that waits on a primitive is owned by the primitive's list, and the primitive may
/// live in the frame of that very coroutine. Asio cannot see such a cycle; this class breaks it.
class wait_service final : public asio::execution_context::service {
public:
    using key_type = wait_service;
    static asio::execution_context::id id;

    explicit wait_service(asio::execution_context& owner);
    ~wait_service() override;

    static wait_service& of(asio::execution_context& context);

    /// Registers the hook; false if the context is ending and the hook must let go by itself.
    [[nodiscard]] bool link(const std::shared_ptr<shutdown_hook>& hook);

    /// Takes the hook off the service that it is registered with, if any. Any thread.
    static void unlink(shutdown_hook& hook) noexcept;

    /// True once the context began to end. Outlives the service.
    std::shared_ptr<const std::atomic<bool>> ended() const noexcept { return ended_; }

private:
    void shutdown() override;
    void take_off(shutdown_hook& hook) noexcept;  // under mutex_

    std::mutex mutex_;
    shutdown_hook* first_ = nullptr;
    std::shared_ptr<std::atomic<bool>> ended_;
};

}  // namespace mortise::coro::detail

#endif
