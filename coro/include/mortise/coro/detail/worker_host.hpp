// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_WORKER_HOST_HPP
#define MORTISE_CORO_DETAIL_WORKER_HOST_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/execution_context.hpp>

#include <functional>

namespace mortise::coro::detail {

/// Does the work of all workers of one execution context, in the place of their threads: for a
/// simulation, which has one thread, and where no time passes while something runs.
///
/// @par Threads The one that runs the context.
class worker_host final : public asio::execution_context::service {
public:
    /// Calls `turn` once, later, and not from inside.
    using scheduler = std::function<void(std::function<void()> turn)>;

    using key_type = worker_host;
    static asio::execution_context::id id;

    explicit worker_host(asio::execution_context& owner) : service(owner) {}

    /// Must be called before the first worker of that context is made.
    static void install(asio::execution_context& context, scheduler later);
    /// Null if workers of that context have threads of their own.
    static worker_host* find(asio::execution_context& context);

    void schedule(std::function<void()> turn) { later_(std::move(turn)); }

private:
    void shutdown() override;

    scheduler later_;
};

}  // namespace mortise::coro::detail

#endif
