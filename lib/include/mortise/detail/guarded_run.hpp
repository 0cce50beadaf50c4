// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_GUARDED_RUN_HPP
#define MORTISE_DETAIL_GUARDED_RUN_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/lease.hpp"
#include "mortise/lease_set.hpp"
#include "mortise/options.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise {

class lock_client;

namespace detail {

/// The body that runs under the lock, or the locks, without its type. `Held` is a `lease` or a
/// `lease_set`.
template <class Held>
class guarded_body {
public:
    using done_function = std::function<void(std::exception_ptr)>;

    virtual ~guarded_body() = default;

    /// Runs the body on `executor`, stoppable through `slot`, and calls `done` there at its end.
    virtual void start(
        const Held& held,
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
    std::shared_ptr<guarded_body<lease>> body
);
void start_guarded_run_of_all(
    guarded_handler handler,
    asio::any_io_executor executor,
    lock_client* client,
    std::vector<std::string> names,
    lock_options options,
    std::shared_ptr<guarded_body<lease_set>> body
);

}  // namespace detail
}  // namespace mortise

#endif
