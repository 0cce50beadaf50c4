// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_GUARDED_RUN_HPP
#define MORTISE_DETAIL_GUARDED_RUN_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/lease.hpp"
#include "mortise/options.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace mortise {

class lock_client;

namespace detail {

/// What runs under the lock, without its type.
class guarded_body {
public:
    using done_function = std::function<void(std::exception_ptr)>;

    virtual ~guarded_body() = default;

    /// Runs it on `executor`, stoppable through `slot`, and calls `done` there at its end.
    virtual void start(
        const lease& held,
        const asio::any_io_executor& executor,
        asio::cancellation_slot slot,
        done_function done
    ) = 0;
};

using guarded_handler = coro::detail::completion<void(std::exception_ptr)>;

/// Acquire, body, release: the part of `with_lock` that needs no types.
void start_guarded_run(
    guarded_handler handler,
    asio::any_io_executor executor,
    lock_client* client,
    std::string name,
    lock_options options,
    std::shared_ptr<guarded_body> body
);

}  // namespace detail
}  // namespace mortise

#endif
